import numpy as np
from numpy.typing import NDArray

class TokenLabels:
    def __init__(self, codes: NDArray[np.int32], K: int, members: NDArray[np.uint8]) -> None: ...
