"""Centroids of labels and the spread about them: means that merge, and medians of sparse columns."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.dataset import LabelledBlock
from fastlin.engine.core import centroids as kernels
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.runtime import parallel
from fastlin.validation import CSRRows

Floats = NDArray[np.float64]
Blocks = Callable[[], Iterable[LabelledBlock]]  # all of them, once more at every call
ROUNDING = 1e-12  # of a mean: a smaller share of the weight, or of a centroid, is what sums have lost


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """What rows say of each label: never changed in place."""

    rows: Floats  # their weight, [K]
    centroids: Floats  # [V, K]; zeros where there are no rows
    scatter: Floats  # Σ w (x − c)² about the own label's centroid, [V]
    mean: Floats  # of all rows, [V]

    def resized(self, places: NDArray[np.int32], n_labels: int) -> "ClassMoments":
        """The same among more labels."""
        rows, centroids = np.zeros(n_labels), aligned_zeros((len(self.mean), n_labels))
        rows[places], centroids[:, places] = self.rows, self.centroids
        return ClassMoments(rows, centroids, self.scatter, self.mean)

    def merged(self, other: "ClassMoments") -> "ClassMoments":
        """The moments of the rows of both, whose centroids are means (Chan, Golub and LeVeque 1983)."""
        rows, weight = self.rows + other.rows, float(self.rows.sum() + other.rows.sum())
        share = np.divide(other.rows, rows, where=rows > 0, out=np.zeros(len(rows)))
        apart = other.centroids - self.centroids
        scatter = self.scatter + other.scatter + np.square(apart) @ (self.rows * share)
        mean = self.mean + (other.mean - self.mean) * (other.rows.sum() / weight if weight else 0.0)
        apart *= share
        apart += self.centroids
        return ClassMoments(rows, apart, scatter, mean)


def mean_moments(blocks: Iterable[LabelledBlock], n_labels: int, n_features: int, n_jobs: int | None) -> ClassMoments:
    """Means of the rows of each label, block after block, in two passes over each."""
    found = None
    for block in blocks:
        sums = _sums(block, n_labels, n_features, n_jobs)
        means = sums.features * _reciprocal(sums.rows)
        mean = sums.features.sum(axis=1) / max(float(sums.rows.sum()), np.finfo(float).tiny)
        one = ClassMoments(sums.rows, means, _scatter([block], means, sums.rows), mean)
        found = one if found is None else found.merged(one)
    assert found is not None
    return found


def median_moments(blocks: Blocks, n_labels: int, n_features: int, n_jobs: int | None) -> ClassMoments:
    """Medians of the rows of each label, feature by feature, in three passes."""
    rows, present, total = np.zeros(n_labels), aligned_zeros((n_features, n_labels)), np.zeros(n_features)
    for block in blocks():
        there = LabelledBlock(_ones_like(block.rows), block.codes, block.weights)
        sums = _sums(there, n_labels, n_features, n_jobs)
        rows, present = rows + sums.rows, present + sums.features
        everyone = LabelledBlock(block.rows, np.zeros_like(block.codes), block.weights)
        total = total + _sums(everyone, 1, n_features, n_jobs).features[:, 0]
    medians = _medians(blocks, rows, present)
    return ClassMoments(rows, medians, _scatter(blocks(), medians, rows), total / rows.sum())


class _Sums(NamedTuple):
    rows: Floats  # [K]
    features: Floats  # [V, K]


def _sums(block: LabelledBlock, n_labels: int, n_features: int, n_jobs: int | None) -> _Sums:
    features = aligned_zeros((n_features, n_labels))
    with parallel.WorkerPool(n_jobs) as workers:
        for start, stop in parallel.row_blocks(block.rows, 1):
            parallel.count_features(block.rows, start, stop, block.codes, block.weights, features, workers)
    weights = block.weights if len(block.weights) else None
    return _Sums(np.bincount(block.codes, weights, n_labels).astype(np.float64), features)


def _scatter(blocks: Iterable[LabelledBlock], centroids: Floats, rows: Floats) -> Floats:
    """Σ w (x − c)² of each feature: of what is there, and of the rows that lack it."""
    scatter, present = np.zeros(len(centroids)), aligned_zeros(centroids.shape)
    for block in blocks:
        for start, stop in parallel.row_blocks(block.rows, 1):
            indices, values = parallel.block_arrays(block.rows, start, stop, np.float64)
            view = CSRView(block.rows.indptr, indices, values, start, stop)
            kernels.add_scatter(view, block.codes, block.weights, centroids, scatter, present)
    absent = rows - present
    absent[absent < ROUNDING * rows] = 0.0
    scatter += np.einsum("jk,jk,jk->j", absent, centroids, centroids)
    return scatter


def _medians(blocks: Blocks, rows: Floats, present: Floats) -> Floats:
    """Weighted medians: 0 where zeros are the majority, so that few columns of sparse rows have to be sorted.

    Of weights that two values share evenly, the middle of the two.
    """
    medians, chosen = aligned_zeros(present.shape), (2 * present >= rows) & (present > 0)
    cells, values, weights = zip(*(_chosen_entries(block, chosen) for block in blocks()), strict=True)
    places = np.flatnonzero(chosen)
    zeros = np.maximum((rows - present).reshape(-1)[places], 0.0)  # the rest of the rows
    cell, value = np.concatenate([*cells, places]), np.concatenate([*values, np.zeros(len(places))])
    weight = np.concatenate([*weights, zeros])
    order = np.lexsort((value, cell))
    cell, value, weight = cell[order], value[order], weight[order]
    cell, value, weight = cell[weight > 0], value[weight > 0], weight[weight > 0]
    if not len(cell):
        return medians
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    total = np.add.reduceat(weight, first)
    sizes = np.diff(np.append(first, len(cell)))
    reached = np.cumsum(weight)
    below = np.repeat(reached[first] - weight[first], sizes)
    reached, half = reached - below, np.repeat(total / 2, sizes)
    slack = ROUNDING * half
    low = np.minimum(np.add.reduceat((reached < half - slack).astype(np.int64), first), sizes - 1)
    high = np.minimum(np.add.reduceat((reached <= half + slack).astype(np.int64), first), sizes - 1)
    medians.reshape(-1)[cell[first]] = (value[first + low] + value[first + high]) / 2
    return medians


def _chosen_entries(block: LabelledBlock, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.int64], Floats, Floats]:
    """The place in [V, K], the value and the weight of each non-zero where `chosen` says so."""
    rows, K = block.rows, chosen.shape[1]
    owners = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    cells = rows.indices[: rows.nnz].astype(np.int64) * K + block.codes[owners]
    there = chosen.reshape(-1)[cells]
    weights = block.weights[owners[there]] if len(block.weights) else np.ones(np.count_nonzero(there))
    return cells[there], rows.values[: rows.nnz][there].astype(np.float64), weights


def _ones_like(rows: CSRRows) -> CSRRows:
    """The rows with 1 for every value."""
    return replace(rows, values=np.ones_like(rows.values))


def _reciprocal(values: Floats) -> Floats:
    return np.divide(1.0, values, where=values > 0, out=np.zeros(len(values)))
