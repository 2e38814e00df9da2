"""The rows of a quadratic model's features, which products with its curvature read one after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import model_rows as kernels
from fastlin.optim.design import Design
from fastlin.runtime import parallel

Vector = NDArray[np.float64]


class ModelRows:
    """Rows for products with vectors of some weights, of features and labels, with the intercepts behind them."""

    def __init__(
        self,
        design: Design,
        dtype: Any,
        features: NDArray[np.int32],
        labels: NDArray[np.int32],
        n_labels: int,
        n_intercepts: int,
        workers: parallel.WorkerPool,
    ) -> None:
        self.workers, self.shape = workers, (n_labels, design.n_rows)
        order = np.argsort(features, kind="stable") if n_labels > 1 else np.arange(len(features))
        self.order = np.append(order, len(order) + np.arange(n_intercepts))  # weights of one feature are neighbours
        found, starts = np.unique(features[order], return_index=True)
        starts = np.append(starts, len(order)).astype(np.int64)
        self.indptr, view = _select(design, found, dtype)
        self.bound = kernels.WeightRows(view, starts, labels[order], n_labels, n_intercepts)
        width = -(-len(order) // max(1, len(found)))
        self.blocks = list(parallel.split_by_work(self.indptr, width))

    def scores(self, steps: Vector) -> Vector:
        """What steps of the weights and intercepts change the scores by, [K, n]."""
        out, ordered = np.zeros(self.shape), steps[self.order]
        self.workers.map(lambda start, stop: kernels.scores(self.bound, start, stop, ordered, out), self.blocks)
        return out

    def gram(self, weights: Vector) -> Vector:
        """XᵀHX of weights of the rows, [1, n], where there is one label."""
        found = np.zeros((self.bound.size, self.bound.size))
        for start, stop in parallel.split_by_work(self.indptr, self.bound.size):
            kernels.gram(self.bound, start, stop, weights, found)
        return found

    def sum_over_rows(self, kernel: Any, *of_rows: Any, steps: Vector) -> Vector:
        """What a kernel of products adds up over the rows, for steps of the weights and intercepts."""
        ordered, found = steps[self.order], np.empty(len(steps))

        def work(start: int, stop: int) -> Vector:
            out = np.zeros(len(ordered))
            kernel(self.bound, start, stop, *of_rows, ordered, out)
            return out

        found[self.order] = sum(self.workers.map(work, self.blocks))
        return found


def _select(design: Design, features: NDArray[np.int32], dtype: Any) -> tuple[NDArray[np.int64], CSRView]:
    """The rows with these features alone, under their places among them, with values of a type."""
    places = np.full(design.n_features, -1, np.int32)
    places[features] = np.arange(len(features))
    nnz = int(np.diff(design.column_indptr)[features].sum())
    indptr, indices, values = np.zeros(design.n_rows + 1, np.int64), np.empty(nnz, np.int32), np.empty(nnz, dtype)
    for start, stop in parallel.split_by_work(design.indptr, 1):
        _, its_indices, its_values = design.rows(start, stop)
        kernels.select(CSRView(design.indptr, its_indices, its_values, start, stop), places, indptr, indices, values)
    return indptr, CSRView(indptr, indices, values)
