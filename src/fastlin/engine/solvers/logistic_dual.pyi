from typing import Any

import numpy as np
from numpy.typing import NDArray

VECTOR_GAP: int

def binary_epoch(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    weights: NDArray[np.float64],
    norms: NDArray[np.float64],
    order: NDArray[np.int64],
    C: float,
    step: float,
    dual: NDArray[np.float64],
    W: NDArray[np.float64],
    bias: NDArray[np.float64],
    gaps: NDArray[np.float64],
) -> None: ...
def softmax_epoch(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    weights: NDArray[np.float64],
    norms: NDArray[np.float64],
    order: NDArray[np.int64],
    C: float,
    step: float,
    dual: NDArray[np.float64],
    W: NDArray[np.float64],
    bias: NDArray[np.float64],
    gaps: NDArray[np.float64],
    room: NDArray[np.float64],
) -> None: ...
