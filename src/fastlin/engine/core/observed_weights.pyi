from typing import Any

import numpy as np
from numpy.typing import NDArray

def find_observed_pairs(
    indptr: NDArray[np.int64],
    rows: NDArray[np.int32],
    codes: NDArray[np.int32],
    cutoff: NDArray[np.int64],
    seen: NDArray[np.int64],
    starts: NDArray[np.int64],
    labels: NDArray[np.int32],
) -> None: ...
def forward(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    start: int,
    stop: int,
    starts: NDArray[np.int64],
    labels: NDArray[np.int32],
    theta: NDArray[Any],
    bias: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None: ...
def backward(
    indptr: NDArray[np.int64],
    rows: NDArray[np.int32],
    values: NDArray[Any],
    low: int,
    high: int,
    starts: NDArray[np.int64],
    labels: NDArray[np.int32],
    R: NDArray[Any],
    gradient: NDArray[np.float64],
    more: bool = False,
) -> None: ...
