"""The squared hinge of rows with one column of scores, in the place of a likelihood, and its duality gap under L1.

With z = ±1, C the weight of a row and the shortfall ξ = max(0, 1 − z s), the objective is ‖θ‖₁ + Σ C ξ². Its dual is
max Σ α − α²/4C over α ≥ 0 with |g_j| ≤ 1, g = −Σ α z x. At α = t·2Cξ, with t ≤ 1 small enough for that,

    objective − dual = (1 − t)² Σ C ξ² + Σ_j |θ_j| + g_j θ_j,

all of whose terms are at least zero.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.solvers import svm_newton
from fastlin.optim.certificate import Certificate, dual_shares, penalty_gap
from fastlin.optim.likelihoods import LabelLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem

Vector = NDArray[np.float64]
POSITIVE = np.ones(1, np.int64)  # the code of the rows with z = 1
NO_SETS, NO_FACTORS = np.empty((0, 1), np.uint8), np.empty((0, 1))  # of rows of which each has one label


@dataclass(frozen=True)
class SquaredHinge(LabelLikelihood):
    """The loss of rows whose codes say z: 1, or else −1."""

    codes: NDArray[np.int32]
    weights: Vector  # C of each row
    width: int = 1

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All but the width, in their order."""
        return self.codes, self.weights

    def loss(self, scores: Vector, start: int, stop: int, residual: Vector, shares: NDArray[np.float32]) -> float:
        """Σ C ξ² of a block of rows; leaves −2Czξ, and 1 where ξ > 0."""
        C, curvature, losses = self.weights[start:stop], np.empty_like(scores), np.empty(1)
        sides = svm_newton.Sides(self.codes[start:stop], POSITIVE, C, C, NO_SETS, NO_FACTORS)
        svm_newton.squared_hinge(scores, sides, residual, curvature, losses)
        np.greater(curvature, 0, out=shares, casting="unsafe")
        return float(losses[0])

    def curvature(
        self, scores: Vector, start: int, stop: int, shares: NDArray[np.float32], curvature: NDArray[Any]
    ) -> None:
        """2C of the rows with ξ > 0, times a change of the scores."""
        np.multiply(self._curvature_where(shares, slice(start, stop)), scores, out=curvature, casting="same_kind")

    def variances(self, shares: NDArray[np.float32]) -> Vector:
        """2C of the rows with ξ > 0."""
        return self._curvature_where(shares, slice(None))

    def _curvature_where(self, shares: NDArray[np.float32], rows: slice) -> Vector:
        return 2 * self.weights[rows, np.newaxis] * shares


class HingeCertificate(Certificate):
    """The duality gaps of a fit to the squared hinge with an L1 term."""

    def measure(self, objective: float, theta: Vector, gradient: Vector) -> float:
        """The objective less the better of the best dual value and that at θ."""
        loss = max(0.0, objective - self.problem.prior.l1_penalty(theta))
        return self.tighten(objective, hinge_gap(self.problem, loss, theta, gradient))


def hinge_gap(problem: LogLinearProblem, loss: float, theta: Vector, gradient: Vector) -> float:
    """The objective less the dual where α is scaled until it is feasible."""
    (share,) = dual_shares(problem, gradient)
    return (1 - share) ** 2 * loss + penalty_gap(problem, theta, gradient, share)
