"""Information gain and χ²: scikit-learn's numbers, any number of labels, any number of threads."""

import numpy as np
import pytest
import sklearn.feature_selection
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import SelectKBest

from fastlin.select import chi2, information_gain
from oracles import feature_selection as reference
from support.estimators import random_sparse, text_like
from support.strategies import labelled, weighted


@given(labelled(values=("counts",)))
def test_chi2_is_scikit_learns(data):
    X, y, _ = data
    X.sum_duplicates()
    for ours, theirs in zip(chi2(X, y), sklearn.feature_selection.chi2(X, y), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@given(labelled(values=("counts",)), st.data())
def test_information_gain_is_entropy_less_conditional_entropy(data, draw):
    X, y, _ = data
    weights = draw.draw(weighted(len(y)))
    if len(np.unique(y[weights > 0])) < 2:
        return
    np.testing.assert_allclose(information_gain(X, y), reference.information_gain(X.toarray(), y), atol=1e-12)
    weighted_gains = information_gain(X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted_gains, reference.information_gain(X.toarray(), y, weights), atol=1e-12)


@pytest.mark.parametrize("n_labels", [2, 3, 20])
def test_information_gain_is_scikit_learns_mutual_information_of_presence(n_labels):
    X, y = text_like(n_rows=200, n_labels=n_labels)
    theirs = sklearn.feature_selection.mutual_info_classif(X.toarray() > 0, y, discrete_features=True)
    np.testing.assert_allclose(information_gain(X, y), theirs, atol=1e-12)


@pytest.mark.parametrize("score", [information_gain, chi2])
def test_scores_serve_scikit_learns_selectors(score):
    X, y = text_like(n_rows=120, n_labels=3)
    selector = SelectKBest(score, k=5).fit(X, y)
    assert selector.transform(X).shape == (120, 5)
    if score is chi2:
        theirs = SelectKBest(sklearn.feature_selection.chi2, k=5).fit(X, y)
        np.testing.assert_array_equal(selector.get_support(), theirs.get_support())


@pytest.mark.parametrize("score", [information_gain, chi2])
def test_a_row_that_weighs_two_is_two_rows(score):
    X, y = text_like()
    weights = np.random.default_rng(0).integers(0, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    np.testing.assert_allclose(score(X, y, sample_weight=weights), score(X[repeated], y[repeated]), atol=1e-12)


@pytest.mark.parametrize("score", [information_gain, chi2])
def test_threads_change_no_bit(score):
    X, y = random_sparse(n_rows=3000, n_features=500, row_length=20, n_labels=7)
    np.abs(X.data, out=X.data)
    np.testing.assert_array_equal(score(X, y, n_jobs=3), score(X, y, n_jobs=1))


@pytest.mark.parametrize("score", [information_gain, chi2])
def test_bad_input_is_refused(score):
    X, y = text_like()
    with pytest.raises(ValueError, match=r"number of classes.*one"):
        score(X, np.zeros(len(y), int))
    with pytest.raises(ValueError, match="weight of every row is zero"):
        score(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="has 59"):
        score(X, y[1:])
    X.data[X.indptr[7]] = -2
    with pytest.raises(ValueError, match=r"Negative values.*-2 at row 7"):
        score(X, y)
