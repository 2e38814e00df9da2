"""Generalised and improved iterative scaling: every weight moves by the root of its own equation (see the kernel).

The objective never rises. Two labels in one column are scaled as two, θ₁ = w/2 and θ₀ = −w/2 with half the variance,
which is the same prior on w; then w moves by δ₁ − δ₀. With dense weights and a common prior the mean over labels is
taken out of θ after a sweep: it moves no probability and lowers the prior.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import iterative_scaling
from fastlin.optim import log_linear_passes
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.design import Design
from fastlin.optim.log_linear_passes import LogLinearModel
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.partitions import Partition, PerRowArrays
from fastlin.optim.weight_layouts import DenseWeights

Vector = NDArray[np.float64]
WEIGHTS_PER_JOB = 1 << 16  # weights that are solved for between two looks at Ctrl-C
MAX_TURNS = 100  # three to five are usual


@dataclass(frozen=True)
class ScaledSide:
    """The weights as they are scaled: all at once, or one of the two labels that share a column."""

    label: int
    sign: float
    share: float  # of θ
    observed: Vector
    precision: Vector


def minimise_gis(
    problem: LogLinearProblem,
    theta: Vector,
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
) -> None:
    """GIS."""
    _sweep("gis", problem, theta, monitor, GeneralisedScaling(problem))


def minimise_iis(
    problem: LogLinearProblem,
    theta: Vector,
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
) -> None:
    """IIS."""
    scaler = ImprovedScaling(problem) if len(problem.partitions) == 1 else PartitionedImprovedScaling(problem)
    _sweep("iis", problem, theta, monitor, scaler)


class GeneralisedScaling:
    """Steps from expected counts alone."""

    def __init__(self, problem: LogLinearProblem) -> None:
        self.problem = problem
        most = max(problem.data.each(_largest_sum, problem.model))
        self.largest = max(most, np.finfo(float).tiny)

    def update_expectations(self, theta: Vector, gradient: Vector) -> None:
        """Note what the model expects at θ, where `gradient` was taken."""
        self.counts = self.problem.counts(theta, gradient)

    def steps(self, side: ScaledSide, theta: Vector, delta: Vector) -> None:
        """δ of the weights and the intercepts of a side."""
        n, width, precision = self.problem.n_weights, self.problem.layout.weights_per_feature, side.precision
        expected = np.maximum(side.observed + side.sign * self.counts, 0)
        free = np.zeros(len(theta) - n)
        iterative_scaling.gis_update(expected[n:], side.observed[n:], self.largest, free, 1, theta[n:], delta[n:])

        def work(start: int, stop: int) -> None:
            part, priors = slice(start * width, stop * width), precision[start:stop]
            weights = expected[part], side.observed[part], self.largest, priors, width, theta[part], delta[part]
            iterative_scaling.gis_update(*weights)

        pieces = range(0, len(precision), max(1, WEIGHTS_PER_JOB // width))
        self.problem.workers.map(work, [(start, min(start + pieces.step, len(precision))) for start in pieces])


class ImprovedScaling:
    """Steps from the rows of each column, of which those with the same feature sum are one term."""

    def __init__(self, problem: LogLinearProblem) -> None:
        (self.part,) = problem.partitions
        self.problem = problem
        (sums,) = problem.data.each(_feature_sums, problem.model)
        self.levels, level = np.unique(sums, return_inverse=True)
        self.level = np.ascontiguousarray(level.reshape(sums.shape), np.int32)

    def update_expectations(self, theta: Vector, gradient: Vector) -> None:  # noqa: ARG002 - the residuals say it all
        self.p = self.part.one_right.expected(self.part.map(self.problem.residual))

    def steps(self, side: ScaledSide, theta: Vector, delta: Vector) -> None:
        problem, design, p = self.problem, self.part.design, self.p
        n, K = problem.n_weights, len(theta) - problem.n_weights
        starts, labels = problem.layout.feature_columns()
        labels = np.full_like(labels, side.label) if side.share < 1 else labels

        columns = CSRView(design.column_indptr, design.column_rows, design.column_values)
        data = iterative_scaling.TermColumns(columns, starts, labels, p)
        tables, width = (self.level, self.levels), problem.layout.weights_per_feature

        def work(low: int, high: int) -> None:
            iterative_scaling.iis_update(data, *tables, side.observed, side.precision, width, theta, delta, low, high)

        problem.workers.map(work, problem.feature_blocks)
        if K:
            of_intercepts = _intercept_terms(design, np.array([0, K]), np.arange(K, dtype=np.int32) + side.label, p)
            iterative_scaling.iis_update(
                of_intercepts, *tables, side.observed[n:], np.zeros(K), 1, theta[n:], delta[n:], 0, 1
            )


def _intercept_terms(
    design: Design, starts: NDArray[np.int64], labels: NDArray[np.int32], p: Vector
) -> iterative_scaling.TermColumns:
    """The feature that every row has, whose weights are the intercepts."""
    every = np.array([0, design.n_rows]), np.arange(design.n_rows, dtype=np.int32), np.ones(design.n_rows)
    return iterative_scaling.TermColumns(CSRView(*every), starts, labels, p)


class PartitionedImprovedScaling:
    """The same where the rows of a column lie in several parts: after a pass over them, all equations have a turn."""

    def __init__(self, problem: LogLinearProblem) -> None:
        self.problem, allocate = problem, problem.data.allocate
        self.sums = allocate("feature_sums", 1 if isinstance(problem.layout, DenseWeights) else problem.width)
        self.p = allocate("expected", max(2, problem.width) if problem.partitions.has_labels else 1)
        problem.data.each(_store_feature_sums, problem.model, self.sums)

    def update_expectations(self, theta: Vector, gradient: Vector) -> None:  # noqa: ARG002 - every scaler is told
        self.problem.data.each(_store_expected, self.problem.model, theta, self.p)
        self.problem.passes += 1

    def steps(self, side: ScaledSide, theta: Vector, delta: Vector) -> None:
        problem, step = self.problem, self.problem.layout.weights_per_feature
        equations = np.zeros((iterative_scaling.EQUATION_SIZE, problem.size))
        equations[:3] = np.array([[np.inf], [-np.inf], [np.inf]])  # the smallest f, and the bracket
        delta[:] = 0
        starts, labels = problem.layout.feature_columns()
        labels = np.append(labels, np.arange(problem.size - problem.n_weights, dtype=np.int32))
        labels = np.full_like(labels, side.label) if side.share < 1 else labels
        terms = self.p, self.sums, starts, labels, delta
        precision = np.append(side.precision, np.zeros((problem.size - problem.n_weights) // step))

        def turn(piece: slice) -> int:
            where = piece.start, piece.stop
            return iterative_scaling.iis_step(side.observed, precision, step, theta, *where, delta, equations)

        for number in range(MAX_TURNS):
            problem.data.fold(_add_terms, problem.model, *terms, number == 0, into=(equations,))
            if not sum(problem.pieces.map(turn)):
                break


def _add_terms(
    part: Partition,
    model: LogLinearModel,
    expected: PerRowArrays,
    feature_sums: PerRowArrays,
    starts: NDArray[np.int64],
    labels: NDArray[np.int32],
    delta: Vector,
    first: bool,
    equations: Vector,
) -> None:
    """Add the terms of a partition to the equations of δ."""
    design, p, sums = part.design, part.map(expected), part.map(feature_sums)
    n, K = model.n_weights, model.size - model.n_weights

    columns = CSRView(design.column_indptr, design.column_rows, design.column_values)
    data = iterative_scaling.TermColumns(columns, starts, labels, p)

    def work(low: int, high: int) -> None:
        iterative_scaling.add_iis_sums(data, sums, delta, equations, first, low, high)

    log_linear_passes.over_columns(part, model, work)
    if K:
        of_intercepts = _intercept_terms(design, np.array([n, n + K]), labels, p)
        iterative_scaling.add_iis_sums(of_intercepts, sums, delta, equations, first, 0, 1)


def _feature_sums(part: Partition, model: LogLinearModel) -> Vector:
    """f# of each row of a part and label, [n, K], or [n, 1] where it is every label's: scores of weights that are 1."""
    sums = np.empty((part.design.n_rows, model.layout.width))
    log_linear_passes.write_scores(part, model, np.ones(model.size), sums)
    return sums[:, :1].copy() if isinstance(model.layout, DenseWeights) else sums


