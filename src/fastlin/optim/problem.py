"""A conditional log-linear model as a problem to minimise: value, gradient, Hessian products, over blocks, in threads.

    f(θ) = Σ_i w_i (log Z_i − s_iy) + ½ Σ_q (θ_q − m_q)² / σ_q²           (an L1 term, if any, is the solver's business)

Forward gathers over the rows of the design, backward over its columns; the residuals and what curvatures
need lie between them, [n, K]. Vectors are flat: the weights, then the intercepts, which have no prior.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import run
from fastlin.engine import memory, vectors
from fastlin.optim.inferences import Inference
from fastlin.optim.layouts import Layout
from fastlin.optim.pieces import Pieces

Vector = NDArray[Any]


@dataclass(frozen=True)
class Prior:
    """Gaussian and Laplacian: the inverse variance of each feature, a mean for each weight (empty: zeros), λ₁."""

    precision: NDArray[np.float64]
    mean: NDArray[np.float64]
    l1: float = 0.0


class Problem:
    """f, and the work of its passes."""

    def __init__(
        self, layout: Layout, inference: Inference, prior: Prior, fit_intercept: bool, workers: run.Workers
    ) -> None:
        self.layout, self.inference, self.prior, self.workers = layout, inference, prior, workers
        self.design, self.width = layout.design, layout.width
        self.precision = layout.expand(prior.precision)
        self.n_weights = layout.n_weights
        self.size = self.n_weights + self.width * fit_intercept
        self.pieces = Pieces(self.size, workers)
        self.row_cuts, self.column_cuts = inference.cuts(self.design), layout.column_cuts()
        self.residual = memory.zeros((self.design.n_rows, self.width))
        self.shares = np.zeros((self.design.n_rows, self.width), np.float32)
        self.passes = 0
        self._buffer = memory.zeros((0, self.width))

    def value(self, theta: Vector, gradient: Vector) -> float:
        """f(θ), and its gradient into `gradient`."""
        return self.loss(theta) + self.gather(theta, gradient)

    def loss(self, theta: Vector) -> float:
        """−Σ w log p, which leaves the residuals behind."""

        def forward(start: int, stop: int) -> float:
            scores, block = self._scores(theta, start, stop), slice(start, stop)
            return self.inference.loss(scores, start, stop, self.residual[block], self.shares[block])

        self.passes += 1
        return sum(self.workers.map(forward, self.row_cuts))

    def gather(self, theta: Vector, gradient: Vector) -> float:
        """The gradient from the residuals at θ; returns the prior's part of f."""

        def backward(low: int, high: int) -> float:
            span = self.layout.span(low, high)
            self.layout.columns(self.design.column_values, self.residual, low, high, gradient[span])
            return vectors.penalise(theta[span], *self._prior(span), gradient[span])

        penalty = sum(self.workers.map(backward, self.column_cuts))
        gradient[self.n_weights :] = self._of_intercepts(self.residual)
        self.passes += 1
        return penalty

    def scores(self, theta: Vector) -> NDArray[np.float64]:
        """X θ, [n, K], kept for `along`."""
        scores = np.empty(self.residual.shape)

        def forward(start: int, stop: int) -> None:
            scores[start:stop] = self._scores(theta, start, stop)

        self.workers.map(forward, self.row_cuts)
        self.passes += 1
        return scores

    def along(self, scores: Vector, ahead: Vector, step: float) -> tuple[float, float, float]:
        """The loss where the scores are S + αU, and its first two derivatives in α; leaves the residuals behind."""

        def work(start: int, stop: int) -> tuple[float, float, float]:
            block, direction = slice(start, stop), ahead[start:stop]
            residual, shares = self.residual[block], self.shares[block]
            loss = self.inference.loss(scores[block] + step * direction, start, stop, residual, shares)
            curvature = np.empty_like(direction)
            self.inference.curvature(direction, start, stop, shares, curvature)
            slope = vectors.dot(residual.reshape(-1), direction.reshape(-1))
            return loss, slope, vectors.dot(curvature.reshape(-1), direction.reshape(-1))

        parts = self.workers.map(work, self.row_cuts)
        return sum(part[0] for part in parts), sum(part[1] for part in parts), sum(part[2] for part in parts)

    def product(self, p: Vector, Hp: Vector) -> float:
        """Hp = ∇²f p where `value` was last taken; returns pᵀHp."""
        if self._buffer.dtype != p.dtype or len(self._buffer) == 0:
            self._buffer = memory.zeros(self.residual.shape, p.dtype)
        curvature = self._buffer

        def forward(start: int, stop: int) -> NDArray[np.float64]:
            scores, block = self._scores(p, start, stop), slice(start, stop)
            self.inference.curvature(scores, start, stop, self.shares[block], curvature[block])
            return self._sums(curvature[block])

        def backward(low: int, high: int) -> float:
            span = self.layout.span(low, high)
            product = np.empty(span.stop - span.start)
            self.layout.columns(self.design.column_values, curvature, low, high, product)
            _, precision, step = self._prior(span)
            return vectors.add_prior(product, p[span], precision, step, Hp[span])

        bias = slice(self.n_weights, self.size)
        Hp[bias] = sum(self.workers.map(forward, self.row_cuts))
        total = sum(self.workers.map(backward, self.column_cuts))
        self.passes += 2
        return total + vectors.dot(p[bias], Hp[bias])

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal of ∇²f where `value` was last taken; of groups, as if their candidates shared no feature."""
        variances, diagonal = self.inference.variances(self.shares), np.empty(self.size)
        values, squares = self.design.column_values, np.empty(self.design.nnz)

        def backward(low: int, high: int) -> None:
            block, span = slice(*self.design.column_indptr[[low, high]]), self.layout.span(low, high)
            np.square(values[block], out=squares[block], dtype=np.float64)
            self.layout.columns(squares, variances, low, high, diagonal[span])
            _, precision, step = self._prior(span)
            diagonal[span].reshape(-1, step)[:] += precision[:, np.newaxis]

        self.workers.map(backward, self.column_cuts)
        diagonal[self.n_weights :] = self._of_intercepts(variances)
        self.passes += 1
        return diagonal

    def counts(self, theta: Vector, gradient: Vector) -> NDArray[np.float64]:
        """Expected less observed counts, Xᵀ R: the gradient of `value` without the prior's part."""
        counts, shape = gradient.copy(), (-1, self.layout.step)
        shift = theta[: self.n_weights]
        if len(self.prior.mean):
            shift = shift - self.prior.mean
        counts[: self.n_weights].reshape(shape)[:] -= self.precision[:, np.newaxis] * shift.reshape(shape)
        return counts

    def of_weights(self, of_priors: NDArray[Any]) -> NDArray[Any]:
        """One number for each entry of the prior, as one for each weight (numpy's `repeat` takes ten times as long)."""
        return np.broadcast_to(of_priors[:, np.newaxis], (len(of_priors), self.layout.step)).reshape(-1)

    def pull(self, theta: Vector, direction: Vector) -> tuple[float, float]:
        """The first two derivatives of the prior's part of f along a direction, at α = 0."""

        def work(low: int, high: int) -> tuple[float, float]:
            span = self.layout.span(low, high)
            return vectors.pull(theta[span], *self._prior(span), direction[span])

        parts = self.workers.map(work, self.column_cuts)
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    def _of_intercepts(self, of_rows: NDArray[Any]) -> Any:
        """Sums over all rows of each column that has an intercept."""
        return sum(self.workers.map(lambda start, stop: self._sums(of_rows[start:stop]), self.row_cuts))

    def _sums(self, of_rows: NDArray[Any]) -> NDArray[np.float64]:
        """Sums over some rows of each column that has an intercept."""
        return of_rows.sum(axis=0, dtype=np.float64) if self.size > self.n_weights else np.empty(0)

    def _prior(self, span: slice) -> tuple[Vector, Vector, int]:
        """Means, precisions and how many weights share one, for a span of the weights."""
        step = self.layout.step
        mean = self.prior.mean[span] if len(self.prior.mean) else self.prior.mean
        return mean, self.precision[span.start // step : span.stop // step], step

    def _scores(self, theta: Vector, start: int, stop: int) -> NDArray[np.float64]:
        bias = np.zeros(self.width)
        bias[: self.size - self.n_weights] = theta[self.n_weights :]
        return self.layout.scores(theta[: self.n_weights], bias, start, stop)
