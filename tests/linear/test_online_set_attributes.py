"""What users set on an online learner is proved, and what they write into `coef_` is learnt on from."""

import copy

import numpy as np
import pytest
from scipy import sparse

from fastlin import Perceptron, SGDClassifier
from support.estimators import text_like


@pytest.mark.parametrize("call", ["predict", "decision_function", "partial_fit", "sparsify", "coef_"])
@pytest.mark.parametrize(
    "name, value",
    [("classes_", np.arange(9)), ("classes_", [0, 1, 2]), ("n_features_in_", 2**62), ("n_features_in_", 3)],
)
def test_what_does_not_fit_the_weights_is_refused(call, name, value):
    X, y = text_like(n_labels=3)
    model = Perceptron().partial_fit(X, y)
    setattr(model, name, value)
    with pytest.raises(ValueError, match=name):
        {
            "predict": lambda: model.predict(X),
            "decision_function": lambda: model.decision_function(X),
            "partial_fit": lambda: model.partial_fit(X, y),
            "sparsify": model.sparsify,
            "coef_": lambda: model.coef_,
        }[call]()


@pytest.mark.parametrize("name", ["perceptron", "sgd-log", "sgd-averaged"])
def test_what_is_written_into_the_weights_is_learnt_on_from(name):
    makers = {
        "perceptron": Perceptron,
        "sgd-log": lambda: SGDClassifier(loss="log_loss", random_state=0),
        "sgd-averaged": lambda: SGDClassifier(average=True, random_state=0),
    }
    X, y = text_like(n_labels=3)
    X = sparse.csr_array(X.toarray() * (np.arange(X.shape[1]) != 5))  # which leaves that weight alone
    model = makers[name]().partial_fit(X, y)
    model.coef_[:, 5] = 1000.0
    assert (model.coef_[:, 5] == 1000).all()
    model.partial_fit(X[:1], y[:1])
    assert (model.coef_[:, 5] > 900).all()


def test_weights_that_somebody_holds_stay_as_they_were():
    X, y = text_like(n_labels=3)
    model = Perceptron().partial_fit(X, y)
    held, before = model.coef_, model.coef_.copy()
    model.partial_fit(X[::-1], y[::-1])
    np.testing.assert_array_equal(held, before)
    assert (model.coef_ != before).any()


def test_a_copy_learns_for_itself():
    X, y = text_like(n_labels=3)
    model = SGDClassifier(random_state=0).partial_fit(X, y)
    before, twin = model.coef_.copy(), copy.copy(model)
    twin.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("penalty", ["l2", "l1", None])
def test_l1_ratio_may_be_none(penalty):
    X, y = text_like()
    one, other = (
        SGDClassifier(penalty=penalty, l1_ratio=ratio, random_state=0, max_iter=2, tol=None).fit(X, y)
        for ratio in (None, 0.15)
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
    with pytest.raises(ValueError, match="l1_ratio"):
        SGDClassifier(penalty="elasticnet", l1_ratio=None).fit(X, y)