def _store_feature_sums(part: Partition, model: LogLinearModel, out: PerRowArrays) -> None:
    part.map(out)[:] = _feature_sums(part, model)


def _largest_sum(part: Partition, model: LogLinearModel) -> float:
    return float(_feature_sums(part, model).max(initial=0))


def _store_expected(part: Partition, model: LogLinearModel, theta: Vector, out: PerRowArrays) -> None:
    """w p of each row."""
    residual = part.map(model.residual)
    log_linear_passes.fill_loss(part, residual, model, theta)
    part.map(out)[:] = part.one_right.expected(residual)


def _fill_observed(part: Partition, residual: Vector) -> float:
    """w e_y."""
    residual[:] = part.one_right.observed(residual.shape[1])
    return 0.0


def _fill_mass(part: Partition, residual: Vector) -> float:
    """w."""
    residual[:] = part.labels.row_weights()
    return 0.0


def _sides(problem: LogLinearProblem) -> list[ScaledSide]:
    """Observed counts, of labels that share a column twice: for the one and for the other."""
    observed = problem.sum_over_features(_fill_observed)
    if not (problem.width == 1 and problem.partitions.has_labels):
        return [ScaledSide(0, 1.0, 1.0, observed, problem.precision)]
    total, precision = problem.sum_over_features(_fill_mass), 2 * problem.precision
    return [ScaledSide(0, -1.0, 0.5, total - observed, precision), ScaledSide(1, 1.0, 0.5, observed, precision)]


