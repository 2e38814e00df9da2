"""Rows, labels and weights, checked, as everything that selects with labels takes them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.sparse_estimator import InMemoryDataset, labels_of, reject_with_corpus
from fastlin.data import Corpus
from fastlin.linear.training_sample import TrainingSample
from fastlin.runtime import parallel
from fastlin.validation import CSRRows


class LabelledRows(TrainingSample):
    """A sample of at least two labels, and what it counts."""

    @classmethod
    def checked(cls, X: Any, y: Any, sample_weight: Any, *, name: str, nonnegative: bool) -> "LabelledRows":
        """What a user gives."""
        if isinstance(X, Corpus):
            reject_with_corpus(y=y, sample_weight=sample_weight)
            labels_of(X)
            return cls(X, nonnegative=nonnegative)
        rows = validation.as_rows(X, nonnegative=nonnegative)
        classes, codes = validation.as_labels(y, len(rows), estimator=name)
        weights = validation.as_weights(sample_weight, len(codes))
        whole = InMemoryDataset(rows, classes, codes, np.empty(0) if weights is None else weights)
        return cls(whole, nonnegative=nonnegative)

    def __len__(self) -> int:
        return len(self.classes)

    def counts(self, values: Callable[[CSRRows], NDArray[Any]], n_jobs: int | None) -> NDArray[np.float64]:
        """Σ w_i v_ij over the rows of each label, [V, K], of values made of the rows' own."""
        counts = np.zeros((self.n_features, len(self)))
        for own, codes, weights in self.pieces():
            rows = CSRRows(own.indptr, own.indices, values(own), own.n_columns, False, False, 0.0)
            for start, stop in parallel.row_blocks(rows, 1):
                parallel.count_features(rows, start, stop, codes, weights, counts, n_jobs)
        return counts

    def label_counts(self) -> NDArray[np.float64]:
        """Σ w_i over the rows of each label."""
        counts = np.zeros(len(self))
        for _, codes, weights in self.pieces():
            counts += np.bincount(codes, weights=weights if len(weights) else None, minlength=len(self))
        return counts


def presence(rows: CSRRows) -> NDArray[np.float32]:
    """1 where a value is not zero."""
    return (rows.values != 0).astype(np.float32)
