"""LogCountRatio: the naive twin, and what it is for."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from fastlin import MultinomialNB
from fastlin.text import LogCountRatio
from oracles import features as reference
from support.estimators import text_like
from support.strategies import labelled, named, weighted


@given(
    problem=labelled(max_labels=4, values=("counts",)),
    alpha=st.floats(1e-3, 10),
    binary=st.booleans(),
    kind=st.sampled_from(["numbers", "strings"]),
)
def test_equals_its_naive_twin(problem, alpha, binary, kind):
    X, y, n_labels = problem
    y = named(y, kind)
    model = LogCountRatio(alpha, binary).fit(X, y)
    ratio, expected = reference.log_count_ratio(X.toarray(), y.tolist(), alpha, binary)
    assert model.log_ratio_.shape == (1 if n_labels == 2 else n_labels, X.shape[1])
    np.testing.assert_allclose(model.log_ratio_, ratio, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.transform(X).toarray(), expected, rtol=1e-9, atol=1e-11)
    assert model.classes_.tolist() == sorted(set(y.tolist()))


@given(problem=labelled(values=("counts",)), data=st.data())
def test_a_weight_is_so_many_rows(problem, data):
    X, y, _ = problem
    weights = np.ceil(data.draw(weighted(len(y))))
    weights[:1] = 1
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    if len(set(y[repeated])) < len(set(y)):
        return
    one = LogCountRatio().fit(X, y, sample_weight=weights).log_ratio_
    np.testing.assert_allclose(one, LogCountRatio().fit(X[repeated], y[repeated]).log_ratio_, rtol=1e-12, atol=1e-14)


def test_the_ratio_is_the_weight_of_naive_bayes():
    X, y = text_like(n_labels=2)
    model = MultinomialNB().fit(X, y)
    ratio = LogCountRatio(binary=False).fit(X, y).log_ratio_
    np.testing.assert_allclose(ratio[0], model.feature_log_prob_[1] - model.feature_log_prob_[0], rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_no_bit(n_jobs):
    X, y = text_like(n_rows=500, n_labels=3)
    one = LogCountRatio().fit(X, y).log_ratio_
    np.testing.assert_array_equal(LogCountRatio(n_jobs=n_jobs).fit(X, y).log_ratio_, one)


def test_a_linear_model_starts_from_naive_bayes():
    X, y = text_like(n_rows=200, n_labels=2)
    scaled = LogCountRatio().fit_transform(X, y)
    assert (scaled.sum(axis=1).A1 > 0).mean() == pytest.approx(0.5, abs=0.2)  # w = 1 is naive Bayes
    assert Theirs().fit(scaled, y).score(scaled, y) > 0.8


def test_a_ratio_for_each_label_is_what_one_against_the_rest_is_for():
    """The warning of more than two labels names a way that gives each label the columns of its own block alone."""
    X, y = text_like(n_rows=200, n_labels=4)
    with pytest.warns(UserWarning, match=r"4 blocks .* OneVsRestClassifier\(make_pipeline\(LogCountRatio\(\)"):
        ratio = LogCountRatio().fit(X, y)
    alone = OneVsRestClassifier(make_pipeline(LogCountRatio(), Theirs())).fit(X, y)
    assert [len(one[0].log_ratio_) for one in alone.estimators_] == [1] * 4
    for one, row in zip(alone.estimators_, ratio.log_ratio_, strict=True):
        np.testing.assert_allclose(one[0].log_ratio_[0], row, rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogCountRatio().fit(X, y % 2)


def test_the_names():
    X = [[1, 0], [0, 1], [1, 1]]
    assert LogCountRatio().fit(X, [0, 1, 1]).get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    names = LogCountRatio().fit(X, ["x", "y", "z"]).get_feature_names_out(["a", "b"])
    assert names.tolist() == ["x: a", "x: b", "y: a", "y: b", "z: a", "z: b"]


@pytest.mark.parametrize(
    "options, y, match",
    [
        ({"alpha": 0}, [0, 1], "alpha"),
        ({"alpha": np.nan}, [0, 1], "alpha"),
        ({}, [0, 0], "greater than one"),
        ({}, [0, 1, 1], "3"),
        ({}, [0.5, 1.5], "label"),
        ({"n_jobs": 0}, [0, 1], "n_jobs"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(options, y, match):
    with pytest.raises(ValueError, match=match):
        LogCountRatio(**options).fit([[1, 0], [0, 1]], y)


def test_counts_are_not_negative():
    with pytest.raises(ValueError, match="Negative values in data"):
        LogCountRatio().fit([[1, -1], [0, 1]], [0, 1])
    with pytest.raises(ValueError, match="Negative values in data"):
        LogCountRatio().fit([[1, 1], [0, 1]], [0, 1]).transform([[-1, 0]])
