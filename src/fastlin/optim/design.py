"""A matrix laid out for learners that read it many times: features that occur, most frequent first, and both ways."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import observed_weights, transpose
from fastlin.runtime import parallel
from fastlin.validation import MAX_COLUMNS, CSRRows

CHUNK_NON_ZEROS = 1 << 23  # non-zeros
PROBED_VALUES = 1 << 10  # values that say whether it is worth looking at all


@dataclass(frozen=True)
class Design:
    """The non-zeros, by rows and by columns, of the features that some row has: of the columns `features` of X."""

    features: NDArray[np.int64]
    n_rows: int
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    column_indptr: NDArray[np.int64]
    column_rows: NDArray[np.int32]
    column_values: NDArray[Any]

    @property
    def n_features(self) -> int:
        return len(self.features)

    @property
    def largest(self) -> float:
        """max |x|."""
        return float(max(self.values.max(initial=0), -self.values.min(initial=0)))

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1])

    def rows(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
        """indptr, indices and values of a block of rows, as the passes take them."""
        block = slice(self.indptr[start], self.indptr[stop])
        return self.indptr, self.indices[block], self.values[block]

    def columns(
        self, low: int, high: int, values: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
        """The same for a block of columns, with `values` in the place of the columns' own."""
        block = slice(self.column_indptr[low], self.column_indptr[high])
        return self.column_indptr, self.column_rows[block], values[block]

    def restricted(self, chosen: NDArray[np.int64]) -> "Design":
        """The same rows with some of the features only, in the order given; costs their non-zeros."""
        sizes = np.diff(self.column_indptr)[chosen]
        column_indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        nnz = int(column_indptr[-1])
        places = np.arange(nnz) + np.repeat(self.column_indptr[chosen] - column_indptr[:-1], sizes)
        column_rows, column_values = self.column_rows[places], self.column_values[places]
        indptr = np.zeros(self.n_rows + 1, np.int64)
        _tally(column_rows, indptr[1:])
        np.cumsum(indptr, out=indptr)
        indices, values = _transpose(column_indptr, column_rows, column_values, indptr)
        return replace(
            self, features=self.features[chosen], indptr=indptr, indices=indices, values=values,
            column_indptr=column_indptr, column_rows=column_rows, column_values=column_values,
        )  # fmt: skip

    @classmethod
    def of(cls, rows: CSRRows, features: NDArray[np.int64] | None = None) -> "Design":
        """Lay proved rows out; explicit zeros are left out. They may have no other features than those given."""
        rows = _checked(rows)
        counts, given = np.zeros(rows.n_columns, np.int64), rows.indices[: rows.nnz]  # the arrays may be longer
        _tally(given, counts)
        features = order_by_frequency(counts) if features is None else features
        rank, indices = _ranks(features, rows.n_columns), np.empty(rows.nnz, np.int32)
        for piece in _pieces(rows.nnz):
            transpose.renumber_columns(given[piece], rank, indices[piece])
        return cls._of_ranked(features, counts, rows.indptr, indices, _narrow_exactly(rows.values[: rows.nnz]))

    @classmethod
    def of_some(cls, rows: CSRRows, wanted: NDArray[np.bool_]) -> "Design":
        """The same with some of the features only."""
        rows = _checked(rows)
        counts = np.zeros(rows.n_columns, np.int64)
        _tally(rows.indices[: rows.nnz], counts)
        features = order_by_frequency(np.where(wanted, counts, 0))
        rank, nnz = _ranks(features, rows.n_columns), int(counts[features].sum())
        indptr, indices = np.zeros(len(rows) + 1, np.int64), np.empty(nnz + 1, np.int32)
        values = np.empty(nnz + 1, rows.values.dtype)
        for start, stop in parallel.split_by_work(rows.indptr, 1):
            transpose.select_columns(
                rows.indptr, rows.indices, rows.values, start, stop, rank, indptr, indices, values
            )  # fmt: skip
        return cls._of_ranked(features, counts, indptr, indices[:nnz], _narrow_exactly(values[:nnz]))

    @classmethod
    def _of_ranked(
        cls,
        features: NDArray[np.int64],
        counts: NDArray[np.int64],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],
    ) -> "Design":
        """The columns beside the rows."""
        column_indptr = np.concatenate([[0], np.cumsum(counts[features])])
        column_rows, column_values = _transpose(indptr, indices, values, column_indptr)
        if len(values) and values[0] == 1 and (values == 1).all():
            column_values = values
        return cls(
            features, len(indptr) - 1, indptr, indices, values, column_indptr, column_rows, column_values
        )  # fmt: skip

    @classmethod
    def of_rows(cls, rows: CSRRows) -> "Design":
        """Proved rows as they lie, explicit zeros too, with all of their features and no columns."""
        nothing = np.empty(0, np.int64)
        features, none = np.arange(rows.n_columns), np.empty(0, np.int32)
        indices, values = rows.indices[: rows.nnz], rows.values[: rows.nnz]
        return cls(features, len(rows), rows.indptr, indices, values, nothing, none, values[:0])

    @property
    def has_columns(self) -> bool:
        """Whether the columns are laid out, too."""
        return len(self.column_indptr) > 0

    def in_order(self) -> "Design":
        """The same with the features of every row in ascending order."""
        indices, values = _transpose(self.column_indptr, self.column_rows, self.column_values, self.indptr)
        return replace(self, indices=indices, values=self.values if self.values is self.column_values else values)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All but `features`, in their order."""
        columns = self.column_indptr, self.column_rows, self.column_values
        return self.indptr, self.indices, self.values, *columns


def _checked(rows: CSRRows) -> CSRRows:
    """The rows without explicit zeros, if they are few enough."""
    if len(rows) > MAX_COLUMNS:
        raise ValueError(f"X has {len(rows)} rows; a batch learner takes at most {MAX_COLUMNS}")
    return rows.without_zeros()


def _ranks(features: NDArray[np.int64], n_columns: int) -> NDArray[np.int32]:
    """The place of each column among the features; −1 of others."""
    rank = np.full(n_columns, -1, np.int32)
    rank[features] = np.arange(len(features), dtype=np.int32)
    return rank


def largest_slopes(
    rows: CSRRows, codes: NDArray[np.int32], weights: NDArray[np.float64], n_labels: int
) -> NDArray[np.float64]:
    """What |∂ loss| of each column is at most, whatever the model says: Σ w|x|, of two labels that of one of them."""
    two = n_labels == 2
    sums, sides = np.zeros((rows.n_columns, 2)), codes if two else np.zeros(len(rows), np.int32)
    for start, stop in parallel.split_by_work(rows.indptr, 1):
        transpose.add_magnitudes(rows.indptr, rows.indices, rows.values, start, stop, sides, weights, sums)
    return np.maximum(sums[:, 0], sums[:, 1])


def count_rows(rows: CSRRows, counts: NDArray[np.int64]) -> None:
    """counts[j] += the number of rows that have feature j."""
    rows = rows.without_zeros()
    _tally(rows.indices[: rows.nnz], counts)


def order_by_frequency(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The columns that some row has, the most frequent first."""
    return np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]


