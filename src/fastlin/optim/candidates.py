"""Drivers for instances that bring their own candidates: online epochs, and dual ascent on the hinge loss."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin import run
from fastlin.engine import candidates, vectors
from fastlin.engine.memory import zeros
from fastlin.optim.epochs import BUDGET, Data, Kernel, flush, one_epoch, residuals
from fastlin.optim.inferences import Groups
from fastlin.optim.problem import Problem
from fastlin.optim.progress import Progress
from fastlin.optim.state import ADAGRAD, CANCELLATION, GRADIENT, LOG_LOSS, REACH, RULE, SCHEDULES, OnlineState
from fastlin.validation import Rows


@dataclass(frozen=True)
class Instances(Data):
    """Groups of rows: `members` are the groups, `labels` the place of the right row in each."""

    starts: NDArray[np.int64]
    unit: ClassVar[str] = "group"

    def kernel(self, state: OnlineState, order: NDArray[np.int64], residual: NDArray[np.float64]) -> Kernel:
        rows, largest = self.rows, int(np.diff(self.starts).max())
        batch_rows, numbers = np.empty((2, largest), np.int64), np.zeros((3, largest))
        change = np.zeros(1, state.weights.dtype)
        return lambda position: candidates.run(
            state.rule, state.clock, state.past,
            rows.indptr, rows.indices, rows.values, rows.largest, self.starts, self.labels, self.weights,
            order, position, BUDGET,
            state.weights, state.total, state.squares, state.pending, state.generation, state.touched, residual,
            batch_rows, numbers, change,
        )  # fmt: skip


def instances(rows: Rows, groups: Groups, shuffle: bool, generator: np.random.Generator) -> Instances:
    members, sampling = np.arange(len(groups.gold)), "shuffle" if shuffle else "order"
    return Instances(rows, groups.gold, groups.weights, members, sampling, generator, groups.starts)


def rule_of(dtype: np.dtype[Any], **fields: Any) -> NDArray[Any]:
    """The Rule of a learner of one column without an intercept."""
    rule = np.zeros(1, RULE)
    rule["batch_size"], rule["schedule"] = 1, SCHEDULES["constant"]
    rule["cancellation"], rule["reach"] = CANCELLATION, REACH[dtype]
    for field, value in fields.items():
        rule[field] = value
    return rule


def sgd(problem: Problem, theta: NDArray[np.float64], progress: Progress, generator: np.random.Generator) -> None:
    """Averaged SGD on the log loss, η = η₀/(1 + η₀λt); the average begins with the second epoch.

    η₀ = 2/mean(w‖f‖²): of the powers of 2 around it the best on text and on short dense groups, C from 0.1 to 100.
    """
    n, values = len(_groups(problem).gold), problem.design.values
    size = vectors.dot(values, values) / problem.design.n_rows * problem.inference.total_weight / n  # mean of w ‖f‖²
    rate = 2 / size if size > 0 else 1.0
    step = {"step": GRADIENT, "schedule": SCHEDULES["inverse"], "eta0": rate, "average_from": n + 1}
    _descend(problem, theta, progress, generator, step)


def adagrad(problem: Problem, theta: NDArray[np.float64], progress: Progress, generator: np.random.Generator) -> None:
    """Adagrad on the log loss, with η₀ = 1."""
    step = {"step": ADAGRAD, "eta0": 1.0, "average_from": 0, "batch_size": 2}  # groups are mini-batches: room for sums
    _descend(problem, theta, progress, generator, step)


def _groups(problem: Problem) -> Groups:
    assert isinstance(problem.inference, Groups)
    return problem.inference


def _descend(
    problem: Problem,
    theta: NDArray[np.float64],
    progress: Progress,
    generator: np.random.Generator,
    step: dict[str, Any],
) -> None:
    """Epochs of steps, each followed by a look at f and its gradient."""
    design, groups, jobs = problem.design, _groups(problem), problem.workers.threads
    precision = problem.precision
    if len(problem.prior.mean) or (precision != precision[:1]).any():
        raise ValueError(
            "solver 'sgd' and 'adagrad' take one prior variance and no prior_mean: use solver='auto' for others"
        )
    values = design.values
    largest = float(np.abs(values).max(initial=0))
    rows = Rows(design.indptr, design.indices, values, design.n_features, False, False, largest)
    decay = float(precision[:1].sum()) / len(groups.gold)  # of each step, so that an epoch adds up to f
    rule = rule_of(values.dtype, loss=LOG_LOSS, alpha=decay, l2=decay, **step)
    state = OnlineState(rule, design.n_features, 1, values.dtype)
    state.start_from(theta[np.newaxis], None)
    data, residual, gradient = instances(rows, groups, True, generator), residuals(state, rows), np.empty(problem.size)
    while not progress.record(problem.value(theta, gradient), vectors.largest(gradient), passes=problem.passes):
        progress.iterations += 1
        one_epoch(state, data, residual)
        flush(state, rows, residual, jobs)
        problem.passes += 1
        theta[:] = state.coef()[:, 0]


class HingeDual:
    """Σ w ℓ + ½‖θ‖²/C, ℓ = max_r [r ≠ y] − s_y + s_r, by ascent on its dual from θ = 0: see `engine/candidates.pyx`."""

    def __init__(self, rows: Rows, groups: Groups, C: float, workers: run.Workers) -> None:
        self.rows, self.groups, self.C, self.threads = rows, groups, C, workers.threads
        self.right = groups.starts[:-1] + groups.gold
        self.box = C * (groups.weights if len(groups.weights) else np.ones(len(groups.gold)))
        self.alpha, self.theta = np.zeros(len(rows)), zeros((rows.n_columns,))
        self.alpha[self.right] = self.box

    def ascend(self, progress: Progress, generator: np.random.Generator) -> None:
        """Epochs in random orders; the gap is measured where the sum of its parts says that it may be small enough."""
        room = np.empty(int(np.diff(self.groups.starts).max()))
        objective, gap = self.measure()
        while not progress.note(gap, objective=objective, duality_gap=gap):
            met = np.inf
            while met > progress.enough * self.C and progress.iterations < progress.max_iter:
                progress.iterations += 1
                met = self._epoch(generator.permutation(len(self.right)), room)
                if progress.report:
                    break
            objective, gap = self.measure()

    def _epoch(self, order: NDArray[np.int64], room: NDArray[np.float64]) -> float:
        rows, position, gap = self.rows, 0, 0.0
        while position < len(order):
            position, part = candidates.ascend(
                rows.indptr, rows.indices, rows.values, self.groups.starts, self.groups.gold, order, position, BUDGET,
                self.alpha, self.theta, room,
            )  # fmt: skip
            gap += part
        return gap

    def measure(self) -> tuple[float, float]:
        """The objective and the duality gap of θ, made anew from α to be rid of rounding."""
        shares, starts = -self.alpha[:, np.newaxis], self.groups.starts
        shares[self.right, 0] += self.box
        self.theta[:] = 0
        run.backward(self.rows, shares, self.theta[:, np.newaxis], self.threads)
        losses = run.scores(self.rows, self.theta[:, np.newaxis], np.zeros(1), self.threads)[:, 0] + 1
        losses[self.right] -= 1
        top = np.maximum.reduceat(losses, starts[:-1])
        gap = vectors.dot(self.alpha, np.repeat(top, np.diff(starts)) - losses)
        excess = vectors.dot(self.box, top - losses[self.right])
        return (excess + 0.5 * vectors.dot(self.theta, self.theta)) / self.C, gap / self.C
