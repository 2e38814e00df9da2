"""Lloyd's steps for a few clusters of rows in memory: over the rows alone, by those that change their cluster."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.cluster.kmeans_steps import KMeansData, KMeansState, LloydStep, SoftStep
from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import few_clusters
from fastlin.optim.partitions import Partition, PerRowArrays, row_blocks
from fastlin.runtime import parallel

FEW_CLUSTERS = 4


class FewClustersStep(LloydStep):
    """Sums are columns of [V, 4], beside what rounding has left of them; rows that change are taken out and put in."""

    min_columns = FEW_CLUSTERS

    def __init__(self, points: KMeansData, n_clusters: int, spherical: bool, workers: parallel.WorkerPool) -> None:
        super().__init__(points, n_clusters, spherical, workers)
        self.rest, self.former = aligned_zeros(self.padded.shape), aligned_zeros(self.padded.shape)

    def begin(self, centres: NDArray[np.float64]) -> None:
        super().begin(centres)
        self.data.scatter(self.labels_of_rows, self.labels[:, np.newaxis])

    def _spread(self, centres: NDArray[np.float64]) -> None:
        self.sums[:] = centres.T  # of all columns in their order: rows are as they lay

    def centres(self) -> NDArray[np.float64]:
        return np.ascontiguousarray((self.sums * self.scale).T)

    def state_dict(self) -> State:
        return super().state_dict() | {"sums": np.ascontiguousarray(self.sums), "rest": self.rest}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        super().load_state_dict(saved)
        saved.read_into("rest", self.rest)
        self.data.scatter(self.labels_of_rows, self.labels[:, np.newaxis])

    def assign(self) -> None:
        of_rows = self.labels_of_rows, self.best_of_rows
        found = self.data.fold(_assign, *of_rows, self.padded, self.scale, self.shift)
        self.gain, self.n_changed, self.mass = float(found[0]), int(found[1]), found[2:]
        self.labels, self.best = (self.data.gather(each)[:, 0] for each in of_rows)

    def expect(self) -> dict[str, Any]:
        self.assign()
        objective = self.points.cost - (self.gain if self.spherical else 2 * self.gain)
        return {"objective": max(objective, 0.0), "changed": self.n_changed}

    def _masses(self) -> NDArray[np.float64]:
        return self.mass

    def _sum(self, owners: NDArray[np.int32], before: NDArray[np.float64], after: NDArray[np.float64]) -> Any:
        """Let the rows change their clusters; what `few_clusters.compare_sums` finds."""
        self.former[:] = self.padded
        if self.whole:
            self.padded[:], self.rest[:] = 0, 0
            self.data.scatter(self.owners, np.full((len(owners), 1), -1, np.int32))
        targets = self.labels_of_rows
        if owners is not self.labels:
            targets = self.data.allocate("targets", 1, np.int32, transient=True)
            self.data.scatter(targets, owners[:, np.newaxis])
        n_moved = self.data.fold(_move, targets, self.owners, into=(self.padded, self.rest))
        if not n_moved and not self.whole:
            return np.zeros((4, self.K))
        self.whole = True  # no feature's sums are known to be as they were
        return np.array(few_clusters.compare_sums(self.former, self.padded, before, after))


def make_step(
    points: KMeansData, n_clusters: int, spherical: bool, temperature: float | None, workers: parallel.WorkerPool
) -> KMeansState:
    """The steps of k-means, hard without a temperature."""
    if temperature is not None:
        return SoftStep(points, n_clusters, spherical, workers, temperature)
    by_rows = len(points.parts) == 1 and not workers.passes(points.parts).at(0, _has_columns)
    return (FewClustersStep if by_rows else LloydStep)(points, n_clusters, spherical, workers)


# The work on a partition


def _has_columns(part: Partition) -> bool:
    return part.design.has_columns


def _assign(
    part: Partition,
    labels_of_rows: PerRowArrays,
    best_of_rows: PerRowArrays,
    four: NDArray[np.float64],
    scale: NDArray[np.float64],
    shift: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The nearest centre of each row; Σ w best, the number of labels that change, and the weight of each cluster."""
    labels, best, weights = part.map(labels_of_rows)[:, 0], part.map(best_of_rows)[:, 0], part.labels.weights

    def work(start: int, stop: int) -> NDArray[np.float64]:
        some, block = CSRView(*part.design.rows(start, stop), start, stop), slice(start, stop)
        found = few_clusters.assign_few(some, four, scale, shift, weights[block], labels[block], best[block])
        return np.array(found)

    return np.asarray(sum(part.map_blocks(work, row_blocks, len(scale))))


def _move(
    part: Partition,
    labels_of_rows: PerRowArrays,
    owners_of_rows: PerRowArrays,
    four: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> int:
    """Rows whose label is not their owner change the sums, in one thread: a sum has one writer; how many do."""
    labels, owners, weights = part.map(labels_of_rows)[:, 0], part.map(owners_of_rows)[:, 0], part.labels.weights
    moved = 0
    for start, stop in part.blocks(row_blocks, 1):
        some, block = CSRView(*part.design.rows(start, stop), start, stop), slice(start, stop)
        moved += few_clusters.move_rows(some, labels[block], weights[block], owners[block], four, rest)
    return moved
