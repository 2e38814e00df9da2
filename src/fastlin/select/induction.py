"""Greedy induction of features (Berger et al. 1996; Della Pietra et al. 1997): an active model that grows.

A candidate is a pair of a feature and a label (with two labels in one column, the feature alone), and its gain is
max_α g(α), the objective saved by its best weight while all other weights stay (`feature_gain.pyx`). g is concave, so

    gain ≤ g′(0)²/(2λ)        and        gain ≤ Σ_i −w_i log p(y_i | x_i)    over the rows that have the feature

where g′(0) is one entry of Xᵀ R. One backward pass over the data thus bounds all candidates, and only those that may be
among the best are maximised; those that g″(0) rules out, for no more than a look at their column. All of a round's best
are found: should fewer than asked for reach the bar, it is lowered.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import passes
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.solvers import feature_gain as kernels
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
NEXT_BAR_SHARE = 0.5  # of the gain of the last of those that were wanted: where the next round's bar begins
BAR_DECREASE = 0.1  # of a bar that was too high
CANDIDATE_COST = 64  # of a non-zero of a candidate, in multiply–adds


@dataclass(frozen=True)
class CandidateFeatures:
    """The best candidate of each of some features, best first: places in the design, labels' columns, α, gains."""

    places: Places
    labels: Places
    alphas: Floats
    gains: Floats

    def take(self, chosen: list[int]) -> "CandidateFeatures":
        return CandidateFeatures(self.places[chosen], self.labels[chosen], self.alphas[chosen], self.gains[chosen])


