"""The driver of dual coordinate ascent: groups of labels, segments, epochs, orders, the gap that ends a fit.

An epoch opens every segment of rows once, in a random order, and all groups of labels visit it meanwhile, each its rows
that are due, round after round until these come to a good part of the segment (block minimisation, Yu et al. 2010; of
one segment, in memory, that is all there is to an epoch). What a row has to keep lies with its segment.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin import run, validation
from fastlin.data.scratch import Held, Scratch
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

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Costs:
    """What is to be minimised: ½‖θ‖² + Σ_i C_i ℓ_i."""

    C: float
    factors: Floats | None  # of the labels
    n_columns: int  # one for two labels
    squared: bool
    joint: bool  # Crammer and Singer's problem, or one against the rest
    scaling: float  # the value of the intercept's feature; 0 for none
    share: float  # what is reported of the objective


class Block(NamedTuple):
    """A segment, as the ascent sees it."""

    number: int
    rows: Rows  # float64
    labels: NDArray[np.int32]
    C: Floats  # a row's own; 0 leaves it out
    norms: Floats


class Problem:
    """The costs of the rows of a corpus."""

    def __init__(self, corpus: Any, costs: Costs, scratch: Scratch) -> None:
        self.corpus, self.costs, self.scratch = corpus, costs, scratch
        self.sizes = np.diff(corpus.bounds).tolist()
        self.C, self.norms = [scratch.zeros(size) for size in self.sizes], [scratch.zeros(size) for size in self.sizes]
        heaviest = [self._prepare(block, corpus.segment(block.number).weights) for block in self.blocks()]
        if not max(heaviest) > 0:
            raise ValueError("the weight of every row is zero (sample_weight × class_weight): nothing to learn from")

    @contextmanager
    def block(self, index: int) -> Iterator[Block]:
        """A segment and what belongs to it."""
        segment = self.corpus.segment(index)
        rows = validation.check_values(segment.rows, start=segment.start).astype(np.dtype(np.float64))
        with self.C[index].map() as C, self.norms[index].map() as norms:
            yield Block(index, rows, segment.codes, C, norms)

    def blocks(self) -> Iterator[Block]:
        """All of them in order."""
        for index in range(len(self.sizes)):
            with self.block(index) as block:
                yield block

    def _prepare(self, block: Block, weights: Floats) -> float:
        """C and the squared norms of the rows; returns the largest C."""
        costs = self.costs
        if costs.factors is not None:
            weights = costs.factors[block.labels] * (weights if len(weights) else 1.0)
        block.C[:] = costs.C / costs.share * (weights if len(weights) else 1.0)
        if (block.C[weights > 0 if len(weights) else ...] <= 0).any():
            raise ValueError(f"C = {costs.C:g} times the smallest weight of a row is no positive number")
        dual.squared_norms(block.rows.indptr, block.rows.values, block.norms)
        block.norms[:] += costs.scaling**2
        some, least = block.C > 0, np.ones(len(block.C))
        np.divide(1e-200, block.C, where=some, out=least)  # a number above the true one only makes steps shorter
        np.maximum(block.norms, np.maximum(1e-290, least), out=block.norms)
        return float(block.C.max())


class Kept(NamedTuple):
    """What a group keeps of the rows of a segment."""

    alpha: Any
    gaps: Any  # as last seen
    wait: Any  # rounds that a row rests when it next has little to win
    skip: Any  # rounds until it is due; −1: dropped until the next inspection


class Group:
    """The dual variables and the weights of neighbouring labels: an independent problem, or all of a joint one."""

    def __init__(self, problem: Problem, first: int, stop: int, random: Any) -> None:
        costs, sizes, width = problem.costs, problem.sizes, stop - first
        self.problem, self.columns = problem, slice(first, stop)
        self.generator = np.random.Generator(random)
        self.weights = zeros((problem.corpus.shape[1], width))
        self.bias = np.zeros(width)
        self.task = np.zeros(1, TASK)
        self.task["squared"], self.task["joint"], self.task["scaling"] = costs.squared, costs.joint, costs.scaling
        self.task["first"] = first + (costs.n_columns == 1)  # a single column is that of label 1
        self.task["patience"] = PATIENCE[costs.joint]
        self._kept = [self._nothing(problem.scratch, size, width) for size in sizes]
        for C, kept in zip(problem.C, self._kept, strict=True):
            with C.map() as its_C, kept.skip.map() as skip:
                skip[its_C == 0] = -2
        # of each segment: the sum of its gaps; of the last round there: gaps met, rows visited, limits for dropping
        self.gaps, self.met, self.due = np.zeros(len(sizes)), np.zeros(len(sizes)), np.zeros(len(sizes), np.int64)
        self.extremes = np.empty((2, len(sizes), width))
        self.limits, self.spare = np.empty((4, width)), np.empty((3, width))
        self.visited = np.zeros(len(sizes), bool)  # since the last inspection
        self._forget()
        self.value, self.gap, self.objective = 0.0, np.inf, np.nan
        self.visits, self.goal, self.measured, self.finished, self.cancelled = 0, 0, False, False, False

    @staticmethod
    def _nothing(scratch: Scratch, size: int, width: int) -> Kept:
        return Kept(
            scratch.zeros((size, width)), scratch.zeros(size), scratch.zeros(size, np.int32),
            scratch.zeros(size, np.int32),
        )  # fmt: skip

    @contextmanager
    def _rows(self, index: int) -> Iterator[Kept]:
        with ExitStack() as stack:
            yield Kept(*(stack.enter_context(held.map()) for held in self._kept[index]))

    def start_from(self, signed: list[Held]) -> None:
        """Take over dual variables, made feasible: zα of each label, or α of the joint problem."""
        costs, total = self.problem.costs, np.zeros(len(self.bias))
        for block in self.problem.blocks():
            with signed[block.number].map() as before, self._rows(block.number) as kept:
                own, limit = self._own(block.labels), block.C
                if costs.squared:
                    limit = np.where(block.C > 0, np.inf, 0.0)
                if costs.joint:
                    alpha = np.where(own, 0.0, np.minimum(before[:, self.columns], 0))
                    mass = -alpha.sum(axis=1)
                    alpha[own] = mass
                    alpha *= np.minimum(1.0, limit / np.maximum(mass, np.finfo(float).tiny))[:, None]
                    again = alpha
                else:
                    sign = np.where(own, 1.0, -1.0)
                    alpha = np.clip(before[:, self.columns] * sign, 0, limit[:, None])
                    again = alpha * sign
                kept.alpha[:] = alpha
                run.backward(block.rows, again, self.weights, None)
                total += again.sum(axis=0)
        self.bias = costs.scaling * total

    def signed(self, index: int, labels: NDArray[np.int32]) -> Floats:
        """The multiples of a segment's rows whose sum over all segments the weights are."""
        with self._rows(index) as kept:
            return kept.alpha.copy() if self.problem.costs.joint else np.where(self._own(labels), 1, -1) * kept.alpha

    def _own(self, labels: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which column is that of each row's label."""
        return labels[:, None] == self.task["first"] + np.arange(len(self.bias))

    def enter(self, block: Block) -> None:
        """Plan the visit of a segment."""
        self.goal = EPOCH * self.visits + len(block.rows)

    def visit(self, block: Block, tol: float) -> None:
        """Rounds over the rows that are due, until they come to a good part of the segment, or promise the end."""
        order = np.empty(len(block.rows), np.int64)
        with self._rows(block.number) as kept:
            while EPOCH * self.visits < self.goal and not self.cancelled:
                size = self._round(block, kept, order)
                self.visits += size
                if not size:
                    self.goal = 0
                if self.promises(tol):
                    return

    def _round(self, block: Block, kept: Kept, order: NDArray[np.int64]) -> int:
        """Visit the rows of a segment that are due."""
        task, rows, index, joint = self.task, block.rows, block.number, self.problem.costs.joint
        size = dual.due(kept.skip, order)
        order, position = order[:size], 0
        self.generator.shuffle(order)
        task["gap"], task["gain"] = 0, 0
        self.limits[2], self.limits[3] = -np.inf, np.inf
        while position < size and not self.cancelled:
            position = dual.ascend(
                task, rows.indptr, rows.indices, rows.values, block.labels, block.C, block.norms,
                order, position, BUDGET, self.weights, self.bias, kept.alpha, self.limits,
                kept.gaps, kept.skip, kept.wait, self.spare,
            )  # fmt: skip
        self.extremes[:, index] = self.limits[2:]
        top, bottom = self.extremes[0].max(axis=0), self.extremes[1].min(axis=0)
        self.limits[0], self.limits[1] = np.where(top > 0, top, np.inf), np.where(bottom < 0, bottom, -np.inf)
        self.met[index], self.due[index] = float(task["gap"][0]), size
        task["bar"] = SMALL_GAP[joint] * self.met.sum() / max(int(self.due.sum()), 1)
        self.value += float(task["gain"][0])
        self.gaps[index] = kept.gaps.sum()
        self.gap, self.measured = float(self.gaps.sum()), False
        self.visited[index] = True
        return size

    def promises(self, tol: float) -> bool:
        """Whether the gaps of all rows, as last seen, are those of an end."""
        seen = self.visited.all() and not self.cancelled
        return bool(seen and not self.gap > tol * (self.value + self.gap))

    def inspect(self, block: Block) -> None:
        """The part of a segment in the exact objective and gap; its rows with much to win are due."""
        with self._rows(block.number) as kept:

            def infer(scores: Floats, start: int, _: int) -> None:
                dual.inspect(self.task, scores, start, block.labels, block.C, kept.alpha, kept.gaps, kept.skip)

            run.forward(block.rows, self.weights, self.problem.costs.scaling * self.bias, infer, None)
            self.gaps[block.number] = kept.gaps.sum()

    def conclude(self, tol: float) -> None:
        """The exact objective and gap, once all segments have been inspected."""
        half = 0.5 * (dual.squared_size(self.weights) + float(self.bias @ self.bias))
        self.objective, self.value = half + float(self.task["loss"][0]), float(self.task["linear"][0]) - half
        self.gap, self.measured = max(0.0, self.objective - self.value), True
        if not np.isfinite([self.objective, self.value]).all():
            raise ValueError("the objective overflows: scale the features, or lower C and the weights of the rows")
        self.finished = self.gap <= tol * self.objective
        self._forget()

    def _forget(self) -> None:
        """Drop nobody until every segment has had a round."""
        self.extremes[0], self.extremes[1] = np.inf, -np.inf
        self.limits[0], self.limits[1] = np.inf, -np.inf
        self.visited[:] = False


def groups(problem: Problem, generator: np.random.Generator) -> list[Group]:
    """All of a joint problem, or at most WIDTH labels each, whatever the number of threads."""
    n_columns = problem.costs.n_columns
    width = n_columns if problem.costs.joint else WIDTH
    starts = range(0, n_columns, width)
    seeds = generator.integers(2**63, size=len(starts))
    return [
        Group(problem, start, min(start + width, n_columns), np.random.PCG64(int(seed)))
        for start, seed in zip(starts, seeds, strict=True)
    ]


def total(parts: list[Group], name: str) -> float:
    """A value, gap or objective of the whole problem."""
    return parts[0].problem.costs.share * float(sum(getattr(part, name) for part in parts))


def signed(parts: list[Group]) -> list[Held]:
    """The dual variables of all labels, for each segment."""
    problem = parts[0].problem
    every = [problem.scratch.zeros((size, problem.costs.n_columns)) for size in problem.sizes]
    for index, segment in enumerate(problem.corpus.segments()):
        with every[index].map() as alpha:
            for part in parts:
                alpha[:, part.columns] = part.signed(index, segment.codes)
    return every


class Ascent:
    """Groups that climb together, so that a segment is read once for all of them."""

    def __init__(self, parts: list[Group], tol: float, generator: np.random.Generator, workers: run.Workers) -> None:
        self.parts, self.problem = parts, parts[0].problem
        self.tol, self.generator, self.workers = tol, generator, workers

    def epoch(self, parts: list[Group]) -> None:
        """Every segment once."""
        for part in parts:
            part.visits = 0
        for index in self.generator.permutation(len(self.problem.sizes)).tolist() if parts else ():
            climbing = [part for part in parts if not part.finished]
            with self.problem.block(index) as block:
                for part in climbing:
                    part.enter(block)
                while climbing:
                    self._each(climbing, lambda part: part.visit(block, self.tol))
                    climbing = [part for part in climbing if part.promises(self.tol)]
                    self.inspect(climbing)
                    climbing = [part for part in climbing if not part.finished and EPOCH * part.visits < part.goal]

    def inspect(self, parts: list[Group]) -> None:
        """The exact objective and gap of some groups, and with them who is to be visited."""
        for part in parts:
            part.task["loss"], part.task["linear"] = 0, 0
        for block in self.problem.blocks() if parts else ():
            self._each(parts, lambda part: part.inspect(block))  # noqa: B023 - called at once
        for part in parts:
            part.conclude(self.tol)

    def _each(self, parts: list[Group], work: Callable[[Group], None]) -> None:
        self.workers.map(lambda index, _: work(parts[index]), [(index, index + 1) for index in range(len(parts))])


def train(
    ascent: Ascent, max_iter: int, report: Callable[[dict[str, Any]], Any] | None
) -> tuple[list[dict[str, Any]], bool]:
    """Run epochs until every group's gap is at most tol times its objective; returns (history, converged)."""
    parts, history = ascent.parts, []
    started, stopped = time.perf_counter(), False
    try:
        for epoch in range(1, max_iter + 1):
            unfinished = [part for part in parts if not part.finished]
            ascent.epoch(unfinished)
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
        ascent.inspect([part for part in parts if not part.measured])
    except BaseException:
        for part in parts:  # threads that are at work end early
            part.cancelled = True
        raise
    return history, stopped or all(part.finished for part in parts)
