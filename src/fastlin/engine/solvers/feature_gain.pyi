from typing import Any

import numpy as np
from numpy.typing import NDArray

def gains(
    indptr: NDArray[np.int64],
    rows: NDArray[np.int32],
    values: NDArray[Any],  # float32 or float64
    columns: NDArray[np.int64],
    table: NDArray[np.float64],  # p, q, w, w[y = k] of each row
    precision: float,
    min_gain: float,
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
