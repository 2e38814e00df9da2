"""Options and vocabularies that cannot be: scikit-learn's exceptions, and messages that name the option."""

from collections import OrderedDict

import numpy as np
import pytest

from fastlin import text
from support.vectorizers import COUNTING, VECTORIZERS, assert_same, fitted_state, pair, result_of

every = pytest.mark.parametrize("name", VECTORIZERS)
counting = pytest.mark.parametrize("name", COUNTING)
CORPUS = ["the cat sat on the mat", "a dog", "", "the dog sat", "Le café 中文"]


def refused(name, options, match):
    """By fit and by fit_transform, as scikit-learn's does, and with nothing learnt; hashing has less to do in fit."""
    one, two = pair(name, **options)
    for method in ("fit_transform",) if name == "HashingVectorizer" else ("fit", "fit_transform"):
        expected, _ = result_of(lambda method=method: getattr(two, method)(CORPUS))
        got, _ = result_of(lambda method=method: getattr(one, method)(CORPUS))
        assert isinstance(expected, Exception), expected
        assert isinstance(got, (ValueError, TypeError, type(expected))), got
        with pytest.raises(type(got), match=match):
            raise got
        assert fitted_state(one) == {}


@pytest.mark.parametrize(
    "option, value",
    [
        ("input", "folder"),
        ("input", None),
        ("encoding", None),
        ("encoding", 8),
        ("decode_error", "raise"),
        ("strip_accents", "latin"),
        ("strip_accents", 3),
        ("lowercase", "yes"),
        ("lowercase", None),
        ("preprocessor", "lower"),
        ("tokenizer", "split"),
        ("stop_words", "german"),
        ("stop_words", 7),
        ("token_pattern", 5),
        ("token_pattern", "(unclosed"),
        ("analyzer", "words"),
        ("analyzer", None),
        ("binary", "no"),
        ("binary", None),
        ("dtype", "words"),
        ("ngram_range", 2),
        ("ngram_range", None),
        ("ngram_range", "12"),
        ("ngram_range", (1,)),
        ("ngram_range", (1, 2, 3)),
        ("ngram_range", (2, 1)),
        ("ngram_range", (1.0, 2.0)),
        ("ngram_range", (1, 1.5)),
        ("ngram_range", ("1", "2")),
        ("ngram_range", (None, 2)),
        ("ngram_range", (1, float("nan"))),
    ],
    ids=repr,
)
@every
def test_an_option_that_cannot_be_is_refused(name, option, value):
    match = option if value != "(unclosed" else "token_pattern|unterminated"
    refused(name, {option: value}, match)


@pytest.mark.parametrize(
    "option, value",
    [
        ("input", "folder"),
        ("encoding", 8),
        ("lowercase", "yes"),
        ("tokenizer", "split"),
        ("analyzer", "words"),
        ("ngram_range", (2, 1)),
        ("negation", "yes"),
        ("prefixes", 0),
        ("suffixes", (2, "3")),
    ],
    ids=repr,
)
@every
def test_transform_refuses_it_as_well(name, option, value):
    vectorizer = getattr(text, name)().fit(CORPUS)
    before = fitted_state(vectorizer)
    with pytest.raises((TypeError, ValueError), match=option):
        vectorizer.set_params(**{option: value}).transform(CORPUS)
    assert fitted_state(vectorizer) == before


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize(
    "ngram_range", [(0, 1), (0, 0), (0, 2), (-1, 1), (-3, -2), (-1, 3), (True, 2), (1, np.int64(2))], ids=repr
)
@every
def test_an_ngram_of_nothing_is_refused_or_scikit_learns(name, ngram_range, analyzer):
    """scikit-learn lets them pass and makes empty words: the same, or an error that says so; never a third thing."""
    options = {"ngram_range": ngram_range, "analyzer": analyzer}
    one, _ = pair(name, **options)
    got, _ = result_of(lambda: one.fit_transform(CORPUS))
    if isinstance(got, ValueError | TypeError) and "ngram_range" in str(got):
        assert min(ngram_range) < 1 or any(isinstance(n, bool) for n in ngram_range)
    else:
        assert_same(name, options, CORPUS)


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize(
    "ngram_range", [(1, 1000), (3, 10**9), (50, 60), (2**31, 2**31), (1, 2**63), (10**30, 10**31)], ids=repr
)
@every
def test_ngrams_longer_than_any_document_are_none(name, ngram_range, analyzer):
    if analyzer == "char_wb" and ngram_range[0] > 60:
        ngram_range = (ngram_range[0], ngram_range[0])
    assert_same(name, {"ngram_range": ngram_range, "analyzer": analyzer}, CORPUS, ["dog", ""])


