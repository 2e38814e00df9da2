"""The driver of dual coordinate ascent: groups of labels, rounds, epochs, orders, the gap that ends a fit.

A round opens the segments of the corpus in a random order, and all groups of labels visit the rows of theirs that are
due there, in a random order again. What a row has to keep lies with its segment.

Measured, in visits of rows until the gap is small (text, C from 0.01 to 30):
* an intercept at the full speed of its feature: 0.6–2 with one segment, 4–25 with several, and never where
  `intercept_scaling` is large. AHEAD from 0.003 to 0.03 is much the same.
* several rounds in a segment while it is open (block minimisation, Yu et al. 2010): up to 20; what a segment wins
  against the others is lost when they have their turn. Segments as wholes in turn, not in parts: up to 5.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State, as_part
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.fit_records import FitRecord
from fastlin.data.scratch import ScratchArray, ScratchSpace
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.solvers import svm_dual
from fastlin.optim.solvers.svm_problem import Floats, SegmentBlock, SvmProblem, sum_over_blocks
from fastlin.runtime import parallel

TASK = np.dtype(
    [
        *((name, np.int64) for name in ("squared", "joint", "first", "regression", "patience")),
        *((name, np.float64) for name in ("scaling", "epsilon", "bar", "gap", "gain", "loss", "linear")),
    ]
)
LABELS_PER_BLOCK = 8  # a cache line of weights a feature
VISITS_PER_ROUND = (
    64  # of segments in a round, where there are several: they take turns, each time with some of their rows
)
ROWS_PER_EPOCH_VISIT = 2  # an epoch visits at least one row in so many
RATE_EPOCHS = 8  # epochs over which the rate is measured
BUDGET = 1 << 24  # multiply–adds between two looks at Ctrl-C: tens of milliseconds
# By whether the problem is joint: a row waits when its gap is below this share of the mean gap, so many rounds at most.
SMALL_GAP = {False: 0.5, True: 1.0}
PATIENCE = {False: 15, True: 31}

# A block's state in a checkpoint, and the attribute of each array.
ARRAYS = {"weights": "weights", "bias": "bias", "ahead": "intercept_lag", "limits": "limits", "gaps": "gaps"}
NUMBERS = ("value", "gap", "objective")


class RowState(NamedTuple):
    """The state of a segment's rows in the dual of a block of labels."""

    alpha: Any
    gaps: Any  # as last seen
    wait: Any  # rounds that a row rests when it next has little to win
    skip: Any  # rounds until it is due; −1: dropped until the next inspection


