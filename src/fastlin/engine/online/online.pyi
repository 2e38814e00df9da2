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
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    position: int,
    budget: int,
    rank: NDArray[np.int32],
    W: NDArray[Any],  # float32 or float64
    bias: NDArray[np.float64],
    total: NDArray[np.float64],
    squares: NDArray[np.float64],
    z: NDArray[np.float64],
    root: NDArray[np.float64],
    batch_gradient: NDArray[np.float64],
    debt: NDArray[np.float64],
    scale_epoch: NDArray[np.int32],
    touched: NDArray[np.int64],
    residual: NDArray[np.float64],
    batch_rows: NDArray[np.int64],
    batch_numbers: NDArray[np.float64],
    batch_change: NDArray[Any],  # of the type of W
) -> tuple[int, int]: ...
def learning_rate(rule: NDArray[np.void], t: int) -> float: ...
def catch_up_all(
    rule: NDArray[np.void],
    counters: NDArray[np.void],
    past: NDArray[np.void],
    W: NDArray[Any],  # float32 or float64
    total: NDArray[np.float64],
    squares: NDArray[np.float64],
    debt: NDArray[np.float64],
    scale_epoch: NDArray[np.int32],
    touched: NDArray[np.int64],
) -> None: ...
def current_weights(
    rule: NDArray[np.void],
    counters: NDArray[np.void],
    past: NDArray[np.void],
    W: NDArray[Any],  # float32 or float64
    total: NDArray[np.float64],
    squares: NDArray[np.float64],
    debt: NDArray[np.float64],
    scale_epoch: NDArray[np.int32],
    touched: NDArray[np.int64],
    features: NDArray[np.int64],
    start: int,
    spare: NDArray[np.float64],
    out: NDArray[Any],  # of the type of W
) -> None: ...
