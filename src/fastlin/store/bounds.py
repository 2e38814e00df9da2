"""Sweeps over large arrays that a file holds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_PIECE = 1 << 16


def largest(array: NDArray[Any]) -> float:
    """The largest |x|; NaN where there is one."""
    flat, most = array.reshape(-1), 0.0
    for start in range(0, len(flat), _PIECE):
        most = np.maximum(most, np.abs(flat[start : start + _PIECE]).max())
    return float(most)
