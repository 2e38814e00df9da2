import numpy as np
from numpy.typing import NDArray

def normalise(
    S: NDArray[np.float64],
    A: NDArray[np.float64],
    factors: NDArray[np.float64],
    tops: NDArray[np.float64],
    spare: NDArray[np.float64],
    offsets: NDArray[np.float64],
) -> None: ...
def normalise_edges(
    S: NDArray[np.float64],
    A: NDArray[np.float64],
    edges: NDArray[np.float64],
    spare: NDArray[np.float64],
    offsets: NDArray[np.float64],
) -> None: ...