class Induction:
    """The active model, θ over `active` features of a design, and what the others would add to it."""

    def __init__(
        self,
        design: Design,
        labels: MultinomialLikelihood,
        precision: float,
        fit_intercept: bool,
        workers: parallel.WorkerPool,
    ) -> None:
        self.design, self.labels, self.precision = design, labels, precision
        self.fit_intercept, self.workers = fit_intercept, workers
        self.layout = DenseWeights(design.n_features, labels.width)
        self.cuts = list(parallel.split_by_work(design.column_indptr, labels.width))
        self.ones = np.ones(design.nnz, np.float32)
        self.active = np.empty(0, np.int64)
        self.theta = aligned_zeros((labels.width * fit_intercept,))
        self.bar = 0.0

    def refit(self, solver: Callable[..., None], tol: float, max_iter: int, generator: np.random.Generator) -> float:
        """Move θ to its optimum from where it is; returns the objective."""
        problem = self._problem()
        if problem.size:
            monitor = ConvergenceMonitor(tol, max_iter, self.labels.total_weight)
            solver(problem, self.theta, monitor, generator)
        return self._evaluate(problem)

    def evaluate(self) -> float:
        """The objective at θ; what candidates are measured by is that of θ, too."""
        return self._evaluate(self._problem())

    def _problem(self) -> LogLinearProblem:
        """The model of the active features."""
        design, width = self.design.restricted(self.active), self.labels.width
        prior = WeightPrior(np.full(len(self.active), self.precision), np.empty(0))
        parts = Partitions.single(design, self.labels)
        return LogLinearProblem(parts, DenseWeights(design.n_features, width), prior, self.fit_intercept, self.workers)

    def _evaluate(self, problem: LogLinearProblem) -> float:
        (part,) = problem.partitions
        self.loss = problem.loss(self.theta)
        self.residual = part.map(problem.residual)
        self._note_probabilities(part.map(problem.scores(self.theta)))
        return self.loss + 0.5 * self.precision * float(np.square(self.weights).sum())

    @property
    def weights(self) -> Floats:
        """The weights of the active features, [active, width]."""
        return self.theta[: len(self.active) * self.labels.width].reshape(-1, self.labels.width)

    @property
    def intercept(self) -> Floats:
        intercept = np.zeros(self.labels.width)
        intercept[: len(self.theta) - self.weights.size] = self.theta[self.weights.size :]
        return intercept

    def add(self, chosen: CandidateFeatures) -> None:
        """Take features in; each begins with its own best weight."""
        fresh = np.zeros((len(chosen.places), self.labels.width))
        fresh[np.arange(len(fresh)), chosen.labels] = chosen.alphas
        bias = self.theta[self.weights.size :]
        self.theta = np.concatenate([self.weights.ravel(), fresh.ravel(), bias])
        self.active = np.concatenate([self.active, chosen.places])

    def best(self, wanted: int, min_gain: float) -> CandidateFeatures:
        """The inactive features of the highest gains, at least `wanted` of them if so many gain more than min_gain."""
        bounds = self._bounds()
        while True:
            bar = max(self.bar, min_gain)
            found = self._above(bounds, bar)
            if len(found.gains) >= wanted:
                self.bar = NEXT_BAR_SHARE * float(found.gains[wanted - 1])
                return found
            if bar <= min_gain:
                return found
            self.bar = BAR_DECREASE * bar if BAR_DECREASE * bar > min_gain and BAR_DECREASE * bar > 1e-6 else 0.0

    def _note_probabilities(self, scores: Floats) -> None:
        """p and 1 − p of every label, and each row's loss."""
        codes, rows = self.labels.codes, np.arange(len(scores))
        if scores.shape[1] == 1:
            odds = np.exp(-np.abs(scores))
            larger, smaller = 1 / (1 + odds), odds / (1 + odds)
            self.p, self.q = np.where(scores > 0, larger, smaller), np.where(scores > 0, smaller, larger)
            right = np.where(codes == 1, self.p[:, 0], self.q[:, 0])
        else:
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            top = odds.argmax(axis=1)
            self.p = odds / odds.sum(axis=1, keepdims=True)
            self.q = 1 - self.p
            odds[rows, top] = 0
            self.q[rows, top] = odds.sum(axis=1) / (1 + odds.sum(axis=1))
            right = self.p[rows, codes]
        with np.errstate(divide="ignore"):
            self.losses = -np.log(right)
        if len(self.labels.weights):
            self.losses *= self.labels.weights

    def _bounds(self) -> Floats:
        """An upper bound of the gain of every pair, [V, width]; 0 for the active features."""
        slopes = np.empty((self.design.n_features, self.labels.width))
        losses = np.empty(self.design.n_features)

        def backward(low: int, high: int) -> None:
            span = slice(low, high)
            design, of_span = self.design, slopes[span].reshape(-1)
            self.layout.backward(design, design.column_values, self.residual, low, high, of_span)
            passes.column_dots(*design.columns(low, high, self.ones), low, high, self.losses, losses[span])

        self.workers.map(backward, self.cuts)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            bounds = np.square(slopes, out=slopes)
            bounds *= 0.5 / self.precision if self.precision else np.inf
        np.fmin(bounds, losses[:, np.newaxis], out=bounds)  # 0 · ∞ is unknown
        bounds[self.active] = 0
        return bounds

    def _above(self, bounds: Floats, bar: float) -> CandidateFeatures:
        """The features with a pair that gains more than `bar`."""
        n, width = bounds.shape
        gains, alphas = np.zeros(n), np.zeros(n)
        labels = np.zeros(n, np.int64)
        for k in range(width):
            places = np.flatnonzero(bounds[:, k] > bar)
            weights, of_label = self._maxima(places, k, bar)
            better = of_label > gains[places]
            places = places[better]
            gains[places], alphas[places], labels[places] = of_label[better], weights[better], k
        found = np.flatnonzero(gains > bar)
        order = np.lexsort((self.design.features[found], -gains[found]))
        found = found[order]
        return CandidateFeatures(found, labels[found], alphas[found], gains[found])

    def _maxima(self, places: Places, k: int, bar: float) -> tuple[Floats, Floats]:
        """(α, gain) of some features with one label; zeros for those that do not reach the bar."""
        design = self.design
        table = aligned_zeros((design.n_rows, 4))
        table[:, 0], table[:, 1] = self.p[:, k], self.q[:, k]
        table[:, 2] = self.labels.weights if len(self.labels.weights) else 1.0
        table[:, 3] = table[:, 2] * (self.labels.codes == (k if self.labels.width > 1 else 1))
        alphas, gains = np.empty(len(places)), np.empty(len(places))
        ends = np.concatenate([[0], np.cumsum(np.diff(design.column_indptr)[places])])

        def work(low: int, high: int) -> None:
            span = slice(low, high)
            kernels.gains(
                design.column_indptr, design.column_rows, design.column_values, places[span], table,
                self.precision, bar, alphas[span], gains[span],
            )  # fmt: skip

        self.workers.map(work, parallel.split_by_work(ends, CANDIDATE_COST))
        return alphas, gains
