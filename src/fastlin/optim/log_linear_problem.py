"""A conditional log-linear model as a problem to minimise: value, gradient, Hessian products, over blocks, in threads.

    f(θ) = Σ_i w_i (log Z_i − s_iy) + ½ Σ_q (θ_q − m_q)² / σ_q²           (an L1 term, if any, is the solver's business)

Its passes over the partitions of the data are in `log_linear_passes`. Vectors are flat: the weights, then the
intercepts, which have no prior.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.optim import log_linear_passes
from fastlin.optim.chunked_vectors import ChunkedVectors
from fastlin.optim.log_linear_passes import Fill, LogLinearModel
from fastlin.optim.partitions import Blocks, Partitions, PerRowArrays
from fastlin.optim.weight_groups import WeightGroups
from fastlin.optim.weight_layouts import WeightLayout
from fastlin.runtime import parallel

Vector = NDArray[Any]
CACHED_NUMBERS = 1 << 14  # of rows and weights: vectors of half the width are no faster there
FLOAT32_SAFE = 1e6  # up to which values, weights and precisions float32 holds their products


@dataclass(frozen=True)
class WeightPrior:
    """Gaussian and Laplacian: the inverse variance of each feature, a mean for each weight (empty: zeros), λ₁.

    `l1_scale` says how many times λ₁ each weight has (empty: all have λ₁). With groups it is λ of their norms.
    """

    precision: NDArray[np.float64]
    mean: NDArray[np.float64]
    l1: float = 0.0
    l1_scale: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    groups: WeightGroups | None = None

    def l1_of(self, some: slice | NDArray[np.int64]) -> Any:
        """λ₁ of some of the weights: one number for all, or one of each."""
        return self.l1 * self.l1_scale[some] if len(self.l1_scale) else self.l1

    def l1_penalty(self, weights: NDArray[np.float64], some: slice | NDArray[np.int64] = slice(None)) -> float:
        """Σ λ₁ |θ| of some of the weights; the norms of all groups."""
        if self.groups is not None:
            return self.groups.penalty(weights)
        if len(self.l1_scale):
            return self.l1 * float(self.l1_scale[some] @ np.abs(weights))
        return self.l1 * vector_ops.l1_norm(weights)


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
        self.data = workers.passes(parts)
        self.width = layout.width
        self.precision = layout.expand(prior.precision)
        self.n_weights = layout.n_weights
        self.size = self.n_weights + self.width * fit_intercept
        self.pieces = ChunkedVectors(self.size, workers)
        self.feature_blocks: Blocks = self.data.at(len(parts) - 1, log_linear_passes.feature_blocks, self.width)
        self.residual = self.data.allocate("residual", self.width, transient=True)
        shares = self.data.allocate("shares", self.width, np.float32)
        self.model = LogLinearModel(
            layout, self.precision, prior.mean, self.n_weights, self.size, self.residual, shares
        )  # fmt: skip
        self.passes = 0
        self._curvature: dict[Any, PerRowArrays] = {}  # of the type of the last product
        alone = len(parts) == 1 and self.data.completes_sums
        self._product = np.empty(0 if alone else self.n_weights)
        self._latest = np.empty(0)  # the θ of the last value

    @property
    def inner_type(self) -> Any:
        """The type of the vectors that only shape a step."""
        if sum(self.partitions.n_non_zeros) + self.size <= CACHED_NUMBERS:
            return np.float64
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
        self.passes, self._latest = self.passes + 1, theta
        return self.backward(theta, gradient, log_linear_passes.fill_loss, self.model, theta)

    def loss(self, theta: Vector) -> float:
        """−Σ w log p."""
        self.passes += 1
        found: float = self.data.sum(log_linear_passes.loss, self.model, theta)
        return found

    def backward(
        self, theta: Vector, gradient: Vector, fill: Fill, *arguments: Any, residual: Any = None
    ) -> tuple[float, float]:
        """The gradient from the residuals that `fill` writes for each partition, in `residual` if that is given.

        Returns what that has returned, added up, and the prior's part of f at θ.
        """
        self.passes += 1
        residual = self.residual if residual is None else residual
        found: tuple[float, float] = self.data.sum(
            log_linear_passes.gradient, self.model, residual, fill, arguments, theta, into=(gradient,)
        )
        return found if self.data.completes_sums else (found[0], self._add_prior(theta, gradient))

    def _add_prior(self, theta: Vector, gradient: Vector) -> float:
        """The prior's part of f at θ, whose gradient is added."""

        def work(low: int, high: int) -> float:
            span = self.layout.slice_of(low, high)
            return vector_ops.prior_penalty(theta[span], *self.model.prior_of(span), gradient[span])

        return sum(self.workers.map(work, self.feature_blocks))

    def sum_over_features(self, fill: Fill, *arguments: Any) -> NDArray[np.float64]:
        """Xᵀ R of the residuals that `fill` writes, without a prior's part."""
        theta, counts = np.zeros(self.size), np.empty(self.size)
        if len(self.prior.mean):
            theta[: self.n_weights] = self.prior.mean
        self.backward(theta, counts, fill, *arguments)
        return counts

    def scores(self, theta: Vector, out: PerRowArrays | None = None) -> PerRowArrays:
        """X θ, [n, K] of each part, for `line_derivatives` and `step_along`; `out` is used again."""
        out = self.data.allocate("scores", self.width) if out is None else out
        self.data.each(log_linear_passes.store_scores, self.model, theta, out)
        self.passes += 1
        return out

    def line_derivatives(
        self, scores: PerRowArrays, direction_scores: PerRowArrays, step: float
    ) -> tuple[float, float, float]:
        """The loss where the scores are S + αU, and its first two derivatives in α."""
        found: tuple[float, float, float] = self.data.sum(
            log_linear_passes.line_derivatives, self.model, scores, direction_scores, step
        )
        return found

    def span_derivatives(self, scores: Sequence[PerRowArrays], share: Vector) -> tuple[float, Vector, Vector]:
        """The loss where the scores are Σ_m c_m S_m, its gradient and its Hessian by c."""
        found: tuple[float, Vector, Vector] = self.data.sum(
            log_linear_passes.span_derivatives, self.model, scores, share
        )
        return found

    def step_along(
        self, scores: PerRowArrays, direction_scores: PerRowArrays, step: float, theta: Vector, gradient: Vector
    ) -> tuple[float, float]:
        """`evaluate` at a θ whose scores are S + αU, which S becomes."""
        along = self.model, scores, direction_scores, step
        return self.backward(theta, gradient, log_linear_passes.fill_step, *along)

    def product(self, p: Vector, Hp: Vector) -> float:
        """Hp = ∇²f p where the value was last taken; returns pᵀHp."""
        if p.dtype not in self._curvature:
            self._curvature = {p.dtype: self.data.allocate("curvature", self.width, p.dtype, transient=True)}
        curvature, completed = self._curvature[p.dtype], Hp if self.data.completes_sums else Hp[:0]
        of_intercepts, total = self.data.sum(
            log_linear_passes.product, self.model, curvature, p, completed, into=(self._product,)
        )
        if not self.data.completes_sums:
            total = self._add_prior_curvature(p, Hp)
        bias = slice(self.n_weights, self.size)
        Hp[bias] = of_intercepts
        self.passes += 2
        return float(total + vector_ops.dot(p[bias], Hp[bias]))

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal of ∇²f where the value was last taken; of groups, as if their candidates shared no feature."""
        diagonal, step = np.zeros(self.size), self.layout.weights_per_feature
        where = np.empty(0) if self.data.keeps_rows else self._latest
        self.data.sum(log_linear_passes.diagonal, self.model, where, into=(diagonal,))
        diagonal[: self.n_weights].reshape(-1, step)[:] += self.precision[:, np.newaxis]
        self.passes += 1 if self.data.keeps_rows else 2
        return diagonal

    def _add_prior_curvature(self, p: Vector, Hp: Vector) -> float:
        """Hp of the weights, from the sums of a product; returns pᵀHp."""

        def work(low: int, high: int) -> float:
            span = self.layout.slice_of(low, high)
            _, precision, step = self.model.prior_of(span)
            return vector_ops.cg_curvature(self._product[span], p[span], precision, step, Hp[span])

        return sum(self.workers.map(work, self.feature_blocks))

    def hessian(self) -> NDArray[np.float64]:
        """∇²f of two labels where the value was last taken, written out."""
        H = np.zeros((self.size, self.size))
        self.data.fold(log_linear_passes.hessian, self.model, into=(H,))
        self.passes += 2
        return H

    @property
    def max_abs_value(self) -> float:
        """max |x| of all columns."""
        return self.partitions.max_abs_value

    def largest_values(self) -> NDArray[np.float64]:
        """max |x| of the column that each weight belongs to, 1 of an intercept."""
        largest = np.ones(self.size)
        starts, _ = self.layout.feature_columns()
        largest[: self.n_weights] = np.repeat(self.largest_of_features(), np.diff(starts))
        return largest

    def largest_of_features(self) -> NDArray[np.float64]:
        """max |x| of each column."""
        largest = np.zeros(self.partitions.n_features)
        self.data.fold(log_linear_passes.largest_values, into=(largest,))
        return largest

    def counts(self, theta: Vector, gradient: Vector) -> NDArray[np.float64]:
        """Expected less observed counts, Xᵀ R: the gradient of `value` without the prior's part; not to be changed."""
        if not self.precision.any():
            return gradient
        counts, shape = gradient.copy(), (-1, self.layout.weights_per_feature)
        shift = theta[: self.n_weights]
        if len(self.prior.mean):
            shift = shift - self.prior.mean
        counts[: self.n_weights].reshape(shape)[:] -= self.precision[:, np.newaxis] * shift.reshape(shape)
        return counts

    def largest_count(self, counts: Vector) -> float:
        """The largest of all |expected − observed| counts, given those of `counts`."""
        return self.pieces.largest(counts)

    def repeat_per_weight(self, of_priors: NDArray[Any]) -> NDArray[Any]:
        """One number for each entry of the prior, as one for each weight (numpy's `repeat` takes ten times as long)."""
        return np.broadcast_to(of_priors[:, np.newaxis], (len(of_priors), self.layout.weights_per_feature)).reshape(-1)

    def prior_line_derivatives(self, theta: Vector, direction: Vector) -> tuple[float, float]:
        """The first two derivatives of the prior's part of f along a direction, at α = 0."""

        def work(low: int, high: int) -> tuple[float, float]:
            span = self.layout.slice_of(low, high)
            return vector_ops.prior_line_derivatives(theta[span], *self.model.prior_of(span), direction[span])

        parts = self.workers.map(work, self.feature_blocks)
        return sum(part[0] for part in parts), sum(part[1] for part in parts)
