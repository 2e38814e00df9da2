"""A parameter that cannot be is refused by its name, before anything is learnt."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fastlin import LogisticRegression, SemiSupervisedNB
from fastlin.select import SelectFeatures
from fastlin.sequence import CRF, HMM, StructuredPerceptron
from support.estimators import ONLINE, make, refused, text_like

PARAMETERS = [
    ("sgd", {"loss": "log_los"}, "(?i)did you mean.*log_loss"),
    ("sgd", {"loss": "hinje"}, "(?i)did you mean.*hinge"),
    ("sgd", {"penalty": "l3"}, "penalty"),
    ("sgd", {"penalty": "elastic_net"}, "(?i)did you mean.*elasticnet"),
    ("sgd", {"learning_rate": "adagrade"}, "(?i)did you mean.*adagrad"),
    ("sgd", {"sampling": "shufle"}, "(?i)did you mean.*shuffle"),
    ("sgd", {"alpha": -1.0}, "alpha"),
    ("sgd", {"alpha": 0.0}, "alpha"),
    ("sgd", {"l1_ratio": 1.5}, "l1_ratio"),
    ("sgd", {"eta0": 0.0, "learning_rate": "constant"}, "eta0"),
    ("sgd", {"batch_size": 0}, "batch_size"),
    ("sgd", {"batch_size": 2.5}, "batch_size"),
    ("sgd", {"penalty": "l1", "average": True}, "average"),
    ("sgd", {"penalty": "elasticnet", "average": 3}, "average"),
    ("sgd", {"penalty": "l1", "learning_rate": "pegasos", "project": True}, "project"),
    ("sgd", {"learning_rate": "constant", "eta0": 1.0, "alpha": 1.0}, "eta|alpha"),
    ("sgd", {"learning_rate": "constant", "eta0": 2.0, "alpha": 1.0}, "eta|alpha"),
    *[
        (name, options, match)
        for name in ONLINE
        for options, match in [
            ({"max_iter": 0}, "max_iter"),
            ({"tol": "small"}, "tol"),
            ({"dtype": "float16"}, "dtype"),
            ({"dtype": "flaot32"}, "dtype"),
            ({"n_jobs": "many"}, "n_jobs"),
            ({"random_state": "seed"}, "random_state"),
            ({"average": -1}, "average"),
            ({"class_weight": "balance"}, "class_weight"),
            ({"callback": 3}, "callback"),
            ({"class_weight": {0: -1.0}}, "class_weight"),
            ({"class_weight": {0: np.nan}}, "class_weight"),
            ({"validation_fraction": 1.5, "early_stopping": True}, "validation_fraction"),
            ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ]
    ],
    ("passive aggressive", {"C": 0}, "C"),
    ("passive aggressive", {"C": -1.0}, "C"),
    ("mira", {"C": np.nan}, "C"),
    ("passive aggressive", {"loss": "squared_hing"}, "(?i)did you mean.*squared_hinge"),
    ("perceptron", {"eta0": -1.0}, "eta0"),
    ("perceptron", {"penalty": "L2"}, "penalty.*l2"),
]


@pytest.mark.parametrize("name, options, match", PARAMETERS, ids=lambda value: str(value)[:50])
def test_parameters_that_cannot_be_are_refused_by_name(name, options, match):
    X, y = text_like()
    model = make(name, **options)
    for method in ("fit", "partial_fit"):
        with refused(model, match=match):
            getattr(model, method)(X, y)
    model = make(name).fit(X, y).set_params(**options)
    for method in ("fit", "partial_fit") if "random_state" not in options else ("fit",):  # drawn from once
        with refused(model, match=match):
            getattr(model, method)(X, y)


@pytest.mark.parametrize("flags", [np.array([1, 2]), np.array([])])
def test_an_array_has_no_truth_value(flags):
    X, y = text_like()
    model = LogisticRegression(fit_intercept=flags)
    with refused(model, TypeError, match="fit_intercept must be True or False, got array"):
        model.fit(X, y)
    tagger = HMM(order=np.array([1, 2]), n_components=2)
    with refused(tagger, ValueError, match="order must be 1 or 2, got array"):
        tagger.fit([["a", "b"]])


@pytest.mark.parametrize("kind", [np.float32, np.float64, Fraction])
def test_numbers_of_any_type_are_the_same_number(kind):
    X, y = text_like()
    half = [LogisticRegression(C=C).fit(X, y).coef_ for C in (0.5, kind(0.5))]
    np.testing.assert_array_equal(*half)
    chosen = [SelectFeatures(n_features=2, C=C).fit(X, y).estimator_.coef_ for C in (0.5, kind(0.5))]
    np.testing.assert_array_equal(*chosen)
    partly = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    learnt = [SemiSupervisedNB(unlabeled_weight=weight).fit(X, partly).feature_log_prob_ for weight in (0.5, kind(0.5))]
    np.testing.assert_array_equal(*learnt)


def test_a_whole_number_too_large_for_numpy_is_a_strength():
    X, y = text_like()
    with pytest.warns(ConvergenceWarning, match="Without a prior|failed to converge"):
        LogisticRegression(C=10**30, max_iter=1, tol=0, solver="lbfgs").fit(X, y)


def test_a_grid_of_numpy_numbers_fits_taggers():
    words, labels = (
        [["a", "dog", "ran"], ["a", "cat", "ran"], ["dogs", "ran"]] * 9,
        [list("dnv"), list("dnv"), list("nv")] * 9,
    )
    for plain, of_numpy in (
        ({"order": 2, "c1": 0.1, "c2": 0.1}, {"order": np.int64(2), "c1": np.float64(0.1), "c2": np.float64(0.1)}),
        ({"c2": 0.5}, {"order": np.int8(1), "c2": np.float16(0.5)}),
        (
            {"solver": "sgd", "batch_size": 7, "c2": 0.5},
            {"solver": "sgd", "batch_size": np.uint8(7), "c2": np.float32(0.5)},
        ),
    ):
        learnt = [CRF(**options, max_iter=5, tol=1, random_state=0).fit(words, labels) for options in (plain, of_numpy)]
        np.testing.assert_array_equal(*[model.transitions_ for model in learnt])
        assert learnt[0].objective_ == learnt[1].objective_
    learnt = [StructuredPerceptron(order=order, random_state=0).fit(words, labels) for order in (2, np.int64(2))]
    np.testing.assert_array_equal(*[model.transitions_ for model in learnt])
