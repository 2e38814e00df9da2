"""Fields: the arrays of a learnt state, each with its type, its shape and the law of its values.

A codec declares them, and what a file says is proved against them before a kernel may trust it; what several arrays
must be to each other is a function's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import Packing


@dataclass(frozen=True)
class Law:
    """Conditions on the values of an array, and how a message puts them."""

    holds: Callable[[NDArray[Any]], bool]
    wording: str


FINITE = Law(lambda array: bool(np.isfinite(array).all()), "finite numbers")
RISING = Law(lambda array: bool((array[1:] > array[:-1]).all()), "values that rise")


def between(low: float, high: float) -> Law:
    """Values from one bound to another; NaN is outside."""
    return Law(lambda array: bool(((array >= low) & (array <= high)).all()), f"values from {low:g} to {high:g}")


def rising_to(last: int) -> Law:
    """Offsets that begin with 0, never fall, and end with the number of what they divide."""

    def holds(array: NDArray[Any]) -> bool:
        return len(array) > 0 and array[0] == 0 and array[-1] == last and not (array[1:] < array[:-1]).any()

    return Law(holds, f"offsets that rise from 0 to {last}")


def sorted_below(most: int) -> Law:
    """Different numbers in order, from 0 on."""

    def holds(array: NDArray[Any]) -> bool:
        return RISING.holds(array) and (not len(array) or (array[0] >= 0 and array[-1] < most))

    return Law(holds, f"numbers that rise, from 0 to below {most}")


def proved(array: Any, name: str, dtype: Any, shape: tuple[int | None, ...], *laws: Law) -> NDArray[Any]:
    """An array, once it has this type, this shape (None: any length) and obeys these laws; otherwise a ValueError."""
    known = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == len(shape)
    if not known or any(wanted not in (None, n) for n, wanted in zip(array.shape, shape, strict=True)):
        found = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else f"{array!r:.60}"
        raise ValueError(f"{name} must be {np.dtype(dtype)} of shape {_shown(shape)}, got {found}")
    for law in laws:
        if not law.holds(array):
            raise ValueError(f"{name} must hold {law.wording}")
    return array


def _shown(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('n' if n is None else str(n) for n in shape)}{',' if len(shape) == 1 else ''})"


@dataclass(frozen=True)
class Field:
    """An array of a state that has the name of an attribute of the model.

    Its shape is said in numbers and in the names of sizes that the fields of a class share: the first that has one
    decides it.
    """

    name: str
    dtype: Any
    shape: tuple[int | str, ...] = ("n",)
    laws: tuple[Law, ...] = ()

    def take(self, state: State, sizes: dict[str, int]) -> NDArray[Any]:
        """Take the array out of a state, once it is proved; `sizes` learn what it is the first to say."""
        array = state.pop(self.name)
        wanted = tuple(sizes.get(n) if isinstance(n, str) else n for n in self.shape)
        proved(array, self.name, self.dtype, wanted, *self.laws)
        for place, size in enumerate(self.shape):
            if isinstance(size, str) and sizes.setdefault(size, array.shape[place]) != array.shape[place]:
                raise ValueError(f"{self.name} must be square, got shape {array.shape}")
        return array


def of_fields(*fields: Field, prove: Callable[[Any, State], None], more: tuple[str, ...] = ()) -> ModelCodec:
    """The codec of models that have learnt these fields, and `more` attributes of any kind: one that has none is new.

    Before attributes are set, `prove(model, state)` refuses what the laws of single fields let pass, and sets what
    follows from them.
    """
    names = (*(field.name for field in fields), *more)

    def to_state(model: Any, _: Packing) -> State:
        return {name: vars(model)[name] for name in names if name in vars(model)}

    def from_state(model: Any, state: State, _: LoadContext) -> None:
        if not state:
            return
        reject_unknown(state, *names)
        sizes: dict[str, int] = {}
        learnt = {field.name: field.take(state, sizes) for field in fields}
        learnt |= state
        prove(model, learnt)
        for name, value in learnt.items():
            setattr(model, name, value)

    return ModelCodec(to_state, from_state)
