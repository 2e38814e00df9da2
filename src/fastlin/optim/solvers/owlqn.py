"""An L1 term λ₁ Σ|θ| beside a smooth f: within an orthant it is linear (Andrew & Gao 2007).

The pseudo-gradient is the steepest of the subgradients; a step that would cross zero stops there.
"""

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.optim.log_linear_problem import Objective

Vector = NDArray[np.float64]


def pseudo_gradient(problem: Objective, theta: Vector, gradient: Vector) -> Vector:
    """The subgradient of least norm of f + λ₁‖θ‖₁, the gradient of f where there is no L1 term."""
    n = problem.n_weights
    if problem.prior.l1 == 0:
        return gradient
    steepest = np.empty(problem.size)
    steepest[n:] = gradient[n:]
    weights, slopes = theta[:n], gradient[:n]
    if problem.prior.groups is not None:
        steepest[:n] = problem.prior.groups.steepest(weights, slopes)
        return steepest
    l1 = np.atleast_1d(np.asarray(problem.prior.l1_of(slice(n)), np.float64))

    def work(piece: slice) -> None:
        own = slice(piece.start, min(piece.stop, n))
        if own.start < n:
            same = l1 if len(l1) == 1 else l1[own]
            vector_ops.pseudo_gradient(weights[own], slopes[own], same, steepest[own])

    problem.pieces.map(work)
    return steepest


def choose_orthant(problem: Objective, theta: Vector, steepest: Vector) -> Vector:
    """The signs of the weights; a weight at zero may go where the steepest descent leads."""
    n = problem.n_weights
    return np.where(theta[:n] == 0, -np.sign(steepest[:n]), np.sign(theta[:n]))


def project_to_orthant(problem: Objective, theta: Vector, orthant: Vector) -> None:
    """Weights outside the orthant become zero."""
    weights = theta[: problem.n_weights]
    weights[weights * orthant <= 0] = 0


def align_direction(problem: Objective, direction: Vector, theta: Vector, steepest: Vector) -> None:
    """Leave out what takes weights from zero against the steepest descent: metrics know nothing of the orthants.

    Where that leaves no descent, all that goes against it is left out, of weights that are not zero, too.
    """
    n = problem.n_weights
    against = direction[:n] * steepest[:n] > 0
    direction[:n][against & (theta[:n] == 0)] = 0
    if not problem.pieces.dot(direction, steepest) < 0:
        direction[:n][against] = 0


def l1_penalty(problem: Objective, theta: Vector) -> float:
    """λ₁ ‖θ‖₁ over the weights."""
    return problem.prior.l1_penalty(theta[: problem.n_weights])


def stays_at_zero(problem: Objective, theta: Vector, steepest: Vector) -> NDArray[np.bool_]:
    """The weights at zero that the L1 term keeps there."""
    rest = np.zeros(problem.size, bool)
    n = problem.n_weights
    rest[:n] = (theta[:n] == 0) & (steepest[:n] == 0)
    return rest
