"""Rows to begin from that lie far apart: greedy k-means++.

A row is drawn with a probability in proportion to its squared distance from the seeds so far. Of a few such rows that
one becomes a seed that leaves the least sum of distances: one pass over all rows scores them together.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.runtime import parallel
from fastlin.validation import CSRRows

Pieces = Callable[[], Iterable[tuple[int, CSRRows]]]  # rows in pieces, each with the number of its first
MIN_SUM = np.finfo(np.float64).tiny  # below it, a uniform number below 1 times a sum may be that sum


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
    return choose_seeds(lambda: [(0, rows)], len(rows), n_seeds, generator, weights, normalise, n_jobs)


def choose_seeds(
    pieces: Pieces,
    n_rows: int,
    n_seeds: int,
    generator: np.random.Generator,
    weights: NDArray[np.float64] | None,
    normalise: bool,
    n_jobs: int | None,
) -> NDArray[np.int64]:
    """`plus_plus` of rows that come in pieces."""
    norms = _norms(pieces, n_rows, normalise)
    mass = np.ones(n_rows) if weights is None or not len(weights) else weights / weights.max()
    if normalise and (mass[norms.squares > 0] > 0).any():
        mass = np.where(norms.squares > 0, mass, 0.0)
    share = mass / mass.sum()
    trials = 2 + int(np.log(n_seeds))
    seeds = [int(generator.choice(n_rows, p=share))]
    nearest = _distances(pieces, norms, np.array(seeds), n_jobs)[0]
    while len(seeds) < n_seeds:
        reach = np.cumsum(mass * nearest)
        if reach[-1] < MIN_SUM:
            return np.array([*seeds, *generator.choice(n_rows, n_seeds - len(seeds), p=share)])
        drawn = np.searchsorted(reach, generator.random(trials) * reach[-1], side="right")
        distances = np.minimum(_distances(pieces, norms, drawn, n_jobs), nearest)
        best = int(np.argmin(distances @ mass))
        seeds.append(int(drawn[best]))
        nearest = distances[best]
    return np.array(seeds)


def take(pieces: Pieces, numbers: NDArray[np.int64], n_columns: int) -> NDArray[np.float64]:
    """Some rows as they are, dense, [n, V], in the order given."""
    dense = np.zeros((len(numbers), n_columns))
    for start, rows in pieces():
        for place in np.flatnonzero((numbers >= start) & (numbers < start + len(rows))):
            row = int(numbers[place]) - start
            indices, values = parallel.block_arrays(rows, row, row + 1, np.float64)
            dense[place, indices] = values
    return dense


def _norms(pieces: Pieces, n_rows: int, normalise: bool) -> Norms:
    squares = np.empty(n_rows)
    for start, rows in pieces():
        squares[start : start + len(rows)] = squared_norms(rows)
    if not normalise:
        return Norms(squares, np.ones(n_rows))
    there = squares > 0
    return Norms(there.astype(np.float64), np.divide(1.0, np.sqrt(squares), where=there, out=np.zeros(n_rows)))


def squared_norms(rows: CSRRows) -> NDArray[np.float64]:
    """‖x‖² of every row."""
    found = np.empty(len(rows))
    for start, stop, own, owners in owned(rows):
        squares = np.square(rows.values[own], dtype=np.float64)
        found[start:stop] = np.bincount(owners, squares, minlength=stop - start)
    return found


def owned(rows: CSRRows) -> Iterator[tuple[int, int, slice, NDArray[np.int64]]]:
    """Blocks of rows, each with the place of its non-zeros, and the row of each of them within the block."""
    for start, stop in parallel.row_blocks(rows, 1):
        own = slice(int(rows.indptr[start]), int(rows.indptr[stop]))
        yield start, stop, own, np.repeat(np.arange(stop - start), np.diff(rows.indptr[start : stop + 1]))


def _distances(pieces: Pieces, norms: Norms, drawn: NDArray[np.int64], n_jobs: int | None) -> NDArray[np.float64]:
    """The squared distance of every row from those drawn, [drawn, n]."""
    distances = np.empty((len(drawn), len(norms.squares)))
    columns: NDArray[np.float64] | None = None
    for start, rows in pieces():
        if columns is None:
            columns = np.ascontiguousarray(take(pieces, drawn, rows.n_columns).T)

        def infer(scores: NDArray[np.float64], low: int, high: int, start: int = start) -> None:
            block = slice(start + low, start + high)
            sums = norms.squares[block, np.newaxis] + norms.squares[drawn]
            found = sums - 2 * scores * norms.factors[block, np.newaxis] * norms.factors[drawn]
            distances[:, block] = np.maximum(found, 0.0).T

        parallel.forward(rows, columns, np.zeros(len(drawn)), infer, n_jobs)
    return distances
