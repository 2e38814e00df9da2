from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

def encoded(strings: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
def decoded(arena: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]: ...
def read(
    X: Iterable[Any], columns: Sequence[int], first: int = 0
) -> tuple[NDArray[np.int64], list[tuple[NDArray[np.uint8], NDArray[np.int64]]]]: ...
