from typing import Any

import numpy as np
from numpy.typing import NDArray

class CSRView:
    def __init__(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[Any],  # float32 or float64
        start: int = 0,
        stop: int | None = None,
    ) -> None: ...
