import numpy as np
from numpy.typing import NDArray

VALID: int
INDPTR_START: int
INDPTR_ORDER: int
INDPTR_END: int
INDEX_RANGE: int
NOT_FINITE: int

def find_fault(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float32] | NDArray[np.float64],
    n_columns: int,
) -> tuple[int, int, int]: ...
def find_repeated_index(indptr: NDArray[np.int64], indices: NDArray[np.int32], seen: NDArray[np.uint64]) -> int: ...
def sort_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float32] | NDArray[np.float64],
    n_columns: int,
    sorted_indices: NDArray[np.int32],
    sorted_values: NDArray[np.float32] | NDArray[np.float64],
) -> bool: ...
def copy_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float32] | NDArray[np.float64],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    taken_indices: NDArray[np.int32],
    taken_values: NDArray[np.float32] | NDArray[np.float64],
) -> None: ...
