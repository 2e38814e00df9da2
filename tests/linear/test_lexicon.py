"""LexiconClassifier: the naive twin, ties and priors, vectorisers and vocabularies, words that cannot be found."""

import doctest
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import fastlin.text
from fastlin import LexiconClassifier
from fastlin.linear import lexicon as module
from oracles import features as reference
from support.strategies import sparse_matrices

LEXICON = {"up": ["good", "fine"], "down": {"bad": 1, "awful": 2}}
TEXTS = ["good film", "bad film", "awful but good and fine", "fine, good, bad", "a film"]
NAMES = ["bad", "film", "good", "awful", "fine"]


def counted():
    return LexiconClassifier(LEXICON, vocabulary=NAMES).fit()


# --- what it answers -------------------------------------------------------------------------------------------------


@given(X=sparse_matrices(values=("normal", "counts")), n_labels=st.integers(2, 4), data=st.data())
def test_equals_its_naive_twin(X, n_labels, data):
    names, labels = [f"w{j}" for j in range(X.shape[1])], [f"k{k}" for k in range(n_labels)]
    weights = st.dictionaries(st.sampled_from(names), st.integers(-3, 3))
    words = st.lists(st.sampled_from(names), unique=True)
    lexicon = {label: data.draw(st.one_of(weights, words)) for label in labels}
    model = LexiconClassifier(lexicon, vocabulary=names).fit()
    X.data = np.round(X.data * 4)
    expected = reference.lexicon_scores(X.toarray(), names, lexicon, labels)
    scores = expected[:, 1] - expected[:, 0] if n_labels == 2 else expected
    np.testing.assert_array_equal(model.decision_function(X), scores)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[expected.argmax(axis=1)])
    assert model.coef_.shape == (1 if n_labels == 2 else n_labels, X.shape[1])
    np.testing.assert_allclose(np.ravel(X @ model.coef_.T), np.ravel(scores), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_any_matrix_will_do(dtype):
    X = CountVectorizer(vocabulary=NAMES).transform(TEXTS).astype(dtype)
    expected = ["up", "down", "down", "up", "down"]
    for form in (X, X.tocsc(), sparse.coo_array(X), X.toarray(), X.toarray().tolist()):
        assert counted().predict(form).tolist() == expected
    assert counted().score(X, expected) == 1.0


def test_texts_and_matrices_are_one():
    by_text = LexiconClassifier(LEXICON, vectorizer=CountVectorizer(vocabulary=NAMES)).fit()
    X = CountVectorizer(vocabulary=NAMES).transform(TEXTS)
    np.testing.assert_array_equal(by_text.decision_function(TEXTS), counted().decision_function(X))
    assert by_text.score(TEXTS, ["up", "down", "down", "up", "down"]) == 1.0
    assert by_text.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(by_text.coef_, [[-1, 0, 1, -2, 1]])


def test_a_tie_goes_to_the_more_probable_label_and_then_to_the_first():
    lexicon = {"c": ["c"], "a": ["a"], "b": ["b"], "d": []}
    names, X = ["a", "b", "c"], [[1, 1, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1], [2, 1, 2], [-1, -1, -1]]
    assert LexiconClassifier(lexicon, vocabulary=names).fit().predict(X).tolist() == ["a", "b", "a", "a", "a", "d"]
    for prior in ({"b": 0.5, "c": 0.3, "d": 0.2}, [0, 5, 3, 2]):
        model = LexiconClassifier(lexicon, vocabulary=names, prior=prior).fit()
        assert model.class_prior_.tolist() == [0, 0.5, 0.3, 0.2]
        assert model.predict(X).tolist() == ["b", "b", "b", "b", "c", "d"]
    learnt = LexiconClassifier(lexicon, vocabulary=names).fit(np.zeros((4, 3)), ["d", "d", "c", "a"])
    assert learnt.class_prior_.tolist() == [0.25, 0, 0.25, 0.5]
    assert learnt.predict(X).tolist() == ["a", "c", "d", "a", "a", "d"]


def test_rounding_breaks_no_tie():
    model = LexiconClassifier({"x": {"a": 0.1, "b": 0.2}, "y": {"c": 0.3}}, vocabulary=["a", "b", "c"], prior=[1, 2])
    assert model.fit().decision_function([[1, 1, 1]]).tolist() == [0.0]
    assert model.predict([[1, 1, 1], [1, 1, 0]]).tolist() == ["y", "x"]


def test_fit_learns_the_prior_only():
    X = CountVectorizer(vocabulary=NAMES).transform(TEXTS)
    learnt = LexiconClassifier(LEXICON, vocabulary=NAMES).fit(X, ["up", "up", "down", "up", "up"])
    assert learnt.class_prior_.tolist() == [0.2, 0.8]
    np.testing.assert_array_equal(learnt.coef_, counted().coef_)
    assert learnt.predict(X)[-1] == "up"
    assert counted().predict(X)[-1] == "down"
    with pytest.raises(ValueError, match="'sideways', which the lexicon lacks"):
        LexiconClassifier(LEXICON, vocabulary=NAMES).fit(X, ["sideways"] * 5)
    with pytest.raises(ValueError, match=r"5|4"):
        LexiconClassifier(LEXICON, vocabulary=NAMES).fit(X, ["up"] * 4)


# --- what the columns are --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "vocabulary",
    [
        NAMES,
        tuple(NAMES),
        np.array(NAMES),
        {name: column for column, name in enumerate(NAMES)},
        CountVectorizer(vocabulary=NAMES).fit(TEXTS),
        make_pipeline(CountVectorizer(vocabulary=NAMES), MaxAbsScaler()).fit(TEXTS),
    ],
    ids=lambda value: type(value).__name__,
)
def test_vocabularies(vocabulary):
    model = LexiconClassifier(LEXICON, vocabulary=vocabulary).fit()
    np.testing.assert_array_equal(model.coef_, counted().coef_)
    assert model.n_features_in_ == 5


