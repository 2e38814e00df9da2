"""Distances of sparse rows from centroids, as scores whose highest is the nearest."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastlin.core.sparse_estimator import Infer, Scorer, dense_scorer
from fastlin.engine.core import centroids as kernels
from fastlin.engine.core.csr_view import CSRView
from fastlin.linear.class_moments import ROUNDING, ClassMoments
from fastlin.runtime import parallel
from fastlin.runtime.made_once import FieldsOnly, made_once
from fastlin.validation import CSRRows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CentroidModel(FieldsOnly):
    """Moments of labels, and what follows from them; a label without rows is never the nearest."""

    moments: ClassMoments
    threshold: float | None  # of shrinking
    prior: Floats  # π, [K]

    @made_once
    def deviation(self) -> Floats:
        """σ: the standard deviation within labels, [V]; none where features differ by what rounding has left."""
        moments = self.moments
        n = moments.rows.sum()
        free = n - np.count_nonzero(moments.rows)
        if free <= 0:
            return np.zeros(len(moments.mean))
        least = n * np.square(ROUNDING * np.abs(moments.centroids).max(axis=1))
        return np.sqrt(np.where(moments.scatter > least, moments.scatter, 0.0) / free)

    @made_once
    def units(self) -> Floats:
        """√(1/n_k − 1/n) (σ_j + the median of σ), by which deviations are measured, [V, K]."""
        rows = self.moments.rows
        inverse = np.divide(1.0, rows, where=rows > 0, out=np.zeros(len(rows)))
        root = np.sqrt(np.maximum(inverse - 1 / max(rows.sum(), np.finfo(float).tiny), 0.0))
        return np.outer(self.deviation + np.median(self.deviation), root)

    @made_once
    def deviations(self) -> Floats:
        """How many units the centroids are from the mean of all rows, shrunk, [V, K]; 0/0 is 0."""
        apart = self.moments.centroids - self.moments.mean[:, np.newaxis]
        with np.errstate(divide="ignore"):
            found = np.divide(apart, self.units, where=apart != 0, out=np.zeros(apart.shape))
        if self.threshold is None:
            return found
        return np.sign(found) * np.maximum(np.abs(found) - self.threshold, 0.0)

    @made_once
    def centroids(self) -> Floats:
        """The centroids, shrunk where there is a unit to shrink by, [V, K]."""
        own = self.moments.centroids
        if self.threshold is None:
            return own
        there = self.units > 0
        return np.where(there, self.moments.mean[:, np.newaxis] + self.units * np.where(there, self.deviations, 0), own)

    @made_once
    def widths(self) -> Floats:
        """σ, and 1 where it is 0."""
        return np.where(self.deviation > 0, self.deviation, 1.0)

    def scorer(self, metric: str, n_jobs: int | None) -> Scorer:
        """Scores whose highest, the first among equals, is the label."""
        if not np.isclose(self.prior, 1 / len(self.prior)).all() and metric != "cosine":
            return self._manhattan(n_jobs, True) if metric == "manhattan" else self.discriminant_scorer(n_jobs)
        if metric == "manhattan":
            return self._manhattan(n_jobs, False)
        squares = np.einsum("jk,jk->k", self.centroids, self.centroids)
        if metric == "euclidean":
            return dense_scorer(self.centroids, self._without_empty(-0.5 * squares), n_jobs)
        scale = np.divide(1.0, np.sqrt(squares), where=squares > 0, out=np.zeros(len(squares)))
        return dense_scorer(self.centroids * scale, self._without_empty(np.zeros(len(scale))), n_jobs)

    def discriminant_scorer(self, n_jobs: int | None) -> Scorer:
        """−‖(x − c)/σ‖² + 2 log π, but for ‖x/σ‖²."""
        scaled = self.centroids / self.widths[:, np.newaxis]
        bias = self._log_prior() - np.einsum("jk,jk->k", scaled, scaled)
        return dense_scorer(2 * scaled / self.widths[:, np.newaxis], bias, n_jobs)

    def squared_norms(self, rows: CSRRows) -> Floats:
        """‖x/σ‖² of every row."""
        found, own = np.empty(len(rows)), 1 / np.square(self.widths)[:, np.newaxis]

        def use(scores: Floats, start: int, stop: int) -> None:
            found[start:stop] = scores[:, 0]

        squared = replace(rows, values=np.square(rows.values, dtype=np.float64))
        parallel.forward(squared, own, np.zeros(1), use, 1)
        return found

    def _manhattan(self, n_jobs: int | None, scaled: bool) -> Scorer:
        """−d or, of features over σ, −d² + 2 log π."""
        widths = self.widths if scaled else np.ones(len(self.widths))
        centroids = np.ascontiguousarray(self.centroids / widths[:, np.newaxis])
        norms = np.abs(centroids).sum(axis=0)
        bias = self._log_prior() if scaled else self._without_empty(np.zeros(len(norms)))

        def forward(rows: CSRRows, infer: Infer) -> None:
            def work(start: int, stop: int) -> None:
                indices, values = parallel.block_arrays(rows, start, stop, np.float64)
                values = values / widths[indices] if scaled else values
                distances = np.empty((stop - start, len(norms)))
                view = CSRView(rows.indptr, indices, values, start, stop)
                kernels.manhattan_distances(view, centroids, norms, distances)
                infer(bias - (np.square(distances) if scaled else distances), start, stop)

            parallel.run_jobs(work, parallel.row_blocks(rows, len(norms)), n_jobs)

        return Scorer(len(norms), forward)

    def _log_prior(self) -> Floats:
        with np.errstate(divide="ignore"):
            return self._without_empty(2 * np.log(self.prior))

    def _without_empty(self, bias: Floats) -> Floats:
        return np.where(self.moments.rows > 0, bias, -np.inf)
