from typing import Any

import numpy as np
from numpy.typing import NDArray

def validate_csr(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float32] | NDArray[np.float64],
    n_columns: int,
) -> tuple[bool, bool, bool, float] | None: ...

class LinearScorer:
    def __init__(self, W: NDArray[Any], bias: NDArray[np.float64], limit: float, nonnegative: bool) -> None: ...
    def score(
        self,
        indptr: NDArray[Any],
        indices: NDArray[np.int32],
        values: NDArray[Any],
        start: int,
        stop: int,
        scores: NDArray[np.float64],
        labels: NDArray[np.int64],
    ) -> bool: ...