def test_a_dict_may_leave_columns_out():
    model = LexiconClassifier(LEXICON, vocabulary={"good": 3, "bad": 1, "fine": 0, "awful": 5}).fit()
    np.testing.assert_array_equal(model.coef_, [[1, -1, 0, 1, 0, -2]])


def test_the_columns_of_a_frame_have_names():
    frame = pd.DataFrame(np.eye(5), columns=NAMES)
    model = LexiconClassifier(LEXICON).fit(frame, ["down", "up", "up", "down", "up"])
    assert model.predict(frame).tolist() == ["down", "up", "up", "down", "up"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[NAMES[::-1]])


@pytest.mark.parametrize("vectorizer", [CountVectorizer, TfidfVectorizer])
def test_a_vectoriser_that_is_not_fitted_looks_for_the_lexicon(vectorizer):
    given_one = vectorizer(ngram_range=(1, 2))
    lexicon = {"up": ["good", "not bad"], "down": ["bad", "not good"]}
    model = LexiconClassifier({**lexicon, "up": {"good": 1, "not bad": 2}}, vectorizer=given_one).fit(TEXTS)
    assert model.predict(["not bad", "bad", "good"]).tolist() == ["up", "down", "up"]
    assert model.unknown_words_ == []
    with pytest.raises(NotFittedError):
        given_one.get_feature_names_out()  # it is left alone


def test_a_fitted_vectoriser_is_used_as_it_is():
    vectorizer = CountVectorizer().fit(TEXTS)
    model = LexiconClassifier(LEXICON, vectorizer=vectorizer).fit()
    assert model.vectorizer_ is vectorizer
    assert model.predict(TEXTS).tolist() == ["up", "down", "down", "up", "down"]


@pytest.mark.parametrize("vectorizer", [fastlin.text.CountVectorizer, fastlin.text.TfidfVectorizer])
def test_words_marked_by_a_negation(vectorizer):
    lexicon = {"up": ["good", "NOT_bad"], "down": ["bad", "NOT_good"]}
    model = LexiconClassifier(lexicon, vectorizer=vectorizer(negation=True)).fit(TEXTS)
    assert model.predict(["not good", "not bad", "good", "bad"]).tolist() == ["down", "up", "up", "down"]
    assert model.unknown_words_ == []


def test_words_that_cannot_be_found_are_listed():
    words = ["good", "Fine", "so-so", "x", *(f"w {i}" for i in range(9))]
    model = LexiconClassifier({"up": words, "down": ["bad"]}, vectorizer=CountVectorizer())
    with pytest.warns(UserWarning, match=r"12 of the 14 words .*: 'Fine', 'so-so', 'x', 'w 0', 'w 1', …"):
        model.fit()
    assert model.unknown_words_ == words[1:]
    with pytest.warns(UserWarning, match=r"1 of the 4 words .*: 'awful'$"):
        LexiconClassifier(LEXICON, vocabulary=["good", "fine", "bad"]).fit()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counted()
    with pytest.raises(ValueError, match="none of the words"):
        LexiconClassifier({"up": ["A"], "down": ["B!"]}, vectorizer=CountVectorizer()).fit()


# --- scikit-learn ----------------------------------------------------------------------------------------------------


