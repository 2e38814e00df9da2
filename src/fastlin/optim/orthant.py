"""An L1 term λ₁ Σ|θ| beside a smooth f: within an orthant it is linear (Andrew & Gao 2007).

The pseudo-gradient is the steepest of the subgradients; a step that would cross zero stops there.
"""

import numpy as np
from numpy.typing import NDArray

from fastlin.optim.problem import Problem

Vector = NDArray[np.float64]


def pseudo_gradient(problem: Problem, theta: Vector, gradient: Vector) -> Vector:
    """The subgradient of least norm of f + λ₁‖θ‖₁, the gradient of f where there is no L1 term."""
    l1, n = problem.prior.l1, problem.n_weights
    if l1 == 0:
        return gradient
    steepest = gradient.copy()
    weights, slopes = theta[:n], gradient[:n]
    at_zero = np.sign(slopes) * np.maximum(np.abs(slopes) - l1, 0)
    steepest[:n] = np.where(weights == 0, at_zero, slopes + l1 * np.sign(weights))
    return steepest


def project(problem: Problem, theta: Vector, orthant: Vector) -> None:
    """Weights outside the orthant become zero."""
    n = problem.n_weights
    theta[:n][theta[:n] * orthant[:n] < 0] = 0


def absolute(problem: Problem, theta: Vector) -> float:
    """λ₁ ‖θ‖₁ over the weights."""
    return problem.prior.l1 * float(np.abs(theta[: problem.n_weights]).sum())
