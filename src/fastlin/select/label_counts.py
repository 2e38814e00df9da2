"""What rows count under their labels: the raw material of scores of single features."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.dataset import DatasetView
from fastlin.runtime import parallel
from fastlin.validation import CSRRows


def feature_counts(
    data: DatasetView, values: Callable[[CSRRows], NDArray[Any]], n_jobs: int | None
) -> NDArray[np.float64]:
    """Σ w_i v_ij over the rows of each label, [V, K], of values made of the rows' own."""
    counts = np.zeros((data.n_features, len(data.classes)))
    with parallel.WorkerPool(n_jobs) as workers:
        for own, codes, weights in data.blocks():
            rows = CSRRows(own.indptr, own.indices, values(own), own.n_columns, False, False, 0.0)
            for start, stop in parallel.row_blocks(rows, 1):
                parallel.count_features(rows, start, stop, codes, weights, counts, workers)
    return counts


def label_counts(data: DatasetView) -> NDArray[np.float64]:
    """Σ w_i over the rows of each label."""
    counts = np.zeros(len(data.classes))
    for _, codes, weights in data.blocks():
        counts += np.bincount(codes, weights=weights if len(weights) else None, minlength=len(counts))
    return counts


def presence(rows: CSRRows) -> NDArray[np.float32]:
    """1 where a value is not zero."""
    return (rows.values != 0).astype(np.float32)
