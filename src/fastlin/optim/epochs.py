"""The driver of online learners: epochs, orders, stopping, progress; the kernel does a bounded piece of an epoch."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from fastlin.core.fit_records import FitRecord
from fastlin.data.scratch import ScratchArray, ScratchSpace
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.online import online, row_order
from fastlin.optim.label_stops import LabelStops
from fastlin.optim.online_state import OnlineState
from fastlin.optim.training_state import TrainingState
from fastlin.runtime import parallel, thread_calls
from fastlin.runtime.made_once import made_once
from fastlin.runtime.shared_lock import Turn
from fastlin.validation import CSRRows

if TYPE_CHECKING:
    from fastlin.core.fit_monitor import FitGenerator, FitMonitor

HISTORY_FULL, WOULD_OVERFLOW = 2, 1
BUDGET = 1 << 24  # multiply–adds between two looks at Ctrl-C: tens of milliseconds
MIN_LEARNING_RATE = 1e-6  # the learning rate at which "adaptive" stops

Order = NDArray[np.int64]  # named, for the annotation of a function within another is made anew at every call
Floats = NDArray[np.float64]
Kernel = Callable[[int], tuple[int, int]]  # from a position in the order to (position, status)
Visit = Callable[
    ["TrainingRows", NDArray[np.int64], NDArray[np.float64]], None
]  # rows, in which order, their residuals


@dataclass(frozen=True)
class Stopping:
    """When a run ends; scikit-learn's meaning of the same names."""

    tol: float | None
    patience: int
    adaptive: bool = False
    penalised: bool = False  # by the objective, penalty and all, not by the loss alone


class RowSource(Protocol):
    """What epochs are run on: `Data` in memory, or the segments of a corpus (`optim/corpus_stream.py`)."""

    in_memory: ClassVar[bool]

    @property
    def labelled(self) -> bool:
        """Whether rows have labels, which may be mistaken, and not targets."""

    @property
    def generator(self) -> np.random.Generator:
        """What the orders are drawn from."""

    def __len__(self) -> int:
        """The rows of an epoch, or what else its units are."""

    def n_weighted(self) -> int:
        """How many of them have a weight."""

    def residuals(self, width: int) -> list[ScratchArray]:
        """Zeros for all rows, [n, width] for each part; of length 0 for a width of 0."""

    def parts(self) -> Iterator["TrainingRows"]:
        """All rows as they are stored, in the parts that the residuals have."""

    def visit(self, residuals: list[ScratchArray], visit: Visit) -> None:
        """Call `visit` until every row has had its turn once."""


class LabelTable(NamedTuple):
    """Which labels the sets of labels have, [sets, K], and what multiplies a row's weight without and with each."""

    members: NDArray[np.uint8] = np.empty((0, 0), np.uint8)
    factors: NDArray[np.float64] = np.empty((0, 0))  # [2, K]; of length 0 for all ones


@dataclass(frozen=True)
class TrainingRows:
    """Proved rows and what belongs to them; `members` are the rows to learn from, a `unit` each."""

    rows: CSRRows
    labels: NDArray[Any]  # int32; with a `table` the numbers of sets of labels
    weights: NDArray[np.float64]  # of length 0 for all ones
    row_ids: NDArray[np.int64]
    sampling: str
    generator: np.random.Generator
    start: int = field(default=0, kw_only=True)  # the number of the first row
    targets: NDArray[np.float64] = field(default_factory=lambda: np.empty(0), kw_only=True)  # instead of labels
    table: LabelTable = field(default=LabelTable(), kw_only=True)
    unit: ClassVar[str] = "row"
    in_memory: ClassVar[bool] = True

    @property
    def labelled(self) -> bool:
        return not len(self.targets)

    def __len__(self) -> int:
        return len(self.row_ids)

    def n_weighted(self) -> int:
        return int(np.count_nonzero(self.weights[self.row_ids])) if len(self.weights) else len(self.row_ids)

    def residuals(self, width: int) -> list[ScratchArray]:
        return [ScratchSpace().zeros((len(self.rows) if width else 0, width))]

    def parts(self) -> Iterator["TrainingRows"]:
        yield self

    def visit(self, residuals: list[ScratchArray], visit: Visit) -> None:
        with residuals[0].map() as residual:
            visit(self, self.order(), residual)

    def order(self) -> NDArray[np.int64]:
        """The rows of one epoch."""
        if self.sampling == "shuffle":
            order = row_order.permutation(self.generator, len(self.row_ids))
            return order if self._has_all_rows else self.row_ids[order]
        if self.sampling == "replace":
            return self.row_ids[self.generator.integers(0, len(self.row_ids), len(self.row_ids))]
        return self.row_ids

    @made_once
    def _has_all_rows(self) -> bool:
        """Whether `row_ids` are those of all rows, in their order."""
        return len(self.row_ids) == len(self.rows) and bool((self.row_ids == np.arange(len(self.rows))).all())

    def take(self, rows: NDArray[np.int64]) -> Self:
        """A copy of some of the rows, without members."""
        weights = self.weights[rows] if len(self.weights) else self.weights
        targets = self.targets[rows] if len(self.targets) else self.targets
        taken = replace(self, rows=self.rows.take(rows), labels=self.labels[rows], weights=weights, targets=targets)
        return replace(taken, row_ids=np.empty(0, np.int64))

    def kernel(
        self,
        state: OnlineState,
        order: NDArray[np.int64],
        residual: NDArray[np.float64],
        label_stops: LabelStops | None = None,
    ) -> Kernel:
        """A bounded piece of an epoch, with memory of its own."""
        rows, rank = self.rows, state.rank()
        labels = state.order[self.labels].astype(np.int32) if len(rank) else self.labels
        each = () if label_stops is None else (label_stops.losses, label_stops.stopped)
        targets = online.RowTargets(labels, self.targets, rank, *self.table, *each)
        epoch = online.OnlineEpoch(
            CSRView(rows.indptr, rows.indices, rows.values), rows.largest, targets, self.weights, order, residual,
            int(state.rule["batch_size"][0]), state.bias.shape[1],
        )  # fmt: skip
        return lambda position: online.run(epoch, state.bound(learn=True), position, BUDGET)


