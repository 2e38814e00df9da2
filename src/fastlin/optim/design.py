"""A matrix laid out for learners that read it many times: features that occur, most frequent first, and both ways."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine import layout
from fastlin.validation import Rows


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
        return float(np.abs(self.values).max(initial=0))

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
        layout.tally(column_rows, nnz, indptr[1:])
        np.cumsum(indptr, out=indptr)
        indices, values = np.empty(nnz, np.int32), np.empty(nnz, column_values.dtype)
        layout.transpose(column_indptr, column_rows, column_values, indptr[:-1].copy(), indices, values)
        return replace(
            self, features=self.features[chosen], indptr=indptr, indices=indices, values=values,
            column_indptr=column_indptr, column_rows=column_rows, column_values=column_values,
        )  # fmt: skip

    @classmethod
    def of(cls, rows: Rows) -> "Design":
        rows = rows.without_zeros() if rows.zeros else rows
        nnz = rows.nnz
        counts = np.zeros(rows.n_columns, np.int64)
        layout.tally(rows.indices, nnz, counts)
        features = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        rank = np.zeros(rows.n_columns, np.int32)
        rank[features] = np.arange(len(features), dtype=np.int32)
        indices = np.empty(nnz, np.int32)
        layout.renumber(rows.indices, nnz, rank, indices)
        column_indptr = np.concatenate([[0], np.cumsum(counts[features])])
        column_rows, column_values = np.empty(nnz, np.int32), np.empty(nnz, rows.values.dtype)
        layout.transpose(rows.indptr, indices, rows.values, column_indptr[:-1].copy(), column_rows, column_values)
        return cls(
            features, len(rows), rows.indptr, indices, rows.values[:nnz], column_indptr, column_rows, column_values
        )
