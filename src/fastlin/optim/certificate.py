"""The duality gap of a log-linear model: a proof of how far an objective is at most above its minimum.

With a distribution a_i of the labels (or candidates) of each row, g = Xᵀ w(a − e_y), and the prior
h(θ) = Σ λ₁|θ| + ½λ₂(θ − m)², every a with Σ_i w(a − e_y) = 0 (which an intercept without a prior wants) gives

    f(θ) − min f ≤ Σ w KL(a ‖ p) + Σ_j [h(θ_j) + h*(−g_j) + g_j θ_j],    p the model's own at θ,

all of whose terms are at least zero (Fenchel & Young; no difference of large numbers is taken). Where λ₁ = 0 the
second sum is ½ Σ σ²(∂f)², with ∂f taken at a. Where λ₂ = 0 the dual wants |g| ≤ λ₁, and a is scaled towards e_y for it;
the norms of groups want ‖g_j‖₂ ≤ λ_j.

Where a row may have several labels, a, p and e_y are numbers of each, and Σ w KL is of all.

Without an intercept a is p. With one, a is the model's with its intercept at the optimum, the other weights as they
are; what that leaves of the constraint is made exact by mixing in one distribution for all rows.
"""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.optim import log_linear_passes
from fastlin.optim.likelihoods import OneVsRestLikelihood
from fastlin.optim.log_linear_passes import LogLinearModel
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partition, PerRowArrays

Vector = NDArray[np.float64]
Mixture = tuple[Vector, float, Vector]
MAX_INTERCEPT_STEPS = 20
MAX_NEWTON_SHIFT = 2.0  # further away the Hessian says little
MAX_NEWTON_LABELS = 64  # for the intercepts' Hessian, [K, K]
LOG_ODDS = 30.0  # what a unit of mass costs at most, about, where it is mixed in
LEAST_MASS = 1e-300
NEGLIGIBLE = 0.01  # share of the wanted gap that mixing may cost


