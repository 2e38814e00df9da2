"""Intercepts that dual ascent left far away, where neither gradients nor curvatures say how far they have to go."""

import numpy as np
import pytest
import scipy.sparse as sp

from fastlin.optim.certificate import duality_gap
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.solvers.logistic_dual import _settle_intercepts
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime.parallel import WorkerPool
from fastlin.validation import as_rows


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("far", [-1000.0, -300.0, 40.0, 1000.0])
def test_intercepts_come_back_from_wherever_they_are(n_labels, far):
    rng = np.random.default_rng(n_labels)
    X, codes = sp.csr_array(rng.poisson(0.3, (300, 12)).astype(float)), np.zeros(300, np.int32)
    codes[: 3 * n_labels] = np.arange(3 * n_labels) % n_labels  # the others are rare
    width = 1 if n_labels == 2 else n_labels
    with WorkerPool(1) as workers:
        parts = Partitions.single(Design.of(as_rows(X)), MultinomialLikelihood(codes, np.empty(0), width))
        prior = WeightPrior(np.ones(12), np.empty(0))
        problem = LogLinearProblem(parts, DenseWeights(12, width), prior, True, workers)
        theta, gradient = np.zeros(problem.size), np.empty(problem.size)
        theta[: problem.n_weights] = 0.1 * rng.normal(size=problem.n_weights)
        near, near_gradient = theta.copy(), np.empty(problem.size)
        best = _settle_intercepts(problem, near, near_gradient, problem.value(near, near_gradient))
        theta[-1] = far
        found = _settle_intercepts(problem, theta, gradient, problem.value(theta, gradient))
        assert np.abs(gradient[problem.n_weights :]).max() < 1e-6 * len(codes)
        assert found <= best * (1 + 1e-9)
        theta[-1] += far  # and the gap does not hang on where the intercepts are
        problem.value(theta, gradient)
        gap = duality_gap(problem, theta, gradient, 1e-6 * found)
        assert gap <= 1.01 * (problem.value(theta, gradient) - found) + duality_gap(problem, near, near_gradient, 1e-9)
