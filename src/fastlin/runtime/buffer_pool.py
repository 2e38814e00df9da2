"""Memory that is used again: clearing what the system hands out takes longer than to fill it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT = 2


class Rooms:
    """Room for arrays; that of an array which nobody holds any more is given to the next."""

    def __init__(self) -> None:
        self._idle: list[NDArray[np.uint8]] = []

    def astype(self, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The values in another type."""
        size = len(values) * dtype.itemsize
        try:
            room = self._idle.pop()  # atomic
        except IndexError:
            room = np.empty(0, np.uint8)
        if len(room) < size:
            room = np.empty(size, np.uint8)
        copy = np.asarray(Lent(room, self._idle))[:size].view(dtype)
        with np.errstate(invalid="ignore"):  # a damaged value may be a signalling NaN; it is found in a moment
            np.copyto(copy, values)
        return copy

    def __reduce__(self) -> Any:
        return Rooms, ()


class Lent:
    """What an array in a room is based on, so that it goes when the last view of the array does."""

    def __init__(self, room: NDArray[np.uint8], idle: list[NDArray[np.uint8]]) -> None:
        self.__array_interface__ = room.__array_interface__
        self._room, self._idle = room, idle

    def __del__(self) -> None:
        if len(self._idle) < KEPT:
            self._idle.append(self._room)
