"""Checkpoints of fits of every kind: killed at any and resumed, a fit is the one that was never killed, bit for bit."""

import contextlib
import inspect
import warnings

import numpy as np
import pytest

from fastlin import Corpus, LogisticRegressionCV, MiniBatchKMeans, sequence
from fastlin.lm import WordClasses
from fastlin.model_files.classes import class_of
from fastlin.registry import CLASSES
from fastlin.select import SelectFeatures
from fastlin.sequence.crf import training as crf
from fastlin.storage import Checkpoint, ModelFileError, read_archive, write_archive
from fastlin.storage.json_values import decode, encode
from support.estimators import refused, text_like
from support.fitted_checksums import told
from support.kills import check_kills
from support.sequences import items, problem, stacked

MATRICES, CODES = problem(30, 8, 3)
SENTENCES, TAGS = [items(x) for x in MATRICES], [codes.tolist() for codes in CODES]
EPOCHS = {"max_iter": 6, "random_state": 3}
X, Y = text_like()
# {name: (class, parameters, others that make another fit)} of every algorithm whose fits have checkpoints
TAGGERS = {
    "CRF": (sequence.CRF, {}, {"c2": 0.5}),
    "CRF, L1": (sequence.CRF, {"c1": 0.2, "weights": "dense"}, {"c1": 0.3}),
    "CRF, lbfgs": (sequence.CRF, {"solver": "lbfgs"}, {"cutoff": 2}),
    "CRF, edges": (sequence.CRF, {"edges": "all"}, {"edges": None}),
    "CRF, order 2": (sequence.CRF, {"order": 2}, {"order": 1}),
    "CRF, sgd": (sequence.CRF, {"solver": "sgd", "batch_size": 2, **EPOCHS}, {"batch_size": 3}),
    "CRF, sgd, eta0": (sequence.CRF, {"solver": "sgd", "eta0": 0.2, **EPOCHS}, {"eta0": 0.1}),
    "CRF, adagrad, L1": (sequence.CRF, {"solver": "adagrad", "c1": 0.2, **EPOCHS}, {"solver": "sgd", "c1": 0.0}),
    "MEMM": (sequence.MEMM, {}, {"C": 2.0}),
    "MEMM, L1": (sequence.MEMM, {"solver": "lbfgs", "l1_ratio": 0.5, "edges": "f1"}, {"edges": "f2"}),
    "perceptron": (sequence.StructuredPerceptron, EPOCHS, {"random_state": 4}),
    "perceptron, not averaged": (
        sequence.StructuredPerceptron,
        {"average": False, "order": 2, "shuffle": False, "max_iter": 5},
        {"shuffle": True},
    ),
    "perceptron, observed": (
        sequence.StructuredPerceptron,
        {"weights": "observed", "beam_width": 2, "tol": 0.01, **EPOCHS, "max_iter": 40},
        {"cutoff": 2},
    ),
    "passive-aggressive": (sequence.StructuredPerceptron, {"loss": "pa", **EPOCHS}, {"C": 0.5}),
    "MIRA": (sequence.StructuredPerceptron, {"loss": "mira", **EPOCHS}, {"loss": "pa"}),
    "MEMM, sgd": (sequence.MEMM, {"solver": "sgd", "weights": "dense", **EPOCHS}, {"max_iter": 7}),
}
GRID = {"Cs": [0.1, 10.0], "cv": 2, "max_iter": 12}
CLASSIFIERS = {
    "CV": (LogisticRegressionCV, GRID, {"Cs": [0.1, 1.0]}),
    "CV, L1": (LogisticRegressionCV, {"l1_ratios": [0, 0.5], "solver": "lbfgs", **GRID}, {"l1_ratios": [0, 0.4]}),
    "CV, not refitted": (LogisticRegressionCV, {"refit": False, "solver": "newton", **GRID}, {"cv": 3}),
    "CV, sgd": (LogisticRegressionCV, {"solver": "sgd", **GRID, **EPOCHS}, {"max_iter": 5}),
    "CV, observed": (LogisticRegressionCV, {"weights": "observed", "solver": "lbfgs", **GRID}, {"tol": 1e-5}),
}
SELECTORS = {
    "greedy": (SelectFeatures, {"n_features": 9, "step": 2}, {"step": 1}),
    "greedy, sgd": (SelectFeatures, {"n_features": 6, "solver": "adagrad", "step": 1, **EPOCHS}, {"max_iter": 7}),
    "greedy, patience": (SelectFeatures, {"patience": 2, "step": 1, "max_iter": 20}, {"patience": 3}),
    "by count": (SelectFeatures, {"n_features": 9, "method": "count", "solver": "lbfgs"}, {"method": "chi2"}),
}
TEXT = [" ".join(f"w{n}" for n in np.random.default_rng(i).geometric(0.1, 12)) for i in range(60)]
CLUSTERERS = {"word classes": (WordClasses, {"n_classes": 9, "tol": 0, "max_iter": 9}, {"n_classes": 10})}
FITS = TAGGERS | CLASSIFIERS | SELECTORS | CLUSTERERS
EVERY_FIT = pytest.mark.parametrize("name", FITS)


