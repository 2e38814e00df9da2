"""Lloyd's steps for a few clusters of rows in memory: over the rows alone, by those that change their cluster."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.cluster.kmeans_steps import ROUNDING, KMeansData, KMeansState, LloydStep, SoftStep, reciprocal, squares
from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import few_clusters, kmeans
from fastlin.optim.partitions import row_blocks
from fastlin.runtime import parallel

FEW_CLUSTERS = 4


class RowBlock(NamedTuple):
    """Some of the rows, and their numbers, as kernels take them."""

    start: int
    stop: int
    rows: CSRView
    weights: NDArray[np.float64]
    labels: NDArray[np.int32]
    best: NDArray[np.float64]
    owners: NDArray[np.int32]


class FewClustersStep(LloydStep):
    """Sums are columns of [V, 4], beside what rounding has left of them; rows that change are taken out and put in.

    An iteration of a thousand short rows takes no longer than a pass over partitions takes to set up: what kernels
    need is bound once, here, where all rows are.
    """

    min_columns = FEW_CLUSTERS

    def __init__(self, points: KMeansData, n_clusters: int, spherical: bool, workers: parallel.WorkerPool) -> None:
        super().__init__(points, n_clusters, spherical, workers)
        self.rest = aligned_zeros(self.padded.shape)
        self.former = aligned_zeros(self.padded.shape)  # the sums where the centres stood before they moved

    def _allocate(self) -> None:
        self.owners = np.empty(len(self.labels), np.int32)
        with self.parts.open(0, self.workers) as part:
            blocks = [
                RowBlock(
                    start,
                    stop,
                    CSRView(*part.design.rows(start, stop), start, stop),
                    part.labels.weights[start:stop],
                    self.labels[start:stop],
                    self.best[start:stop],
                    self.owners[start:stop],
                )
                for start, stop in row_blocks(part, self.K)
            ]
        self.jobs = [(block,) for block in blocks]

    def _owners(self) -> NDArray[np.int32]:
        return self.owners

    def _set_owners(self, owners: NDArray[np.int32]) -> None:
        self.owners[:] = owners

    def _spread(self, centres: NDArray[np.float64]) -> None:
        self.sums[:] = centres.T  # of all columns in their order: rows are as they lay

    def centres(self) -> NDArray[np.float64]:
        """A column at a time: numpy takes five times as long over lines of three numbers."""
        found = np.empty((self.K, len(self.sums)))
        for column, factor, centre in zip(self.sums.T, self.scale, found, strict=True):
            np.multiply(column, factor, out=centre)
        return found

    def settle(self) -> NDArray[np.float64]:
        centres = self.centres()
        self._spread(centres)
        self.scale, self.squares = np.ones(self.K), squares(centres.T)
        return centres

    def state_dict(self) -> State:
        return super().state_dict() | {"sums": np.ascontiguousarray(self.sums), "rest": self.rest}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        super().load_state_dict(saved)
        saved.read_into("rest", self.rest)
        self.former[:] = self.padded

    def assign(self) -> None:
        centres = self.padded, self.scale, self.shift

        def work(block: RowBlock) -> list[float]:
            return few_clusters.assign_few(block.rows, *centres, block.weights, block.labels, block.best)

        found = sum(map(np.array, self.workers.map(work, self.jobs)), np.zeros(2 + self.K))
        self.gain, self.n_changed, self.mass = float(found[0]), int(found[1]), found[2:]

    def distances(self) -> NDArray[np.float64]:
        if self.spherical:
            return super().distances()
        found = np.empty(len(self.labels))

        def work(block: RowBlock) -> None:
            own = found[block.start : block.stop]
            kmeans.squared_distances(block.rows, self.padded, self.scale, self.squares, block.labels, own)

        self.workers.map(work, self.jobs)
        return found

    def expect(self) -> dict[str, Any]:
        self.assign()
        objective = self.points.cost - (self.gain if self.spherical else 2 * self.gain)
        return {"objective": max(objective, 0.0), "changed": self.n_changed}

    def maximise(self) -> dict[str, Any]:
        """The general step where a cluster has died; without that and without columns there is less to ask."""
        if not self.mass.all():
            return super().maximise()
        before = self.scale
        after = before if self.spherical else 1.0 / self.mass
        _, self.of_sums, across, moved = self._sum(self.labels, before, after)
        if self.spherical:
            after = reciprocal(np.sqrt(self.of_sums), self.of_sums > 0)
            moved = np.maximum(2 - 2 * before * after * across, ROUNDING)
        self.scale, self.squares = after, self.of_sums * after**2
        if after.all():
            self.whole = False
        else:
            self._place(after == 0, self.mass)
        return {"movement": float(moved.sum()), "relocated": 0}

    def _masses(self) -> NDArray[np.float64]:
        return self.mass

    def _sum(self, owners: NDArray[np.int32], before: NDArray[np.float64], after: NDArray[np.float64]) -> Any:
        """Let the rows change their clusters, in one thread: a sum has one writer."""
        if self.whole:
            self.former[:] = self.padded
            self.padded[:], self.rest[:], self.owners[:] = 0, 0, -1
        n_moved = 0
        for (block,) in self.jobs:
            labels, own = owners[block.start : block.stop], (block.owners, self.padded, self.rest)
            n_moved += few_clusters.move_rows(block.rows, labels, block.weights, *own)
        if not n_moved and not self.whole:
            return np.array([self.of_sums, self.of_sums, self.of_sums, np.zeros(self.K)])
        self.whole = True  # no feature's sums are known to be as they were
        return np.array(few_clusters.take_over_sums(self.former, self.padded, before, after))


def make_step(
    points: KMeansData, n_clusters: int, spherical: bool, temperature: float | None, workers: parallel.WorkerPool
) -> KMeansState:
    """The steps of k-means, hard without a temperature."""
    if temperature is not None:
        return SoftStep(points, n_clusters, spherical, workers, temperature)
    return (FewClustersStep if points.by_rows else LloydStep)(points, n_clusters, spherical, workers)
