import numpy as np
from numpy.typing import NDArray

def best_paths(
    start: NDArray[np.float64],
    A: NDArray[np.float64],
    end: NDArray[np.float64],
    scores: NDArray[np.float64],
    edges: NDArray[np.float64],
    offsets: NDArray[np.float64],
    starts: NDArray[np.int64],
    width: int,
    y: NDArray[np.int32],
    values: NDArray[np.float64],
) -> None: ...
