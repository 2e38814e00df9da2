"""Epochs of dual coordinate ascent, until the gap it meets says that a look at the gradient pays.

No learning rate; an epoch costs a forward pass and a scatter, and on text a dozen to a few dozen of them reach the
optimum. Where they are slow (little regularisation, few features for many rows) it gives up: another method goes on.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.core import vector_ops
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import logistic_dual
from fastlin.optim import log_linear_passes
from fastlin.optim.certificate import dual_point, prior_gap
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.likelihoods import OneVsRestLikelihood
from fastlin.optim.log_linear_passes import LogLinearModel
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.partitions import Partition, PerRowArrays, RowRange
from fastlin.optim.weight_layouts import DenseWeights

Vector = NDArray[Any]
INITIAL_MASS = 0.01  # mass that each a begins with outside its own label
MIN_PROBABILITY = 1e-12  # and the least of a label when it begins with probabilities
INTERCEPT_DAMPING = 30.0  # 1/ρ times the intercept's curvature: on text 3 is slower and 300 no faster
BUDGET = 1 << 23  # multiply–adds between two looks at Ctrl-C
RATE_EPOCHS = 8  # epochs over which the rate is measured
WANDERING_GAPS = 0.01, 1.0  # times the first: where a gap stands still at weak priors, and often falls afterwards
WANDERING_EPOCHS = 32  # which it is given there
EPOCHS_OF_SETS = 75  # that many labels a row are given: a step of Newton's method for all of them costs dozens
MAX_EPOCHS_LEFT = 150  # epochs still to go at that rate
MAX_RELATIVE_GAP = 0.5  # of weights that are handed on: others are worse to begin with than where the fit began
SMALL_GAP = 0.3  # times the mean gap: a row that adds less rests, which halves the visits on text
MAX_REST_EPOCHS = 3  # epochs of rest
N_ROW_RANGES = (
    64  # of rows visited together, of several parts: 20 Newsgroups takes 80 epochs in 4, 40 in 16, 24 in 64 or one
)
FIRST_LOOK_SHARE = 0.5  # times tol: the share of f that the gaps met must come down to before the first look
ROUNDING_SHARE = 1e-13  # of f: a gap lost in rounding
FAR_INTERCEPT = 20.0  # nats from the optimum of the other weights: e^-20 of a label's mass is explained


def has_logistic_dual(problem: LogLinearProblem) -> bool:
    """Whether the dual exists: labels, one a row or several, dense weights, a Gaussian prior on each, and features."""
    return (
        isinstance(problem.layout, DenseWeights)
        and (problem.partitions.has_labels or problem.partitions.has_label_sets)
        and problem.prior.l1 == 0
        and problem.n_weights > 0
        and bool((problem.prior.precision > 0).all())
    )


class DualArrays(NamedTuple):
    """The state of the rows in the dual, which stays with their partitions."""

    norms: PerRowArrays  # ‖x‖²
    state: PerRowArrays  # a, behind its logarithms or logits
    gaps: PerRowArrays  # as last seen
    rest: PerRowArrays  # epochs until a row is visited
    patience: PerRowArrays  # epochs that it rests when it next adds little
    values: list[PerRowArrays]  # x σ of each non-zero, where features differ in their variances


class LogisticDual:
    """a_i for each row, and the weights that follow: W = θ/σ, so that one C serves any prior."""

    def __init__(self, problem: LogLinearProblem, theta: Vector) -> None:
        parts, precision = problem.partitions, problem.prior.precision
        self.problem = problem
        same = np.ptp(precision) == 0
        self.deviation = np.ones(1) if same else 1 / np.sqrt(precision)
        self.C = 1 / float(precision[0]) if same else 1.0
        self.W = aligned_zeros((parts.n_features, problem.width))
        self.bias = np.zeros(problem.width)
        self.bias[: problem.size - problem.n_weights] = theta[problem.n_weights :]
        allocate, n_numbers = problem.data.allocate, 2 * problem.width
        values = [] if same else [allocate("values", 1, per="non-zero")]  # where features differ in their variances
        self.rows = DualArrays(
            allocate("norms", 1), allocate("state", n_numbers), allocate("gaps", 1), allocate("rest", 1, np.int8),
            allocate("patience", 1, np.int8), values,
        )  # fmt: skip
        self.row_ranges = row_ranges(parts.sizes)
        n_ranges, of_each = len(self.row_ranges), problem.partitions.has_label_sets
        self.met = np.zeros(n_ranges)  # the sum of the gaps of each
        self.spread = np.zeros((n_ranges, problem.width) if of_each else n_ranges)  # that of a; of each label or in all
        problem.passes += int(theta.any())
        spreads = problem.data.each(_begin, problem.model, self.rows, self.deviation, theta, self.row_ranges)
        self.spread[:] = list(itertools.chain.from_iterable(spreads))
        self.violation = self.primal_from_dual()

    def primal_from_dual(self) -> NDArray[np.float64]:
        """W from a; returns Σ w (e_y − a), which an intercept keeps at zero."""
        problem = self.problem
        counts, n, precision = (
            problem.sum_over_features(_fill_distances, self.rows.state),
            problem.n_weights,
            problem.repeat_per_weight(problem.precision),
        )
        counts[:n] /= -precision
        if len(problem.prior.mean):
            counts[:n] += problem.prior.mean
        np.divide(counts[:n].reshape(self.W.shape), self.deviation[:, np.newaxis], out=self.W)
        return -counts[n:] if problem.size > n else np.zeros(problem.width)

    def epoch(self, generator: np.random.Generator) -> float:
        """Visit the rows that do not rest, stretch by stretch, in a new order; returns the sum of the gaps last met."""
        problem, step = self.problem, np.zeros(self.spread.shape[1:])
        if problem.size > problem.n_weights:
            step = INTERCEPT_DAMPING / np.maximum(self.spread.sum(axis=0), 1e-3)
        several = len(self.row_ranges) > 1
        for index in generator.permutation(len(self.row_ranges)) if several else range(1):
            with problem.partitions.row_range(*self.row_ranges[index]) as stretch:
                self._visit(stretch, index, step, generator)
        self.bias += step * self.violation
        return float(self.met.sum())

    def _visit(self, rows: RowRange, index: int, step: NDArray[np.float64], generator: np.random.Generator) -> None:
        problem, own = self.problem, self.rows
        values = rows.map_non_zeros(own.values[0])[:, 0] if own.values else rows.values
        state, norms, gaps = rows.map(own.state), rows.map(own.norms)[:, 0], rows.map(own.gaps)[:, 0]
        rest, patience = rows.map(own.rest)[:, 0], rows.map(own.patience)[:, 0]
        order = generator.permutation(np.flatnonzero(rest <= 0))
        view = CSRView(rows.indptr, rows.indices, values)
        data = logistic_dual.LogisticRows(view, rows.labels.weights, norms, state, gaps)
        share = max(1, int(BUDGET * len(norms) / (len(values) + len(norms)) / (problem.width + 7)))
        for start in range(0, len(order), share):
            before = self.bias.copy()
            _visit_rows(rows.labels, data, order[start : start + share], self.C, step, self.W, self.bias)
            if step.any():
                self.violation += (self.bias - before) / step
        rest -= 1
        little = gaps[order] < SMALL_GAP * gaps.mean()
        patience[order] = np.where(little, np.minimum(patience[order] + 1, MAX_REST_EPOCHS), 0)
        rest[order] = patience[order]
        self.met[index], self.spread[index] = gaps.sum(), rows.labels.mean_variance(_shares(state))

    def export_state(self) -> State:
        """The state that the epochs have changed."""
        of_all = {name: getattr(self, name) for name in ("W", "bias", "violation", "met", "spread")}
        of_rows = {name: getattr(self.rows, name) for name in ("state", "gaps", "rest", "patience")}
        return {f"dual_{name}": value for name, value in (of_all | of_rows).items()}

    def restore(self, saved: CheckpointReader) -> None:
        """Become what `export_state` said."""
        for name in ("W", "bias", "violation", "met", "spread"):
            saved.read_into(f"dual_{name}", getattr(self, name))
        for name in ("state", "gaps", "rest", "patience"):
            saved.read_per_row(f"dual_{name}", getattr(self.rows, name), finite=name != "gaps")

    def gap(self, theta: Vector) -> float:
        """The duality gap of the weights that follow from a, with one distribution for all rows mixed in.

        The mixture meets the constraint that an intercept puts on a.
        """
        problem, gradient = self.problem, np.empty(self.problem.size)
        kept, rest = self._mixture() if problem.size > problem.n_weights else (1.0, 0.0)
        distance, _ = problem.backward(theta, gradient, _fill_mixed, problem.model, theta, self.rows.state, kept, rest)
        return distance + prior_gap(problem, gradient)

    def _mixture(self) -> tuple[Any, Any]:
        total, held = self.problem.data.fold(_masses, self.rows.state)
        if not self.problem.partitions.has_label_sets:
            kept = min(1.0, float((held / np.maximum(total, MIN_PROBABILITY)).min()))
            return kept, (held - kept * total) / self.problem.partitions.total_weight
        shares, mass = np.minimum(1.0, (held / np.maximum(total, MIN_PROBABILITY)).min(axis=0)), held.sum(axis=0)
        shares[mass == 0] = 1.0
        return shares, np.divide(held - shares * total, mass, out=np.zeros(held.shape), where=mass > 0)

    def copy_to(self, theta: Vector) -> None:
        n = self.problem.n_weights
        np.multiply(self.W, self.deviation[:, np.newaxis], out=theta[:n].reshape(self.W.shape))
        theta[n:] = self.bias[: len(theta) - n]


def row_ranges(sizes: list[int]) -> list[tuple[int, int, int]]:
    """(part, first row, end) of the rows that are visited together: a single part's are all its rows."""
    if len(sizes) == 1:
        return [(0, 0, sizes[0])]
    each = -(-N_ROW_RANGES // len(sizes))
    cuts = [(part, np.linspace(0, size, min(each, size) + 1).astype(int).tolist()) for part, size in enumerate(sizes)]
    return [(part, start, stop) for part, bounds in cuts for start, stop in itertools.pairwise(bounds)]


def _begin(
    part: Partition,
    model: LogLinearModel,
    rows: DualArrays,
    deviation: Vector,
    theta: Vector,
    ranges: list[tuple[int, int, int]],
) -> list[Any]:
    """Norms of rows, and the first a: nearly the labels, or what θ says. Returns the spread of a in each range."""
    design, labels = part.design, part.any_labels
    values = design.values
    if rows.values:
        values = part.map(rows.values[0])[:, 0]
        np.multiply(design.values, deviation[design.indices], out=values)
    filled = np.diff(design.indptr) > 0
    squares = np.square(values, dtype=np.float64)
    part.map(rows.norms)[filled, 0] = np.add.reduceat(squares, design.indptr[:-1][filled])

    a = labels.first_shares(INITIAL_MASS)
    if theta.any():
        residual = part.map(model.residual)
        log_linear_passes.fill_loss(part, residual, model, theta)
        a = np.clip(labels.probabilities(residual), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    state = part.map(rows.state)
    state[:] = labels.dual_state(a)
    part.map(rows.gaps)[:] = np.inf
    own = [slice(start, stop) for place, start, stop in ranges if place == part.index]
    return [labels.take(some).mean_variance(_shares(state)[some]) for some in own]


def _fill_distances(part: Partition, residual: Vector, state: PerRowArrays) -> float:
    """w (a − e_y)."""
    part.any_labels.fill_residual(_shares(part.map(state)), residual)
    return 0.0


def _fill_mixed(
    part: Partition,
    residual: Vector,
    model: LogLinearModel,
    theta: Vector,
    state: PerRowArrays,
    kept: Any,
    rest: Any,
) -> float:
    """w (a' − e_y) of a' = kept · a + rest; returns Σ w KL(a' ‖ p)."""
    scores = np.empty((part.design.n_rows, model.layout.width))
    log_linear_passes.write_scores(part, model, theta, scores)
    found: float = part.any_labels.fill_mixture(_shares(part.map(state)), scores, kept, rest, residual)
    return found


def _masses(part: Partition, state: PerRowArrays) -> tuple[Vector, Vector]:
    """Σ w a, and Σ w e_y."""
    found: tuple[Vector, Vector] = part.any_labels.dual_masses(_shares(part.map(state)))
    return found


def _shares(state: NDArray[np.float64]) -> NDArray[np.float64]:
    """a, which stands behind its logarithms or logits."""
    return state[:, state.shape[1] // 2 :]


def _visit_rows(
    labels: Any,
    rows: logistic_dual.LogisticRows,
    order: NDArray[np.int64],
    C: float,
    step: NDArray[np.float64],
    W: Vector,
    bias: Vector,
) -> None:
    """A bounded piece of an epoch, with one 1/ρ for all labels, or one for each."""
    if isinstance(labels, OneVsRestLikelihood):
        sets = logistic_dual.SetsOfRows(labels.codes, labels.members, labels.factors)
        logistic_dual.one_vs_rest_epoch(rows, sets, order, C, step, W, bias)
    else:
        logistic_dual.dual_epoch(rows, order, C, float(step), W, bias)


def maximise(
    problem: LogLinearProblem, theta: Vector, monitor: ConvergenceMonitor, generator: np.random.Generator
) -> None:
    """Move θ towards the optimum; `monitor` tells whether it got there."""
    saved = monitor.resume("ascent")
    gradient, trial = np.empty(problem.size), theta.copy()
    gaps: list[float] = []
    fine = FIRST_LOOK_SHARE * monitor.tol
    if saved is None:
        value = problem.value(theta, gradient)
        if monitor.log_iteration(value, vector_ops.max_abs(gradient), theta, gradient, passes=problem.passes, epochs=0):
            return
        target = fine * value
    dual = LogisticDual(problem, theta)
    if saved is not None:
        saved.read_into("theta", theta)
        saved.restore_generator("generator", generator)
        dual.restore(saved)
        value, target, gaps = saved.number("value"), saved.number("target"), saved.numbers("gaps")

    def state() -> State:
        own = {"theta": theta, "generator": generator, "value": value, "target": target, "gaps": gaps}
        return own | dual.export_state()

    monitor.register_state("ascent", problem, state, logged=False)
    while True:
        monitor.maybe_save()
        gaps.append(dual.epoch(generator))
        problem.passes += 2
        monitor.iterations += 1
        slow = _epochs_left(gaps, target, problem.partitions.has_label_sets) > min(
            MAX_EPOCHS_LEFT, monitor.max_iter - monitor.iterations
        )
        if gaps[-1] > target and not slow and monitor.iterations < monitor.max_iter:
            continue
        dual.copy_to(trial)
        reached = problem.value(trial, gradient)
        if slow:
            reached = _settle_intercepts(problem, trial, gradient, reached)
        norm = vector_ops.max_abs(gradient)
        last = slow or gaps[-1] <= ROUNDING_SHARE * reached or monitor.iterations >= monitor.max_iter
        if gaps[-1] > fine * reached and not last:  # f is smaller than thought
            target = fine * reached
            continue
        gap = dual.gap(trial)
        if monitor.certificate is not None:
            monitor.certificate.tighten(reached, gap)
        if reached < value and not (slow and gap > MAX_RELATIVE_GAP * reached):
            theta[:], value = trial, reached
            if monitor.log_iteration(value, norm, theta, gradient, passes=problem.passes, epochs=len(gaps)):
                return
        if last:
            return
        target = gaps[-1] * min(0.25, 0.5 * monitor.tol * reached / gap)


def _settle_intercepts(problem: LogLinearProblem, theta: Vector, gradient: Vector, value: float) -> float:
    """Take intercepts that ran away, as those of rare labels may, to their optimum for these weights; returns f.

    There neither gradients nor curvatures say how far they have to come back.
    """
    n = problem.n_weights
    if problem.size == n:
        return value
    shift = dual_point(problem, theta, 0.0).shift
    if np.abs(shift).max() <= FAR_INTERCEPT:
        return value
    theta[n:] += shift if len(shift) == problem.size - n else shift[1:] - shift[0]
    return problem.value(theta, gradient)


def _epochs_left(gaps: list[float], target: float, of_sets: bool = False) -> float:
    """How long at the rate of the last epochs; 0 while there are too few."""
    low, high = WANDERING_GAPS
    too_few = WANDERING_EPOCHS if low * gaps[0] < gaps[-1] < high * gaps[0] else RATE_EPOCHS
    too_few = EPOCHS_OF_SETS if of_sets else too_few
    if len(gaps) <= too_few or gaps[-1] <= target:
        return 0.0
    rate = np.log(gaps[-1] / gaps[-1 - RATE_EPOCHS]) / RATE_EPOCHS
    return float(np.log(target / gaps[-1]) / rate) if rate < 0 and target > 0 else np.inf
