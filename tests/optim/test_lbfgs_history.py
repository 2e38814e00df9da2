"""L-BFGS among some of the weights: the pairs' parts that belong to them are pairs of a smaller problem."""

import numpy as np
import pytest

from fastlin.optim.chunked_vectors import ChunkedVectors
from fastlin.optim.solvers.lbfgs import LBFGSHistory
from fastlin.runtime.parallel import WorkerPool

FREE = np.array([0, 2, 3, 7, 8])


def history(n, scale, steps, hessian):
    """Steps in a quadratic of this Hessian."""
    found = LBFGSHistory(scale, np.float64, ChunkedVectors(n, WorkerPool(1)), 4)
    for step in steps:
        found.add(step, hessian @ step, np.zeros(n), np.zeros(n))
        found.direction(step)  # which takes the newest pair's products
    return found


@pytest.mark.parametrize("rests", [False, True])
def test_the_direction_among_some_weights_is_that_of_their_own_problem(rests):
    rng = np.random.default_rng(3)
    root = rng.normal(size=(10, 10))
    hessian, scale, steps = root @ root.T + np.eye(10), rng.uniform(0.5, 2.0, 10), rng.normal(size=(3, 10))
    gradient, free = rng.normal(size=10), FREE if rests else np.arange(10)
    if rests:
        steps[:, np.setdiff1d(np.arange(10), FREE)] = 0
    own = history(len(free), scale[free], steps[:, free], hessian[np.ix_(free, free)])
    expected = np.zeros(10)
    expected[free] = own.direction(gradient[free])
    found = history(10, scale, steps, hessian).direction_among(free, gradient)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert found @ gradient < 0
