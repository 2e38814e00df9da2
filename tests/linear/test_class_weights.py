"""Weights of labels, and labels that weigh the same."""

import inspect

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

import fastlin


def weighted_problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = np.argmax(X @ rng.normal(size=(5, 3)) + rng.normal(size=(80, 3)) / 2 - np.arange(3), 1)
    return X, y, rng.exponential(size=80) ** 2


def test_balanced_weights_balance_the_weights_of_rows_as_scikit_learns_do():
    X, y, weights = weighted_problem()
    ours = fastlin.LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=2000)
    weighs_rows = "sample_weight" in inspect.signature(compute_class_weight).parameters  # not before scikit-learn 1.7
    masses = np.bincount(y, weights)
    balanced = "balanced" if weighs_rows else dict(enumerate((masses.sum() / (3 * masses)).tolist()))
    theirs = linear_model.LogisticRegression(class_weight=balanced, tol=1e-10, max_iter=5000)
    ours.fit(X, y, sample_weight=weights)
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("model", [
    fastlin.LogisticRegression(), fastlin.LinearSVC(random_state=0), fastlin.SGDClassifier(random_state=0),
    fastlin.Perceptron(random_state=0), fastlin.LogisticRegressionCV(Cs=2, cv=2),
], ids=lambda model: type(model).__name__)  # fmt: skip
def test_balanced_is_the_weights_that_make_labels_weigh_the_same(model):
    X, y, weights = weighted_problem()
    masses = np.bincount(y, weights)
    factors = dict(enumerate((masses.sum() / (3 * masses)).tolist()))
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y, sample_weight=weights)
    by_hand = clone(model).set_params(class_weight=factors).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(balanced.coef_, by_hand.coef_)
    corpus = fastlin.Corpus(X, y, sample_weight=weights)
    np.testing.assert_allclose(clone(balanced).fit(corpus).coef_, clone(by_hand).fit(corpus).coef_, rtol=1e-9)


@pytest.mark.parametrize("model", [fastlin.LogisticRegression(), fastlin.LinearSVC(), fastlin.SGDClassifier()])
def test_weights_of_labels_that_are_not_there_are_left_aside_where_all_that_are_have_one(model):
    y = list("abab")
    clone(model).set_params(class_weight={"a": 1, "b": 2, "rare": 9}).fit(np.eye(4), y)
    with pytest.raises(ValueError, match=r"classes \['B'\] of class_weight are not labels of y, and it lacks \['b'\]"):
        clone(model).set_params(class_weight={"a": 1, "B": 2}).fit(np.eye(4), y)
