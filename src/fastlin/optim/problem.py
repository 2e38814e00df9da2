"""A conditional log-linear model as a problem to minimise: value, gradient, Hessian products, over blocks, in threads.

    f(θ) = Σ_i w_i (log Z_i − s_iy) + ½ Σ_q (θ_q − m_q)² / σ_q²           (an L1 term, if any, is the solver's business)

Part by part of the data, forward gathers over the rows of the design, backward over its columns; the residuals of a
part lie between them, [n, K]. Vectors are flat: the weights, then the intercepts, which have no prior.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.optim.chunked_vectors import ChunkedVectors
from fastlin.optim.partitions import Partition, Partitions, PerRowArrays
from fastlin.optim.weight_layouts import WeightLayout
from fastlin.runtime import parallel

Vector = NDArray[Any]
FLOAT32_SAFE = 1e6  # up to which values, weights and precisions float32 holds their products


@dataclass(frozen=True)
class WeightPrior:
    """Gaussian and Laplacian: the inverse variance of each feature, a mean for each weight (empty: zeros), λ₁."""

    precision: NDArray[np.float64]
    mean: NDArray[np.float64]
    l1: float = 0.0


class Objective(Protocol):
    """What L-BFGS asks of a problem."""

    prior: WeightPrior
    pieces: ChunkedVectors
    size: int
    n_weights: int
    passes: int
    pairs: int  # that L-BFGS remembers
    has_curvature: bool  # whether `diagonal` is that of the Hessian, so that a first step of 1 is about right

    @property
    def inner_type(self) -> Any:
        """The type of the vectors that only shape a step."""

    def distance(self, theta: Vector, steepest: Vector) -> float:
        """How far θ is from the optimum."""

    def value(self, theta: Vector, gradient: Vector) -> float:
        """f(θ), and its gradient into `gradient`."""

    def diagonal(self) -> Vector:
        """The metric, at the θ of the last value."""


class CurvedObjective(Objective, Protocol):
    """What Newton's method asks of a problem."""

    @property
    def max_abs_value(self) -> float:
        """max |x| of all columns."""

    def largest_values(self) -> Vector:
        """max |x| of the column that each weight belongs to."""

    def product(self, p: Vector, Hp: Vector) -> float:
        """Hp = ∇²f p where the value was last taken; returns pᵀHp."""


