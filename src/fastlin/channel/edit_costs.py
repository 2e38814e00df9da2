"""ln p of edits, given every character that a source may go on with."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.edit_model import CONSUME, INSERT, TRANSPOSE, EditModel, numbered

Floats = NDArray[np.float64]
MOST_NUMBERS = 1 << 22  # that are remembered of a kind
FEWEST = 16  # vectors


class EditCosts:
    """ln p of the edits of a channel of characters; vectors are over the characters of a source, `characters`."""

    def __init__(self, model: EditModel, characters: list[str]) -> None:
        self._model = model
        self._next = self.numbers("".join(characters))
        vectors = lru_cache(max(FEWEST, MOST_NUMBERS // max(1, len(characters))))
        numbers = lru_cache(MOST_NUMBERS)
        self.write, self.stay = vectors(self._write), vectors(self._stay)
        self.stop, self.insert, self.swap = numbers(self._stop), numbers(self._insert), numbers(self._swap)

    def numbers(self, text: str) -> NDArray[np.int32]:
        """The channel's numbers of characters."""
        return numbered(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32), self._model.alphabet)

    def _ask(self, kind: int, first: int, second: int | NDArray[np.int32], outcome: int) -> Floats:
        """p of an outcome of one context or several."""
        of = np.atleast_1d(np.asarray(second, np.int32))
        p = np.empty(len(of))
        firsts, outcomes = (np.full(len(of), number, np.int32) for number in (first, outcome))
        self._model.lattice.probabilities(kind, firsts, of, outcomes, p)
        return p

    def _stop(self, c: int) -> float:
        """That nothing is inserted behind c."""
        return float(_log(self._ask(INSERT, 0, c, 0))[0])

    def _insert(self, c: int, b: int) -> float:
        """That b is inserted behind c."""
        return float(_log(self._ask(INSERT, 0, c, b))[0])

    def _write(self, c: int, b: int) -> Floats:
        """That b, or nothing (0), is written for each character behind c."""
        return _log(self._ask(CONSUME, c, self._next, b))

    def _stay(self, c: int) -> Floats:
        """That c and each character behind it are not transposed."""
        p = self._ask(TRANSPOSE, c, self._next, 1)
        p[self._next == c] = 0
        return _log(1 - p if c else np.ones(len(p)))

    def _swap(self, a: int, b: int) -> float:
        """That a and b are transposed."""
        return float(_log(self._ask(TRANSPOSE, a, b, 1))[0]) if a != b else -np.inf


def _log(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(p)