class LabelBlock:
    """The dual variables and the weights of neighbouring labels: an independent problem, or all of a joint one."""

    def __init__(self, problem: SvmProblem, first: int, stop: int, random: Any) -> None:
        costs, sizes, width = problem.objective, problem.sizes, stop - first
        self.problem, self.columns = problem, slice(first, stop)
        self.generator = np.random.Generator(random)
        self.weights = aligned_zeros((problem.corpus.shape[1], width))
        self.bias, self.intercept_lag = np.zeros(width), np.zeros(width)
        self.task = np.zeros(1, TASK)
        self.task["squared"], self.task["joint"] = costs.squared, costs.joint
        self.task["scaling"] = costs.scaling * np.sqrt(problem.intercept_damping)
        self.task["first"] = first + (costs.n_columns == 1)  # a single column is that of label 1
        self.task["patience"] = PATIENCE[costs.joint]
        self.task["regression"], self.task["epsilon"] = costs.epsilon is not None, costs.epsilon or 0.0
        self.members: NDArray[np.uint8] = np.empty((0, width), np.uint8)  # of a row's set, where there are several
        self.side_factors = np.empty((0, width))
        if len(costs.members):
            self.members = np.ascontiguousarray(costs.members[:, self.columns])
        if len(costs.side_factors):
            self.side_factors = np.ascontiguousarray(costs.side_factors[:, self.columns])
        self._row_states = [self._allocate(problem.scratch, size, width) for size in sizes]
        for C, kept in zip(problem.C, self._row_states, strict=True):
            with C.map() as its_C, kept.skip.map() as skip:
                skip[its_C == 0] = -2
        self.limits = np.zeros((4, width))
        self._reset_limits()
        self.gaps = np.zeros(len(sizes))  # of each segment, as last seen
        self.value, self.gap, self.objective = 0.0, np.inf, np.inf
        self.visits = self.size = 0  # in this epoch, and in this round
        self.measured, self.finished, self.cancelled = False, False, False
        self._kept: tuple[svm_dual.BlockWeights, RowState, svm_dual.RowDuals] | None = None  # as kernels take them

    @staticmethod
    def _allocate(scratch: ScratchSpace, size: int, width: int) -> RowState:
        return RowState(
            scratch.zeros((size, width)), scratch.zeros(size), scratch.zeros(size, np.int32),
            scratch.zeros(size, np.int32),
        )  # fmt: skip

    @contextmanager
    def rows_of(self, index: int) -> Iterator[RowState]:
        """The state of the rows of a segment."""
        with ExitStack() as stack:
            yield RowState(*(held.map_while(stack) for held in self._row_states[index]))

    def start_from(self, signed: list[ScratchArray], intercept: Floats) -> None:
        """Take over dual variables, made feasible: zα of each label, α of the joint problem, β of regression."""
        costs, total = self.problem.objective, np.zeros(len(self.bias))
        for block in self.problem.blocks():
            with signed[block.number].map() as before, self.rows_of(block.number) as kept:
                own = self._own(block.labels)
                limit = np.where(block.C > 0, np.inf if costs.squared else block.own_cost, 0.0)
                if costs.epsilon is not None:
                    alpha = again = np.clip(before, -limit[:, np.newaxis], limit[:, np.newaxis])
                elif costs.joint:
                    alpha = np.where(own, 0.0, np.minimum(before[:, self.columns], 0))
                    mass = -alpha.sum(axis=1)
                    alpha[own] = mass
                    alpha *= np.minimum(1.0, limit / np.maximum(mass, np.finfo(float).tiny))[:, None]
                    again = alpha
                else:
                    sign = np.where(own, 1.0, -1.0)
                    others = limit if costs.squared else block.C
                    limits = np.where(own, limit[:, None], others[:, None])
                    if len(self.side_factors) and not costs.squared:
                        limits = limits * np.where(own, self.side_factors[1], self.side_factors[0])
                    alpha = np.clip(before[:, self.columns] * sign, 0, limits)
                    again = alpha * sign
                kept.alpha[:] = alpha
                parallel.backward(block.rows, again, self.weights, None)
                total += again.sum(axis=0)
        if costs.scaling:
            self.bias[:] = intercept[self.columns] / costs.scaling
            self.intercept_lag[:] = self.bias - costs.scaling * total

    def state_dict(self) -> State:
        """What the epochs have changed."""
        state: State = {name: getattr(self, attribute) for name, attribute in ARRAYS.items()}
        state |= {name: getattr(self, name) for name in (*NUMBERS, "generator", "measured")}
        rows = {f"rows.{name}": [getattr(kept, name) for kept in self._row_states] for name in RowState._fields}
        return state | rows | {"bar": float(self.task["bar"][0])}

    def restore(self, saved: CheckpointReader, tol: float) -> None:
        """Become what `state_dict` said."""
        for name, attribute in ARRAYS.items():
            saved.read_into(name, getattr(self, attribute), finite=name != "limits")
        for name in RowState._fields:
            saved.read_per_row(f"rows.{name}", [getattr(kept, name) for kept in self._row_states])
        saved.restore_generator("generator", self.generator)
        for name in NUMBERS:
            setattr(self, name, saved.number(name))
        self.task["bar"], self.measured = saved.number("bar"), saved.boolean("measured")
        self.finished = self.measured and self.gap <= tol * self.objective

    def signed_dual_variables(self, index: int, labels: NDArray[np.int32]) -> Floats:
        """The multiples of a segment's rows whose sum over all segments the weights are."""
        costs = self.problem.objective
        with self.rows_of(index) as kept:
            if costs.joint or costs.epsilon is not None:
                return np.array(kept.alpha)
            return np.where(self._own(labels), 1, -1) * kept.alpha

    def _own(self, labels: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which column is that of each row's label, or which columns are those of its labels."""
        if len(self.members):
            return np.asarray(self.members[labels].astype(bool))
        return labels[:, None] == self.task["first"] + np.arange(len(self.bias))

    def begin_round(self) -> None:
        """Let the intercept b follow the dual variables of all segments, U = Σ zα.

        As the weight of a feature s that all rows have it is s²U. But then a few rows bend it to their own wish, and
        the next ones back, for ever: only `share` of s² is at work during a round, a step of the proximal point method
        on b, and what U promises beyond comes before the next round. b/s is `bias`, and `intercept_lag` of sU.
        """
        share = self.problem.intercept_damping
        self.bias -= share * self.intercept_lag
        self.intercept_lag *= 1 - share
        self._begun = self.bias.copy()
        self.bias /= np.sqrt(share)
        self.task["gap"], self.task["gain"] = 0, 0
        self.limits[2], self.limits[3] = -np.inf, np.inf
        self.size = 0

    def visit(self, block: SegmentBlock, rows: slice) -> None:
        """A visit of a segment in a round: to some of its rows, those that are due."""
        position = 0
        with self._bound_rows(block.number) as (weights, kept, duals):
            skip = np.ascontiguousarray(kept.skip[rows])
            order = np.empty(len(skip), np.int64)
            order = order[: svm_dual.due_rows(skip, order)] * rows.step + rows.start
            kept.skip[rows] = skip
            self.generator.shuffle(order)
            while position < len(order) and not self.cancelled:
                position = svm_dual.coordinate_epoch(weights, block.bound, duals, order, position, BUDGET)
            self.gaps[block.number] = kept.gaps.sum()
        self.size += len(order)

    @contextmanager
    def _bound_rows(self, index: int) -> Iterator[tuple[svm_dual.BlockWeights, RowState, svm_dual.RowDuals]]:
        """Weights, and the state of the rows of a segment, as the kernels take them."""
        if self._kept is None:
            with self.rows_of(index) as kept:
                found = self._bound(), kept, svm_dual.RowDuals(kept.alpha, kept.gaps, kept.skip, kept.wait)
                self._kept = found if self.problem.stays else None
                yield found
        else:
            yield self._kept

    def end_round(self) -> None:
        """What the round says about the next one, and about the end."""
        share = self.problem.intercept_damping
        self.bias *= np.sqrt(share)
        moved = (self.bias - self._begun) / share  # s ΔU
        self.value += float(self.task["gain"][0]) + float((self.intercept_lag - 0.5 * (1 - share) * moved) @ moved)
        self.intercept_lag -= (1 - share) * moved
        self.limits[0] = np.where(self.limits[2] > 0, self.limits[2], np.inf)
        self.limits[1] = np.where(self.limits[3] < 0, self.limits[3], -np.inf)
        self.task["bar"] = SMALL_GAP[self.problem.objective.joint] * self.task["gap"] / max(self.size, 1)
        self.gap, self.measured = float(self.gaps.sum()) + 0.5 * float(self.intercept_lag @ self.intercept_lag), False
        self.visits += self.size

    def may_have_converged(self, tol: float) -> bool:
        """Whether the gaps, as last seen, are those of an end; or nobody is due, and the intercept not settled."""
        idle = not self.size and bool(self.intercept_lag.any())
        return (idle or not self.gap > tol * (self.value + self.gap)) and not self.cancelled

    def measure_segment(self, block: SegmentBlock) -> None:
        """The part of a segment in the exact objective and gap; its rows with much to win are due."""
        weights = self._bound()
        with self.rows_of(block.number) as kept:

            def infer(scores: Floats, start: int, _: int) -> None:
                svm_dual.objective_and_gap(weights, scores, start, block.bound, kept.alpha, kept.gaps, kept.skip)

            parallel.forward(block.rows, self.weights, self.problem.objective.scaling * self.bias, infer, None)
            self.gaps[block.number] = kept.gaps.sum()

    def measure_gap(self, tol: float) -> None:
        """The exact objective and gap, once all segments have been inspected."""
        size, mass = svm_dual.squared_frobenius_norm(self.weights), self.bias - self.intercept_lag
        self.objective = 0.5 * (size + float(self.bias @ self.bias)) + float(self.task["loss"][0])
        self.value = float(self.task["linear"][0]) - 0.5 * (size + float(mass @ mass))
        self.gap, self.measured = max(0.0, self.objective - self.value), True
        if not np.isfinite([self.objective, self.value]).all():
            raise ValueError("the objective overflows: scale the features, or lower C and the weights of the rows")
        self.finished = self.gap <= tol * self.objective
        self._reset_limits()

    def _bound(self) -> svm_dual.BlockWeights:
        """The weights as the kernels take them."""
        return svm_dual.BlockWeights(self.task, self.weights, self.bias, self.limits, self.members, self.side_factors)

    def _reset_limits(self) -> None:
        """Drop nobody in the next round."""
        self.limits[0], self.limits[1] = np.inf, -np.inf


def label_blocks(problem: SvmProblem, generator: np.random.Generator) -> list[LabelBlock]:
    """All of a joint problem, or at most WIDTH labels each, whatever the number of threads."""
    n_columns = problem.objective.n_columns
    width = n_columns if problem.objective.joint else LABELS_PER_BLOCK
    starts = range(0, n_columns, width)
    seeds = generator.integers(2**63, size=len(starts))
    return [
        LabelBlock(problem, start, min(start + width, n_columns), np.random.PCG64(int(seed)))
        for start, seed in zip(starts, seeds, strict=True)
    ]


def signed_dual_variables(parts: list[LabelBlock]) -> list[ScratchArray]:
    """The dual variables of all labels, for each segment."""
    problem = parts[0].problem
    every = [problem.scratch.zeros((size, problem.objective.n_columns)) for size in problem.sizes]
    for index, segment in enumerate(problem.corpus.segments()):
        with every[index].map() as alpha:
            for part in parts:
                alpha[:, part.columns] = part.signed_dual_variables(index, segment.codes)
    return every


class SvmDualSolver:
    """Groups that climb together, so that a segment is read once for all of them."""

    def __init__(
        self, parts: list[LabelBlock], tol: float, generator: np.random.Generator, workers: parallel.WorkerPool
    ) -> None:
        self.blocks, self.problem = parts, parts[0].problem
        self.tol, self.generator, self.workers = tol, generator, workers
        self.n_rows = len(self.problem.corpus)

    def state_dict(self) -> State:
        """Where they stand between two epochs."""
        state: State = {"generator": self.generator}
        for place, part in enumerate(self.blocks):
            state |= as_part(f"{place}", part.state_dict())
        return state

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        saved.restore_generator("generator", self.generator)
        for place, part in enumerate(self.blocks):
            part.restore(saved.part(f"{place}"), self.tol)

    def epoch(self, parts: list[LabelBlock]) -> None:
        """Rounds, until those of each group come to a good part of the rows, or to the end."""
        for part in parts:
            part.visits = 0
        while parts:
            self._round(parts)
            self.measure_gaps([part for part in parts if part.may_have_converged(self.tol)])
            parts = [
                part
                for part in parts
                if part.size and not part.finished and ROWS_PER_EPOCH_VISIT * part.visits < self.n_rows
            ]

    def _round(self, parts: list[LabelBlock]) -> None:
        n = len(self.problem.sizes)
        visits = -(-VISITS_PER_ROUND // n) if n > 1 else 1
        for part in parts:
            part.begin_round()
        for visit in self.generator.permutation(n * visits).tolist() if n > 1 else (0,):
            with self.problem.block(visit % n) as block:
                self._map_blocks(parts, partial(LabelBlock.visit, block=block, rows=slice(visit // n, None, visits)))
        for part in parts:
            part.end_round()

    def measure_gaps(self, parts: list[LabelBlock]) -> None:
        """The exact objective and gap of some groups, and with them who is to be visited."""
        for part in parts:
            part.task["loss"], part.task["linear"] = 0, 0
        for block in self.problem.blocks() if parts else ():
            self._map_blocks(parts, lambda part: part.measure_segment(block))  # noqa: B023 - called at once
        for part in parts:
            part.measure_gap(self.tol)

    def _map_blocks(self, parts: list[LabelBlock], work: Callable[[LabelBlock], None]) -> None:
        self.workers.map(work, [(part,) for part in parts])


def train_dual(ascent: SvmDualSolver, monitor: FitMonitor, max_epochs_left: float = np.inf) -> None:
    """Run epochs until every group's gap is at most tol times its objective, or more than so many seem to be left."""
    parts = ascent.blocks
    if monitor.register_run("ascent", ascent):
        monitor.converged = all(part.finished for part in parts)  # by the tolerance that holds now
    try:
        while not monitor.should_stop:
            monitor.maybe_save()
            unfinished = [part for part in parts if not part.finished]
            ascent.epoch(unfinished)
            monitor.iterations += 1
            record: dict[str, Any] = {
                "epoch": monitor.iterations,
                "dual": sum_over_blocks(parts, "value"),
                "gap": sum_over_blocks(parts, "gap"),
                "active": sum(part.visits for part in unfinished),
            }
            if all(part.measured for part in parts):
                record["objective"] = sum_over_blocks(parts, "objective")
            monitor.log_record(record | {"seconds": monitor.seconds})
            monitor.converged = all(part.finished for part in parts)
            if _epochs_left(monitor.history, ascent.tol) > max_epochs_left:
                break
        ascent.measure_gaps([part for part in parts if not part.measured])
    except BaseException:
        for part in parts:  # threads that are at work end early
            part.cancelled = True
        raise
    monitor.converged = monitor.stopped or all(part.finished for part in parts)


def _epochs_left(history: list[FitRecord], tol: float) -> float:
    """How long at the rate of the last epochs; 0 while there are too few."""
    if len(history) <= RATE_EPOCHS:
        return 0.0
    gap, before = history[-1]["gap"], history[-1 - RATE_EPOCHS]["gap"]
    target = tol * (history[-1]["dual"] + gap)
    if not gap > target > 0:
        return 0.0
    rate = np.log(before / gap) / RATE_EPOCHS
    return float(np.log(gap / target) / rate) if rate > 0 else np.inf
