"""Where a solver stands, as a checkpoint holds it: named arrays, numbers of the rows, generators and scalars."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import storage
from fastlin.data.scratch import ScratchArray

State = dict[str, Any]


def write(checkpoint: storage.Checkpoint, state: State) -> None:
    """Save a state: arrays, lists of `ScratchArray`, generators; all else is header."""
    header: State = {}
    arrays: dict[str, NDArray[Any]] = {}
    with ExitStack() as stack:
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                arrays[name] = value
            elif isinstance(value, np.random.Generator):
                arrays[name] = storage.export_generator(value)["random"]
            elif isinstance(value, list) and value and isinstance(value[0], ScratchArray):
                arrays |= {f"{name}.{place}": stack.enter_context(held.map()) for place, held in enumerate(value)}
            else:
                header[name] = value
        checkpoint.save(header, arrays)


class Saved:
    """A state that was read, given out piece by piece, each proved to be what it should."""

    def __init__(self, checkpoint: storage.Checkpoint, header: State, arrays: dict[str, NDArray[Any]]) -> None:
        self._path, self.header, self.arrays = checkpoint.path, header, arrays

    @classmethod
    def of(cls, checkpoint: storage.Checkpoint | None) -> "Saved | None":
        """What a checkpoint holds, if the fit is to go on from it."""
        found = None if checkpoint is None else checkpoint.load()
        return None if checkpoint is None or found is None else cls(checkpoint, *found)

    def number(self, name: str) -> float:
        """A number, perhaps an infinite one."""
        value = self._of(self.header, name)
        return float(value) if isinstance(value, int | float) and value == value else self.refuse(name)

    def whole(self, name: str, least: int, most: int = 2**62) -> int:
        """A whole number within bounds."""
        value = self._of(self.header, name)
        return value if isinstance(value, int) and least <= value <= most else self.refuse(name)

    def flag(self, name: str) -> bool:
        return bool(self.whole(name, 0, 1))

    def wholes(self, name: str, below: int) -> list[int]:
        """Different whole numbers from 0 on."""
        values = self._of(self.header, name)
        if isinstance(values, list) and all(type(value) is int and 0 <= value < below for value in values):
            return values if len(set(values)) == len(values) else self.refuse(name)
        return self.refuse(name)

    def numbers(self, name: str) -> list[float]:
        values = self._of(self.header, name)
        numbers = isinstance(values, list) and all(isinstance(value, float) for value in values)
        return values if numbers else self.refuse(name)

    def history(self) -> list[dict[str, Any]]:
        values = self._of(self.header, "history")
        records = isinstance(values, list) and all(isinstance(value, dict) for value in values)
        return values if records else self.refuse("history")

    def array(self, name: str, like: NDArray[Any], finite: bool = True) -> NDArray[Any]:
        """An array of the shape and type of another; `finite`: without infinities, and always without NaN."""
        array = self._of(self.arrays, name)
        if array.shape != like.shape or array.dtype != like.dtype:
            self.refuse(name)
        return array if (np.isfinite(array) if finite else ~np.isnan(array)).all() else self.refuse(name)

    def copy(self, name: str, to: NDArray[Any], finite: bool = True) -> None:
        """The same, written where it is used."""
        to[...] = self.array(name, to, finite)

    def rows(self, name: str, to: Sequence[ScratchArray], finite: bool = True) -> None:
        """Numbers of the rows of every part."""
        for place, held in enumerate(to):
            with held.map() as array:
                self.copy(f"{name}.{place}", array, finite)

    def generator(self, name: str, to: np.random.Generator) -> None:
        """The state of a generator."""
        words = self._of(self.arrays, name)
        try:
            to.bit_generator.state = storage.restore_generator({"random": words}).bit_generator.state
        except ValueError:
            self.refuse(name)

    def refuse(self, name: str) -> Any:
        raise storage.ModelFileError(f"{self._path}: not a checkpoint of this fit: {name!r} does not fit it")

    def _of(self, found: dict[str, Any], name: str) -> Any:
        return found[name] if name in found else self.refuse(name)
