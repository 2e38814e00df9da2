"""Centres that learn batch by batch: each is the mean of all rows that were ever given to it (Sculley 2010).

A centre is a column of sums over the weight of its rows, so that a batch costs its non-zeros; one that has had no row
yet is where it began. Clusters that have had few rows begin anew at rows of a batch, as in scikit-learn.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fastlin.cluster.kmeans_steps import CANCELLED_SHARE, squares
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import kmeans
from fastlin.runtime import parallel
from fastlin.validation import CSRRows

Floats = NDArray[np.float64]
ROWS_BETWEEN_REASSIGNMENTS = 10  # times the number of clusters


@dataclass(eq=False)
class OnlineCentres:
    """Sums of rows [V, K] and their weights; `copy` before a batch is learnt, for readers may hold the arrays."""

    sums: Floats
    counts: Floats  # the weight of the rows of each cluster; 0: the sums are where it began
    of_sums: Floats  # ‖S_k‖²
    peaks: Floats  # the largest that has been
    batch_size: int  # rows that a batch counts for, until clusters may begin anew
    unassigned: int = 0  # such rows since clusters last could
    _weights: Floats | None = None  # the centres, once they were asked for

    @classmethod
    def begin(cls, centres: Floats, batch_size: int) -> "OnlineCentres":
        """From these centres, [K, V]."""
        sums = np.ascontiguousarray(centres.T, np.float64).copy()
        of_sums = squares(sums)
        return cls(sums, np.zeros(len(centres)), of_sums, of_sums.copy(), batch_size)

    def copy(self) -> Self:
        return replace(
            self,
            sums=self.sums.copy(),
            counts=self.counts.copy(),
            of_sums=self.of_sums.copy(),
            peaks=self.peaks.copy(),
            _weights=None,
        )

    @property
    def scale(self) -> Floats:
        """By which sums are centres."""
        return np.divide(1.0, self.counts, where=self.counts > 0, out=np.ones(len(self.counts)))

    @property
    def squares(self) -> Floats:
        """‖c‖²."""
        return self.of_sums * self.scale**2

    def weights(self) -> Floats:
        """The centres, [V, K]."""
        found = self._weights
        if found is None:
            found = self._weights = self.sums * self.scale
        return found

    def assign(self, rows: CSRRows, n_jobs: int | None) -> tuple[NDArray[np.int32], Floats]:
        """The nearest centre of each row, the first among equals, and ‖x − c‖²."""
        labels, distances = np.empty(len(rows), np.int32), np.empty(len(rows))
        scale, norms = self.scale, self.squares

        def infer(scores: Floats, start: int, stop: int) -> None:
            kmeans.assign_nearest(scores, scale, 0.5 * norms, labels[start:stop], distances[start:stop])
            indices, values = parallel.block_arrays(rows, start, stop, rows.values.dtype)
            view = CSRView(rows.indptr, indices, values, start, stop)
            kmeans.squared_distances(view, self.sums, scale, norms, labels[start:stop], distances[start:stop])

        parallel.forward(rows, self.sums, np.zeros(len(scale)), infer, n_jobs)
        return labels, distances

    def learn(
        self, rows: CSRRows, weights: Floats, generator: np.random.Generator, ratio: float, n_jobs: int | None
    ) -> float:
        """Give a batch to the nearest centres, and move them; Σ w ‖x − c‖² before that."""
        self._weights = None
        self.unassigned += self.batch_size
        anew = bool((self.counts == 0).any() or self.unassigned >= ROWS_BETWEEN_REASSIGNMENTS * len(self.counts))
        labels, distances = self.assign(rows, n_jobs)
        mass = np.bincount(labels, weights if len(weights) else None, len(self.counts)).astype(np.float64)
        self._clear((self.counts == 0) & (mass > 0))
        for start, stop in parallel.row_blocks(rows, 1):
            indices, values = parallel.block_arrays(rows, start, stop, rows.values.dtype)
            view = CSRView(rows.indptr, indices, values, start, stop)
            kmeans.add_batch(view, labels[start:stop], weights[start:stop], self.sums, self.of_sums)
        self.counts += mass
        self._refresh()
        if anew:
            self.unassigned = 0
            if ratio > 0:
                self._reassign(rows, generator, ratio)
        return float(np.sum(distances * weights if len(weights) else distances))

    def _clear(self, clusters: NDArray[np.bool_]) -> None:
        self.sums[:, clusters] = 0.0
        self.of_sums[clusters] = self.peaks[clusters] = 0.0

    def _refresh(self) -> None:
        """Compute ‖S‖² anew where rows have cancelled most of it."""
        self.peaks = np.maximum(self.peaks, self.of_sums)
        if (self.of_sums < CANCELLED_SHARE * self.peaks).any():
            self.of_sums = squares(self.sums)
            self.peaks = self.of_sums.copy()

    def _reassign(self, rows: CSRRows, generator: np.random.Generator, ratio: float) -> None:
        """Put clusters of few rows on random rows of the batch, with the weight of the lightest of the others."""
        few, most = self.counts < ratio * self.counts.max(), len(rows) // 2
        if np.count_nonzero(few) > 0.5 * len(rows):
            few[np.argsort(self.counts, kind="stable")[most:]] = False
        if not few.any() or few.all():
            return
        chosen = generator.choice(len(rows), np.count_nonzero(few), replace=False)
        weight = float(self.counts[~few].min())
        self._clear(few)
        self.counts[few] = weight
        for k, row in zip(np.flatnonzero(few), chosen, strict=True):
            indices, values = parallel.block_arrays(rows, int(row), int(row) + 1, np.float64)
            self.sums[indices, k] = values * (weight or 1.0)
            self.of_sums[k] = np.sum(np.square(self.sums[indices, k]))
        self.peaks = np.maximum(self.peaks, self.of_sums)
