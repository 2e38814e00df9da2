"""The rows' part of the quadratic model of a log-linear loss: its slopes and curvatures by the scores, [K, n].

See `engine/solvers/proximal_newton.pyx` for the formulas.
"""

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.solvers import proximal_newton as kernels
from fastlin.optim.label_rows import LabelRows
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.model_rows import ModelRows
from fastlin.optim.partitions import Partition
from fastlin.runtime.made_once import made_once

Vector = NDArray[np.float64]
Blocks = list[tuple[int, int]]
LARGEST_STEP = 5.0  # of a weight's part of a score, where the curvature is too flat to say how far to go
UNSURE_SHARE = 0.01  # of λ₁: what a slope may become all the same where the steepest subgradient is smaller
LEAST_CURVATURE = 1e-30  # of a row of weight 1, where nothing says how far to go


def missing_curvature(
    curvature: Vector, steepest: Vector, l1: Vector | float, largest: Vector | float, lightest: float = 1.0
) -> Vector:
    """What has to be added to the curvature of weights, so that no step is too large for their largest values."""
    least = np.maximum(np.abs(steepest), UNSURE_SHARE * l1) * largest / LARGEST_STEP
    return np.asarray(np.maximum(LEAST_CURVATURE * lightest, least - curvature))


class BinaryRows:
    """Rows of two labels in one column: v = r + hu, where the intercept is at its optimum after every visit."""

    steady_share = 0.01  # of the weights that are not zero: so few come or go where descent has found out which are

    def __init__(self, part: Partition, problem: LogLinearProblem, intercept_l1: float) -> None:
        self.variances = part.likelihood.variances(part.map(problem.model.shares)).reshape(1, -1)
        self.v = part.map(problem.residual).reshape(1, -1).copy()
        self.bias = np.zeros(problem.size - problem.n_weights)
        curvature, slopes = self.sum_intercepts(self.variances), self.sum_intercepts(self.v)
        self.intercept_ridge = missing_curvature(curvature, slopes, intercept_l1, 1.0)
        self.intercept_curvature = curvature + self.intercept_ridge
        self.total = float(self.intercept_curvature.sum())

    def eliminate(self, curvature: Vector, cross: Vector) -> Vector:
        """The curvature of each weight where the intercept follows it."""
        self.cross = cross
        return np.maximum(curvature - cross**2 / self.total, 0) if self.total > 0 else curvature

    def descend(
        self, coordinates: kernels.WeightPlaces, blocks: Blocks, of: kernels.Penalties, z: Vector
    ) -> list[tuple[int, float]]:
        """Visit every weight."""
        h, v = self.variances[0], self.v[0]
        slope = v.sum() + float(self.intercept_ridge @ self.bias)
        bias = np.array([-slope / self.total if self.total > 0 else 0.0])
        cross, total = self.cross, self.total
        found = [kernels.descend_binary(coordinates, *block, of, h, cross, total, v, z, bias) for block in blocks]
        v += bias[0] * h
        self.bias += bias[: len(self.bias)]
        return found

    def sum_intercepts(self, of_rows: Vector) -> Vector:
        """Sums over the rows for every intercept there is."""
        return of_rows.sum(axis=1)[: len(self.bias)]

    def intercept_steps(self) -> Vector:
        """What the model's optimum changes the intercepts by."""
        return self.bias

    def slopes(self) -> Vector:
        """The derivatives of the model's loss by the scores."""
        return self.v

    def product(self, u: Vector) -> Vector:
        """The model's curvature times a change of the scores."""
        return self.variances * u

    def curve(self, by_row: ModelRows, steps: Vector) -> Vector:
        """The same of steps of the weights and intercepts, for these."""
        return by_row.curve(self.variances, steps)

    def advance(self, u: Vector) -> None:
        """Take in a change of the scores."""
        self.v += self.variances * u


class SoftmaxRows:
    """Rows of K labels: v = r/w + pu and s = Σ_k p_k u_k."""

    steady_share = 0.01

    def __init__(self, part: Partition, problem: LogLinearProblem, intercept_l1: float) -> None:
        labels = part.labels
        self.variances = np.ascontiguousarray(labels.variances(part.map(problem.model.shares)).T)
        self.weights, self.w = labels.weights, labels.row_weights()[:, 0]
        self.pairs = np.empty((problem.width, len(labels.codes), 2))  # v and p of a row are read together
        self.v, self.p = self.pairs[:, :, 0], self.pairs[:, :, 1]
        self.v[:] = (part.map(problem.residual) / labels.row_weights()).T
        self.p[:] = self.v
        self.p[labels.codes, np.arange(len(labels.codes))] += 1
        self.s = np.zeros(len(labels.codes))
        self.bias = np.zeros(problem.size - problem.n_weights)
        curvature, slopes = self.sum_intercepts(self.variances), self.sum_intercepts(self.slopes())
        self.intercept_ridge = missing_curvature(curvature, slopes, intercept_l1, 1.0)
        self.intercept_curvature = curvature + self.intercept_ridge

    def eliminate(self, curvature: Vector, cross: Vector) -> Vector:  # noqa: ARG002 - two labels' rows ask for more
        """The curvature of each weight, beside which the intercepts stay where they are."""
        return curvature

    def descend(
        self, coordinates: kernels.WeightPlaces, blocks: Blocks, of: kernels.Penalties, z: Vector
    ) -> list[tuple[int, float]]:
        """Visit every intercept, and every weight."""
        for k in range(len(self.bias)):
            slope = float(self.w @ (self.v[k] - self.p[k] * self.s)) + self.intercept_ridge[k] * self.bias[k]
            step = -slope / self.intercept_curvature[k]
            self.bias[k] += step
            self.v[k] += step * self.p[k]
            self.s += step * self.p[k]
        rows = self.weights, self.pairs, self.s, z
        return [kernels.descend_softmax(coordinates, *block, of, *rows) for block in blocks]

    def sum_intercepts(self, of_rows: Vector) -> Vector:
        """Sums over the rows for every intercept there is."""
        return of_rows.sum(axis=1)[: len(self.bias)]

    def intercept_steps(self) -> Vector:
        """What the model's optimum changes the intercepts by, zero on average: a shift of all changes nothing."""
        return self.bias - self.bias.mean() if len(self.bias) else self.bias

    def slopes(self) -> Vector:
        """The derivatives of the model's loss by the scores."""
        return self.w * (self.v - self.p * self.s)

    def product(self, u: Vector) -> Vector:
        """The model's curvature times a change of the scores."""
        pu = self.p * u
        return self.w * (pu - self.p * pu.sum(axis=0))

    def curve(self, by_row: LabelRows, steps: Vector) -> Vector:
        """The same of steps of the weights and intercepts, for these."""
        return by_row.curve(self.weights, self.probabilities, steps)

    @made_once
    def probabilities(self) -> Vector:
        """p, [n, K]."""
        return np.ascontiguousarray(self.p.T)

    def advance(self, u: Vector) -> None:
        """Take in a change of the scores."""
        pu = self.p * u
        self.v += pu
        self.s += pu.sum(axis=0)
