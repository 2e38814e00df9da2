"""The categories of tuples, position by position, and how often each was seen under each label."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import ClassCounts, Estimates, Floats, SmoothingPrior, log_phi
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.runtime import parallel
from fastlin.validation import MAX_COLUMNS, CategoricalColumn, CSRRows

Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class CategoryEncoder:
    """The categories of a position: strings in the order in which they came, or the numbers from 0 to the largest.

    An alphabet that has learnt shares the table with the one before, which knows the first `size` strings of it.
    """

    kind: str = ""  # that of `CategoricalColumn`; "" before the first category
    size: int = 0
    table: dict[Any, int] = field(default_factory=dict)  # the code of each string

    def encode(self, position: CategoricalColumn, column: int) -> tuple[Codes, list[Any]]:
        """The codes of a position's rows, and the strings that are new, which have the codes from `size` on."""
        if self.kind and position.kind not in ("", self.kind):
            raise ValueError(
                f"X holds {position.kind} in column {column}, which held {self.kind} before: kinds do not mix"
            )
        if not position.names:
            return position.codes, []
        places = np.fromiter((self.table.get(name, -1) for name in position.names), np.int64, len(position.names))
        new = (places < 0) | (places >= self.size)
        places[new] = self.size + np.arange(np.count_nonzero(new))
        return np.append(places, -1)[position.codes], list(itertools.compress(position.names, new))

    def needed(self, codes: Codes) -> int:
        """How many categories there are with those of codes that `place` found; more than there may be are as many."""
        return max(self.size, min(1 + int(codes.max()), MAX_COLUMNS + 1))

    def learn(self, kind: str, codes: Codes, new: list[Any]) -> "CategoryEncoder":
        """The alphabet that has what `place` found, too."""
        self.table.update(zip(new, range(self.size, self.size + len(new)), strict=True))
        return CategoryEncoder(kind or self.kind, self.needed(codes), self.table)

    def names(self) -> list[Any]:
        """The strings, in the order in which they came."""
        return list(self.table)[: self.size]

    def alone(self) -> "CategoryEncoder":
        """A copy with a table of its own."""
        return CategoryEncoder(self.kind, self.size, {name: code for code, name in enumerate(self.names())})


@dataclass(frozen=True, eq=False)
class CategoryEstimates(Estimates):
    """The estimates of counts of categories at one moment, and which categories there are."""

    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]  # where the categories of each position begin
    alphabets: list[CategoryEncoder]


