import numpy as np
from numpy.typing import NDArray

class TokenWeights:
    def __init__(
        self,
        table: NDArray[np.float64],
        starts: NDArray[np.int64],
        single: int,
        labels: NDArray[np.int32],
        theta: NDArray[np.float64],
        K: int,
    ) -> None: ...
