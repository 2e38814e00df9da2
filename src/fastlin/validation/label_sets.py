"""Indicators: targets of which a row may have several, or none. Rows share the sets of labels that occur."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.validation.labels import check_length
from fastlin.validation.rows import as_rows

CONTAINERS = ("array", "csr_array", "csr_matrix")  # what an indicator came in, and is returned in


@dataclass(frozen=True)
class LabelSets:
    """The different sets of labels that rows have: set s holds labels[indptr[s] : indptr[s + 1]], in order."""

    indptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    n_labels: int
    container: str  # of the indicator

    def __len__(self) -> int:
        """The number of sets."""
        return len(self.indptr) - 1

    @property
    def classes(self) -> NDArray[np.int64]:
        """The labels, which are numbers of columns."""
        return np.arange(self.n_labels)

    def members(self) -> NDArray[np.uint8]:
        """Whether each set has each label, [sets, labels]."""
        table = np.zeros((len(self), self.n_labels), np.uint8)
        table[np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.labels] = 1
        return table

    def pairs(self, codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """(row, label) of all labels of rows that have these sets, row by row."""
        sizes = np.diff(self.indptr)[codes]
        rows = np.repeat(np.arange(len(codes)), sizes)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return rows, self.labels[np.repeat(self.indptr[codes], sizes) + within]

    def masses(self, codes: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much the rows without a label weigh, and those with it, [2, labels]; no weights stand for ones."""
        of_sets = np.bincount(codes, weights if len(weights) else None, len(self)).astype(np.float64)
        members = self.members().astype(np.float64)
        return np.stack([of_sets @ (1 - members), of_sets @ members])


def is_indicator(y: Any) -> bool:
    """Whether a target has several columns, as an indicator has."""
    if isinstance(y, list | tuple):
        if not y or not isinstance(y[0], list | tuple | np.ndarray):
            return False
        try:
            y = np.asarray(y)
        except ValueError:  # rows of other lengths
            return False
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[-1] > 1


def as_label_sets(y: Any, n_rows: int, *, name: str = "y") -> tuple[LabelSets, NDArray[np.int32]]:
    """(sets, codes): the sets of labels in the order in which they first occur, and which of them each row has."""
    rows = as_rows(y, name=name).without_zeros()
    check_length(rows, n_rows, name)
    wrong = rows.values[: rows.nnz] != 1
    if wrong.any():
        place = int(np.argmax(wrong))
        row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
        raise ValueError(
            f"Unknown label type: {name} holds {rows.values[place]:g} at row {row}, column {rows.indices[place]}; "
            "a target of several columns is an indicator of labels, zeros and ones"
        )
    container = "array"
    if sp.issparse(y):
        container = "csr_array" if isinstance(y, sp.sparray) else "csr_matrix"
    found: dict[bytes, int] = {}
    ends, members = (4 * rows.indptr).tolist(), rows.indices[: rows.nnz].tobytes()
    which = (found.setdefault(members[ends[row] : ends[row + 1]], len(found)) for row in range(n_rows))
    codes = np.fromiter(which, np.int32, n_rows)
    indptr = np.concatenate([[0], np.cumsum([len(held) // 4 for held in found])]).astype(np.int64)
    return LabelSets(indptr, np.frombuffer(b"".join(found), np.int32), rows.n_columns, container), codes
