import numpy as np
from numpy.typing import NDArray

def probabilities(
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    t: NDArray[np.float64],
    rest: NDArray[np.float64],
    source: NDArray[np.int32],
    observed: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None: ...
