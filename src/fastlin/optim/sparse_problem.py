"""A log-linear problem with an L1 term that has memory for the weights that are not zero, and those about to leave it.

A weight at zero whose slope is no steeper than its λ₁ stays there, and nobody needs to know its number. The gradient of
all is made block by block of the columns, and of each block only what is not at its optimum is kept: the layout of the
weights is another at every θ. What a model of the loss is made of is the same as with a number for every weight.
"""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.optim import log_linear_passes
from fastlin.optim.certificate import Certificate, DualPoint, dual_shares, fill_dual, penalty_gap
from fastlin.optim.chunked_vectors import ChunkedVectors
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.log_linear_passes import LogLinearModel
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partition, Partitions, PerRowArrays, column_blocks
from fastlin.optim.solvers import owlqn
from fastlin.optim.solvers.proximal_newton import NAME, ProximalSearch
from fastlin.optim.weight_layouts import DenseWeights, ObservedWeights
from fastlin.runtime import parallel

Vector = NDArray[np.float64]
Pairs = NDArray[np.int64]  # feature · K + label, ascending


class SparseProblem(LogLinearProblem):
    """A problem of rows in memory whose pairs of a feature and a label change from one θ to the next."""

    def __init__(
        self, parts: Partitions, width: int, prior: WeightPrior, fit_intercept: bool, workers: parallel.WorkerPool
    ) -> None:
        """`prior` has an entry for each feature, of λ₁, too, where they differ."""
        self.strengths = prior.l1 * (prior.l1_scale if len(prior.l1_scale) else np.ones(parts.n_features))
        self.l1_scale = prior.l1_scale
        layout = _layout_of(np.empty(0, np.int64), parts.n_features, width)
        super().__init__(parts, layout, replace(prior, l1_scale=np.empty(0)), fit_intercept, workers)
        self.largest_slope = 0.0  # of all weights, without the prior's part, where they were last selected
        self._free = bool(fit_intercept)

    @property
    def present_pairs(self) -> Pairs:
        """Those that the layout has."""
        features, labels = self.layout.locate(np.arange(self.n_weights))
        return features.astype(np.int64) * self.width + labels

    def set_pairs(self, pairs: Pairs) -> None:
        """Have the weights of these pairs."""
        self.layout = layout = _layout_of(pairs, self.partitions.n_features, self.width)
        self.precision = layout.expand(self.prior.precision)
        self.prior = replace(self.prior, l1_scale=layout.expand(self.l1_scale) if len(self.l1_scale) else self.l1_scale)
        self.n_weights, self.size = len(pairs), len(pairs) + self.width * self._free
        self.pieces = ChunkedVectors(self.size, self.workers)
        rows = self.model.residual, self.model.shares
        self.model = LogLinearModel(layout, self.precision, self.prior.mean, self.n_weights, self.size, *rows)

    def select(self, theta: Vector, residual: PerRowArrays) -> tuple[Vector, Vector]:
        """Have the weights that are not zero and those with |∂ loss| > λ₁, by residuals; returns θ and ∂ loss."""
        self.passes += 1
        found = self.data.at(0, _select, self.model, self.strengths, theta[: self.n_weights], residual)
        pairs, weights, slopes, largest, of_intercepts = found
        bias = theta[self.n_weights :]
        self.largest_slope = max(largest, float(np.abs(of_intercepts).max(initial=0)))
        self.set_pairs(pairs)
        return np.append(weights, bias), np.append(slopes, of_intercepts)

    def largest_count(self, counts: Vector) -> float:
        return max(super().largest_count(counts), self.largest_slope)


def _layout_of(pairs: Pairs, n_features: int, width: int) -> ObservedWeights:
    features, labels = np.divmod(pairs, width)
    starts = np.searchsorted(features, np.arange(n_features + 1)).astype(np.int64)
    return ObservedWeights(n_features, width, starts, labels.astype(np.int32))


