"""Which source word an observed word belongs to, by their positions alone: a(i | j, l, m)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.runtime.made_once import FieldsOnly, made_once

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEEPEST = 1000.0  # tension of a diagonal
NEWTON_STEPS = 50
MOST_NUMBERS = 1 << 26  # of the tables of all lengths: half a gigabyte, six times while they are learnt
NULL_AT_START = 0.08  # p(NULL) of a diagonal before any is learnt (Dyer et al. 2013)


@dataclass(frozen=True, eq=False)
class Shapes(FieldsOnly):
    """The lengths of pairs, each combination once, and the layout of a table for each.

    n counts source words, NULL among them if `null` says that there is one, m observed words; a table has n rows and m
    columns, and the tables lie one behind the other. Each column of each table has a number, too.
    """

    n: Integers
    m: Integers
    null: bool

    @classmethod
    def of(cls, n: Integers, m: Integers, null: bool) -> tuple[Self, Integers]:
        """The shapes of pairs, in order, and which of them each pair has."""
        shapes, which = np.unique(np.stack([n, m], axis=1).reshape(-1, 2), axis=0, return_inverse=True)
        return cls(shapes[:, 0].copy(), shapes[:, 1].copy(), null), which.reshape(-1)

    def __len__(self) -> int:
        return len(self.n)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self.n.tolist(), self.m.tolist(), strict=True))

    @made_once
    def starts(self) -> Integers:
        """Where each table begins, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.n * self.m)])

    @property
    def size(self) -> int:
        """Numbers in all tables."""
        return int(self.starts[-1])

    @made_once
    def columns(self) -> NDArray[np.int64]:
        """The number of the column that each place of the tables belongs to."""
        first = np.cumsum(self.m) - self.m
        found = [np.tile(np.arange(start, start + m), n) for start, (n, m) in zip(first.tolist(), self, strict=True)]
        return np.concatenate([np.empty(0, np.int64), *found])

    @made_once
    def is_null(self) -> NDArray[np.bool_]:
        """Which places are NULL's."""
        found = [np.arange(n * m) < (m if self.null else 0) for n, m in self]
        return np.concatenate([np.empty(0, np.bool_), *found])

    @made_once
    def distances(self) -> Floats:
        """|i/l − j/m| of each place, positions counted from 1, less the smallest of its column; 0 of NULL's."""
        found = [np.empty(0)]
        for n, m in self:
            grid = np.zeros((n, m))
            words = grid[int(self.null) :]
            if words.size:
                words += np.arange(1, len(words) + 1)[:, np.newaxis] / len(words)
                words -= np.arange(1, m + 1) / m
                np.abs(words, out=words)
                words -= words.min(axis=0)
            found.append(grid.ravel())
        return np.concatenate(found)

    def column_sums(self, values: Floats) -> Floats:
        """Σ_i of each column, for each place."""
        sums = np.bincount(self.columns, values, int(self.m.sum())).astype(np.float64, copy=False)
        return sums[self.columns]


class Alignment(Protocol):
    """A distribution of source positions for each observed position. Immutable."""

    def table(self, n: int, m: int) -> Floats:
        """a(i | j, l, m), which may have one column for all j: [n, m or 1]."""

    def tables(self, shapes: Shapes) -> Floats:
        """The tables of all shapes; none, where all are uniform."""

    def improved(self, shapes: Shapes, expected: Floats) -> Self:
        """The M-step, from the expected counts of all places."""

    def state_dict(self) -> State:
        """What is learnt, for a checkpoint."""

    def restored(self, saved: CheckpointReader) -> Self:
        """What `state_dict` said, of the same pairs."""


@dataclass(frozen=True)
class UniformAlignment:
    """Model 1: all source words alike."""

    def table(self, n: int, m: int) -> Floats:  # noqa: ARG002
        """1/n."""
        return np.full((n, 1), 1 / max(n, 1))

    def tables(self, shapes: Shapes) -> Floats:  # noqa: ARG002
        """None."""
        return np.empty(0)

    def improved(self, shapes: Shapes, expected: Floats) -> Self:  # noqa: ARG002
        """Itself."""
        return self

    def state_dict(self) -> State:
        """Nothing."""
        return {}

    def restored(self, saved: CheckpointReader) -> Self:  # noqa: ARG002
        """Itself."""
        return self