class Killed(BaseException):
    pass


@contextlib.contextmanager
def killed_at(number):
    """Let a fit die when it has written so many checkpoints."""
    save, left = Checkpoint.save, [number]

    def dying(self, *state):
        save(self, *state)
        left[0] -= 1
        if not left[0]:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", dying)
        with contextlib.suppress(Killed):
            yield


@pytest.fixture(autouse=True)
def few_epochs_before_lbfgs(monkeypatch):
    """CRFs of few sequences begin with SGD, too."""
    monkeypatch.setattr(crf, "MIN_SGD_SEQUENCES", 20)
    monkeypatch.setattr(crf, "SGD_EPOCHS", 3)


def quiet(model, data, **options):
    if getattr(model, "patience", None):
        options |= {"X_val": X[40:], "y_val": Y[40:]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **options)


def number_of_checkpoints(fit):
    """How many a fit makes."""
    written, save = [], Checkpoint.save
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", lambda *state: (save(*state), written.append(1)))
        fit()
    return len(written)


def check_resumed(make, data, path):
    """Kill a fit at its first checkpoints and its last, and resume it; then kill it at every one it comes to."""

    def fit(resume=True):
        return quiet(make(), data(), checkpoint=path, checkpoint_interval=0, resume=resume)

    expected = dict(told(quiet(make(), data()), data()))
    n = number_of_checkpoints(lambda: fit(resume=False))
    assert n > 2
    for number in sorted({1, 2, n // 2, n}):
        with killed_at(number):
            fit(resume=False)
        assert dict(told(fit(), data())) == expected, f"killed at checkpoint {number} of {n}"
    path.unlink()
    step = 1 + max(1, n // 10)
    for _ in range(n // (step - 1) + 1):
        with killed_at(step):  # the first is where it goes on
            fit()
    assert dict(told(fit(), data())) == expected


def data_of(name):
    if name in CLUSTERERS:
        return (TEXT,)
    return (SENTENCES, TAGS) if name in TAGGERS else (X, Y)


@EVERY_FIT
def test_fits_go_on_from_every_checkpoint(name, tmp_path):
    kind, options, _ = FITS[name]
    check_resumed(lambda: kind(**options), lambda: data_of(name), tmp_path / "checkpoint")


@pytest.mark.parametrize("name", ["CRF, lbfgs", "MEMM", "perceptron"])
def test_a_checkpoint_is_of_tokens_however_they_come(name, tmp_path):
    """Lists, and generators that can be read once, have one checkpoint."""
    kind, options, _ = FITS[name]
    path, make = tmp_path / "checkpoint", lambda: kind(**options)
    expected = make().fit(SENTENCES, TAGS)
    with killed_at(3):
        make().fit(iter(SENTENCES), (iter(tags) for tags in TAGS), checkpoint=path, checkpoint_interval=0)
    for X, y in ((SENTENCES, TAGS), ((x for x in SENTENCES), (tuple(tags) for tags in TAGS))):
        model = make().fit(X, y, checkpoint=path, checkpoint_interval=1000, resume=True)
        assert dict(told(model, (SENTENCES,))) == dict(told(expected, (SENTENCES,)))


@pytest.mark.parametrize("name", ["CRF, lbfgs", "CRF, sgd", "MEMM", "perceptron"])
def test_matrices_of_tokens_have_checkpoints(name, tmp_path):
    rows, lengths = stacked(MATRICES)
    kind, options, _ = TAGGERS[name]

    class OfMatrix(kind):
        def fit(self, X, y, **more):
            return super().fit(X, y, lengths=lengths, **more)

        def predict(self, X):
            return super().predict(X, lengths=lengths)

        def predict_marginals(self, X):
            return super().predict_marginals(X, lengths=lengths)

    make = lambda: OfMatrix(**{key: value for key, value in options.items() if key != "edges"})  # noqa: E731
    check_resumed(make, lambda: (rows, np.concatenate(CODES)), tmp_path / "checkpoint")


def test_a_resumed_perceptron_learns_on_as_if_nothing_had_been(tmp_path):
    """The generator of the orders goes on, too."""
    path, options = tmp_path / "checkpoint", {"max_iter": 3, "random_state": 5}
    expected = sequence.StructuredPerceptron(**options).fit(SENTENCES, TAGS)
    with killed_at(2):
        sequence.StructuredPerceptron(**options).fit(SENTENCES, TAGS, checkpoint=path, checkpoint_interval=0)
    model = sequence.StructuredPerceptron(**options).fit(SENTENCES, TAGS, checkpoint=path, resume=True)
    for _ in range(3):
        expected.partial_fit(SENTENCES, TAGS)
        model.partial_fit(SENTENCES, TAGS)
    assert dict(told(model, (SENTENCES,))) == dict(told(expected, (SENTENCES,)))


def fit_search(path, data, **options):
    model = LogisticRegressionCV(**{**GRID, "solver": "lbfgs", **options})
    return quiet(model, data, checkpoint=path, checkpoint_interval=0, resume=True)


@pytest.mark.parametrize("kind", ["memory", "corpus", "one fold"])
def test_folds_in_threads_go_on_together(kind, tmp_path):
    """Which fold makes a checkpoint is left to chance; what is resumed from it is not."""
    data = (Corpus(X, Y).write(tmp_path / "corpus"),) if kind == "corpus" else (X, Y)
    cv = [(np.arange(40), np.arange(40, 60))] if kind == "one fold" else 3
    expected = dict(told(fit_search(tmp_path / "whole", data, cv=cv), (X, Y)))
    for number in (1, 4, 9):
        with killed_at(number):
            fit_search(tmp_path / f"{number}", data, cv=cv, n_jobs=2)
        assert dict(told(fit_search(tmp_path / f"{number}", data, cv=cv, n_jobs=3), (X, Y))) == expected


def test_a_search_that_the_callback_has_ended_goes_on_with_its_last_fit(tmp_path):
    """The fits that were cut off count as they do in a search that was not killed."""

    def ends(_, record):
        return record["fold"] == 1 and record["C"] == 0.1

    expected = fit_search(tmp_path / "other", (X, Y), callback=ends)
    assert np.isnan(expected.scores_).any()
    with killed_at(number_of_checkpoints(lambda: fit_search(tmp_path / "n", (X, Y), callback=ends))):
        fit_search(tmp_path / "c", (X, Y), callback=ends)
    assert dict(told(fit_search(tmp_path / "c", (X, Y), callback=ends), (X, Y))) == dict(told(expected, (X, Y)))


def test_finished_fits_of_a_search_are_not_repeated(tmp_path):
    seen = []
    with killed_at(-1):
        fit_search(tmp_path / "c", (X, Y), callback=lambda *_: False)
    model = fit_search(tmp_path / "c", (X, Y), callback=lambda _, record: seen.append(record))
    assert not seen
    assert len(model.path_) == 4


def iterative_estimators():
    """Every estimator with a limit of iterations, or a callback that sees them."""
    kinds = [class_of(name)[0] for name in CLASSES if name.startswith("fastlin.")]
    limited = [kind for kind in kinds if {"max_iter", "callback"} & set(inspect.signature(kind).parameters)]
    return [kind for kind in limited if kind is not MiniBatchKMeans]  # a pass or two: `partial_fit` goes on from a file


@pytest.mark.parametrize("kind", iterative_estimators(), ids=lambda kind: kind.__name__)
def test_every_iterative_estimator_has_checkpoints(kind):
    parameters = inspect.signature(kind.fit).parameters
    wanted = {"checkpoint": None, "checkpoint_interval": 60.0, "resume": False}
    assert {name: parameters[name].default for name in wanted if name in parameters} == wanted
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in wanted)
    assert all(f"{name} : " in kind.fit.__doc__ for name in wanted)


# --- other fits, damage ----------------------------------------------------------------------------------------------


def other_data(name):
    """(what differs, X, y): features, values, labels, names, where sequences end."""
    if name in CLUSTERERS:
        yield "data", TEXT[:-1]
        return
    if name not in TAGGERS:
        yield "segment", X[:, ::-1], Y
        yield "labels", X, Y[::-1]
        return
    yield "tokens", [[{**token, "f0": 9.0} for token in x] for x in SENTENCES], TAGS
    yield "labels", SENTENCES, [[(tag + 1) % 3 for tag in tags] for tags in TAGS]
    yield "attributes", [[{f"{name}!": value for name, value in token.items()} for token in x] for x in SENTENCES], TAGS
    yield "tokens", [SENTENCES[0] + SENTENCES[1], *SENTENCES[2:]], [TAGS[0] + TAGS[1], *TAGS[2:]]


@EVERY_FIT
def test_the_checkpoint_of_another_fit_is_refused(name, tmp_path):
    (kind, options, others), path = FITS[name], tmp_path / "checkpoint"
    with killed_at(2):
        quiet(kind(**options), data_of(name), checkpoint=path, checkpoint_interval=0)
    for match, *other in other_data(name):
        with refused(model := kind(**options), ValueError, match=f"another fit: .*{match} was"):
            quiet(model, other, checkpoint=path, resume=True)
    with refused(model := kind(**{**options, **others}), ValueError, match="another fit"):
        quiet(model, data_of(name), checkpoint=path, resume=True)
    other = sequence.MEMM() if name not in TAGGERS or kind is sequence.CRF else sequence.CRF()
    with refused(other, ValueError, match="another fit: estimator was"):
        other.fit(SENTENCES, TAGS, checkpoint=path, resume=True)


@pytest.mark.parametrize("name", ["CRF, lbfgs", "CRF, sgd", "CRF, adagrad, L1", "perceptron", "MIRA"])
def test_a_fit_may_go_on_for_longer_than_it_was_asked_for(name, tmp_path):
    (kind, options, _), path, data = FITS[name], tmp_path / "checkpoint", data_of(name)
    quiet(kind(**{**options, "max_iter": 3}), data, checkpoint=path, checkpoint_interval=0)
    model = quiet(kind(**options), data, checkpoint=path, resume=True)
    assert dict(told(model, data)) == dict(told(quiet(kind(**options), data), data))


@EVERY_FIT
def test_a_damaged_checkpoint_is_refused(name, tmp_path):
    """Of a file in which some bytes differ, nothing is taken, or what was meant."""
    (kind, options, _), path, rng = FITS[name], tmp_path / "checkpoint", np.random.default_rng(0)
    data = data_of(name)
    expected = dict(told(quiet(kind(**options), data), data))
    with killed_at(3):
        quiet(kind(**options), data, checkpoint=path, checkpoint_interval=0)
    whole = path.read_bytes()
    for place in rng.integers(len(whole), size=12).tolist():
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]):
            path.write_bytes(damaged)
            try:
                model = quiet(kind(**options), data, checkpoint=path, checkpoint_interval=1000, resume=True)
            except ModelFileError:
                continue
            assert dict(told(model, data)) == expected


@pytest.mark.parametrize("number", [2, 5, -1])
@pytest.mark.parametrize("name", [name for name in FITS if name not in ("MEMM, sgd", "CV, sgd", "greedy, sgd")])
def test_what_a_checkpoint_says_is_proved(name, number, tmp_path):
    """Every array and every value; linear/test_online_checkpoints.py has those of SGD's epochs."""
    (kind, options, _), path, data = FITS[name], tmp_path / "checkpoint", data_of(name)
    with killed_at(number):
        quiet(kind(**options), data, checkpoint=path, checkpoint_interval=0)
    header, arrays = read_archive(path, "checkpoint", mmap=False)
    state = decode(header["state"])

    def refuse(state, arrays):
        write_archive(path, "checkpoint", header | {"state": encode(state, "state")}, arrays)
        with refused(model := kind(**options), ModelFileError):
            quiet(model, data, checkpoint=path, resume=True)

    for key, array in arrays.items():
        refuse(state, {other: value for other, value in arrays.items() if other != key})
        if array.size:
            refuse(state, arrays | {key: array.reshape(-1)[1:]})
        if array.dtype.kind == "f" and array.size:
            refuse(state, arrays | {key: np.full_like(array, np.nan)})
            refuse(state, arrays | {key: array.astype(np.float16)})
    for key in state:
        if not key.endswith("solver"):
            refuse({other: value for other, value in state.items() if other != key}, arrays)
            refuse(state | {key: "nothing"}, arrays)


OFTEN = ("CRF, adagrad, L1", "perceptron", "CV", "greedy", "word classes")


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in FITS]
)
def test_other_numbers_in_a_checkpoint_are_an_error_or_other_numbers_of_the_model(name, tmp_path):
    (kind, options, _), path, data = FITS[name], tmp_path / "checkpoint", data_of(name)
    with killed_at(5):
        quiet(kind(**options), data, checkpoint=path, checkpoint_interval=0)
    header, arrays = read_archive(path, "checkpoint", mmap=False)
    state = decode(header["state"])

    def use(state, arrays):
        write_archive(path, "checkpoint", header | {"state": encode(state, "state")}, arrays)
        with contextlib.suppress(ValueError), np.errstate(all="ignore"):
            quiet(kind(**options), data, checkpoint=path, resume=True)

    for key, array in arrays.items():
        for value in (-1, 0, 2**31 - 1):
            use(state, arrays | {key: np.full(array.shape, value).astype(array.dtype)})
    for key in state:
        for value in (-1, 10**9, [], [10**9], {}, 0.5):
            use(state | {key: value}, arrays)