class Certificate:
    """The duality gaps of a fit, and its best dual value: `best_objective` less `best_gap`."""

    def __init__(self, problem: LogLinearProblem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.best_objective, self.best_gap = 0.0, inf
        self.last_estimate = inf  # of the gap, when one was last measured

    def state(self) -> list[float]:
        return [float(self.best_objective), float(self.best_gap), float(self.last_estimate)]

    def restore(self, saved: list[float]) -> None:
        """Become what `state` said."""
        self.best_objective, self.best_gap, self.last_estimate = saved

    def gap(self, objective: float, theta: Vector, gradient: Vector) -> float:
        """The objective less the best dual value; a new one is measured where the estimated gap is small enough."""
        wanted = self.tol * objective
        if self.known(objective) > wanted:
            estimate = self._estimate(objective, theta, gradient)
            if estimate <= min(wanted, 0.5 * self.last_estimate):
                self.last_estimate = estimate
                return self.measure(objective, theta, gradient)
        return self.known(objective)

    def measure(self, objective: float, theta: Vector, gradient: Vector) -> float:
        """The objective less the better of the best dual value and that at θ."""
        return self.tighten(objective, duality_gap(self.problem, theta, gradient, self.tol * objective))

    def tighten(self, objective: float, gap: float) -> float:
        """Take in a gap that was measured; returns the least that is known."""
        if gap < self.known(objective):
            self.best_objective, self.best_gap = objective, gap
        return self.known(objective)

    def known(self, objective: float) -> float:
        """The objective less the best dual value, to the last digit where it is below the objective's rounding."""
        gap = self.best_gap + (objective - self.best_objective)
        return gap if gap > 0 else self.best_gap

    def _estimate(self, objective: float, theta: Vector, gradient: Vector) -> float:
        """An estimate of the gap from vectors as long as the model alone.

        KL(a' ‖ p) grows from 0 to the row's loss while the share falls from 1 to 0: about with its square.
        """
        problem = self.problem
        n = problem.n_weights
        of_intercepts = float(np.square(gradient[n:]).sum()) / problem.partitions.total_weight
        if problem.prior.l1 == 0:
            return of_intercepts + prior_gap(problem, gradient)
        counts = problem.counts(theta, gradient)[:n]
        return of_intercepts + min(
            penalty_gap(problem, theta, counts, share) + (1 - share) ** 2 * objective
            for share in dual_shares(problem, counts)
        )


def has_dual(prior: WeightPrior) -> bool:
    """Whether there is a prior on every weight: without one the dual bounds nothing."""
    return (prior.l1 > 0 and bool((prior.l1_scale > 0).all())) or bool((prior.precision > 0).all())


def duality_gap(problem: LogLinearProblem, theta: Vector, gradient: Vector, wanted: float) -> float:
    """f(θ), λ₁‖θ‖₁ included, less the dual at the a above.

    `gradient` is that of the smooth part of f at θ; the intercepts are taken near enough to their optimum for a gap of
    `wanted`.
    """
    free = problem.size > problem.n_weights
    if problem.prior.l1 == 0 and not free:
        return prior_gap(problem, gradient)
    a, divergence = dual_point(problem, theta, wanted), 0.0
    if free:
        gradient = np.empty(problem.size)
        residual = problem.data.allocate("dual_residual", problem.width, transient=True)
        divergence, _ = problem.backward(theta, gradient, fill_dual, a.logs, *a.mixture, residual=residual)
    if problem.prior.l1 == 0:
        return divergence + prior_gap(problem, gradient)
    counts = problem.counts(theta, gradient)[: problem.n_weights]
    return min(
        a.divergence(share) + penalty_gap(problem, theta, counts, share) for share in dual_shares(problem, counts)
    )


def prior_gap(problem: LogLinearProblem, gradient: Vector) -> float:
    """½ Σ σ² (∂f)² over the weights."""

    def of_columns(low: int, high: int) -> float:
        span, step = problem.layout.slice_of(low, high), problem.layout.weights_per_feature
        slopes, variance = gradient[span], 1 / problem.model.prior_of(span)[1]
        return vector_ops.prior_line_derivatives(slopes, np.empty(0), variance, step, slopes)[1]

    return 0.5 * sum(problem.workers.map(of_columns, problem.feature_blocks))


def dual_shares(problem: LogLinearProblem, counts: Vector) -> list[float]:
    """How far a may be scaled towards e_y: until |g| ≤ λ₁, and with a Gaussian part not at all, which may be better."""
    prior = problem.prior
    if prior.groups is not None:
        return [prior.groups.dual_share(counts)]
    largest = np.abs(counts) / prior.l1_scale if len(prior.l1_scale) else np.abs(counts)
    least = min(1.0, prior.l1 / float(largest.max())) if largest.any() else 1.0
    return [least] if least == 1 or not problem.prior.precision.any() else [least, 1.0]


def penalty_gap(problem: LogLinearProblem, theta: Vector, counts: Vector, share: float) -> float:
    """Σ h(θ) + h*(−g) + g θ over the weights of an elastic net, for g = share · counts."""
    prior, precisions = problem.prior, np.empty(0)
    if prior.groups is not None:
        return prior.groups.gap(theta[: problem.n_weights], share * counts)
    if len(prior.l1_scale):
        precisions = problem.repeat_per_weight(problem.precision)

    def of_piece(piece: slice) -> float:
        l1, l2 = prior.l1_of(piece), precisions[piece] if len(precisions) else prior.precision.max(initial=0.0)
        weights, slopes = theta[: problem.n_weights][piece], counts[piece]
        return vector_ops.fenchel_young_gap(weights, slopes, share, np.atleast_1d(l1), np.atleast_1d(l2))

    return sum(problem.pieces.map(of_piece))


class DualPoint:
    """The a of each row: of label k a_ik = kept · softmax(s_i + shift)_k + rest_k.

    `logs` are log p, or the log odds of two labels in one column.
    """

    def __init__(self, problem: LogLinearProblem, theta: Vector, wanted: float) -> None:
        self.problem = problem
        binary = problem.partitions.has_labels and problem.width == 1
        width = 2 if binary else problem.width
        name, n_numbers, work = ("log_odds", 1, log_linear_passes.write_scores) if binary else (
            "log_proba", width, _write_log_proba
        )  # fmt: skip
        self.logs = problem.data.derive(name, n_numbers, work, problem.model, theta)
        self.shift, self.kept, self.rest = np.zeros(width), 1.0, np.zeros(width)
        if problem.size > problem.n_weights:
            self._satisfy_intercepts(wanted)

    @property
    def mixture(self) -> Mixture:
        """What makes the a of each row from its log p."""
        return self.shift, self.kept, self.rest

    def divergence(self, share: float) -> float:
        """Σ w KL(a' ‖ p) of a' = share · a + (1 − share) · e_y."""
        found: float = self.problem.data.sum(_divergence, self.logs, *self.mixture, share)
        return found

    def _satisfy_intercepts(self, wanted: float) -> None:
        """Newton's method on the shift of each label, or its scaling where there are many; then the mixture."""
        enough, full = NEGLIGIBLE * wanted / LOG_ODDS, len(self.shift) <= MAX_NEWTON_LABELS
        before, best, nearest = np.inf, self.shift, np.zeros(len(self.shift))
        for _ in range(MAX_INTERCEPT_STEPS):
            total, held, hessian = self._masses(full)
            miss = float(np.abs(total - held).sum())
            if miss < before:
                before, best, nearest = miss, self.shift, total
            if miss <= enough or not miss < 2 * before:
                break
            step = np.log(np.maximum(held, LEAST_MASS) / np.maximum(total, LEAST_MASS))
            if full:
                newton = _newton_shift(hessian[1:, 1:], (held - total)[1:])
                if newton is not None and np.abs(newton).max() <= MAX_NEWTON_SHIFT:
                    step = np.append(0.0, newton)
            self.shift = self.shift + step
        self.shift = best
        self.kept = min(1.0, float((held / np.maximum(nearest, LEAST_MASS)).min()))
        self.rest = (held - self.kept * nearest) / self.problem.partitions.total_weight

    def _masses(self, full: bool) -> tuple[Vector, Vector, Vector]:
        """Σ w a, Σ w e_y, and ∂²/∂shift² if wanted."""
        total, held, hessian = self.problem.data.sum(_masses, self.logs, self.shift, full)
        hessian[np.diag_indices(len(total))] += total
        return total, held, hessian


class OneVsRestDualPoint(DualPoint):
    """The a of each label of rows that may have several: a_ik = kept_k · p(log odds + shift_k) + rest_k."""

    kept: Any  # one for each label, as the rest

    def _satisfy_intercepts(self, wanted: float) -> None:
        """Newton's method on the shift of each label, or its scaling where the slope says little; then the mixture."""
        enough = NEGLIGIBLE * wanted / LOG_ODDS
        before, best = np.full(len(self.shift), np.inf), self.shift
        for _ in range(MAX_INTERCEPT_STEPS):
            total, slope, held, mass = self.problem.data.sum(_label_masses, self.logs, self.shift)
            miss = np.abs(total - held)
            best, before = np.where(miss < before, self.shift, best), np.minimum(miss, before)
            if before.sum() <= enough:
                break
            there = slope > LEAST_MASS
            step = np.divide(held - total, slope, out=np.zeros(len(slope)), where=there)
            far = ~there | (np.abs(step) > MAX_NEWTON_SHIFT)
            scaled = _log_odds(held, mass - held) - _log_odds(total, mass - total)
            self.shift = self.shift + np.where(far, scaled, step)
        self.shift = best
        total, _, held, mass = self.problem.data.sum(_label_masses, self.logs, self.shift)
        of_own = held / np.maximum(total, LEAST_MASS)
        of_rest = (mass - held) / np.maximum(mass - total, LEAST_MASS)
        self.kept = np.where(mass > 0, np.minimum(1.0, np.minimum(of_own, of_rest)), 1.0)
        self.rest = np.divide(held - self.kept * total, mass, out=np.zeros(len(mass)), where=mass > 0)


def dual_point(problem: LogLinearProblem, theta: Vector, wanted: float) -> DualPoint:
    """The a of each row, near enough to the optimum of the intercepts."""
    kind = OneVsRestDualPoint if problem.partitions.has_label_sets else DualPoint
    return kind(problem, theta, wanted)


def _log_odds(own: Vector, other: Vector) -> Vector:
    return np.asarray(np.log(np.maximum(own, LEAST_MASS)) - np.log(np.maximum(other, LEAST_MASS)))


def _newton_shift(hessian: Vector, missing: Vector) -> Vector | None:
    """The intercepts' step; None where it is not determined."""
    if len(missing) == 1:  # of two labels: least squares take longer than a pass over a thousand rows
        return missing / hessian[0] if hessian[0, 0] > LEAST_MASS else None
    newton, _, rank, _ = np.linalg.lstsq(hessian, missing, rcond=None)
    return np.asarray(newton, np.float64) if rank == len(newton) else None


def _label_masses(part: Partition, logs: PerRowArrays, shift: Vector) -> Any:
    """Σ w p where the log odds are shifted, its derivative, Σ w y and Σ w, of each label: [4, K]."""
    assert isinstance(part.likelihood, OneVsRestLikelihood)
    return np.stack(part.likelihood.masses(part.map(logs), shift))


def _write_log_proba(part: Partition, model: LogLinearModel, theta: Vector, logs: Vector) -> None:
    scores = np.empty((part.design.n_rows, model.layout.width))
    log_linear_passes.write_scores(part, model, theta, scores)
    logs[:] = part.likelihood.log_proba(scores)


def fill_dual(part: Partition, residual: Vector, logs: PerRowArrays, shift: Vector, kept: float, rest: Vector) -> float:
    """Write w(a − e_y) of a partition; returns Σ w KL(a ‖ p)."""
    return part.any_labels.fill_dual(part.map(logs), shift, kept, rest, residual)


def _divergence(part: Partition, logs: PerRowArrays, shift: Vector, kept: float, rest: Vector, share: float) -> float:
    return part.likelihood.mixed_residual(part.map(logs), shift, kept, rest, share)[1]


def _masses(part: Partition, logs: PerRowArrays, shift: Vector, full: bool) -> tuple[Vector, Vector, Vector]:
    """Σ w a, Σ w e_y, and −Σ w a aᵀ if wanted."""
    K, labels = len(shift), part.labels
    if labels.width == 1:
        total, held, slope = labels.binary_masses(part.map(logs), float(shift[1] - shift[0]))
        return total, held, np.diag(slope - total)
    p, mass = labels.shifted_softmax(part.map(logs), shift), labels.row_weights()
    held = np.bincount(labels.codes, mass[:, 0], minlength=K).astype(np.float64, copy=False)
    return p.T @ mass[:, 0], held, -(p.T @ (mass * p)) if full else np.zeros((K, K))
