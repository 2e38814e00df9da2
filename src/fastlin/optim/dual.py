"""The driver of dual coordinate ascent: groups of labels, epochs, orders, the gap that ends a fit."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import run
from fastlin.engine import dual
from fastlin.engine.memory import zeros
from fastlin.validation import Rows

TASK = np.dtype(
    [
        *((name, np.int64) for name in ("squared", "joint", "first", "patience")),
        *((name, np.float64) for name in ("scaling", "bar", "gap", "gain", "loss", "linear")),
    ]
)
WIDTH = 8  # labels of a group: a cache line of weights a feature
EPOCH = 2  # an epoch visits at least one row in so many
BUDGET = 1 << 24  # multiply–adds between two looks at Ctrl-C: tens of milliseconds
# By whether the problem is joint: a row waits when its gap is below this share of the mean gap, so many rounds at most.
SMALL_GAP = {False: 0.5, True: 1.0}
PATIENCE = {False: 15, True: 31}


@dataclass(frozen=True)
class Problem:
    """What is to be minimised: ½‖θ‖² + Σ_i C_i ℓ_i over proved float64 rows."""

    rows: Rows
    labels: NDArray[np.int32]
    n_columns: int  # one for two labels
    C: NDArray[np.float64]  # a row's own; 0 leaves it out
    squared: bool
    joint: bool  # Crammer and Singer's problem, or one against the rest
    scaling: float  # the value of the intercept's feature; 0 for none
    share: float  # what is reported of the objective


class Group:
    """The dual variables and the weights of neighbouring labels: an independent problem, or all of a joint one."""

    def __init__(self, problem: Problem, first: int, stop: int, norms: NDArray[np.float64], random: Any) -> None:
        n, width = len(problem.rows), stop - first
        self.problem, self.norms, self.columns = problem, norms, slice(first, stop)
        self.generator = np.random.Generator(random)
        self.weights = zeros((problem.rows.n_columns, width))
        self.bias, self.alpha = np.zeros(width), np.zeros((n, width))
        self.task = np.zeros(1, TASK)
        self.task["squared"], self.task["joint"], self.task["scaling"] = problem.squared, problem.joint, problem.scaling
        self.task["first"] = first + (problem.n_columns == 1)  # a single column is that of label 1
        self.task["patience"] = PATIENCE[problem.joint]
        self.limits = np.empty((4, width))
        self.forget_limits()
        self.gaps, self.wait, self.skip = np.zeros(n), np.zeros(n, np.int32), np.zeros(n, np.int32)
        self.skip[problem.C == 0] = -2
        self.order, self.spare = np.empty(n, np.int64), np.empty((3, width))
        self.value, self.gap, self.objective = 0.0, np.inf, np.nan
        self.visits, self.measured, self.finished, self.cancelled = 0, False, False, False

    def start_from(self, signed: NDArray[np.float64], tol: float) -> None:
        """Take over dual variables, made feasible: zα of each label, or α of the joint problem."""
        problem, alpha = self.problem, signed.copy()
        own = problem.labels[:, None] == self.task["first"] + np.arange(alpha.shape[1])
        if problem.joint:
            alpha = np.where(own, 0.0, np.minimum(alpha, 0))
            total = -alpha.sum(axis=1)
            alpha[own] = total
            limit = np.where(problem.C > 0, np.inf, 0.0) if problem.squared else problem.C
            alpha *= np.minimum(1.0, limit / np.maximum(total, np.finfo(float).tiny))[:, None]
            signed = alpha
        else:
            sign = np.where(own, 1.0, -1.0)
            limit = np.where(problem.C > 0, np.inf, 0.0) if problem.squared else problem.C
            alpha = np.clip(alpha * sign, 0, limit[:, None])
            signed = alpha * sign
        self.alpha = alpha
        run.backward(problem.rows, signed, self.weights, None)
        self.bias = problem.scaling * signed.sum(axis=0)
        self.inspect(tol)

    def signed(self) -> NDArray[np.float64]:
        """The multiples of the rows whose sum the weights are."""
        if self.problem.joint:
            return self.alpha
        own = self.problem.labels[:, None] == self.task["first"] + np.arange(self.alpha.shape[1])
        return np.where(own, self.alpha, -self.alpha)

    def epoch(self, tol: float) -> None:
        """Rounds over the rows that are due, until they come to a good part of all; or the end."""
        self.visits = 0
        while True:
            visits = self.visits
            self.visits += self._round(tol)
            if self.finished or self.cancelled or self.visits * EPOCH >= len(self.order) or self.visits == visits:
                return

    def _round(self, tol: float) -> int:
        """Visit the rows that are due; inspect all when their gaps, as last seen, promise the end."""
        problem, task, rows = self.problem, self.task, self.problem.rows
        size = dual.due(self.skip, self.order)
        order, position = self.order[:size], 0
        self.generator.shuffle(order)
        task["gap"], task["gain"] = 0, 0
        self.limits[2], self.limits[3] = -np.inf, np.inf
        while position < size and not self.cancelled:
            position = dual.ascend(
                task, rows.indptr, rows.indices, rows.values, problem.labels, problem.C, self.norms,
                order, position, BUDGET, self.weights, self.bias, self.alpha, self.limits,
                self.gaps, self.skip, self.wait, self.spare,
            )  # fmt: skip
        self.limits[0] = np.where(self.limits[2] > 0, self.limits[2], np.inf)
        self.limits[1] = np.where(self.limits[3] < 0, self.limits[3], -np.inf)
        task["bar"] = SMALL_GAP[problem.joint] * task["gap"] / max(size, 1)
        self.value += float(task["gain"][0])
        self.gap, self.measured = float(self.gaps.sum()), False
        if not self.gap > tol * (self.value + self.gap) and not self.cancelled:
            self.inspect(tol)
        return size

    def inspect(self, tol: float) -> None:
        """The exact objective and gap, and with them who is to be visited."""
        problem, task = self.problem, self.task
        task["loss"], task["linear"] = 0, 0

        def infer(scores: NDArray[np.float64], start: int, _: int) -> None:
            dual.inspect(task, scores, start, problem.labels, problem.C, self.alpha, self.gaps, self.skip)

        run.forward(problem.rows, self.weights, problem.scaling * self.bias, infer, None)
        half = 0.5 * (dual.squared_size(self.weights) + float(self.bias @ self.bias))
        self.objective, self.value = half + float(task["loss"][0]), float(task["linear"][0]) - half
        self.gap, self.measured = max(0.0, self.objective - self.value), True
        if not np.isfinite([self.objective, self.value]).all():
            raise ValueError("the objective overflows: scale the features, or lower C and the weights of the rows")
        self.finished = self.gap <= tol * self.objective
        self.forget_limits()

    def forget_limits(self) -> None:
        """Drop nobody in the next epoch."""
        self.limits[0], self.limits[1] = np.inf, -np.inf


def groups(problem: Problem, generator: np.random.Generator) -> list[Group]:
    """All of a joint problem, or at most WIDTH labels each, whatever the number of threads."""
    norms = np.empty(len(problem.rows))
    dual.squared_norms(problem.rows.indptr, problem.rows.values, norms)
    norms += problem.scaling**2
    with np.errstate(divide="ignore"):  # a number above the true one only makes steps shorter
        norms = np.maximum(norms, np.maximum(1e-290, 1e-200 / problem.C, where=problem.C > 0, out=np.ones(len(norms))))
    width = problem.n_columns if problem.joint else WIDTH
    starts = range(0, problem.n_columns, width)
    seeds = generator.integers(2**63, size=len(starts))
    return [
        Group(problem, start, min(start + width, problem.n_columns), norms, np.random.PCG64(int(seed)))
        for start, seed in zip(starts, seeds, strict=True)
    ]


def total(parts: list[Group], name: str) -> float:
    """A value, gap or objective of the whole problem."""
    return parts[0].problem.share * float(sum(getattr(part, name) for part in parts))


def train(
    parts: list[Group],
    max_iter: int,
    tol: float,
    report: Callable[[dict[str, Any]], Any] | None,
    n_jobs: int | None,
) -> tuple[list[dict[str, Any]], bool]:
    """Run epochs until every group's gap is at most tol times its objective; returns (history, converged)."""
    history: list[dict[str, Any]] = []
    started, stopped = time.perf_counter(), False
    with run.Workers(n_jobs if len(parts) > 1 else 1) as workers:
        try:
            for epoch in range(1, max_iter + 1):
                unfinished = [part for part in parts if not part.finished]
                _each(workers, unfinished, lambda part: part.epoch(tol))
                record: dict[str, Any] = {
                    "epoch": epoch,
                    "dual": total(parts, "value"),
                    "gap": total(parts, "gap"),
                    "active": sum(part.visits for part in unfinished),
                }
                if all(part.measured for part in parts):
                    record["objective"] = total(parts, "objective")
                record["seconds"] = time.perf_counter() - started
                history.append(record)
                stopped = report is not None and bool(report(record))
                if stopped or all(part.finished for part in parts):
                    break
            _each(workers, [part for part in parts if not part.measured], lambda part: part.inspect(tol))
        except BaseException:
            for part in parts:  # threads that are at work end early
                part.cancelled = True
            raise
    return history, stopped or all(part.finished for part in parts)


def _each(workers: run.Workers, parts: list[Group], work: Callable[[Group], None]) -> None:
    workers.map(lambda index, _: work(parts[index]), [(index, index + 1) for index in range(len(parts))])