@pytest.mark.parametrize(
    "option, value",
    [
        ("min_df", -1),
        ("min_df", 0),
        ("min_df", 1.5),
        ("min_df", -0.1),
        ("min_df", float("nan")),
        ("min_df", "two"),
        ("min_df", None),
        ("max_df", -1),
        ("max_df", 0),
        ("max_df", 1.0001),
        ("max_df", float("inf")),
        ("max_df", "all"),
        ("max_df", None),
        ("max_features", 0),
        ("max_features", -1),
        ("max_features", 1.0),
        ("max_features", "all"),
        ("vocabulary", 5),
    ],
    ids=repr,
)
@counting
def test_limits_that_cannot_be_are_refused(name, option, value):
    refused(name, {option: value}, option)


@pytest.mark.parametrize(
    "option, value", [("norm", "l3"), ("use_idf", "yes"), ("smooth_idf", None), ("sublinear_tf", 2.5)], ids=repr
)
def test_weightings_that_cannot_be_are_refused(option, value):
    refused("TfidfVectorizer", {option: value}, option)


@counting
def test_limits_that_leave_nothing_are_refused(name):
    for options, match in (
        ({"min_df": 6}, "max_df.*min_df|min_df.*max_df"),
        ({"min_df": 10**12}, "max_df.*min_df|min_df.*max_df"),
        ({"min_df": 0.9, "max_df": 0.1}, "max_df.*min_df|min_df.*max_df"),
        ({"min_df": 3, "max_df": 2}, "max_df.*min_df|min_df.*max_df"),
        ({"min_df": 5}, "no terms remain"),
        ({"min_df": 1.0}, "no terms remain"),
        ({"max_df": 0.0, "min_df": 0.0}, "no terms remain"),
    ):
        refused(name, options, match)


@counting
def test_large_limits_are_no_limits(name):
    for options in (
        {"max_df": 10**12},
        {"max_features": 10**12},
        {"max_df": np.int64(3)},
        {"min_df": 1e-300},
    ):
        assert_same(name, options, CORPUS)


@pytest.mark.parametrize(
    "option, value", [("n_features", v) for v in (0, -1, 1.5, "all", 2**31, None)] + [("norm", "l3")]
)
def test_hashing_options_that_cannot_be_are_refused(option, value):
    refused("HashingVectorizer", {option: value}, option)


@pytest.mark.parametrize("value", [-1, 1.5, "all", None])
def test_a_number_of_names_that_cannot_be_is_refused(value):
    with pytest.raises((ValueError, TypeError), match="names"):
        text.HashingVectorizer(keep_names=value).fit(CORPUS)


# --- vocabularies ----------------------------------------------------------------------------------------------------


VOCABULARIES = {
    "empty": ([], "empty vocabulary"),
    "empty dict": ({}, "empty vocabulary"),
    "twice the same": (["aa", "bb", "aa"], "(?s)[Dd]uplicate.*aa"),
    "twice the same column": ({"aa": 0, "bb": 0}, "repeated indices"),
    "a gap": ({"aa": 0, "bb": 2}, "(?s)doesn't contain index.*1"),
    "from one": ({"aa": 1, "bb": 2}, "(?s)doesn't contain index.*0"),
    "negative": ({"aa": -1, "bb": 0}, "index|column"),
    "huge": ({"aa": 0, "bb": 2**40}, "index|column"),
    "beyond all": ({"aa": 0, "bb": 10**30}, "index|column"),
    "words for columns": ({"aa": "0", "bb": "1"}, "index|column"),
    "nothing for columns": ({"aa": None, "bb": 0}, "index|column"),
    "lists in it": ([["aa"], ["bb"]], "vocabulary|unhashable"),
}


@pytest.mark.parametrize("case", VOCABULARIES)
@counting
def test_a_vocabulary_that_cannot_be_is_refused(name, case):
    vocabulary, match = VOCABULARIES[case]
    refused(name, {"vocabulary": vocabulary}, match)
    one, two = pair(name, vocabulary=vocabulary)
    expected, _ = result_of(lambda: two.transform(CORPUS))
    got, _ = result_of(lambda: one.transform(CORPUS))
    assert isinstance(expected, Exception)
    assert isinstance(got, ValueError | TypeError), got


@pytest.mark.parametrize(
    "vocabulary",
    [
        [0, 1, 2],
        [b"dog", b"cat"],
        ["dog", 3, None],
        [1.5, "dog"],
        [True, "dog"],
        {"dog": True, "cat": False},
        {"dog": 1.0, "cat": 0.0},
        "dog",
        ["", "dog"],
        ["dog sat", "\ud800", "\0"],
        OrderedDict(dog=1, cat=0),
    ],
    ids=repr,
)
@counting
def test_an_odd_vocabulary_is_scikit_learns_or_refused(name, vocabulary):
    """Keys that no document can have, columns that only equal numbers: the same answer, or an error that says so."""
    options = {"vocabulary": vocabulary, "lowercase": False}
    one, _ = pair(name, **options)
    got, _ = result_of(lambda: one.fit_transform(CORPUS))
    if isinstance(got, ValueError | TypeError):
        assert "vocabulary" in str(got)
        assert fitted_state(one) == {}
    else:
        assert_same(name, options, CORPUS, ["dog d o g"])
