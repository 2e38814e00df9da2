from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def read(
    X: Iterable[Any], columns: Sequence[int], first: int = 0
) -> tuple[NDArray[np.int64], list[tuple[NDArray[np.uint8], NDArray[np.int64]]]]: ...
