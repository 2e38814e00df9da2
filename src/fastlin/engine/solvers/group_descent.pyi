import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

class WeightBlocks:
    n_rows: int
    n_labels: int
    size: int
    n_weights: int

    def __init__(
        self,
        columns: CSRView,
        features: NDArray[np.int32],
        starts: NDArray[np.int64],
        labels: NDArray[np.int32],
        n_rows: int,
        n_labels: int,
    ) -> None: ...

class BlockPenalties:
    def __init__(
        self,
        strengths: NDArray[np.float64],
        ridge: NDArray[np.float64],
        shift: NDArray[np.float64],
        curvature: NDArray[np.float64],
    ) -> None: ...

def dots(
    at: WeightBlocks,
    start: int,
    stop: int,
    squared: bool,
    R: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
def add(at: WeightBlocks, start: int, stop: int, steps: NDArray[np.float64], S: NDArray[np.float64]) -> None: ...
def descend(
    at: WeightBlocks,
    start: int,
    stop: int,
    of: BlockPenalties,
    w: NDArray[np.float64],
    P: NDArray[np.float64],
    V: NDArray[np.float64],
    s: NDArray[np.float64],
    z: NDArray[np.float64],
) -> tuple[int, float]: ...