class Overflow(ValueError):
    """The next step would leave the range of the numbers."""


def train_epochs(
    state: OnlineState,
    data: RowSource,
    monitor: "FitMonitor",
    training: TrainingState,
    stopping: Stopping,
    evaluate: Callable[[], float] | None = None,
    score_decides: bool = False,
    n_jobs: int | None = None,
    generator: "FitGenerator | None" = None,
    turn: Turn | None = None,
    in_pieces: bool = False,
) -> None:
    """Run epochs until a criterion holds, or the monitor's limit or callback ends them.

    `evaluate` scores the model, higher is better; with `score_decides` the score and not the loss says when to stop.
    A run that is resumed goes on with its `training` and its `generator`. `turn` is the caller's at the state's lock,
    if others may read the state: they are let in while the callback and `evaluate` are at work and, with `in_pieces`,
    between two pieces of an epoch.
    """
    residuals = data.residuals(state.weights.shape[1] if len(state.total) else 0)
    by_objective = stopping.penalised and stopping.tol is not None and not score_decides
    if by_objective and _labels_stop_alone(state, stopping):
        training.label_stops = LabelStops(state.weights.shape, state.weights.dtype)
    stops = training.label_stops
    goes_on = training.begin(state, residuals, monitor.maybe_save)
    if by_objective and stops is None and not goes_on:
        training.penalty = state.penalty()
    if generator is not None:
        generator.catch_up()
    try:
        while not monitor.should_stop:
            _one_epoch(state, data, residuals, training, turn if in_pieces else None, n_jobs)
            monitor.iterations += 1
            record = _record_of_epoch(state, data, training, monitor.iterations)
            gain = -record["loss"]
            if stops is not None:
                stops.end_epoch(state, len(data), float(stopping.tol or 0), stopping.patience)
            elif by_objective:
                gain -= training.mean_penalty()
            if (evaluate or monitor.report) and not in_pieces:
                _flush(state, data, residuals, n_jobs)
            if evaluate:
                with _released(turn):
                    record["validation_score"] = evaluate()
                gain = record["validation_score"] if score_decides else gain
            with _released(turn if monitor.report else None):
                monitor.log_record(record | {"seconds": monitor.seconds})
            ends = _should_stop(state, training, stopping, gain) if stops is None else stops.all_stopped
            monitor.converged = monitor.stopped or ends
            if not monitor.converged:
                monitor.maybe_save()
        monitor.converged |= stopping.tol is None
    finally:
        if not in_pieces:
            _flush(state, data, residuals, n_jobs)


def _labels_stop_alone(state: OnlineState, stopping: Stopping) -> bool:
    """Whether each label is a problem of its own that may stop alone: not where all share a rate, or an average."""
    own = bool(state.rule["one_vs_rest"][0]) and state.weights.shape[1] > 1
    return own and not stopping.adaptive and not state.rule["average_from"][0]


def _record_of_epoch(state: OnlineState, data: RowSource, training: TrainingState, epoch: int) -> dict[str, Any]:
    loss = float(state.clock["loss"][0])
    if training.label_stops is not None:
        loss += training.label_stops.loss_of_stopped
    record = {
        "epoch": epoch,
        "loss": loss / len(data),
        "objective": loss,
        "updates": int(state.clock["updates"][0]),
    }
    if data.labelled:
        seen = max(1, int(state.clock["t"][0]) - training.n_seen_before)
        record["progressive_accuracy"] = 1 - int(state.clock["mistakes"][0]) / seen
    return record


