"""The two steps of k-means over rows in parts, hard and soft, Euclidean and on the sphere.

A centre is a column of `sums` times its scale, [V, K] and [K]. `expect` says which rows belong to which centres and
what that costs, `maximise` moves the centres to where it costs least.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import kmeans
from fastlin.optim.partitions import Partition, Partitions, PerRowArrays, column_blocks, row_blocks
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel

TRANSPOSED_NUMBERS = 1 << 14  # numbers of a matrix that are turned at a time
CANCELLED_SHARE = 1 / 1024  # a ‖S‖² below this share of what it has been has lost digits
ROUNDING = 4 * np.finfo(np.float64).eps  # of 2 − 2 cos
MIN_WEIGHT_SHARE = 1e-200  # of all weight: with a smaller share there is no telling where a soft centre belongs


class KMeansData(NamedTuple):
    """The rows to cluster, and what k-means has to know of them."""

    parts: Partitions
    weights: NDArray[np.float64]  # of length 0 for all ones
    filled: NDArray[np.bool_]  # which are not empty
    cost: float  # Σ w ‖x‖²; on the sphere Σ w
    n_columns: int
    by_rows: bool = False  # whether they are in memory and not laid out by columns

    def __len__(self) -> int:
        return len(self.filled)

    def weighted(self, values: NDArray[np.float64]) -> float:
        """Σ w v."""
        return float(np.sum(self.weights * values if len(self.weights) else values))

    def masses(self, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.float64]:
        """Σ w of each cluster."""
        found = np.bincount(labels, self.weights if len(self.weights) else None, minlength=n_clusters)
        return found.astype(np.float64, copy=False)


class KMeansState(ABC):
    """Centres, and the points that they are fitted to."""

    min_columns: ClassVar[int] = 0  # of the sums as kernels take them; those beyond the clusters are zeros

    def __init__(self, points: KMeansData, n_clusters: int, spherical: bool, workers: parallel.WorkerPool) -> None:
        self.points, self.K, self.spherical, self.workers = points, n_clusters, spherical, workers
        self.parts = points.parts
        self.data = workers.passes(points.parts)
        self.padded = aligned_zeros((self.parts.n_features, max(n_clusters, self.min_columns)))
        self.sums = self.padded[:, :n_clusters]
        self.starts = np.cumsum([0, *self.parts.sizes])
        self.labels, self.best = np.empty(len(points), np.int32), np.empty(len(points))
        self._allocate()

    def _allocate(self) -> None:
        """Make room for numbers of the rows, which stays with the parts."""
        self.labels_of_rows = self.data.allocate("labels", 1, np.int32)
        self.best_of_rows = self.data.allocate("best", 1)  # the score of the nearest centre

    def begin(self, centres: NDArray[np.float64]) -> None:
        """From these centres, [K, X's columns], of norm 1 on the sphere."""
        self.scale, self.squares = np.ones(self.K), squares(centres.T)  # ‖c‖²
        self.unseen = np.zeros(self.K)  # the part of it that is of features no row has
        self._spread(centres)

    def _spread(self, centres: NDArray[np.float64]) -> None:
        """Write the centres to the sums."""
        for block, places in self._columns():
            columns = centres[:, block].T.copy()
            self.sums[places[places >= 0]] = columns[places >= 0]
            self.unseen += squares(columns[places < 0])

    def state_dict(self) -> State:
        """The centres, once they have moved."""
        return {"sums": self.sums, "scale": self.scale, "squares": self.squares, "unseen": self.unseen}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        numbers = np.empty(self.K)
        saved.read_into("sums", self.sums)
        self.scale, self.squares, self.unseen = (saved.array(name, numbers) for name in ("scale", "squares", "unseen"))

    def saved_labels(self, saved: CheckpointReader, name: str) -> NDArray[np.int32]:
        """The cluster of each row in a checkpoint, proved: kernels look at sums by it."""
        labels = saved.array(name, self.labels)
        return labels if ((labels >= 0) & (labels < self.K)).all() else saved.reject(name)

    @abstractmethod
    def expect(self) -> dict[str, Any]:
        """Give the rows to the centres; the objective, and what else is worth a note."""

    @abstractmethod
    def maximise(self) -> dict[str, Any]:
        """Move the centres; the movement Σ_k ‖c_k' − c_k‖², and what else is worth a note."""

    def centres(self) -> NDArray[np.float64]:
        """[K, X's columns]."""
        centres = np.empty((self.K, self.points.n_columns))
        for block, places in self._columns():
            columns = self.sums[places] * self.scale if len(self.sums) else np.zeros((len(places), self.K))
            columns[places < 0] = 0
            centres[:, block] = columns.T
        return centres

    def settle(self) -> NDArray[np.float64]:
        """The same, of which the step has the very numbers from now on, and not sums and scales."""
        self.sums *= self.scale
        self.scale = np.ones(self.K)
        centres = self.centres()
        self.squares = squares(centres.T)
        return centres

    def _columns(self) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Blocks of X's columns that stay in cache while they are turned, and the place of each among the features."""
        places = np.full(self.points.n_columns, -1)
        places[self.parts.features] = np.arange(self.parts.n_features)
        size = max(1, TRANSPOSED_NUMBERS // self.K)
        for low in range(0, len(places), size):
            yield slice(low, low + size), places[low : low + size]

    def assign(self) -> None:
        """The nearest centre of each row, and its score."""
        of_rows = self.labels_of_rows, self.best_of_rows
        self.data.each(_assign, *of_rows, self.sums, self.scale, self.shift)
        self.labels, self.best = (self.data.gather(each)[:, 0] for each in of_rows)

    def distances(self) -> NDArray[np.float64]:
        """What each row adds to the objective where it belongs to one centre, per weight: ‖x − c‖²; 1 − cos."""
        if self.spherical:
            return np.maximum(1 - self.best, 0.0)
        return np.concatenate(self.data.each(_distances, self.labels_of_rows, self.padded, self.scale, self.squares))

    def farthest(self, n: int) -> NDArray[np.int64]:
        """So many rows, farthest from their centres first: not more than there are, none if all lie on centres."""
        if not n:
            return np.empty(0, np.int64)
        distances = np.where(self.points.filled, self.distances(), 0.0) if self.spherical else self.distances()
        n = min(n, len(distances)) if distances.max() > 0 else 0
        return np.argpartition(distances, -n)[: -n - 1 : -1] if n else np.empty(0, np.int64)  # as scikit-learn does

    @property
    def shift(self) -> NDArray[np.float64]:
        """What is taken off the scores."""
        return np.zeros(self.K) if self.spherical else 0.5 * self.squares


class LloydStep(KMeansState):
    """Every row belongs to its nearest centre: Lloyd's algorithm."""

    def __init__(self, points: KMeansData, n_clusters: int, spherical: bool, workers: parallel.WorkerPool) -> None:
        super().__init__(points, n_clusters, spherical, workers)
        self.fresh = aligned_zeros(self.sums.shape if len(self.parts) > 1 else (0, self.K))  # sums on the way

    def _allocate(self) -> None:
        super()._allocate()
        # The clusters whose sums hold the rows, not the labels of relocated ones, and whether they are others now.
        self.owners_of_rows = self.data.allocate("owners", 1, np.int32)
        self.changed = self.data.allocate("changed", 1, np.uint8)

    def _owners(self) -> NDArray[np.int32]:
        owners: NDArray[np.int32] = self.data.gather(self.owners_of_rows)[:, 0]
        return owners

    def _set_owners(self, owners: NDArray[np.int32]) -> None:
        self.data.scatter(self.owners_of_rows, owners[:, np.newaxis])

    def begin(self, centres: NDArray[np.float64]) -> None:
        super().begin(centres)
        self.labels[:] = -1
        self._set_owners(self.labels)
        self.of_sums, self.peak = self.squares.copy(), np.zeros(self.K)  # ‖S_k‖², and the largest it has been
        self.whole = True  # the sums are not those of the owners

    def state_dict(self) -> State:
        own = {"labels": self.labels, "owners": self._owners(), "of_sums": self.of_sums, "peak": self.peak}
        return super().state_dict() | own | {"whole": self.whole}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        super().load_state_dict(saved)
        self.labels[:] = self.saved_labels(saved, "labels")
        self._set_owners(self.saved_labels(saved, "owners"))
        self.of_sums, self.peak = (saved.array(name, self.scale) for name in ("of_sums", "peak"))
        self.whole = saved.boolean("whole")

    def expect(self) -> dict[str, Any]:
        previous = self.labels.copy()
        self.assign()
        gain = self.points.weighted(self.best)
        objective = self.points.cost - (gain if self.spherical else 2 * gain)
        return {"objective": max(objective, 0.0), "changed": int(np.count_nonzero(self.labels != previous))}

    def maximise(self) -> dict[str, Any]:
        owners, mass, relocated = self._relocate()
        empty = mass == 0
        lost = self.sums[:, empty] * self.scale[empty]
        before = self.scale
        after = before if self.spherical else reciprocal(mass, ~empty)
        left, came, across, moved = self._sum(owners, before, after)
        rest = np.zeros(self.K) if self.whole else np.maximum(self.of_sums - left, 0.0)  # of features not touched
        self.of_sums = self._exact(rest + came)
        if self.spherical:
            after = reciprocal(np.sqrt(self.of_sums), self.of_sums > 0)
            moved = np.maximum(2 - 2 * before * after * (across + rest), ROUNDING)
        else:
            moved += rest * (after - before) ** 2
        self.scale, self.squares = after, self.of_sums * after**2
        self._place(after == 0, mass)
        moved[empty] = squares(self.sums[:, empty] * self.scale[empty] - lost)
        moved += self.unseen
        self.unseen = np.zeros(self.K)
        return {"movement": float(moved.sum()), "relocated": relocated}

    def _place(self, dead: NDArray[np.bool_], mass: NDArray[np.float64]) -> None:
        """Centres without rows go where the heaviest is: no row is theirs, unless their number is lower."""
        heaviest = int(np.argmax(np.where(dead, -1.0, mass)))
        self.whole = bool(dead.any())
        if self.whole:
            self.sums[:, dead] = self.sums[:, [heaviest]]
            self.scale[dead], self.squares[dead] = self.scale[heaviest], self.squares[heaviest]

    def _relocate(self) -> tuple[NDArray[np.int32], NDArray[np.float64], int]:
        """The labels, but rows that are farthest from their centres go to clusters that have none; how many do.

        Between both, what the rows of each cluster weigh then.
        """
        mass = self._masses()
        empty = np.flatnonzero(mass == 0)
        if not len(empty):
            return self.labels, mass, 0
        owners, far = self.labels.copy(), self.farthest(len(empty))
        owners[far] = empty[: len(far)]
        return owners, self.points.masses(owners, self.K), len(far)

    def _masses(self) -> NDArray[np.float64]:
        """What the rows of each cluster weigh."""
        return self.points.masses(self.labels, self.K)

    def _sum(self, owners: NDArray[np.int32], before: NDArray[np.float64], after: NDArray[np.float64]) -> Any:
        """Sum the features anew that a changed row has; what `kmeans.update_sums` finds, for each cluster."""
        touched = np.full(self.parts.n_features, self.whole, np.uint8)
        if not self.whole:
            changed = owners != self._owners()
            self.data.scatter(self.changed, changed.view(np.uint8)[:, np.newaxis])
            self.data.fold(_mark_changed, self.changed, self.K, into=(touched,))
        self._set_owners(owners)
        return self._fold(_update_sums, self.owners_of_rows, touched, before, after)

    def _fold(self, work: Any, *arguments: Any) -> NDArray[np.float64]:
        """What a work on all partitions adds up to, which changes the sums."""
        found: NDArray[np.float64] = self.data.fold(work, *arguments, into=(self.fresh, self.sums))
        return found

    def _exact(self, of_sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """‖S_k‖² kept up to date, or computed anew where what has left was large beside what is there."""
        self.peak = np.maximum(self.peak, of_sums)
        if not (of_sums < CANCELLED_SHARE * self.peak).any():
            return of_sums
        self.peak = squares(self.sums)
        return self.peak.copy()


class SoftStep(KMeansState):
    """Every row belongs to all centres, in shares softmax(score / temperature)."""

    def __init__(
        self, points: KMeansData, n_clusters: int, spherical: bool, workers: parallel.WorkerPool, temperature: float
    ) -> None:
        super().__init__(points, n_clusters, spherical, workers)
        self.temperature = temperature
        self.shares = self.data.allocate("shares", n_clusters, transient=True)
        self.fresh = aligned_zeros(self.sums.shape)
        self.total = points.weighted(np.ones(len(points)))

    def expect(self) -> dict[str, Any]:
        """The shares, and at once what they add to the sums: a part's are gone when the next is at hand."""
        self.mass = np.zeros(self.K)
        total = np.array([-self.temperature * self.total * np.log(self.K)])
        centres = self.sums, self.scale, self.shift, self.temperature
        self.data.fold(_share, self.shares, *centres, into=(total, self.mass, self.fresh))
        gain = total[0]
        return {"objective": max(float(self.points.cost - (gain if self.spherical else 2 * gain)), 0.0)}

    def maximise(self) -> dict[str, Any]:
        amount = np.sqrt(squares(self.fresh)) if self.spherical else self.mass
        there = amount > MIN_WEIGHT_SHARE * self.total
        dead, far = np.flatnonzero(~there), self._far(int(np.sum(~there)))
        old = self.sums.copy()
        self.sums[:, there] = self.fresh[:, there] * reciprocal(amount, there)[there]
        self.sums[:, dead] = self.sums[:, [int(np.argmax(np.where(there, self.mass, -1.0)))]]
        for k, row in zip(dead, far, strict=False):
            self._put(int(row), int(k))
        moved = squares(self.sums - old) + self.unseen
        self.squares, self.unseen = squares(self.sums), np.zeros(self.K)
        return {"movement": float(moved.sum()), "relocated": len(far)}

    def _far(self, n: int) -> NDArray[np.int64]:
        """Rows for centres in which nobody has a share: wherever those go, the objective cannot rise."""
        if n:
            self.assign()
        return self.farthest(n)

    def _put(self, row: int, k: int) -> None:
        """A centre where a row is."""
        index = int(np.searchsorted(self.starts, row, side="right")) - 1
        features, values = self.data.at(index, _row, row - int(self.starts[index]))
        self.sums[:, k] = 0
        self.sums[features, k] = values


# The work on a partition


def _scores(part: Partition, sums: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
    """X S of some rows."""
    return DenseWeights(*sums.shape).forward(part.design, sums.reshape(-1), np.zeros(sums.shape[1]), start, stop)


def _assign(
    part: Partition,
    labels_of_rows: PerRowArrays,
    best_of_rows: PerRowArrays,
    sums: NDArray[np.float64],
    scale: NDArray[np.float64],
    shift: NDArray[np.float64],
) -> None:
    labels, best = part.map(labels_of_rows)[:, 0], part.map(best_of_rows)[:, 0]

    def work(start: int, stop: int) -> None:
        kmeans.assign_nearest(_scores(part, sums, start, stop), scale, shift, labels[start:stop], best[start:stop])

    part.map_blocks(work, row_blocks, len(scale))


def _distances(
    part: Partition,
    labels_of_rows: PerRowArrays,
    sums: NDArray[np.float64],
    scale: NDArray[np.float64],
    norms: NDArray[np.float64],
) -> NDArray[np.float64]:
    """‖x − c‖² of each row and its centre."""
    labels, found = part.map(labels_of_rows)[:, 0], np.empty(part.design.n_rows)

    def work(start: int, stop: int) -> None:
        some = CSRView(*part.design.rows(start, stop), start, stop)
        kmeans.squared_distances(some, sums, scale, norms, labels[start:stop], found[start:stop])

    part.map_blocks(work, row_blocks, len(scale))
    return found


def _mark_changed(part: Partition, changed: PerRowArrays, n_clusters: int, touched: NDArray[np.uint8]) -> None:
    """Touch the features of rows that changed."""
    flags = part.map(changed)[:, 0]

    def work(low: int, high: int) -> None:
        indptr, its_rows, _ = part.design.columns(low, high, part.design.column_values)
        kmeans.mark_changed_columns(indptr, its_rows, low, high, flags, touched)

    part.map_blocks(work, column_blocks, n_clusters)


def _update_sums(
    part: Partition,
    owners: PerRowArrays,
    touched: NDArray[np.uint8],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    fresh: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Add the rows to the new sums, which with the last partition's are complete, and replace the old."""
    labels, weights, width = part.map(owners)[:, 0], part.labels.weights, len(before)

    def work(low: int, high: int) -> NDArray[np.float64]:
        columns = CSRView(*part.design.columns(low, high, part.design.column_values), low, high)
        found = np.zeros((4, width))
        if part.is_last:
            kmeans.update_sums(columns, labels, weights, touched, fresh, before, after, sums, found)
        else:
            kmeans.sum_columns(columns, labels, weights, touched, fresh)
        return found

    return sum(part.map_blocks(work, column_blocks, width), np.zeros((4, width)))


def _share(
    part: Partition,
    shares_of_rows: PerRowArrays,
    sums: NDArray[np.float64],
    scale: NDArray[np.float64],
    shift: NDArray[np.float64],
    temperature: float,
    gain: NDArray[np.float64],
    mass: NDArray[np.float64],
    fresh: NDArray[np.float64],
) -> None:
    """The shares, and at once what they add to the sums: a partition's are gone when the next is at hand."""
    shares, weights, layout = part.map(shares_of_rows), part.labels.weights, DenseWeights(*sums.shape)
    values, of_centres = part.design.column_values, fresh.reshape(-1)

    def forward(start: int, stop: int) -> float:
        some = weights[start:stop]
        return kmeans.soft_assign(
            _scores(part, sums, start, stop), scale, shift, temperature, some, shares[start:stop]
        )  # fmt: skip

    def backward(low: int, high: int) -> None:
        span = layout.slice_of(low, high)
        layout.backward(part.design, values, shares, low, high, of_centres[span], more=part.index > 0)

    gain += sum(part.map_blocks(forward, row_blocks, len(scale)))
    mass += shares.sum(axis=0)
    part.map_blocks(backward, column_blocks, len(scale))


def _row(part: Partition, row: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Columns and values of a row."""
    _, features, values = part.design.rows(row, row + 1)
    return features, values


def squares(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """‖c‖² of every column."""
    return np.einsum("jk,jk->k", columns, columns)


def reciprocal(values: NDArray[np.float64], there: NDArray[np.bool_]) -> NDArray[np.float64]:
    """1 / values, and zeros elsewhere."""
    return np.divide(1.0, values, where=there, out=np.zeros(len(values)))
