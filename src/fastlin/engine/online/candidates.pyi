from typing import Any

import numpy as np
from numpy.typing import NDArray

def run(
    rule: NDArray[np.void],
    counters: NDArray[np.void],
    past: NDArray[np.void],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],  # of the type of W
    largest: float,
    starts: NDArray[np.int64],
    gold: NDArray[np.int64],
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    position: int,
    budget: int,
    W: NDArray[Any],  # float32 or float64
    total: NDArray[np.float64],
    squares: NDArray[np.float64],
    batch_gradient: NDArray[np.float64],
    scale_epoch: NDArray[np.int32],
    touched: NDArray[np.int64],
    residual: NDArray[np.float64],
    batch_rows: NDArray[np.int64],
    batch_numbers: NDArray[np.float64],
    batch_change: NDArray[Any],  # of the type of W
) -> tuple[int, int]: ...
def coordinate_epoch(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],  # float32 or float64
    starts: NDArray[np.int64],
    gold: NDArray[np.int64],
    order: NDArray[np.int64],
    position: int,
    budget: int,
    alpha: NDArray[np.float64],
    theta: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> tuple[int, float]: ...