class LogLinearProblem:
    """f, and the work of its passes."""

    pairs = 10
    has_curvature = True

    def __init__(
        self,
        parts: Partitions,
        layout: WeightLayout,
        prior: WeightPrior,
        fit_intercept: bool,
        workers: parallel.WorkerPool,
    ) -> None:
        self.partitions, self.layout, self.prior, self.workers = parts, layout, prior, workers
        self.width = layout.width
        self.precision = layout.expand(prior.precision)
        self.n_weights = layout.n_weights
        self.size = self.n_weights + self.width * fit_intercept
        self.pieces = ChunkedVectors(self.size, workers)
        self.row_cuts = [part.likelihood.row_blocks(part.design) for part in parts]
        self.column_cuts = [list(parallel.split_by_work(part.design.column_indptr, self.width)) for part in parts]
        self.residual = aligned_zeros((max(parts.sizes), self.width))  # of the part at hand
        self.shares = parts.allocate_per_row(self.width, np.float32)
        self.passes = 0
        self._curvature, self._product = aligned_zeros((0, self.width)), np.empty(0)

    @property
    def inner_type(self) -> Any:
        """The type of the vectors that only shape a step."""
        lightest, heaviest = self.partitions.weight_range
        largest = max(self.partitions.max_abs_value, heaviest, self.precision.max(initial=1))
        least = min(self.partitions.max_abs_value, lightest)
        return np.float32 if least > 1 / FLOAT32_SAFE and largest < FLOAT32_SAFE else np.float64

    def distance(self, theta: Vector, steepest: Vector) -> float:  # noqa: ARG002 - other problems measure it by θ
        """How far θ is from the optimum: max |∂f|."""
        return self.pieces.largest(steepest)

    def value(self, theta: Vector, gradient: Vector) -> float:
        """f(θ), and its gradient into `gradient`."""
        loss, penalty = self.evaluate(theta, gradient)
        return loss + penalty

    def evaluate(self, theta: Vector, gradient: Vector) -> tuple[float, float]:
        """The same, as −Σ w log p and the prior's part."""
        self.passes += 1
        return self.backward(theta, gradient, lambda part, residual: self.partition_loss(part, theta, residual))

    def loss(self, theta: Vector) -> float:
        """−Σ w log p."""
        self.passes += 1
        return sum(self.partition_loss(part, theta, self._residual(part)) for part in self.partitions)

    def backward(
        self,
        theta: Vector,
        gradient: Vector,
        fill: Callable[[Partition, NDArray[np.float64]], float],
        residuals: Vector | None = None,
    ) -> tuple[float, float]:
        """The gradient from the residuals that `fill` writes for each part, into `residuals` if they are given.

        Returns what that has returned, added up, and the prior's part of f at θ.
        """
        loss = penalty = 0.0
        gradient[self.n_weights :] = 0
        for part in self.partitions:
            residual = (self.residual if residuals is None else residuals)[: part.design.n_rows]
            loss += fill(part, residual)
            penalty += self._partition_backward(part, theta, residual, gradient)
        self.passes += 1
        return loss, penalty

    def sum_over_features(self, fill: Callable[[Partition, NDArray[np.float64]], float]) -> NDArray[np.float64]:
        """Xᵀ R of the residuals that `fill` writes, without a prior's part."""
        theta, counts = np.zeros(self.size), np.empty(self.size)
        if len(self.prior.mean):
            theta[: self.n_weights] = self.prior.mean
        self.backward(theta, counts, fill)
        return counts

    def scores(self, theta: Vector, out: PerRowArrays | None = None) -> PerRowArrays:
        """X θ, [n, K] of each part, for `line_derivatives` and `step_along`; `out` is used again."""
        out = self.partitions.allocate_per_row(self.width) if out is None else out
        for part in self.partitions:
            self.partition_scores(part, theta, part.map(out))
        self.passes += 1
        return out

    def line_derivatives(
        self, scores: PerRowArrays, direction_scores: PerRowArrays, step: float
    ) -> tuple[float, float, float]:
        """The loss where the scores are S + αU, and its first two derivatives in α."""
        loss = slope = bend = 0.0
        for part in self.partitions:
            found = self._partition_derivatives(part, part.map(scores), part.map(direction_scores), step)
            loss, slope, bend = loss + found[0], slope + found[1], bend + found[2]
        return loss, slope, bend

    def step_along(
        self, scores: PerRowArrays, direction_scores: PerRowArrays, step: float, theta: Vector, gradient: Vector
    ) -> tuple[float, float]:
        """`evaluate` at a θ whose scores are S + αU, which S becomes."""

        def fill(part: Partition, residual: Vector) -> float:
            return self._partition_step(part, part.map(scores), part.map(direction_scores), step, residual)

        return self.backward(theta, gradient, fill)

    def product(self, p: Vector, Hp: Vector) -> float:
        """Hp = ∇²f p where the value was last taken; returns pᵀHp."""
        if self._curvature.dtype != p.dtype or len(self._curvature) == 0:
            self._curvature = aligned_zeros(self.residual.shape, p.dtype)
        if len(self.partitions) > 1 and len(self._product) == 0:
            self._product = np.empty(self.n_weights)
        bias, total, of_intercepts = slice(self.n_weights, self.size), 0.0, np.zeros(self.size - self.n_weights)
        for part in self.partitions:
            curvature = self._curvature[: part.design.n_rows]
            of_intercepts += self._partition_curvature(part, p, curvature)
            total += self._partition_product(part, p, curvature, Hp)
        Hp[bias] = of_intercepts
        self.passes += 2
        return total + vector_ops.dot(p[bias], Hp[bias])

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal of ∇²f where the value was last taken; of groups, as if their candidates shared no feature."""
        diagonal = np.zeros(self.size)
        for part in self.partitions:
            self._add_diagonal(part, diagonal)
        self.passes += 1
        return diagonal

    @property
    def max_abs_value(self) -> float:
        """max |x| of all columns."""
        return self.partitions.max_abs_value

    def largest_values(self) -> NDArray[np.float64]:
        """max |x| of the column that each weight belongs to, 1 of an intercept."""
        largest = np.ones(self.size)
        of_columns = np.zeros(self.partitions.n_features)
        for part in self.partitions:
            starts = part.design.column_indptr
            filled = np.flatnonzero(np.diff(starts) > 0)
            if len(filled):
                found = np.maximum.reduceat(np.abs(part.design.column_values[: starts[-1]]), starts[:-1][filled])
                of_columns[filled] = np.maximum(of_columns[filled], found)
        starts, _ = self.layout.feature_columns()
        largest[: self.n_weights] = np.repeat(of_columns, np.diff(starts))
        return largest

    def counts(self, theta: Vector, gradient: Vector) -> NDArray[np.float64]:
        """Expected less observed counts, Xᵀ R: the gradient of `value` without the prior's part."""
        counts, shape = gradient.copy(), (-1, self.layout.weights_per_feature)
        shift = theta[: self.n_weights]
        if len(self.prior.mean):
            shift = shift - self.prior.mean
        counts[: self.n_weights].reshape(shape)[:] -= self.precision[:, np.newaxis] * shift.reshape(shape)
        return counts

    def repeat_per_weight(self, of_priors: NDArray[Any]) -> NDArray[Any]:
        """One number for each entry of the prior, as one for each weight (numpy's `repeat` takes ten times as long)."""
        return np.broadcast_to(of_priors[:, np.newaxis], (len(of_priors), self.layout.weights_per_feature)).reshape(-1)

    def prior_line_derivatives(self, theta: Vector, direction: Vector) -> tuple[float, float]:
        """The first two derivatives of the prior's part of f along a direction, at α = 0."""

        def work(low: int, high: int) -> tuple[float, float]:
            span = self.layout.slice_of(low, high)
            return vector_ops.prior_line_derivatives(theta[span], *self.prior_of(span), direction[span])

        parts = self.workers.map(work, self.column_cuts[-1])
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    def prior_of(self, span: slice) -> tuple[Vector, Vector, int]:
        """Means, precisions and how many weights share one, for a span of the weights."""
        step = self.layout.weights_per_feature
        mean = self.prior.mean[span] if len(self.prior.mean) else self.prior.mean
        return mean, self.precision[span.start // step : span.stop // step], step

    # Of one part

    def _residual(self, part: Partition) -> NDArray[np.float64]:
        return self.residual[: part.design.n_rows]

    def partition_loss(self, part: Partition, theta: Vector, residual: Vector) -> float:
        """−Σ w log p of a part, which leaves its residuals and shares behind."""
        shares = part.map(self.shares)

        def forward(start: int, stop: int) -> float:
            scores, block = self._scores(part, theta, start, stop), slice(start, stop)
            return part.likelihood.loss(scores, start, stop, residual[block], shares[block])

        return sum(self.workers.map(forward, self.row_cuts[part.index]))

    def _partition_backward(self, part: Partition, theta: Vector, residual: Vector, gradient: Vector) -> float:
        """Add Xᵀ R to the gradient and, last, the prior's part, whose value is returned."""
        values, last = part.design.column_values, part.index == len(self.partitions) - 1

        def backward(low: int, high: int) -> float:
            span = self.layout.slice_of(low, high)
            self.layout.backward(part.design, values, residual, low, high, gradient[span], more=part.index > 0)
            return vector_ops.prior_penalty(theta[span], *self.prior_of(span), gradient[span]) if last else 0.0

        penalty = sum(self.workers.map(backward, self.column_cuts[part.index]))
        gradient[self.n_weights :] += self._of_intercepts(part, residual)
        return penalty

    def partition_scores(self, part: Partition, theta: Vector, scores: Vector) -> None:
        """X θ."""

        def forward(start: int, stop: int) -> None:
            scores[start:stop] = self._scores(part, theta, start, stop)

        self.workers.map(forward, self.row_cuts[part.index])

    def _partition_derivatives(
        self, part: Partition, scores: Vector, direction_scores: Vector, step: float
    ) -> tuple[float, float, float]:
        shares = part.map(self.shares)

        def work(start: int, stop: int) -> tuple[float, float, float]:
            block, direction = slice(start, stop), direction_scores[start:stop]
            residual = self.residual[block]
            loss = part.likelihood.loss(scores[block] + step * direction, start, stop, residual, shares[block])
            curvature = np.empty_like(direction)
            part.likelihood.curvature(direction, start, stop, shares[block], curvature)
            slope = vector_ops.dot(residual.reshape(-1), direction.reshape(-1))
            return loss, slope, vector_ops.dot(curvature.reshape(-1), direction.reshape(-1))

        found = self.workers.map(work, self.row_cuts[part.index])
        return sum(each[0] for each in found), sum(each[1] for each in found), sum(each[2] for each in found)

    def _partition_step(
        self, part: Partition, scores: Vector, direction_scores: Vector, step: float, residual: Vector
    ) -> float:
        shares = part.map(self.shares)

        def work(start: int, stop: int) -> float:
            block = slice(start, stop)
            if step:
                scores[block] += step * direction_scores[block]
            return part.likelihood.loss(scores[block].copy(), start, stop, residual[block], shares[block])

        return sum(self.workers.map(work, self.row_cuts[part.index]))

    def _partition_curvature(self, part: Partition, p: Vector, curvature: Vector) -> NDArray[np.float64]:
        """The curvature along p of each row; returns its sums for the intercepts."""
        shares = part.map(self.shares)

        def forward(start: int, stop: int) -> NDArray[np.float64]:
            scores, block = self._scores(part, p, start, stop), slice(start, stop)
            part.likelihood.curvature(scores, start, stop, shares[block], curvature[block])
            return self._sums(curvature[block])

        return sum(self.workers.map(forward, self.row_cuts[part.index]))

    def _partition_product(self, part: Partition, p: Vector, curvature: Vector, Hp: Vector) -> float:
        """Hp from the curvatures; returns pᵀHp."""
        values, last = part.design.column_values, part.index == len(self.partitions) - 1

        def backward(low: int, high: int) -> float:
            span = self.layout.slice_of(low, high)
            product = self._product[span] if len(self._product) else np.empty(span.stop - span.start)
            self.layout.backward(part.design, values, curvature, low, high, product, more=part.index > 0)
            _, precision, step = self.prior_of(span)
            return vector_ops.cg_curvature(product, p[span], precision, step, Hp[span]) if last else 0.0

        return sum(self.workers.map(backward, self.column_cuts[part.index]))

    def _add_diagonal(self, part: Partition, diagonal: Vector) -> None:
        design, last = part.design, part.index == len(self.partitions) - 1
        variances, squares = part.likelihood.variances(part.map(self.shares)), np.empty(design.nnz)

        def backward(low: int, high: int) -> None:
            block, span = slice(*design.column_indptr[[low, high]]), self.layout.slice_of(low, high)
            np.square(design.column_values[block], out=squares[block], dtype=np.float64)
            self.layout.backward(design, squares, variances, low, high, diagonal[span], more=part.index > 0)
            _, precision, step = self.prior_of(span)
            if last:
                diagonal[span].reshape(-1, step)[:] += precision[:, np.newaxis]

        self.workers.map(backward, self.column_cuts[part.index])
        diagonal[self.n_weights :] += self._of_intercepts(part, variances)

    def _of_intercepts(self, part: Partition, of_rows: NDArray[Any]) -> Any:
        """Sums over the rows of each column that has an intercept."""
        return sum(self.workers.map(lambda start, stop: self._sums(of_rows[start:stop]), self.row_cuts[part.index]))

    def _sums(self, of_rows: NDArray[Any]) -> NDArray[np.float64]:
        """Sums over some rows of each column that has an intercept."""
        return of_rows.sum(axis=0, dtype=np.float64) if self.size > self.n_weights else np.empty(0)

    def _scores(self, part: Partition, theta: Vector, start: int, stop: int) -> NDArray[np.float64]:
        bias = np.zeros(self.width)
        bias[: self.size - self.n_weights] = theta[self.n_weights :]
        return self.layout.forward(part.design, theta[: self.n_weights], bias, start, stop)
