"""The engine's own exponential and logarithm, seen through the passes that use them, against 60 digits."""

import mpmath
import numpy as np
import pytest

from fastlin.engine.core import row_scores

TINY = float(np.finfo(float).tiny)


def engine_logarithm(x):
    x = np.asarray(x, dtype=float)
    logs = np.empty((len(x), 1))
    row_scores.smoothed_log_proba(x[:, None].copy(), np.zeros(len(x)), np.zeros(1), logs)
    return logs[:, 0]


def engine_softmax(scores):
    table = np.array(scores, dtype=float)
    row_scores.softmax(table, False)
    return table


def grid(low, high, n, seed):
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), n))


@pytest.mark.parametrize(
    "x",
    [
        grid(TINY, 1e308, 2000, 0),
        grid(0.5, 2.0, 2000, 1),
        1 + np.linspace(-1e-6, 1e-6, 1001),
        2.0 ** np.arange(-1022, 1024),
    ],
)
def test_the_logarithm_is_within_two_units_of_the_last_place(x):
    with mpmath.workdps(60):
        exact = np.array([float(mpmath.log(mpmath.mpf(float(value)))) for value in x])
    assert (np.abs(engine_logarithm(x) - exact) <= 2 * np.spacing(np.abs(exact))).all()


def test_the_logarithm_below_the_normal_numbers_is_the_libraries():
    x = np.array([0.0, 5e-324, 1e-310, TINY / 2, TINY])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(engine_logarithm(x), np.log(x), rtol=4e-16)


@pytest.mark.parametrize("n_labels", [2, 3, 4, 7, 8, 9, 20, 33])
@pytest.mark.parametrize("size", [1e-9, 1.0, 30.0, 700.0])
def test_the_softmax_is_exact(n_labels, size):
    scores = np.random.default_rng(n_labels).uniform(-size, size, (50, n_labels))
    found = engine_softmax(scores)
    with mpmath.workdps(60):
        for row, probabilities in zip(scores, found, strict=True):
            terms = [mpmath.exp(mpmath.mpf(float(score)) - mpmath.mpf(float(row.max()))) for score in row]
            exact = np.array([float(term / sum(terms)) for term in terms])
            near = row - row.max() > -700  # below, e^x leaves the normal numbers and is 0
            # the difference of two scores is itself rounded: half a unit of the larger, relative after the exponential
            np.testing.assert_allclose(probabilities[near], exact[near], rtol=2e-15 + size * 3e-16)
            assert (probabilities[~near] <= 1e-300).all()


def test_probabilities_add_up_and_their_logarithms_agree():
    scores = np.random.default_rng(0).normal(size=(200, 20)) * 10
    logs = scores.copy()
    row_scores.softmax(logs, True)
    found = engine_softmax(scores)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15 * 20)
    np.testing.assert_allclose(np.exp(logs), found, rtol=1e-13)


def test_impossible_labels_have_probability_zero():
    scores = np.array([[-np.inf, 0.0, -np.inf], [-1e300, 0.0, 1e300]])
    np.testing.assert_array_equal(engine_softmax(scores), [[0, 1, 0], [0, 0, 1]])
