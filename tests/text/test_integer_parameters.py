"""Whole numbers as large as they come: fitted, or refused by name; no memory for what few documents cannot need."""

import resource

import numpy as np
import pytest

import fastlin
import fastlin.select
from support.estimators import text_like

VALUES = [2**31 - 1, 2**31, 2**32, 2**61, 2**62 - 1, 2**62, 2**64]
TEXTS = ["a good dog", "not a good cat", "good dog, good cat"]
DICTS = [{"a": 1, "b": "c"}, {"d": 2}]
X, Y = text_like()
SPACE = 3 << 30  # bytes that a test may reserve beyond what it has


def fit(model):
    return model.fit(X, Y).transform(X)


def read(model):
    return model.fit_transform(TEXTS)


def pairs(model):
    return {"low and high": lambda n: model(ngram_range=(n, n)), "high": lambda n: model(ngram_range=(1, n))}


COUNTS = ("max_features", "min_df", "max_df", "prefixes", "suffixes", "n_jobs")
HASHES = ("n_features", "names", "prefixes", "suffixes", "n_jobs")
SELECTION = ("n_features", "step", "patience", "max_iter", "random_state", "n_jobs", "verbose")
CASES = {
    f"{kind.__name__}.{name}": (lambda n, kind=kind, name=name, more=more: kind(**{name: n, **more}), use)
    for kind, names, use, more in [
        (fastlin.CountVectorizer, COUNTS, read, {}),
        (fastlin.TfidfVectorizer, COUNTS, read, {}),
        (fastlin.HashingVectorizer, HASHES, read, {}),
        (fastlin.FeatureHasher, ("n_features",), lambda model: model.fit(DICTS).transform(DICTS), {}),
        (fastlin.Conjunctions, ("degree", "min_df", "n_features"), fit, {}),
        (fastlin.TfidfTransformer, ("n_jobs",), fit, {}),
        (fastlin.LogCountRatio, ("n_jobs",), fit, {}),
        (fastlin.select.CountCutoff, ("min_rows",), fit, {}),
        (fastlin.select.SelectFeatures, SELECTION, fit, {"method": "count"}),
    ]
    for name in names
}
CASES |= {
    f"{kind.__name__}.ngram_range, {unit}, {which}": (
        lambda n, kind=kind, unit=unit, low=low: kind(analyzer=unit, ngram_range=(n if low else 1, n)),
        read,
    )
    for kind in (fastlin.CountVectorizer, fastlin.HashingVectorizer)
    for unit in ("word", "char", "char_wb")
    for which, low in (("shortest", True), ("longest", False))
}
CASES |= {
    "SelectFeatures.step, greedy": (lambda n: fastlin.select.SelectFeatures(3, step=n), fit),
    "SelectFeatures.max_iter, greedy": (lambda n: fastlin.select.SelectFeatures(3, max_iter=n), fit),
    "Conjunctions.n_features of triples": (lambda n: fastlin.Conjunctions(3, n_features=n), fit),
}


@pytest.fixture
def _little_memory():
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + SPACE, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.usefixtures("_little_memory")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", CASES)
def test_large_numbers_work_or_are_refused_by_name(name, value):
    make, use = CASES[name]
    try:
        made = use(make(value))
    except (ValueError, TypeError) as error:
        made, told = None, str(error)
    if made is None:
        parameter = name.partition(".")[2].partition(",")[0].partition(" ")[0]
        assert any(words in told for words in (parameter, "empty vocabulary", "no terms remain", "nothing to select"))
        return
    assert made.shape[0] in (len(TEXTS), len(DICTS), X.shape[0])
    assert np.isfinite(made.data).all()