def _should_stop(state: OnlineState, training: TrainingState, stopping: Stopping, gain: float) -> bool:
    """Note an epoch's gain; whether the last ones gained too little, and steps are not to be made smaller."""
    if stopping.tol is None:
        return False
    training.n_no_improvement = training.n_no_improvement + 1 if gain < training.best + stopping.tol else 0
    training.best = max(training.best, gain)
    if training.n_no_improvement < stopping.patience:
        return False
    if not stopping.adaptive or state.rule["eta0"][0] <= MIN_LEARNING_RATE:
        return True
    state.rule["eta0"] /= 5
    training.n_no_improvement = 0
    return False


def _released(turn: Turn | None) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if turn is None else turn.released()


def advance_piece(
    state: OnlineState, part: "TrainingRows", order: Order, advance: Kernel, position: int
) -> tuple[int, bool]:
    """Learn from a bounded piece of an epoch; the position behind it, and whether others may be let in there.

    Overflow: a step would leave the range of the numbers.
    """
    with state.changing():
        position, status = advance(position)
    if status == HISTORY_FULL:
        state.grow_history()
    elif status == WOULD_OVERFLOW:
        raise Overflow(
            f"the step of {part.unit} {part.start + order[position]} would overflow the weights: scale the features, "
            "or lower the learning rate"
        )
    return position, status != HISTORY_FULL


def _one_epoch(
    state: OnlineState,
    data: RowSource,
    residuals: list[ScratchArray],
    training: TrainingState,
    turn: Turn | None,
    n_jobs: int | None,
) -> None:
    """Learn from everything once, in the data's order; `clock` has the epoch's loss, updates and mistakes.

    With a `turn` others are let in again and again, and what they see of an average is always whole.
    """

    def visit(part: TrainingRows, order: Order, residual: Floats) -> None:
        position, flushed, advance = 0, 0, part.kernel(state, order, residual, training.label_stops)
        try:
            while position < len(order):
                position, paused = advance_piece(state, part, order, advance, position)
                if turn is not None and paused and position < len(order):
                    _flush_rows(state, part, order[flushed:position], residual, n_jobs)
                    flushed = position
                    turn.pause()
        finally:
            if turn is not None:
                _flush_rows(state, part, order[flushed:], residual, n_jobs)

    def visit_in_turn(part: TrainingRows, order: Order, residual: Floats) -> None:
        with state.lock.writing():
            visit(part, order, residual)

    if not len(training.segment_order):  # else the epoch goes on
        state.clock["loss"], state.clock["updates"], state.clock["mistakes"] = 0, 0, 0
        training.n_seen_before = int(state.clock["t"][0])
    if turn is None or data.in_memory:
        data.visit(residuals, visit)
    else:  # others may have it while a segment is read
        with turn.released():
            data.visit(residuals, visit_in_turn)


def _flush_rows(
    state: OnlineState, part: TrainingRows, order: NDArray[np.int64], residual: NDArray[np.float64], n_jobs: int | None
) -> None:
    """Take the residuals of some rows into the average's total."""
    if not len(state.total) or not len(order):
        return
    chosen = np.unique(order)  # sampling may draw a row twice
    rows, own = part.rows, residual
    if len(chosen) < len(rows):
        rows, own = rows.take(chosen), residual[chosen]

    def finish() -> None:
        parallel.backward(rows, own, state.total, n_jobs)
        residual[chosen] = 0

    with state.changing():
        thread_calls.run_uninterrupted(finish)


def _flush(state: OnlineState, data: RowSource, residuals: list[ScratchArray], n_jobs: int | None) -> None:
    """Take the residuals of the average into its total: one backward pass, which an interrupt does not cut in two."""
    if not len(state.total):
        return

    def finish() -> None:
        for part, held in zip(data.parts(), residuals, strict=True):
            with held.map() as residual:
                parallel.backward(part.rows, residual, state.total, n_jobs)
                residual[:] = 0

    with state.changing():
        thread_calls.run_uninterrupted(finish)


def count_single_label(state: OnlineState, data: RowSource) -> FitRecord:
    """An epoch of a single label: nothing competes with it, so only the clock moves."""
    n = data.n_weighted()
    size, clock, start = int(state.rule["batch_size"][0]), state.clock, int(state.rule["average_from"][0])
    ends = clock["t"][0] + np.minimum(np.arange(size, n + size, size), n)
    with state.changing():
        clock["t"] += n
        clock["steps"] += len(ends)
        clock["averaged"] += np.count_nonzero(ends >= start) if start else 0
    record = {"loss": 0.0, "objective": 0.0, "updates": 0, "progressive_accuracy": 1.0}
    return cast("FitRecord", {"epoch": 1, **record, "seconds": 0.0})
