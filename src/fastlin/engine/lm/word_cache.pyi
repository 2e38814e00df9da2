import numpy as np
from numpy.typing import NDArray

def relative_frequencies(
    grams: NDArray[np.int32],
    histories: NDArray[np.int32],
    rate: float,
    size: int,
    sums: NDArray[np.float64],
    changed: NDArray[np.int64],
    held: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None: ...
