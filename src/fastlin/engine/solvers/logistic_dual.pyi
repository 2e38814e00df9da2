import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

class LogisticRows:
    def __init__(
        self,
        rows: CSRView,
        weights: NDArray[np.float64],
        norms: NDArray[np.float64],
        dual: NDArray[np.float64],
        gaps: NDArray[np.float64],
    ) -> None: ...

class SetsOfRows:
    def __init__(self, sets: NDArray[np.int32], members: NDArray[np.uint8], factors: NDArray[np.float64]) -> None: ...

def one_vs_rest_epoch(
    data: LogisticRows,
    sets: SetsOfRows,
    order: NDArray[np.int64],
    C: float,
    steps: NDArray[np.float64],
    W: NDArray[np.float64],
    bias: NDArray[np.float64],
) -> None: ...
def dual_epoch(
    data: LogisticRows,
    order: NDArray[np.int64],
    C: float,
    step: float,
    W: NDArray[np.float64],
    bias: NDArray[np.float64],
) -> None: ...
