import numpy as np
from numpy.typing import NDArray

class TokenLabels:
    def __init__(
        self, codes: NDArray[np.int32], K: int, members: NDArray[np.uint8], weights: NDArray[np.float64]
    ) -> None: ...
    def check_sequences(self, n: int) -> None: ...
