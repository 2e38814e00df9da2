"""Instances that bring their own candidates: the data of online epochs, and dual ascent on the hinge loss."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import State
from fastlin.data.scratch import ScratchArray, ScratchSpace
from fastlin.engine.core import vector_ops
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.online import candidates
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.design import Design
from fastlin.optim.epochs import BUDGET, Kernel, TrainingRows, Visit
from fastlin.optim.label_stops import LabelStops
from fastlin.optim.likelihoods import ConditionalLogitLikelihood
from fastlin.optim.online_state import OnlineState
from fastlin.optim.partitions import Partitions
from fastlin.runtime import parallel
from fastlin.runtime.made_once import made_once
from fastlin.validation import CSRRows


@dataclass(frozen=True)
class GroupedRows:
    """Groups of a weight above zero, in pieces that `piece` reads; their sizes in rows."""

    piece: Callable[[int], tuple[CSRRows, ConditionalLogitLikelihood]]
    sizes: list[int]
    n_features: int
    dtype: np.dtype[Any]
    scratch: ScratchSpace

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[tuple[CSRRows, ConditionalLogitLikelihood]]:
        return (self.piece(index) for index in range(len(self)))

    @made_once
    def n_groups(self) -> int:
        return sum(groups.n_instances for _, groups in self)

    @made_once
    def total_weight(self) -> float:
        """Σ w."""
        return sum(groups.total_weight for _, groups in self)

    def to_partitions(self) -> Partitions:
        """In parts, for weights of one column."""
        if len(self) > 1:
            return Partitions.from_segments(lambda: iter(self), self.n_features, self.scratch)
        rows, groups = self.piece(0)
        return Partitions.single(Design.of(rows), groups)


@dataclass(frozen=True)
class TrainingGroups(TrainingRows):
    """Groups of rows: `members` are the groups, `labels` the place of the right row in each."""

    starts: NDArray[np.int64]
    unit: ClassVar[str] = "group"

    def kernel(
        self,
        state: OnlineState,
        order: NDArray[np.int64],
        residual: NDArray[np.float64],
        label_stops: LabelStops | None = None,  # noqa: ARG002 - places in a group are no problems of their own
    ) -> Kernel:
        rows = self.rows
        epoch = candidates.GroupEpoch(
            CSRView(rows.indptr, rows.indices, rows.values), rows.largest, self.starts, self.labels, self.weights,
            order, residual,
        )  # fmt: skip
        return lambda position: candidates.run(epoch, state.bound(learn=True), position, BUDGET)


def training_groups(
    rows: CSRRows, groups: ConditionalLogitLikelihood, shuffle: bool, generator: np.random.Generator
) -> TrainingGroups:
    members, sampling = np.arange(len(groups.gold)), "shuffle" if shuffle else "order"
    return TrainingGroups(rows, groups.gold, groups.weights, members, sampling, generator, groups.starts)


@dataclass(frozen=True)
class GroupStream:
    """The pieces of grouped rows as the data of epochs: in random order, or as they lie."""

    grouped: GroupedRows
    dtype: np.dtype[Any]
    shuffle: bool
    generator: np.random.Generator
    in_memory: ClassVar[bool] = False
    labelled: ClassVar[bool] = True

    def __len__(self) -> int:
        return self.grouped.n_groups

    def n_weighted(self) -> int:
        return len(self)

    def residuals(self, width: int) -> list[ScratchArray]:
        return [self.grouped.scratch.zeros((size if width else 0, width)) for size in self.grouped.sizes]

    def parts(self) -> Iterator[TrainingGroups]:
        return (self._data(index) for index in range(len(self.grouped)))

    def visit(self, residuals: list[ScratchArray], visit: Visit) -> None:
        n = len(self.grouped)
        for index in self.generator.permutation(n) if self.shuffle and n > 1 else range(n):
            data = self._data(index)
            with residuals[index].map() as residual:
                visit(data, data.order(), residual)

    def _data(self, index: int) -> TrainingGroups:
        rows, groups = self.grouped.piece(index)
        return training_groups(rows.astype(self.dtype), groups, self.shuffle, self.generator)


class HingeDual:
    """Σ w ℓ + ½‖θ‖²/C, ℓ = max_r [r ≠ y] − s_y + s_r, by ascent on its dual from θ = 0: see `candidates.pyx`."""

    def __init__(self, grouped: GroupedRows, C: float, workers: parallel.WorkerPool) -> None:
        self.grouped, self.C, self.threads = grouped, C, workers.threads
        self.theta = aligned_zeros((grouped.n_features,))
        self.alpha = [grouped.scratch.zeros(size) for size in grouped.sizes]
        for held, (_, groups) in zip(self.alpha, grouped, strict=True):
            with held.map() as alpha:
                alpha[_gold_rows(groups)] = self._box(groups)

    def run(self, monitor: ConvergenceMonitor, generator: np.random.Generator) -> None:
        """Epochs in random orders; the gap is measured where the sum of its parts says that it may be small enough."""
        saved, met = monitor.resume("hinge"), np.inf
        if saved is not None:
            saved.read_per_row("alpha", self.alpha)
            saved.read_into("theta", self.theta)
            saved.restore_generator("generator", generator)
            met = saved.number("met")
        elif self._measure_and_log(monitor):
            return

        def state() -> State:
            return {"alpha": self.alpha, "theta": self.theta, "generator": generator, "met": float(met)}

        monitor.register_state("hinge", None, state, logged=False)
        while True:
            while met > monitor.threshold * self.C and monitor.iterations < monitor.max_iter:
                monitor.maybe_save()
                monitor.iterations += 1
                met = self._epoch(generator)
                if monitor.report:
                    break
            if self._measure_and_log(monitor):
                return
            met = np.inf

    def _measure_and_log(self, monitor: ConvergenceMonitor) -> bool:
        """Measure and note the gap; says whether to stop."""
        objective, gap = self.measure()
        return monitor.log_distance(gap, objective=objective, duality_gap=gap)

    def _epoch(self, generator: np.random.Generator) -> float:
        n, gap = len(self.grouped), 0.0
        for index in generator.permutation(n) if n > 1 else range(n):
            rows, groups = self.grouped.piece(index)
            order, position = generator.permutation(len(groups.gold)), 0
            view = CSRView(rows.indptr, rows.indices, rows.values)
            room = np.empty(int(np.diff(groups.starts).max()))
            with self.alpha[index].map() as alpha:
                while position < len(order):
                    position, met = candidates.coordinate_epoch(
                        view, groups.starts, groups.gold, order, position, BUDGET, alpha, self.theta, room
                    )
                    gap += met
        return gap

    def measure(self) -> tuple[float, float]:
        """The objective and the duality gap of θ, made anew from α to be rid of rounding."""
        self.theta[:] = 0
        gap = excess = 0.0
        for held, (rows, groups) in zip(self.alpha, self.grouped, strict=True):
            with held.map() as alpha:
                shares = -alpha[:, np.newaxis]
            shares[_gold_rows(groups), 0] += self._box(groups)
            parallel.backward(rows, shares, self.theta[:, np.newaxis], self.threads)
        for held, (rows, groups) in zip(self.alpha, self.grouped, strict=True):
            losses = parallel.scores(rows, self.theta[:, np.newaxis], np.zeros(1), self.threads)[:, 0] + 1
            losses[_gold_rows(groups)] -= 1
            top = np.maximum.reduceat(losses, groups.starts[:-1])
            with held.map() as alpha:
                gap += vector_ops.dot(alpha, np.repeat(top, np.diff(groups.starts)) - losses)
            excess += vector_ops.dot(self._box(groups), top - losses[_gold_rows(groups)])
        return (excess + 0.5 * vector_ops.dot(self.theta, self.theta)) / self.C, gap / self.C

    def _box(self, groups: ConditionalLogitLikelihood) -> NDArray[np.float64]:
        """Cw, which the α of a group add up to."""
        return self.C * (groups.weights if len(groups.weights) else np.ones(len(groups.gold)))


def _gold_rows(groups: ConditionalLogitLikelihood) -> NDArray[np.int64]:
    """The right row of each group."""
    return groups.starts[:-1] + groups.gold
