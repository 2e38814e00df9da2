"""The driver of online learners: epochs, orders, stopping, progress; the kernel does a bounded piece of an epoch."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin import run
from fastlin.engine import online
from fastlin.optim.state import OnlineState
from fastlin.validation import Rows

FULL, OVERFLOW = 2, 1
BUDGET = 1 << 24  # multiply–adds between two looks at Ctrl-C: tens of milliseconds
SLOWEST = 1e-6  # the learning rate at which "adaptive" stops

Kernel = Callable[[int], tuple[int, int]]  # from a position in the order to (position, status)


@dataclass(frozen=True)
class Stopping:
    """When a run ends; scikit-learn's meaning of the same names."""

    max_iter: int
    tol: float | None
    patience: int
    adaptive: bool = False


@dataclass(frozen=True)
class Data:
    """Proved rows and what belongs to them; `members` are the rows to learn from, a `unit` each."""

    rows: Rows
    labels: NDArray[Any]  # int32
    weights: NDArray[np.float64]  # of length 0 for all ones
    members: NDArray[np.int64]
    sampling: str
    generator: np.random.Generator
    unit: ClassVar[str] = "row"

    def order(self) -> NDArray[np.int64]:
        """The rows of one epoch."""
        if self.sampling == "shuffle":
            return self.members[self.generator.permutation(len(self.members))]
        if self.sampling == "replace":
            return self.members[self.generator.integers(0, len(self.members), len(self.members))]
        return self.members

    def kernel(self, state: OnlineState, order: NDArray[np.int64], residual: NDArray[np.float64]) -> Kernel:
        """A bounded piece of an epoch, with memory of its own."""
        rows, lanes = self.rows, state.bias.shape[1]
        size = min(int(state.rule["batch_size"][0]), len(order))
        batch_rows = np.empty((2, size), np.int64)
        numbers = np.zeros((2 + size, lanes))
        change = np.zeros(lanes, state.weights.dtype)
        return lambda position: online.run(
            state.rule, state.clock, state.past,
            rows.indptr, rows.indices, rows.values, rows.largest, self.labels, self.weights, order, position, BUDGET,
            state.weights, state.bias, state.total, state.squares, state.pending,
            state.debt, state.generation, state.touched, residual,
            batch_rows, numbers, change,
        )  # fmt: skip


class Overflow(ValueError):
    """The next step would leave the range of the numbers."""


def train(
    state: OnlineState,
    data: Data,
    stopping: Stopping,
    evaluate: Callable[[], float] | None = None,
    score_decides: bool = False,
    report: Callable[[dict[str, Any]], Any] | None = None,
    n_jobs: int | None = None,
) -> tuple[list[dict[str, Any]], bool]:
    """Run epochs until a criterion holds; returns (history, converged).

    `evaluate` scores the model, higher is better; with `score_decides` the score and not the loss says when to stop.
    `report` sees the record of each epoch and may end the run by returning something true.
    """
    residual = np.zeros((len(data.rows), state.weights.shape[1]) if len(state.total) else (0, 0))
    history: list[dict[str, Any]] = []
    best, stale, started = -np.inf, 0, time.perf_counter()
    try:
        for epoch in range(1, stopping.max_iter + 1):
            _one_epoch(state, data, residual)
            record: dict[str, Any] = {
                "epoch": epoch,
                "loss": float(state.clock["loss"][0]) / len(data.members),
                "objective": float(state.clock["loss"][0]),
                "updates": int(state.clock["updates"][0]),
            }
            gain, tolerance = -record["loss"], stopping.tol
            if evaluate or report:
                _flush(state, data.rows, residual, n_jobs)
            if evaluate:
                record["validation_score"] = evaluate()
                gain = record["validation_score"] if score_decides else gain
            record["seconds"] = time.perf_counter() - started
            history.append(record)
            if report and report(record):
                return history, True
            if tolerance is None:
                continue
            stale = stale + 1 if (gain < best + tolerance) else 0
            best = max(best, gain)
            if stale >= stopping.patience:
                if not stopping.adaptive or state.rule["eta0"][0] <= SLOWEST:
                    return history, True
                state.rule["eta0"] /= 5
                stale = 0
        return history, tolerance is None
    finally:
        _flush(state, data.rows, residual, n_jobs)


def _one_epoch(state: OnlineState, data: Data, residual: NDArray[np.float64]) -> None:
    """Learn from everything once, in the data's order; `clock` has the epoch's loss and updates."""
    order, position = data.order(), 0
    advance = data.kernel(state, order, residual)
    state.clock["loss"], state.clock["updates"] = 0, 0
    state.changed()
    while position < len(order):
        position, status = advance(position)
        if status == FULL:
            state.more_room()
        elif status == OVERFLOW:
            raise Overflow(
                f"the step of {data.unit} {order[position]} would overflow the weights: scale the features, "
                "or lower the learning rate"
            )


def _flush(state: OnlineState, rows: Rows, residual: NDArray[np.float64], n_jobs: int | None) -> None:
    """Take the residuals of the average into its total: one backward pass, which an interrupt does not cut in two."""
    if not len(residual):
        return

    def finish() -> None:
        run.backward(rows, residual, state.total, n_jobs)
        residual[:] = 0
        state.changed()

    run.uninterrupted(finish)


def count_only(state: OnlineState, data: Data) -> dict[str, Any]:
    """An epoch of a single label: nothing competes with it, so only the clock moves."""
    n = int(np.count_nonzero(data.weights)) if len(data.weights) else len(data.members)
    size, clock, start = int(state.rule["batch_size"][0]), state.clock, int(state.rule["average_from"][0])
    ends = clock["t"][0] + np.minimum(np.arange(size, n + size, size), n)
    clock["t"] += n
    clock["steps"] += len(ends)
    clock["averaged"] += np.count_nonzero(ends >= start) if start else 0
    state.changed()
    return {"epoch": 1, "loss": 0.0, "objective": 0.0, "updates": 0, "seconds": 0.0}
