"""Views of arrays that are changed in place: who changes one finds out whether somebody still holds a view of it."""

from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray


class _ViewBase:
    """The base of all views of an array that were made from one: it lives for as long as one of them does."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array, self.__array_interface__ = array, array.__array_interface__


class ArrayViews:
    """The views of some arrays, by the arrays' names. Threads may make views of the same one at the same time."""

    def __init__(self) -> None:
        self._bases: dict[str, WeakSet[_ViewBase]] = {}

    def make(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """A view of an array, for as long as the caller likes to look at it."""
        if not array.size:
            return array
        base = _ViewBase(array)
        self._bases.setdefault(name, WeakSet()).add(base)
        return np.asarray(base)

    def held(self, name: str) -> bool:
        """Whether somebody holds a view of an array."""
        return len(self._bases.get(name, ())) > 0

    def names(self) -> list[str]:
        """The names of the arrays of which somebody holds a view."""
        return [name for name, bases in self._bases.items() if len(bases)]

    def clear(self) -> None:
        """Forget all views: other arrays take the places of theirs."""
        self._bases.clear()

    def forget(self, name: str) -> None:
        """Forget the views of an array: another takes its place."""
        self._bases.pop(name, None)

    def copy(self) -> "ArrayViews":
        """The views there are, for a state that shares the arrays; nobody may make one meanwhile."""
        other = ArrayViews()
        other._bases = {name: WeakSet(bases) for name, bases in self._bases.items()}
        return other
