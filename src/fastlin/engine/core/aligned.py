"""Arrays as the kernels like them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def aligned_zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Zeros that begin at a cache line, so that fewer rows of weights straddle two."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    return np.ndarray(shape, dtype, raw, -raw.__array_interface__["data"][0] % 64)