def _pieces(n: int) -> Iterator[slice]:
    """Pieces of bounded work, between which Ctrl-C acts."""
    return (slice(start, start + CHUNK_NON_ZEROS) for start in range(0, n, CHUNK_NON_ZEROS))


def _tally(indices: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    for piece in _pieces(len(indices)):
        transpose.count_nonzeros(indices[piece], counts)


def _transpose(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any], turned: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Line numbers and values in the order of the columns, which begin where `turned` says."""
    cursor, lines, columns = turned[:-1].copy(), np.empty(len(indices), np.int32), np.empty_like(values)
    for start, stop in parallel.split_by_work(indptr, 1):
        transpose.transpose(indptr, indices, values, start, stop, cursor, lines, columns)
    return lines, columns


def _narrow_exactly(values: NDArray[Any]) -> NDArray[Any]:
    """float32, where it holds every value exactly, as it does counts: a third less to read in every pass."""
    if values.dtype == np.float32:
        return values
    with np.errstate(over="ignore"):
        if (values[:PROBED_VALUES].astype(np.float32) != values[:PROBED_VALUES]).any():
            return values
        narrow = values.astype(np.float32)
    return narrow if np.array_equal(narrow, values) else values


def observed_pairs(
    design: Design, codes: NDArray[np.int32], n_codes: int, cutoff: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """For every feature the codes that at least `cutoff[j]` of its rows have: where they begin, and all of them."""
    starts, seen = np.zeros(design.n_features + 1, np.int64), np.zeros(n_codes, np.int64)
    columns = design.column_indptr, design.column_rows, codes, cutoff, seen, starts
    observed_weights.find_observed_pairs(*columns, np.empty(0, np.int32))
    labels = np.empty(starts[-1], np.int32)
    observed_weights.find_observed_pairs(*columns, labels)
    return starts, labels
