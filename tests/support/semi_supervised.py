"""What the tests of semi-supervised naive Bayes share."""

import numpy as np

from fastlin import SemiSupervisedNB
from support.estimators import assert_same_bits

LEARNT = ("class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_", "classes_")


def iterated(n_iter, **options):
    """So many iterations, converged or not."""
    return SemiSupervisedNB(**{"tol": 0, "max_iter": n_iter, "random_state": 0, **options})


def partly(y, seed=0, share=0.6):
    """Labels of which so many are taken away; one of each stays."""
    rng, y = np.random.default_rng(seed), np.array(y)
    gone = rng.random(len(y)) < share
    gone[np.unique(y, return_index=True)[1]] = False
    return np.where(gone, -1, y)


def assert_same(one, other):
    """Every number that was learnt, bit for bit."""
    assert_same_bits(one, other)
    for name in (*LEARNT, "component_count_", "component_classes_", "bound_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def assert_close(one, other, rtol=1e-9):
    for name in (*LEARNT, "component_count_", "bound_"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-9, err_msg=name)