def test_the_example_runs():
    assert not doctest.testmod(module).failed


def test_clones_pickles_searches():
    model = LexiconClassifier(LEXICON, vectorizer=CountVectorizer())
    y = ["up", "down", "down", "up", "down"] * 4
    fitted = clone(model).fit(TEXTS * 4, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(TEXTS), fitted.decision_function(TEXTS))
    assert cross_val_score(model, TEXTS * 4, y, cv=2).min() == 1.0
    search = GridSearchCV(model, {"vectorizer__binary": [True, False], "prior": [None, [0.9, 0.1]]}, cv=2)
    assert search.fit(TEXTS * 4, y).best_score_ == 1.0
    assert "LexiconClassifier" in repr(model)


def test_numbers_are_labels_too():
    model = LexiconClassifier({1: ["good"], -1: ["bad"]}, vocabulary=["bad", "good"]).fit()
    assert model.predict([[1, 0], [0, 1]]).tolist() == [-1, 1]
    assert model.classes_.dtype.kind == "i"


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lexicon, options, error, match",
    [
        (["good"], {}, TypeError, "dict from labels"),
        ({}, {}, ValueError, "label"),
        ({"up": ["good"]}, {}, ValueError, "two labels"),
        ({"up": "good", "down": ["bad"]}, {}, TypeError, r"lexicon\['up'\].*'good'"),
        ({"up": 3, "down": ["bad"]}, {}, TypeError, r"lexicon\['up'\]"),
        ({"up": ["good", 3], "down": ["bad"]}, {}, TypeError, "holds 3; words are strings"),
        ({"up": {"good": np.nan}, "down": ["bad"]}, {}, ValueError, r"\['good'\]"),
        ({"up": {"good": "very"}, "down": ["bad"]}, {}, TypeError, r"\['good'\]"),
        ({"up": ["good"], 3: ["bad"]}, {}, TypeError, "one kind"),
        (LEXICON, {"vocabulary": None}, ValueError, "no names"),
        (LEXICON, {"vectorizer": CountVectorizer()}, ValueError, "not both"),
        (LEXICON, {"vocabulary": None, "vectorizer": HashingVectorizer()}, TypeError, "does not tell words"),
        (LEXICON, {"vocabulary": None, "vectorizer": TfidfVectorizer()}, ValueError, "give raw texts"),
        (LEXICON, {"vocabulary": "good"}, TypeError, "vocabulary"),
        (LEXICON, {"vocabulary": 3}, TypeError, "vocabulary"),
        (LEXICON, {"vocabulary": ["good", "good"]}, ValueError, "twice"),
        (LEXICON, {"vocabulary": {"good": 0, "bad": 0}}, ValueError, "each of them once"),
        (LEXICON, {"vocabulary": {"good": -1}}, ValueError, "column numbers"),
        (LEXICON, {"vocabulary": {"good": "a"}}, ValueError, "column numbers"),
        (LEXICON, {"vocabulary": {}}, ValueError, "column numbers|empty"),
        (LEXICON, {"vocabulary": []}, ValueError, "empty"),
        (LEXICON, {"prior": [0.5]}, ValueError, "2 numbers"),
        (LEXICON, {"prior": [0, 0]}, ValueError, "not all 0"),
        (LEXICON, {"prior": [-1, 2]}, ValueError, "below 0"),
        (LEXICON, {"prior": {"sideways": 1}}, ValueError, "'sideways'"),
        (LEXICON, {"prior": {"up": np.nan}}, ValueError, "NaN"),
        (LEXICON, {"n_jobs": 0}, ValueError, "n_jobs"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_is_refused(lexicon, options, error, match):
    with pytest.raises(error, match=match):
        LexiconClassifier(lexicon, **{"vocabulary": NAMES, **options}).fit()


def test_what_does_not_fit_is_refused():
    with pytest.raises(NotFittedError):
        LexiconClassifier(LEXICON, vocabulary=NAMES).predict([[0] * 5])
    with pytest.raises(NotFittedError):
        LexiconClassifier(LEXICON, vocabulary=NAMES).coef_  # noqa: B018
    with pytest.raises(ValueError, match=r"4 features.*5 features"):
        counted().predict([[0] * 4])
    with pytest.raises(ValueError, match="NaN"):
        counted().predict([[np.nan] * 5])
    with pytest.raises(ValueError, match="string object received"):
        LexiconClassifier(LEXICON, vectorizer=CountVectorizer()).fit().predict("good")
    bad = sparse.csr_matrix(np.eye(5))
    bad.indices[0] = 9
    with pytest.raises(ValueError, match="index 9"):
        counted().predict(bad)
