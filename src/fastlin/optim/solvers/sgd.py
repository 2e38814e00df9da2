"""Stochastic gradients on the way to the optimum: averaged SGD with η₀/(1 + η₀λt), and Adagrad. The best epoch is kept.

The epochs are those of the online learners (optim/epochs.py), with λ = 1/(Cn) an instance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.fit_monitor import FitMonitor
from fastlin.data.scratch import ScratchArray
from fastlin.engine.core import vector_ops
from fastlin.losses import CODES
from fastlin.optim.candidates import training_groups
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.epochs import RowSource, Stopping, TrainingRows, Visit, train_epochs
from fastlin.optim.likelihoods import ConditionalLogitLikelihood
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.online_state import OnlineState
from fastlin.optim.partitions import Partition, Partitions
from fastlin.optim.solvers import newton
from fastlin.optim.training_state import TrainingState
from fastlin.optim.update_rules import ADAGRAD, GRADIENT, SCHEDULES, make_rule
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.validation import CSRRows

BURN_IN = 0.5  # the share of max_iter epochs that the average leaves out
RATE_TIMES_SQUARED_NORM = 4.0  # η₀ times the mean squared norm of a row
GROUP_RATE_TIMES_SQUARED_NORM = (
    2.0  # the same for candidates: of the powers of 2 the best on text and on dense groups, C from 0.1 to 100
)


def averaged_sgd(
    problem: LogLinearProblem, theta: NDArray[np.float64], monitor: ConvergenceMonitor, generator: np.random.Generator
) -> None:
    """SGD whose weights are averaged over the second half of the epochs."""
    n = problem.partitions.n_instances
    first = int(BURN_IN * monitor.max_iter * n) + 1
    fields = {"step": GRADIENT, "schedule": SCHEDULES["inverse"], "eta0": _first_rate(problem), "average_from": first}
    _run("sgd", problem, theta, monitor, generator, fields)


def adagrad(
    problem: LogLinearProblem, theta: NDArray[np.float64], monitor: ConvergenceMonitor, generator: np.random.Generator
) -> None:
    """Adagrad with η₀ = 1."""
    size = 2 if not problem.partitions.has_labels else 1  # a group is a mini-batch: there must be room for its sum
    fields = {"step": ADAGRAD, "schedule": SCHEDULES["adagrad"], "eta0": 1.0, "batch_size": size}
    _run("adagrad", problem, theta, monitor, generator, fields)


def _first_rate(problem: LogLinearProblem) -> float:
    """η₀, from the mean ‖x‖² of a row, the intercept included, or of the candidates of a group."""
    parts = problem.partitions
    square = problem.data.fold(_sum_of_squares) / parts.n_rows
    if not parts.has_labels:
        weighted = square * parts.total_weight / parts.n_instances
        return GROUP_RATE_TIMES_SQUARED_NORM / weighted if weighted > 0 else 1.0
    return RATE_TIMES_SQUARED_NORM / (1.0 + square)


def _sum_of_squares(part: Partition) -> float:
    """Σ x²."""
    return float(np.square(part.design.values, dtype=np.float64).sum())


@dataclass(frozen=True)
class PartitionStream:
    """Several parts as the data of epochs, in random order, and the rows of each in random order."""

    partitions: Partitions
    generator: np.random.Generator
    in_memory: ClassVar[bool] = False
    labelled: ClassVar[bool] = True

    def __len__(self) -> int:
        return self.partitions.n_instances

    def n_weighted(self) -> int:
        return len(self)

    def residuals(self, width: int) -> list[ScratchArray]:
        scratch = self.partitions.scratch
        return [scratch.zeros((size if width else 0, width)) for size in self.partitions.sizes]

    def parts(self) -> Iterator[TrainingRows]:
        return (_data(part, self.generator) for part in self.partitions)

    def visit(self, residuals: list[ScratchArray], visit: Visit) -> None:
        for index in self.generator.permutation(len(self.partitions)):
            with self.partitions.open(index) as part:
                data = _data(part, self.generator)
                visit(data, data.order(), part.map(residuals))


def _source(parts: Partitions, generator: np.random.Generator) -> RowSource:
    if len(parts) > 1:
        return PartitionStream(parts, generator)
    (part,) = parts
    return _data(part, generator)


def _data(part: Partition, generator: np.random.Generator) -> TrainingRows:
    design, inference = part.design, part.likelihood
    values = design.values.astype(np.float64, copy=False)
    rows = CSRRows(design.indptr, design.indices, values, design.n_features, True, True, design.largest)
    if isinstance(inference, ConditionalLogitLikelihood):
        return training_groups(rows, inference, True, generator)
    return TrainingRows(rows, inference.codes, inference.weights, np.arange(len(rows)), "shuffle", generator)


class BestWeights:
    """The weights of the lowest objective that epochs came to."""

    def __init__(self, theta: NDArray[np.float64], value: float) -> None:
        self.theta, self.value = theta.copy(), value

    def state(self) -> State:
        return {"lowest": float(self.value), "best": self.theta}

    def restore(self, saved: CheckpointReader) -> None:
        """Become what `state` said."""
        self.value = saved.number("lowest")
        saved.read_into("best", self.theta)

    def update(self, theta: NDArray[np.float64], value: float) -> None:
        if value < self.value:
            self.value = value
            self.theta[:] = theta


def _run(
    solver: str,
    problem: LogLinearProblem,
    theta: NDArray[np.float64],
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,
    fields: dict[str, Any],
) -> None:
    parts, precision = problem.partitions, problem.prior.precision
    if not isinstance(problem.layout, DenseWeights):
        raise ValueError("solver='sgd' and solver='adagrad' need weights='dense'")
    if len(problem.prior.mean) or (len(precision) and np.ptp(precision) > 0):
        raise ValueError("solver='sgd' and solver='adagrad' know one variance for all features, and no prior_mean")
    gradient, n = np.empty(problem.size), problem.n_weights
    if n == 0:  # only intercepts
        newton.minimise(problem, theta, monitor, generator)
        return
    saved, lowest = monitor.resume(solver), BestWeights(theta, np.inf)
    if saved is None:
        lowest.value = problem.value(theta, gradient)
        if monitor.log_iteration(lowest.value, vector_ops.max_abs(gradient), theta, gradient, passes=problem.passes):
            return
    else:
        lowest.restore(saved)
    monitor.register_state(solver, problem, lowest.state, logged=False)
    monitor.nonmonotone = True
    strength, dtype = float(precision[0]) / parts.n_instances, np.dtype(np.float64)
    common = {"loss": CODES["log_loss"], "fit_intercept": problem.size > n, "alpha": strength, "l2": strength}
    rule = make_rule(dtype, **common, **fields)
    inner = FitMonitor(monitor.max_iter, None, monitor.nested("epochs"))
    orders = inner.register_generator(generator)
    training = TrainingState((parts.n_features, problem.width), rule, np.array([0, parts.n_rows]))
    inner.register_run("epochs", training)
    state = training.online_state
    if state is None:
        state = OnlineState(rule, parts.n_features, problem.width, dtype)
        state.start_from(theta[:n].reshape(-1, problem.width).T, theta[n:] if problem.size > n else None)

    def report(_: dict[str, Any]) -> bool:
        theta[:n] = state.coef().reshape(-1)
        theta[n:] = state.intercept()[: problem.size - n]
        monitor.iterations += 1
        problem.passes += 2
        value = problem.value(theta, gradient)
        lowest.update(theta, value)
        return monitor.log_iteration(value, vector_ops.max_abs(gradient), theta, gradient, passes=problem.passes)

    inner.report = report
    data, stopping = _source(parts, generator), Stopping(None, 1)
    train_epochs(  # in one thread: the rows are not sorted
        state, data, inner, training, stopping, n_jobs=1, generator=orders
    )
    theta[:] = lowest.theta
