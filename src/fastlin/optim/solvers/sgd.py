"""Stochastic gradients on the way to the optimum: averaged SGD with η₀/(1 + η₀λt), and Adagrad. The best epoch is kept.

The epochs are those of the online learners (optim/epochs.py), with λ = 1/(Cn) an instance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.losses import CODES
from fastlin.optim.candidates import instances
from fastlin.optim.checkpoint_reader import Saved, State, write
from fastlin.optim.convergence_monitor import Progress
from fastlin.optim.epochs import Data, Source, Stopping, Visit, train
from fastlin.optim.likelihoods import Groups
from fastlin.optim.online_state import OnlineState
from fastlin.optim.partitions import OfRows, Part, Parts
from fastlin.optim.problem import Problem
from fastlin.optim.solvers import newton
from fastlin.optim.training_state import Keeper
from fastlin.optim.update_rules import ADAGRAD, GRADIENT, SCHEDULES, rule_of
from fastlin.optim.weight_layouts import Dense
from fastlin.validation import CSRRows

BURN_IN = 0.5  # the share of max_iter epochs that the average leaves out
STEADY = 4.0  # η₀ times the mean squared norm of a row
STEADY_GROUP = (
    2.0  # the same for candidates: of the powers of 2 the best on text and on dense groups, C from 0.1 to 100
)


def averaged(problem: Problem, theta: NDArray[np.float64], progress: Progress, generator: np.random.Generator) -> None:
    """SGD whose weights are averaged over the second half of the epochs."""
    n = problem.parts.n_instances
    first = int(BURN_IN * progress.max_iter * n) + 1
    fields = {"step": GRADIENT, "schedule": SCHEDULES["inverse"], "eta0": _first_rate(problem), "average_from": first}
    _run("sgd", problem, theta, progress, generator, fields)


def adaptive(problem: Problem, theta: NDArray[np.float64], progress: Progress, generator: np.random.Generator) -> None:
    """Adagrad with η₀ = 1."""
    size = 2 if not problem.parts.of_labels else 1  # a group is a mini-batch: there must be room for its sum
    fields = {"step": ADAGRAD, "schedule": SCHEDULES["adagrad"], "eta0": 1.0, "batch_size": size}
    _run("adagrad", problem, theta, progress, generator, fields)


def _first_rate(problem: Problem) -> float:
    """η₀, from the mean ‖x‖² of a row, the intercept included, or of the candidates of a group."""
    parts = problem.parts
    square = sum(float(np.square(part.design.values, dtype=np.float64).sum()) for part in parts) / parts.n_rows
    if not parts.of_labels:
        weighted = square * parts.total_weight / parts.n_instances
        return STEADY_GROUP / weighted if weighted > 0 else 1.0
    return STEADY / (1.0 + square)


@dataclass(frozen=True)
class OfParts:
    """Several parts as the data of epochs, in random order, and the rows of each in random order."""

    whole: Parts
    generator: np.random.Generator
    in_memory: ClassVar[bool] = False

    def __len__(self) -> int:
        return self.whole.n_instances

    def counted(self) -> int:
        return len(self)

    def residuals(self, width: int) -> OfRows:
        scratch = self.whole.scratch
        return [scratch.zeros((size if width else 0, width)) for size in self.whole.sizes]

    def parts(self) -> Iterator[Data]:
        return (_data(part, self.generator) for part in self.whole)

    def visit(self, residuals: OfRows, visit: Visit) -> None:
        for index in self.generator.permutation(len(self.whole)):
            with self.whole.open(index) as part:
                data = _data(part, self.generator)
                visit(data, data.order(), part.map(residuals))


def _source(parts: Parts, generator: np.random.Generator) -> Source:
    if len(parts) > 1:
        return OfParts(parts, generator)
    (part,) = parts
    return _data(part, generator)


def _data(part: Part, generator: np.random.Generator) -> Data:
    design, inference = part.design, part.inference
    values = design.values.astype(np.float64, copy=False)
    rows = CSRRows(design.indptr, design.indices, values, design.n_features, True, True, design.largest)
    if isinstance(inference, Groups):
        return instances(rows, inference, True, generator)
    return Data(rows, inference.codes, inference.weights, np.arange(len(rows)), "shuffle", generator)


class Lowest:
    """The weights of the lowest objective that epochs came to."""

    def __init__(self, theta: NDArray[np.float64], value: float) -> None:
        self.theta, self.value = theta.copy(), value

    def state(self) -> State:
        return {"lowest": float(self.value), "best": self.theta}

    def restore(self, saved: Saved) -> None:
        """Become what `state` said."""
        self.value = saved.number("lowest")
        saved.copy("best", self.theta)

    def offer(self, theta: NDArray[np.float64], value: float) -> None:
        if value < self.value:
            self.value = value
            self.theta[:] = theta


class Beside:
    """The checkpoint of a solver's epochs: what they keep, in the file of what the solver keeps."""

    def __init__(self, progress: Progress, saved: Saved | None) -> None:
        self._progress, self._saved = progress, saved
        self.path = None if progress.checkpoint is None else progress.checkpoint.path

    def load(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        return None if self._saved is None else (self._saved.header.get("epochs") or {}, self._saved.arrays)

    def due(self) -> bool:
        return self._progress.checkpoint is not None and self._progress.checkpoint.due()

    def save(self, header: dict[str, Any], arrays: dict[str, Any], /) -> None:
        assert self._progress.checkpoint is not None
        write(self._progress.checkpoint, self._progress.state() | {"epochs": header} | arrays)


def _run(
    solver: str,
    problem: Problem,
    theta: NDArray[np.float64],
    progress: Progress,
    generator: np.random.Generator,
    fields: dict[str, Any],
) -> None:
    parts, precision = problem.parts, problem.prior.precision
    if not isinstance(problem.layout, Dense):
        raise ValueError("solver='sgd' and solver='adagrad' need weights='dense'")
    if len(problem.prior.mean) or (len(precision) and np.ptp(precision) > 0):
        raise ValueError("solver='sgd' and solver='adagrad' know one variance for all features, and no prior_mean")
    gradient, n = np.empty(problem.size), problem.n_weights
    if n == 0:  # only intercepts
        newton.minimise(problem, theta, progress, generator)
        return
    saved, lowest = progress.resume(solver), Lowest(theta, np.inf)
    if saved is None:
        lowest.value = problem.value(theta, gradient)
        if progress.record(lowest.value, vector_ops.largest(gradient), theta, gradient, passes=problem.passes):
            return
    else:
        lowest.restore(saved)
    progress.keep(solver, problem, lowest.state, noted=False)
    progress.wanders = True
    strength, dtype = float(precision[0]) / parts.n_instances, np.dtype(np.float64)
    common = {"loss": CODES["log_loss"], "fit_intercept": problem.size > n, "alpha": strength, "l2": strength}
    rule = rule_of(dtype, **common, **fields)
    keeper = Keeper(Beside(progress, saved), generator)
    keeper.check((parts.n_features, problem.width), rule, np.array([0, parts.n_rows]))
    state = keeper.state
    if state is None:
        state = OnlineState(rule, parts.n_features, problem.width, dtype)
        state.start_from(theta[:n].reshape(-1, problem.width).T, theta[n:] if problem.size > n else None)

    def report(_: dict[str, Any]) -> bool:
        theta[:n] = state.coef().reshape(-1)
        theta[n:] = state.intercept()[: problem.size - n]
        progress.iterations += 1
        problem.passes += 2
        value = problem.value(theta, gradient)
        lowest.offer(theta, value)
        return progress.record(value, vector_ops.largest(gradient), theta, gradient, passes=problem.passes)

    data, stopping = _source(parts, generator), Stopping(progress.max_iter, None, 1)
    train(state, data, stopping, report=report, n_jobs=1, keeper=keeper)  # in one thread: the rows are not sorted
    theta[:] = lowest.theta
