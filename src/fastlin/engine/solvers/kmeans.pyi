from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

def assign_nearest(
    scores: NDArray[np.float64],
    scale: NDArray[np.float64],
    shift: NDArray[np.float64],
    labels: NDArray[np.int32],
    best: NDArray[np.float64],
) -> None: ...
def soft_assign(
    scores: NDArray[np.float64],
    scale: NDArray[np.float64],
    shift: NDArray[np.float64],
    temperature: float,
    weights: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> float: ...
def mark_changed_columns(
    indptr: NDArray[np.int64],
    rows: NDArray[np.int32],
    low: int,
    high: int,
    changed: NDArray[np.uint8],
    touched: NDArray[np.uint8],
) -> None: ...
def sum_columns(
    columns: CSRView,
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    touched: NDArray[np.uint8],
    sums: NDArray[np.float64],
) -> None: ...
def update_sums(
    columns: CSRView,
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    touched: NDArray[np.uint8],
    sums: NDArray[np.float64],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    S: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None: ...
def add_columns_up(rows: CSRView, sums: NDArray[np.float64]) -> None: ...
def squared_norms(indptr: NDArray[np.int64], values: NDArray[Any], norms: NDArray[np.float64]) -> None: ...
def squared_distances(
    rows: CSRView,
    S: NDArray[np.float64],
    scale: NDArray[np.float64],
    squares: NDArray[np.float64],
    labels: NDArray[np.int32],
    found: NDArray[np.float64],
) -> None: ...
def add_batch(
    rows: CSRView,
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    S: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> None: ...