@pytest.mark.parametrize("name", ["CRF", "MEMM", "perceptron", "CV", "greedy", "by count"])
@pytest.mark.parametrize(
    "options, match",
    [
        ({"resume": True}, "resume=True needs checkpoint"),
        ({"resume": 1, "checkpoint": "x"}, "resume"),
        ({"checkpoint_interval": -1, "checkpoint": "x"}, "checkpoint_interval"),
    ],
)
def test_bad_options_are_refused(name, options, match):
    kind, parameters, _ = FITS[name]
    with refused(model := kind(**parameters), match=match):
        quiet(model, data_of(name), **options)


# --- kill -9 ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import sys, warnings
import numpy as np
from fastlin import Corpus, LogisticRegressionCV, sequence
from support.sequences import problem, stacked
X, y = problem(400, 40, 6, longest=12)
rows, lengths = stacked(X)
model = {
    "auto": sequence.CRF(tol=1e-6, max_iter=40),
    "sgd": sequence.CRF(solver="sgd", max_iter=30, tol=0),
    "perceptron": sequence.StructuredPerceptron(max_iter=30, random_state=0),
}[sys.argv[1]]
warnings.simplefilter("ignore")
model.fit(
    rows, np.concatenate(y), lengths=lengths, checkpoint=sys.argv[2], checkpoint_interval=0, resume=True
)
history = [[value for name, value in record.items() if name != "seconds"][1] for record in model.history_]
coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
np.savez(sys.argv[3], coef=coef, transitions=model.transitions_, history=history)
"""


@pytest.mark.parametrize("kind", ["auto", pytest.param("perceptron", marks=pytest.mark.slow)])
def test_kill_9_and_resume(kind, tmp_path):
    check_kills(SCRIPT, kind, (0.05,), tmp_path)
