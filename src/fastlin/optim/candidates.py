"""Instances that bring their own candidates: the data of online epochs, and dual ascent on the hinge loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin import run
from fastlin.engine import candidates, vectors
from fastlin.engine.memory import zeros
from fastlin.optim.epochs import BUDGET, Data, Kernel
from fastlin.optim.inferences import Groups
from fastlin.optim.progress import Progress
from fastlin.optim.state import OnlineState
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