@dataclass(frozen=True)
class TabulatedAlignment(FieldsOnly):
    """Model 2: a table for each pair of lengths that there was; uniform for others."""

    shapes: Shapes
    values: Floats

    @classmethod
    def uniform(cls, shapes: Shapes) -> Self:
        """Model 1, as tables."""
        return cls(shapes, np.repeat(1 / np.maximum(shapes.n, 1), shapes.n * shapes.m))

    @made_once
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {shape: number for number, shape in enumerate(self.shapes)}

    def table(self, n: int, m: int) -> Floats:
        """That of these lengths."""
        number = self._numbers.get((n, m))
        if number is None:
            return np.full((n, 1), 1 / max(n, 1))
        return self.values[self.shapes.starts[number] : self.shapes.starts[number + 1]].reshape(n, m)

    def tables(self, shapes: Shapes) -> Floats:  # noqa: ARG002 - they are those of the pairs it is fitted to
        """All of them."""
        return self.values

    def improved(self, shapes: Shapes, expected: Floats) -> Self:
        """Relative frequencies; where nothing is expected, all as it was."""
        totals = shapes.column_sums(expected)
        values = np.divide(expected, totals, out=self.values.copy(), where=totals > 0)
        return replace(self, values=values)

    def state_dict(self) -> State:
        """All tables."""
        return {"alignment": self.values}

    def restored(self, saved: CheckpointReader) -> Self:
        """Of these tables."""
        return replace(self, values=probabilities(saved, "alignment", self.values))


@dataclass(frozen=True)
class DiagonalAlignment:
    """Model 2 as Dyer, Chahuneau & Smith (2013) have it: a(i | j, l, m) ∝ exp(−tension · |i/l − j/m|), and p(NULL).

    `null` says whether there is a NULL; a source of no words has nothing else.
    """

    null: bool
    tension: float = 0.0
    p_null: float = NULL_AT_START

    def table(self, n: int, m: int) -> Floats:
        """That of these lengths."""
        return self.tables(Shapes(np.array([n]), np.array([m]), self.null)).reshape(n, m)

    def tables(self, shapes: Shapes) -> Floats:
        """All of them."""
        share = _diagonal(shapes, self.tension)
        if not self.null:
            return share
        only_null = shapes.column_sums(share) == 0
        return np.where(shapes.is_null, np.where(only_null, 1.0, self.p_null), (1 - self.p_null) * share)

    def improved(self, shapes: Shapes, expected: Floats) -> Self:
        """The best p(NULL) and, by Newton's method, the best tension."""
        choice = shapes.column_sums(np.where(shapes.is_null, 0.0, 1.0)) > 0
        of_null, total = float(expected[shapes.is_null & choice].sum()), float(expected[choice].sum())
        p_null = of_null / total if self.null and total > 0 else self.p_null
        return replace(self, tension=_best_tension(shapes, expected, self.tension), p_null=p_null)

    def state_dict(self) -> State:
        """Its two numbers."""
        return {"tension": self.tension, "p_null": self.p_null}

    def restored(self, saved: CheckpointReader) -> Self:
        """Of these numbers."""
        tension, p_null = saved.number("tension"), saved.number("p_null")
        if not 0 <= tension <= STEEPEST or not 0 <= p_null <= 1:
            saved.reject("tension")
        return replace(self, tension=tension, p_null=p_null)


def _diagonal(shapes: Shapes, tension: float) -> Floats:
    """exp(−tension · distance), scaled to sum to 1 over the words of each column."""
    weights = np.where(shapes.is_null, 0.0, np.exp(-tension * shapes.distances))
    sums = shapes.column_sums(weights)
    return np.divide(weights, sums, out=weights, where=sums > 0)


def _best_tension(shapes: Shapes, expected: Floats, tension: float) -> float:
    """argmax_λ −λ Σ c d − Σ_j c_j log Σ_i exp(−λ d), which is concave, from 0 to `STEEPEST`; bisection guards it."""
    expected, distances = np.where(shapes.is_null, 0.0, expected), shapes.distances
    wanted, of_columns = float((expected * distances).sum()), shapes.column_sums(expected)
    low, high = 0.0, STEEPEST
    for _ in range(NEWTON_STEPS):
        p = _diagonal(shapes, tension)
        means = shapes.column_sums(p * distances)
        slope = float((of_columns * p * distances).sum()) - wanted
        curvature = float((of_columns * p * (distances - means) ** 2).sum())
        low, high = (tension, high) if slope > 0 else (low, tension)
        following = tension + slope / curvature if curvature > 0 else low
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - tension) <= 1e-9 * max(1.0, tension):
            break
        tension = following
    return tension


def start_alignment(kind: str, shapes: Shapes) -> Alignment:
    """The alignment of a kind, "uniform", "table" or "diagonal", that knows no position from another."""
    if kind == "uniform":
        return UniformAlignment()
    if shapes.size > MOST_NUMBERS:
        raise ValueError(
            f"pairs have so many different lengths that alignments have {shapes.size} numbers, at most {MOST_NUMBERS} "
            "are supported: leave out the longest pairs, or take model=1"
        )
    return TabulatedAlignment.uniform(shapes) if kind == "table" else DiagonalAlignment(shapes.null)


def probabilities(saved: CheckpointReader, name: str, like: Floats) -> Floats:
    """Numbers from 0 to 1 of a checkpoint."""
    array = saved.array(name, like)
    return array if ((array >= 0) & (array <= 1)).all() else saved.reject(name)