def _select(
    part: Partition, model: LogLinearModel, strengths: Vector, weights: Vector, residuals: PerRowArrays
) -> tuple[Pairs, Vector, Vector, float, Vector]:
    """Pairs, weights and slopes of what is to be kept, the largest slope of all, and those of the intercepts."""
    design, layout, residual = part.design, model.layout, part.map(residuals)
    K = layout.width
    dense = DenseWeights(design.n_features, K)

    def of_block(low: int, high: int) -> tuple[Pairs, Vector, Vector, float]:
        slopes, kept = np.empty((high - low) * K), np.zeros((high - low) * K)
        dense.backward(design, design.column_values, residual, low, high, slopes)
        span = layout.slice_of(low, high)
        features, labels = layout.locate(np.arange(span.start, span.stop))
        kept[(features - low).astype(np.int64) * K + labels] = weights[span]
        steep = np.abs(slopes)
        largest = float(steep.max(initial=0))
        steep = steep.reshape(-1, K) > strengths[low:high, np.newaxis]
        places = np.flatnonzero(steep.reshape(-1) | (kept != 0))
        return places + low * K, kept[places], slopes[places], largest

    blocks = part.map_blocks(of_block, column_blocks, K)
    nothing = np.empty(0, np.int64), np.empty(0), np.empty(0), 0.0
    pairs, its_weights, slopes, largest = zip(nothing, *blocks, strict=True)
    of_intercepts = np.asarray(model.sum_over_rows(part, residual))
    return *(np.concatenate(each) for each in (pairs, its_weights, slopes)), max(largest), of_intercepts


class SparseSearch(ProximalSearch):
    """θ and the gradient for the pairs that a problem has at it."""

    problem: SparseProblem

    @classmethod
    def begin(cls, problem: SparseProblem, theta: Vector, monitor: ConvergenceMonitor) -> "SparseSearch":
        """At θ, or where a fit stood."""
        saved = monitor.resume(NAME)
        if saved is not None:
            pairs = saved.indices("pairs", problem.partitions.n_features * problem.width)
            if (np.diff(pairs) <= 0).any():
                saved.reject("pairs")
            problem.set_pairs(pairs)
            theta = np.zeros(problem.size)
        return cls(problem, theta, saved)

    def state(self) -> dict[str, Any]:
        return super().state() | {"pairs": self.problem.present_pairs}

    def _step_along(self, step: float) -> None:
        problem = self.problem
        along = problem.model, self.scores, self.direction_scores, step
        self.loss = problem.data.at(0, _fill_step, *along)
        self.theta, self.gradient = problem.select(self.theta, problem.residual)
        n = problem.n_weights
        weights = self.theta[:n]
        self.gradient[:n] += problem.precision * weights
        self.value = self.loss + 0.5 * float(problem.precision @ weights**2) + owlqn.l1_penalty(problem, self.theta)
        self._steepest = owlqn.pseudo_gradient(problem, self.theta, self.gradient)


def _fill_step(
    part: Partition, model: LogLinearModel, scores: PerRowArrays, direction_scores: PerRowArrays, step: float
) -> float:
    return log_linear_passes.fill_step(part, part.map(model.residual), model, scores, direction_scores, step)


class SparseCertificate(Certificate):
    """The duality gaps of a fit with weights for the pairs that are not zero: bounds over all pairs."""

    problem: SparseProblem

    def measure(self, objective: float, theta: Vector, gradient: Vector) -> float:  # noqa: ARG002 - of the pairs alone
        problem = self.problem
        a, residual = DualPoint(problem, theta, self.tol * objective), problem.residual
        if problem.size > problem.n_weights:
            residual = problem.data.allocate("dual_residual", problem.width, transient=True)
            problem.data.at(0, _fill_dual, residual, a.logs, *a.mixture)
        selected = copy(problem)  # with the pairs that the dual point wants
        theta, slopes = selected.select(theta, residual)
        counts = slopes[: selected.n_weights]
        shares = dual_shares(selected, counts)
        gap = min(a.divergence(share) + penalty_gap(selected, theta, counts, share) for share in shares)
        return self.tighten(objective, gap)


def _fill_dual(part: Partition, residual: PerRowArrays, *dual: Any) -> float:
    return fill_dual(part, part.map(residual), *dual)
