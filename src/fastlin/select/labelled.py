"""Rows, labels and weights, checked, as everything that selects with labels takes them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import run, validation
from fastlin.validation import Rows


@dataclass(frozen=True)
class Labelled:
    """Rows of a weight above zero, the codes of their labels, their weights (empty: all ones), and the labels."""

    rows: Rows
    codes: NDArray[np.int32]
    weights: NDArray[np.float64]
    classes: NDArray[Any]

    @classmethod
    def checked(cls, X: Any, y: Any, sample_weight: Any, *, name: str, nonnegative: bool) -> "Labelled":
        """What a user gives, at least two labels of it."""
        rows = validation.as_rows(X, nonnegative=nonnegative)
        classes, codes = validation.as_labels(y, len(rows), estimator=name)
        weights = validation.as_weights(sample_weight, len(codes))
        weights = np.empty(0) if weights is None else weights
        if len(weights) and not weights.all():
            kept = np.flatnonzero(weights)
            if not len(kept):
                raise ValueError("sample_weight is zero for every row: nothing to learn from")
            present, places = np.unique(codes[kept], return_inverse=True)
            rows, weights, classes, codes = rows.take(kept), weights[kept], classes[present], places.astype(np.int32)
        if len(classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(classes)} class")
        return cls(rows, codes, weights, classes)

    def __len__(self) -> int:
        return len(self.classes)

    def counts(self, values: NDArray[Any], n_jobs: int | None) -> NDArray[np.float64]:
        """Σ w_i v_ij over the rows of each label, [V, K], of values in the place of the rows' own."""
        rows = Rows(self.rows.indptr, self.rows.indices, values, self.rows.n_columns, False, False, 0.0)
        counts = np.zeros((rows.n_columns, len(self)))
        for start, stop in run.blocks(rows, 1):
            run.count(rows, start, stop, self.codes, self.weights, counts, n_jobs)
        return counts

    def label_counts(self) -> NDArray[np.float64]:
        """Σ w_i over the rows of each label."""
        weights = self.weights if len(self.weights) else None
        return np.bincount(self.codes, weights=weights, minlength=len(self)).astype(np.float64)

    def columns(self, support: NDArray[np.int64]) -> Any:
        """Some of the columns, as a CSR."""
        rows = self.rows
        arrays = rows.values[: rows.nnz], rows.indices[: rows.nnz], rows.indptr
        return sp.csr_array(arrays, shape=(len(rows), rows.n_columns))[:, support]
