from typing import Any

import numpy as np
from numpy.typing import NDArray

def rank_strings(arena: NDArray[np.uint8], offsets: NDArray[np.int64], ranks: NDArray[np.int32]) -> None: ...
def number_columns(
    prefix: NDArray[np.int32],
    last: NDArray[np.int32],
    ranks: NDArray[np.int32],
    wanted: NDArray[np.uint8],
    first: int,
    columns: NDArray[np.int32],
) -> None: ...
def relabel_rows(
    numbers: NDArray[np.int32], counts: NDArray[np.int32], columns: NDArray[np.int32], lengths: NDArray[np.int64]
) -> int: ...
def widen_counts(counts: NDArray[np.int32], values: NDArray[Any]) -> None: ...
