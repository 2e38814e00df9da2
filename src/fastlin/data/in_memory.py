"""A corpus in memory."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data.segments import Segment, group_starts, segment_bounds
from fastlin.validation import CSRRows


class InMemoryStore:
    """Proved rows, and what belongs to them; arrays of length 0 where there is no such thing."""

    path: Path | None = None

    def __init__(
        self,
        rows: CSRRows,
        classes: NDArray[Any],
        codes: NDArray[np.int32],
        weights: NDArray[np.float64],
        groups: NDArray[np.int64],
    ) -> None:
        self.rows, self.classes = rows, classes
        self.hashed: dict[str, Any] = {}  # nothing is known of how features were made
        self._codes, self._weights, self._groups = codes, weights, groups
        self.shape: tuple[int, int] = (len(rows), rows.n_columns)
        self.nnz = rows.nnz
        self.dtype: np.dtype[Any] = rows.values.dtype
        self.weighted, self.grouped = len(weights) > 0, len(groups) > 0

    def bounds(self, limit: int) -> NDArray[np.int64]:
        return segment_bounds(self.rows.indptr, limit, group_starts(self._groups) if self.grouped else None)

    def read(self, start: int, stop: int) -> Segment:
        whole, block = self.rows, slice(start, stop)
        first, last = whole.indptr[start], whole.indptr[stop]
        rows = CSRRows(
            whole.indptr[start : stop + 1] - first, whole.indices[first:last], whole.values[first:last],
            whole.n_columns, whole.negative, whole.zeros, whole.largest,
        )  # fmt: skip
        return Segment(start, rows, self._codes[block], self._weights[block])

    def take(self, chosen: NDArray[np.int64]) -> "InMemoryStore":
        """A copy of some of the rows, with the labels they have."""
        classes, codes = self.classes, self._codes
        if len(codes):
            present, places = np.unique(codes[chosen], return_inverse=True)
            classes, codes = classes[present], places.astype(np.int32)
        weights = self._weights[chosen] if self.weighted else self._weights
        groups = self._groups[chosen] if self.grouped else self._groups
        return InMemoryStore(self.rows.take(chosen).measured(), classes, codes, weights, groups)

    def codes(self) -> NDArray[np.int32]:
        return self._codes

    def weights(self) -> NDArray[np.float64]:
        return self._weights

    def groups(self) -> NDArray[np.int64]:
        return self._groups

    def names(self) -> NDArray[Any] | None:
        return None
