"""Rows to begin from that lie far apart: greedy k-means++.

A row is drawn with a probability in proportion to its squared distance from the seeds so far. Of a few such rows that
one becomes a seed that leaves the least sum of distances: one pass over all rows scores them together.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.solvers import kmeans
from fastlin.runtime import parallel
from fastlin.runtime.passes import PartitionSet, Passes
from fastlin.validation import CSRRows

MIN_SUM = np.finfo(np.float64).tiny  # below it, a uniform number below 1 times a sum may be that sum


class RowPartition(NamedTuple):
    """Some rows, and the number of the first."""

    start: int
    rows: CSRRows
    workers: Any


class RowPartitions(PartitionSet):
    """So many segments of rows, each of which a function reads; nothing is kept with them."""

    def __init__(self, segment: Callable[[int], tuple[int, CSRRows]], n_segments: int) -> None:
        self._segment, self._n_segments = segment, n_segments

    def __len__(self) -> int:
        return self._n_segments

    def __iter__(self) -> Iterator[tuple[int, CSRRows]]:
        return map(self._segment, range(len(self)))

    @contextmanager
    def open(self, index: int, workers: Any = None) -> Iterator[RowPartition]:
        """One of them."""
        yield RowPartition(*self._segment(index), workers)


class Norms(NamedTuple):
    """What turns x·c into a squared distance: of rows as they are, or of unit rows."""

    squares: NDArray[np.float64]  # ‖x‖²; of a unit row 1
    factors: NDArray[np.float64]  # 1, or 1/‖x‖; an empty row stays empty


def kmeans_plus_plus(
    rows: CSRRows,
    n_seeds: int,
    generator: np.random.Generator,
    *,
    weights: NDArray[np.float64] | None = None,
    normalise: bool = False,
    n_jobs: int | None = None,
) -> NDArray[np.int64]:
    """The numbers of so many rows; of rows scaled to norm 1 with `normalise`, where empty rows come last.

    Where fewer rows differ than seeds are wanted, random ones of positive weight are the rest. The sum of the weights,
    if given, is positive.
    """
    data = parallel.WorkerPool(n_jobs).passes(RowPartitions(lambda _: (0, rows), 1))
    return choose_seeds(data, (len(rows), rows.n_columns), n_seeds, generator, weights, normalise)


def choose_seeds(
    data: Passes,
    shape: tuple[int, int],
    n_seeds: int,
    generator: np.random.Generator,
    weights: NDArray[np.float64] | None,
    normalise: bool,
) -> NDArray[np.int64]:
    """`kmeans_plus_plus` of rows in `RowPartitions`."""
    n_rows, n_columns = shape
    norms = _norms(data, normalise)
    mass = np.ones(n_rows) if weights is None or not len(weights) else weights / weights.max()
    if normalise and (mass[norms.squares > 0] > 0).any():
        mass = np.where(norms.squares > 0, mass, 0.0)
    share = mass / mass.sum()
    trials = 2 + int(np.log(n_seeds))
    seeds = [int(generator.choice(n_rows, p=share))]
    nearest = _distances(data, norms, np.array(seeds), n_columns)[0]
    while len(seeds) < n_seeds:
        reach = np.cumsum(mass * nearest)
        if reach[-1] < MIN_SUM:
            return np.array([*seeds, *generator.choice(n_rows, n_seeds - len(seeds), p=share)])
        drawn = np.searchsorted(reach, generator.random(trials) * reach[-1], side="right")
        distances = np.minimum(_distances(data, norms, drawn, n_columns), nearest)
        best = int(np.argmin(distances @ mass))
        seeds.append(int(drawn[best]))
        nearest = distances[best]
    return np.array(seeds)


def take(data: Passes, numbers: NDArray[np.int64], n_columns: int) -> NDArray[np.float64]:
    """Some rows as they are, dense, [n, V], in the order given."""
    dense = np.zeros((len(numbers), n_columns))
    data.fold(_take, numbers, into=(dense,))
    return dense


def _take(part: RowPartition, numbers: NDArray[np.int64], dense: NDArray[np.float64]) -> None:
    start, rows = part.start, part.rows
    for place in np.flatnonzero((numbers >= start) & (numbers < start + len(rows))):
        row = int(numbers[place]) - start
        indices, values = parallel.block_arrays(rows, row, row + 1, np.float64)
        dense[place, indices] = values


def _norms(data: Passes, normalise: bool) -> Norms:
    squares = np.concatenate(data.each(_squared_norms))
    if not normalise:
        return Norms(squares, np.ones(len(squares)))
    there = squares > 0
    return Norms(there.astype(np.float64), np.divide(1.0, np.sqrt(squares), where=there, out=np.zeros(len(squares))))


def _squared_norms(part: RowPartition) -> NDArray[np.float64]:
    return squared_norms(part.rows)


def squared_norms(rows: CSRRows) -> NDArray[np.float64]:
    """‖x‖² of every row."""
    found = np.empty(len(rows))
    for start, stop in parallel.row_blocks(rows, 1):
        indptr = rows.indptr[start : stop + 1]
        kmeans.squared_norms(indptr, rows.values[indptr[0] : indptr[-1]], found[start:stop])
    return found


def owned(rows: CSRRows) -> Iterator[tuple[int, int, slice, NDArray[np.int64]]]:
    """Blocks of rows, each with the place of its non-zeros, and the row of each of them within the block."""
    for start, stop in parallel.row_blocks(rows, 1):
        own = slice(int(rows.indptr[start]), int(rows.indptr[stop]))
        yield start, stop, own, np.repeat(np.arange(stop - start), np.diff(rows.indptr[start : stop + 1]))


def _distances(data: Passes, norms: Norms, drawn: NDArray[np.int64], n_columns: int) -> NDArray[np.float64]:
    """The squared distance of every row from those drawn, [drawn, n]."""
    distances = np.empty((len(drawn), len(norms.squares)))
    columns = np.ascontiguousarray(take(data, drawn, n_columns).T)
    data.fold(_add_distances, columns, norms, drawn, into=(distances,))
    return distances


def _add_distances(
    part: RowPartition,
    columns: NDArray[np.float64],
    norms: Norms,
    drawn: NDArray[np.int64],
    distances: NDArray[np.float64],
) -> None:
    """The distances of a partition's rows, in their places."""

    def infer(scores: NDArray[np.float64], low: int, high: int) -> None:
        block = slice(part.start + low, part.start + high)
        sums = norms.squares[block, np.newaxis] + norms.squares[drawn]
        found = sums - 2 * scores * norms.factors[block, np.newaxis] * norms.factors[drawn]
        distances[:, block] = np.maximum(found, 0.0).T

    parallel.forward(part.rows, columns, np.zeros(len(drawn)), infer, part.workers.threads)
