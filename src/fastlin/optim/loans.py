"""Arrays that are lent: who changes one in place finds out whether somebody still holds it."""

from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray


class _Loan:
    """The base of all views of a lent array: it lives for as long as one of them does."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array, self.__array_interface__ = array, array.__array_interface__


class Loans:
    """Which of some arrays, by name, are lent. Threads may lend the same one at the same time."""

    def __init__(self) -> None:
        self._loans: dict[str, WeakSet[_Loan]] = {}

    def lend(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """The array, for as long as the caller likes to look at it."""
        if not array.size:
            return array
        loan = _Loan(array)
        self._loans.setdefault(name, WeakSet()).add(loan)
        return np.asarray(loan)

    def is_lent(self, name: str) -> bool:
        """Whether somebody holds it."""
        return len(self._loans.get(name, ())) > 0

    def lent(self) -> list[str]:
        """The names of those that somebody holds."""
        return [name for name, loans in self._loans.items() if len(loans)]

    def clear(self) -> None:
        """Others take the places of all that are lent."""
        self._loans.clear()

    def forget(self, name: str) -> None:
        """Another array takes its place."""
        self._loans.pop(name, None)

    def copy(self) -> "Loans":
        """What is lent, for a state that shares the arrays; nobody may lend meanwhile."""
        other = Loans()
        other._loans = {name: WeakSet(loans) for name, loans in self._loans.items()}
        return other
