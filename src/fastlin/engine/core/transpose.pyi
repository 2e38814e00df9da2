from typing import Any

import numpy as np
from numpy.typing import NDArray

def count_nonzeros(indices: NDArray[np.int32], counts: NDArray[np.int64]) -> None: ...
def renumber_columns(indices: NDArray[np.int32], rank: NDArray[np.int32], renamed: NDArray[np.int32]) -> None: ...
def add_magnitudes(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    start: int,
    stop: int,
    sides: NDArray[np.int32],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None: ...
def select_columns(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    start: int,
    stop: int,
    rank: NDArray[np.int32],
    ends: NDArray[np.int64],
    renamed: NDArray[np.int32],
    kept: NDArray[Any],
) -> None: ...
def transpose(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    start: int,
    stop: int,
    cursor: NDArray[np.int64],
    rows: NDArray[np.int32],
    columns: NDArray[Any],
) -> None: ...
