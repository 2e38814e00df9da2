"""Ctrl-C: it ends what a vectoriser does within half a second, and leaves the vectoriser as it was."""

import numpy as np
import pytest
from sklearn.base import clone

from fastlin import text
from support.estimators import interrupted_after
from support.vectorizers import VECTORIZERS, assert_same_bits, fitted_state

pytestmark = pytest.mark.timing
LIMIT = 0.5
CORPUS = ["the cat sat on the mat", "a dog", "", "the dog sat"]
OPTIONS = {
    "words": {},
    "words 1-2": {"ngram_range": (1, 2)},
    "characters": {"analyzer": "char", "ngram_range": (2, 5)},
    "characters in words": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    "a pattern of the engine's": {"token_pattern": r"[a-z]+|\d"},
    "a pattern of the user's": {"token_pattern": r"([a-z]+|\d)"},
    "a tokenizer of the user's": {"tokenizer": str.split, "token_pattern": None},
}


@pytest.fixture(scope="module")
def megabyte():
    rng = np.random.default_rng(0)
    return " ".join(f"word{k}" for k in rng.zipf(1.2, size=130_000) % 50_000)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", VECTORIZERS)
def test_ctrl_c_ends_a_pass_over_many_documents(megabyte, name, options, n_jobs):
    documents = [megabyte[k : k + 10_000] for k in range(0, len(megabyte), 10_000)] * 300
    vectorizer = getattr(text, name)(**OPTIONS[options]).fit(CORPUS)
    expected, before = vectorizer.transform(CORPUS), fitted_state(vectorizer)
    vectorizer.set_params(n_jobs=n_jobs)
    assert interrupted_after(0.3, lambda: clone(vectorizer).fit_transform(documents)) < LIMIT
    assert interrupted_after(0.3, lambda: vectorizer.transform(documents)) < LIMIT
    assert fitted_state(vectorizer) == before
    assert_same_bits(vectorizer.transform(CORPUS), expected)


@pytest.mark.parametrize("options", ["words", "words 1-2", "characters", "characters in words"])
@pytest.mark.parametrize("name", VECTORIZERS)
def test_ctrl_c_ends_a_pass_over_one_long_document(megabyte, name, options):
    document = megabyte * 30
    vectorizer = getattr(text, name)(**OPTIONS[options])
    assert interrupted_after(0.3, lambda: clone(vectorizer).fit_transform([document])) < LIMIT
    vectorizer.fit(CORPUS)
    before = fitted_state(vectorizer)
    assert interrupted_after(0.3, lambda: vectorizer.transform([document])) < LIMIT
    assert fitted_state(vectorizer) == before


def test_ctrl_c_ends_a_pattern_that_reads_on_in_vain():
    vectorizer = text.CountVectorizer(token_pattern="a+:")
    assert interrupted_after(0.3, lambda: vectorizer.fit(["a" * 3_000_000])) < LIMIT  # of 4.5e12 steps
    assert not hasattr(vectorizer, "vocabulary_")


@pytest.mark.parametrize("name", [name for name in VECTORIZERS if name != "HashingVectorizer"])
def test_ctrl_c_in_partial_fit_keeps_what_was_learnt(megabyte, name):
    """The vectoriser as it was before the call, which may be made again."""
    documents = [megabyte[k : k + 10_000] for k in range(0, len(megabyte), 10_000)]
    vectorizer = getattr(text, name)().partial_fit(CORPUS)
    before = fitted_state(vectorizer)
    assert interrupted_after(0.3, lambda: vectorizer.partial_fit(documents * 500)) < LIMIT
    assert fitted_state(vectorizer) == before
    vectorizer.partial_fit(documents)
    expected = getattr(text, name)().partial_fit(CORPUS).partial_fit(documents)
    assert fitted_state(vectorizer) == fitted_state(expected)
