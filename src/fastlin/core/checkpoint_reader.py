"""The state of a fit in a checkpoint: named arrays, numbers of the rows, generators and scalars."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin import storage
from fastlin.core.fit_records import FitRecord
from fastlin.data.scratch import ScratchArray

State = dict[str, Any]


class CheckpointTarget(Protocol):
    """The file of a checkpoint: a `storage.Checkpoint`, or part of another fit's."""

    path: str | None

    def load(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None: ...

    def due(self) -> bool: ...

    def save(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]], /) -> None: ...


def write_checkpoint(checkpoint: CheckpointTarget, state: State) -> None:
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


def as_part(name: str, state: State) -> State:
    """A part's state under its name, where `CheckpointReader.part` finds it."""
    return {f"{name}.{key}": value for key, value in state.items()}


class CheckpointReader:
    """Reader of the state of a fit or of a part of one, which proves each value to be what it should."""

    def __init__(self, path: str | None, header: State, arrays: dict[str, NDArray[Any]]) -> None:
        self.path, self.header, self.arrays = path, header, arrays

    @classmethod
    def open(cls, checkpoint: CheckpointTarget | None) -> "CheckpointReader | None":
        """Read a checkpoint, if the fit is to go on from one."""
        found = None if checkpoint is None else checkpoint.load()
        if checkpoint is None or found is None:
            return None
        reader = cls(checkpoint.path, *found)
        header: Any = reader.header
        return reader if isinstance(header, dict) and all(isinstance(name, str) for name in header) else reader.reject()

    def part(self, name: str) -> "CheckpointReader":
        """The reader of a part, whose values have names that begin with the part's."""
        prefix = f"{name}."
        header, arrays = (
            {key.removeprefix(prefix): value for key, value in found.items() if key.startswith(prefix)}
            for found in (self.header, self.arrays)
        )
        return CheckpointReader(self.path, header, arrays)

    def number(self, name: str) -> float:
        """A number, perhaps an infinite one."""
        value = self._find(self.header, name)
        return float(value) if isinstance(value, int | float) and value == value else self.reject(name)

    def integer(self, name: str, least: int, most: int = 2**62) -> int:
        """A whole number within bounds."""
        value = self._find(self.header, name)
        return value if isinstance(value, int) and least <= value <= most else self.reject(name)

    def boolean(self, name: str) -> bool:
        return bool(self.integer(name, 0, 1))

    def distinct_integers(self, name: str, below: int) -> list[int]:
        """Different whole numbers from 0 on."""
        values = self._find(self.header, name)
        if isinstance(values, list) and all(type(value) is int and 0 <= value < below for value in values):
            return values if len(set(values)) == len(values) else self.reject(name)
        return self.reject(name)

    def strings(self, name: str) -> list[str]:
        values = self._find(self.header, name)
        strings = isinstance(values, list) and all(isinstance(value, str) for value in values)
        return values if strings else self.reject(name)

    def numbers(self, name: str) -> list[float]:
        values = self._find(self.header, name)
        numbers = isinstance(values, list) and all(isinstance(value, float) for value in values)
        return values if numbers else self.reject(name)

    def named_numbers(self, name: str) -> dict[str, float]:
        values = self._find(self.header, name)
        numbers = isinstance(values, dict) and all(isinstance(value, float) for value in values.values())
        return values if numbers else self.reject(name)

    def history(self) -> list[FitRecord]:
        values = self._find(self.header, "history")
        records = isinstance(values, list) and all(isinstance(value, dict) for value in values)
        return values if records else self.reject("history")

    def array(self, name: str, like: NDArray[Any], finite: bool = True) -> NDArray[Any]:
        """An array of the shape and type of another; `finite`: without infinities, and always without NaN."""
        array = self._find(self.arrays, name)
        if array.shape != like.shape or array.dtype != like.dtype:
            self.reject(name)
        return array if (np.isfinite(array) if finite else ~np.isnan(array)).all() else self.reject(name)

    def indices(self, name: str, below: int) -> NDArray[np.int64]:
        """A vector of whole numbers from 0 on."""
        array = self._find(self.arrays, name)
        proved = array.dtype == np.int64 and array.ndim == 1 and bool(((array >= 0) & (array < below)).all())
        return array if proved else self.reject(name)

    def read_into(self, name: str, to: NDArray[Any], finite: bool = True) -> None:
        """Read an array into its place."""
        to[...] = self.array(name, to, finite)

    def read_per_row(self, name: str, to: Sequence[ScratchArray], finite: bool = True) -> None:
        """Read numbers of the rows of every partition into their places."""
        for place, held in enumerate(to):
            with held.map() as array:
                self.read_into(f"{name}.{place}", array, finite)

    def restore_generator(self, name: str, to: np.random.Generator) -> None:
        """Restore the state of a generator."""
        words = self._find(self.arrays, name)
        try:
            to.bit_generator.state = storage.restore_generator({"random": words}).bit_generator.state
        except ValueError:
            self.reject(name)

    def reject(self, name: str = "state") -> Any:
        raise storage.ModelFileError(f"{self.path}: not a checkpoint of this fit: {name!r} does not fit it")

    def _find(self, found: dict[str, Any], name: str) -> Any:
        return found[name] if name in found else self.reject(name)