@dataclass(eq=False)
class CategoryCounts(ClassCounts):
    """c, with the categories of all positions one after the other, each position with some room for more."""

    sizes: NDArray[np.int64] = field(kw_only=True)  # categories of each position
    rooms: NDArray[np.int64] = field(kw_only=True)
    alphabets: list[CategoryEncoder] = field(kw_only=True)

    @classmethod
    def of(
        cls,
        sizes: NDArray[np.int64],
        rooms: NDArray[np.int64],
        n_labels: int,
        prior: SmoothingPrior,
        alphabets: list[CategoryEncoder],
    ) -> "CategoryCounts":
        """No counts yet."""
        total = sum(rooms.tolist())
        if total > MAX_COLUMNS:
            raise ValueError(
                f"X has {total} categories in all; at most {MAX_COLUMNS} are supported: a number n stands for all "
                "from 0 to n, so give numbers that are mere names as strings"
            )
        features, labels = aligned_zeros((max(1, total), n_labels)), np.zeros(n_labels)
        return cls(features, labels, prior, sizes=sizes, rooms=rooms, alphabets=alphabets)

    def grown(
        self, sizes: NDArray[np.int64], places: NDArray[np.int32], n_labels: int, prior: SmoothingPrior
    ) -> "CategoryCounts":
        """The same counts with more categories and labels, under another prior; in the same arrays if they have room.

        A position that has none gets twice the room at least.
        """
        rooms = np.where(sizes > self.rooms, np.maximum(sizes, 2 * self.rooms), self.rooms)
        same = np.array_equal(rooms, self.rooms) and n_labels == len(self.labels)
        if same and self.features.flags.writeable:  # those of a file are not
            return replace(self, sizes=sizes, prior=prior)
        wider = CategoryCounts.of(sizes, rooms, n_labels, prior, self.alphabets)
        for (start, _), (old, stop) in zip(wider.spans(), self.spans(), strict=True):
            wider.features[start : start + stop - old, places] = self.features[old:stop]
        wider.labels[places] = self.labels
        return wider

    def compact(self) -> "CategoryCounts":
        """The counts of a moment without room for more."""
        counts = self.snapshot()
        if np.array_equal(counts.sizes, counts.rooms):
            return counts
        features = np.concatenate([counts.features[start:stop] for start, stop in counts.spans()])
        return replace(counts, features=features, rooms=counts.sizes, _arrays=None)

    def count(
        self,
        rows: CSRRows,
        codes: NDArray[np.int32],
        weights: Floats,
        n_jobs: int | None,
        alphabets: Callable[[], list[CategoryEncoder]],
    ) -> None:
        """Count rows, and take over the alphabets in which they are written: all at once."""
        with self._owned().lock.writing():
            for start, stop in parallel.row_blocks(rows, 1):
                self._count_block(rows, start, stop, codes, weights, n_jobs)
            self.alphabets = alphabets()
            self._publish()

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the categories of each position begin."""
        return np.cumsum(self.rooms) - self.rooms

    def spans(self) -> list[tuple[int, int]]:
        """From where to where the categories of each position lie."""
        return list(zip(self.starts.tolist(), (self.starts + self.sizes).tolist(), strict=True))

    def _part_from(self, other: "CategoryCounts") -> None:
        self.alphabets = [alphabet.alone() for alphabet in other.alphabets]

    def _count_block(
        self, rows: CSRRows, start: int, stop: int, codes: NDArray[np.int32], weights: Floats, n_jobs: int | None
    ) -> None:
        with parallel.WorkerPool(n_jobs) as workers:
            parallel.count_features(rows, start, stop, codes, weights, self._own_features(), workers)
        self.labels = self.labels.copy()
        np.add.at(self.labels, codes[start:stop], weights[start:stop] if len(weights) else 1.0)

    def _estimated(self) -> CategoryEstimates:
        """Each position is a distribution of its own."""
        logs, impossible = aligned_zeros(self.features.shape), False
        for start, stop in self.spans():
            if stop > start:
                uniform = np.full(1, 1.0 / (stop - start))
                logs[start:stop], _, zero = log_phi(self.features[start:stop], self.prior.pseudo, uniform)
                impossible |= zero
        return CategoryEstimates(logs, impossible, self.labels, self.prior, self.sizes, self.starts, self.alphabets)


def split_by_position(array: Floats, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[Floats]:
    """An array over categories, as one for each position, in scikit-learn's shape (n_labels, n_categories)."""
    return [array[start:stop].T for start, stop in zip(starts.tolist(), (starts + sizes).tolist(), strict=True)]


def ones(columns: Sequence[Codes], starts: NDArray[np.int64], n_columns: int) -> CSRRows:
    """Rows with a one for each attribute that is known."""
    indices, missing = np.empty((len(columns[0]), len(columns)), np.int32), False
    for place, (codes, start) in enumerate(zip(columns, starts.tolist(), strict=True)):
        np.add(codes, start, out=indices[:, place], dtype=np.int64, casting="unsafe")  # codes may be of int8
        if codes.min() < 0:
            indices[codes < 0, place], missing = -1, True
    if missing:
        known = indices >= 0
        indptr = np.append(0, np.cumsum(np.count_nonzero(known, axis=1)))
        cells = indices[known]
    else:
        indptr, cells = np.arange(len(indices) + 1) * len(columns), indices.reshape(-1)
    return CSRRows(indptr, cells, np.ones(len(cells)), n_columns, negative=False, zeros=False, largest=1.0)
