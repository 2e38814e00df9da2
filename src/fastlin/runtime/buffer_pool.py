"""Memory that is used again: clearing what the system hands out takes longer than to fill it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_IDLE_BUFFERS = 2


class BufferPool:
    """A pool of buffers for arrays: that of an array which nobody holds any more is given to the next."""

    def __init__(self) -> None:
        self._idle: list[NDArray[np.uint8]] = []

    def astype(self, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The values in another type."""
        size = len(values) * dtype.itemsize
        try:
            buffer = self._idle.pop()  # atomic
        except IndexError:
            buffer = np.empty(0, np.uint8)
        if len(buffer) < size:
            buffer = np.empty(size, np.uint8)
        copy = np.asarray(PooledBuffer(buffer, self._idle))[:size].view(dtype)
        with np.errstate(invalid="ignore"):  # a damaged value may be a signalling NaN; it is found in a moment
            np.copyto(copy, values)
        return copy

    def __reduce__(self) -> Any:
        return BufferPool, ()


class PooledBuffer:
    """The base of an array in a pooled buffer: it goes back to the pool when the last view of the array goes."""

    def __init__(self, buffer: NDArray[np.uint8], idle: list[NDArray[np.uint8]]) -> None:
        self.__array_interface__ = buffer.__array_interface__
        self._buffer, self._idle = buffer, idle

    def __del__(self) -> None:
        if len(self._idle) < MAX_IDLE_BUFFERS:
            self._idle.append(self._buffer)
