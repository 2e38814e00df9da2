"""The rows of a quadratic model of two labels, which products with its curvature read one after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import model_rows as kernels
from fastlin.optim.design import Design
from fastlin.runtime import parallel

Vector = NDArray[np.float64]
Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]  # indptr, indices, values


class ModelRows:
    """Rows for products with vectors of the weights of some features, of two labels, with the intercept behind them."""

    def __init__(
        self,
        design: Design,
        dtype: Any,
        features: NDArray[np.int32],
        n_intercepts: int,
        workers: parallel.WorkerPool,
    ) -> None:
        self.workers, self.shape = workers, (1, design.n_rows)
        rows = select_features(design, features, dtype)
        self.bound = kernels.WeightRows(CSRView(*rows), len(features), n_intercepts)
        self.blocks = list(parallel.split_by_work(rows[0], 1))

    def scores(self, steps: Vector) -> Vector:
        """What steps of the weights and intercepts change the scores by, [1, n]."""
        out = np.zeros(self.shape)
        self.workers.map(lambda start, stop: kernels.scores(self.bound, start, stop, steps, out), self.blocks)
        return out

    def curve(self, variances: Vector, steps: Vector) -> Vector:
        """The model's curvature times steps of the weights and intercepts, for these."""

        def work(start: int, stop: int) -> Vector:
            out = np.zeros(len(steps))
            kernels.curve_binary(self.bound, start, stop, variances, steps, out)
            return out

        return np.asarray(sum(self.workers.map(work, self.blocks)))


def select_features(design: Design, features: NDArray[np.int32], dtype: Any) -> Rows:
    """The rows with these features alone, under their places among them, with values of a type."""
    places = np.full(design.n_features, -1, np.int32)
    places[features] = np.arange(len(features))
    nnz = int(np.diff(design.column_indptr)[features].sum())
    indptr, indices, values = np.zeros(design.n_rows + 1, np.int64), np.empty(nnz, np.int32), np.empty(nnz, dtype)
    for start, stop in parallel.split_by_work(design.indptr, 1):
        _, its_indices, its_values = design.rows(start, stop)
        kernels.select(CSRView(design.indptr, its_indices, its_values, start, stop), places, indptr, indices, values)
    return indptr, indices, values
