import numpy as np
from numpy.typing import NDArray

class Sides:
    def __init__(
        self,
        labels: NDArray[np.int32],
        ones: NDArray[np.int64],
        C: NDArray[np.float64],
        own_C: NDArray[np.float64],
        members: NDArray[np.uint8],
        factors: NDArray[np.float64],
    ) -> None: ...

def squared_hinge(
    scores: NDArray[np.float64],
    sides: Sides,
    residual: NDArray[np.float64],
    curvature: NDArray[np.float64],
    losses: NDArray[np.float64],
) -> None: ...
def search_lines(
    scores: NDArray[np.float64],
    along: NDArray[np.float64],
    sides: Sides,
    lines: NDArray[np.float64],
    limit: int,
    steps: NDArray[np.float64],
) -> None: ...
def squared_insensitive(
    scores: NDArray[np.float64],
    targets: NDArray[np.float64],
    epsilon: float,
    C: NDArray[np.float64],
    residual: NDArray[np.float64],
    curvature: NDArray[np.float64],
    losses: NDArray[np.float64],
) -> None: ...
def search_insensitive_line(
    scores: NDArray[np.float64],
    along: NDArray[np.float64],
    targets: NDArray[np.float64],
    epsilon: float,
    C: NDArray[np.float64],
    lines: NDArray[np.float64],
    limit: int,
    steps: NDArray[np.float64],
) -> None: ...
