"""A corpus: labelled sparse rows that need not fit into memory, in segments that do."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.validation import Rows

SEGMENT = 1 << 23  # non-zeros


class Segment(NamedTuple):
    """Consecutive rows of a corpus, and what belongs to them."""

    start: int  # the number of the first
    rows: Rows
    codes: NDArray[np.int32]  # the place of each row's label among the corpus's classes; of length 0 without labels
    weights: NDArray[np.float64]  # of length 0 for all ones


class Corpus:
    """Labelled sparse rows in segments of a fixed amount of work, wherever they lie."""

    classes: NDArray[Any]

    def __init__(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> None:
        self._rows = validation.as_rows(X)
        self.classes, self._codes = np.empty(0), np.empty(0, np.int32)
        if y is not None:
            self.classes, self._codes = validation.as_labels(y, len(self._rows), estimator="Corpus")
        weights = validation.as_weights(sample_weight, len(self._rows))
        self._weights = np.empty(0) if weights is None else weights
        self.bounds = segment_bounds(self._rows.indptr)

    def __len__(self) -> int:
        """The number of rows."""
        return int(self.bounds[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self), self._rows.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values of every segment's rows."""
        return self._rows.values.dtype

    @property
    def weighted(self) -> bool:
        """Whether the rows have weights."""
        return len(self._weights) > 0

    @property
    def n_segments(self) -> int:
        return len(self.bounds) - 1

    def segment(self, index: int) -> Segment:
        """One segment; it occupies memory for as long as it is held."""
        start, stop = int(self.bounds[index]), int(self.bounds[index + 1])
        whole, block = self._rows, slice(start, stop)
        first, last = whole.indptr[start], whole.indptr[stop]
        rows = Rows(
            whole.indptr[start : stop + 1] - first, whole.indices[first:last], whole.values[first:last],
            whole.n_columns, whole.negative, whole.zeros, whole.largest,
        )  # fmt: skip
        return Segment(start, rows, self._codes[block], self._weights[block])

    def segments(self) -> Iterator[Segment]:
        """All of them in order."""
        return (self.segment(index) for index in range(self.n_segments))

    def codes(self) -> NDArray[np.int32]:
        """The place of every row's label among the classes: four bytes a row, held in memory."""
        return self._codes


def segment_bounds(indptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where segments start, and the number of rows: a rule of the rows alone, however they are stored.

    A segment has as many rows as fit into `SEGMENT` non-zeros, a row counting for one more than it has, but at
    least one row.
    """
    work = indptr + np.arange(len(indptr))
    bounds = [0]
    while bounds[-1] < len(indptr) - 1:
        stop = int(np.searchsorted(work, work[bounds[-1]] + SEGMENT, side="right")) - 1
        bounds.append(max(stop, bounds[-1] + 1))
    return np.array(bounds)