def _sweep(
    solver: str,
    problem: LogLinearProblem,
    theta: Vector,
    monitor: ConvergenceMonitor,
    scaler: GeneralisedScaling | ImprovedScaling | PartitionedImprovedScaling,
) -> None:
    n, sides = problem.n_weights, _sides(problem)
    _check_counts(problem, sides)
    gradient, delta = np.empty(problem.size), np.empty(problem.size)
    shift = problem.prior.mean if len(problem.prior.mean) else 0.0
    common = problem.width > 1 and isinstance(problem.layout, DenseWeights) and not len(problem.prior.mean)
    saved = monitor.resume(solver)
    if saved is not None:
        saved.read_into("theta", theta)
    value = problem.value(theta, gradient)
    monitor.register_state(solver, problem, lambda: {"theta": theta})
    while not monitor.log_iteration(value, vector_ops.max_abs(gradient), theta, gradient, passes=problem.passes):
        monitor.maybe_save()
        monitor.iterations += 1
        scaler.update_expectations(theta, gradient)
        centred = theta.copy()
        centred[:n] -= shift
        for side in sides:
            scaler.steps(side, side.sign * side.share * centred, delta)
            theta += side.sign * delta
        if common:
            weights = theta.reshape(-1, problem.width)
            weights -= weights.mean(axis=1, keepdims=True)
        value = problem.value(theta, gradient)


def _check_counts(problem: LogLinearProblem, sides: list[ScaledSide]) -> None:
    """Without a prior a weight whose feature never occurs with its label would go to −∞."""
    free = np.repeat(problem.precision == 0, problem.layout.weights_per_feature)
    for side in sides:
        missing = free & (side.observed[: problem.n_weights] <= 0)
        if missing.any():
            where = int(np.argmax(missing))
            starts, labels = problem.layout.feature_columns()
            column = int(problem.partitions.features[np.searchsorted(starts, where, side="right") - 1])
            label = max(int(labels[where]), side.label)
            raise ValueError(
                f"without a prior, scaling needs a count for every weight, and column {column} of X never occurs with "
                f"label {label} of classes_: use weights='observed', or a finite C"
            )
