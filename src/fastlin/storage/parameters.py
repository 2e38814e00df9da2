"""Kinds of parameters: what a model file may say of each parameter of each class, and nothing else.

A file is data of an unknown author. So a parameter never holds code, a path, or an object that opens one: `LEFT_OUT` is
for those that only make learning faster, `NO_CODE` for functions of a user's own. Every codec declares a table from
the names of its class's parameters to kinds; what the table does not allow is neither saved nor loaded.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

ParameterTable = dict[str, "Kind"]

_WORD = re.compile(r"[A-Za-z0-9_+.-]{1,60}", re.ASCII)
_SCALARS = (type(None), bool, int, float, str, bytes, np.bool_, np.integer, np.floating, np.str_)
_DEEPEST = 20  # lists inside of lists


@dataclass(frozen=True)
class Kind:
    """Values that a parameter may have in a file, and how a message puts it."""

    allows: Callable[[Any], bool]
    wording: str

    def __or__(self, other: "Kind") -> "Kind":
        return Kind(lambda value: self.allows(value) or other.allows(value), f"{self.wording}, or {other.wording}")


def check_parameter(table: ParameterTable, owner: str, name: str, value: Any) -> None:
    """Refuse, by a ValueError, what the table of the class `owner` does not allow."""
    if name not in table:
        raise ValueError(f"{owner}.{name} is a parameter that model files do not know")
    if not table[name].allows(value):
        raise ValueError(f"{owner}.{name} is {value!r:.60}, and a model file may hold {table[name].wording}")


def whole(at_least: int, at_most: int = 2**62 - 1) -> Kind:
    """A whole number inside of bounds."""
    bounds = f"from {at_least}" + (f" to {at_most}" if at_most < 2**62 - 1 else "")
    return Kind(lambda value: _is_whole(value) and at_least <= value <= at_most, f"a whole number {bounds}")


def real(at_least: float = -math.inf, at_most: float = math.inf, *, above: float | None = None) -> Kind:
    """A number inside of bounds; infinity is one, NaN is none."""

    def allows(value: Any) -> bool:
        number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
        return number and at_least <= value <= at_most and (above is None or value > above)

    bounds = [f"above {above:g}"] if above is not None else [f"from {at_least:g}"] if at_least > -math.inf else []
    bounds += [f"to {at_most:g}"] if at_most < math.inf else []
    return Kind(allows, " ".join(["a number", *bounds]))


def choice(*options: str) -> Kind:
    """One of some strings."""
    return Kind(lambda value: isinstance(value, str) and value in options, " or ".join(map(repr, options)))


def pair_of(kind: Kind) -> Kind:
    """Two values of a kind."""
    return Kind(
        lambda value: isinstance(value, tuple | list) and len(value) == 2 and all(map(kind.allows, value)),
        f"two of: {kind.wording}",
    )


def estimator(*methods: str) -> Kind:
    """A model with these methods, which comes from the table of classes as every model in a file does."""

    def allows(value: Any) -> bool:
        known = hasattr(value, "get_params") and not isinstance(value, type)
        return known and all(callable(getattr(value, method, None)) for method in methods)

    return Kind(allows, f"a model with {' and '.join(methods)}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (_is_whole(value) and value in (0, 1))


def _is_array(value: Any, kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds


def _are_numbers(value: Any, deepest: int = 2) -> bool:
    if isinstance(value, list | tuple):
        return deepest > 0 and all(_are_numbers(item, deepest - 1) for item in value)
    return _is_array(value, "biuf") or (isinstance(value, Real) and not isinstance(value, bool))


def _are_strings(value: Any) -> bool:
    if _is_array(value, "O"):
        value = value.reshape(-1).tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return all(isinstance(item, str) for item in value)
    return _is_array(value, "U")


def _is_plain(value: Any, deepest: int = _DEEPEST) -> bool:
    """Whether numbers, strings and collections of them are all that there is."""
    if isinstance(value, _SCALARS):
        return True
    if deepest == 0:
        return False
    if _is_array(value, "O"):
        value = value.reshape(-1).tolist()
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, slice):
        value = [value.start, value.stop, value.step]
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_plain(item, deepest - 1) for item in value)
    return _is_array(value, "biufUS")


def _is_dtype(value: Any) -> bool:
    if not isinstance(value, str | np.dtype | type):
        return False
    try:
        return np.dtype(value).kind in "biuf"
    except TypeError:
        return False


def _are_folds(value: Any) -> bool:
    rows = (list | tuple) if isinstance(value, list | tuple) else ()
    return isinstance(value, rows) and all(
        isinstance(fold, list | tuple) and len(fold) == 2 and all(_are_numbers(part) for part in fold) for fold in value
    )


def _are_steps(value: Any, replaced: tuple[Any, ...]) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(step, tuple | list)
        and len(step) == 2
        and isinstance(step[0], str)
        and (_MODEL.allows(step[1]) or step[1] is None or (isinstance(step[1], str) and step[1] in replaced))
        for step in value
    )  # fmt: skip


ABSENT = Kind(lambda value: value is None, "None")
NO_CODE = Kind(lambda value: value is None, "None: model files hold no code")
LEFT_OUT = Kind(lambda value: value is None, "None: loaded models read and write no files by themselves")
FLAG = Kind(_is_flag, "True or False")
WORD = Kind(lambda value: isinstance(value, str) and _WORD.fullmatch(value) is not None, "a word")
TEXT = Kind(lambda value: isinstance(value, str), "a string")
NUMBERS = Kind(_are_numbers, "numbers")
STRINGS = Kind(_are_strings, "strings")
PLAIN = Kind(_is_plain, "collections of numbers and strings")
DTYPE = Kind(_is_dtype, "a type of real numbers")
FOLDS = Kind(_are_folds, "pairs of rows to train on and to test on")
LABEL_WEIGHTS = Kind(lambda value: isinstance(value, dict) and _is_plain(value), "a dict from labels to numbers")
SEED = whole(0) | Kind(lambda value: isinstance(value, np.random.Generator), "a generator") | ABSENT
JOBS = Kind(lambda value: _is_whole(value) and -1024 <= value <= 1024 and value != 0, "threads, up to 1024") | ABSENT
VERBOSE = FLAG | whole(0)
_MODEL = estimator("fit")
STEPS = Kind(lambda value: _are_steps(value, ("passthrough",)), "steps of a pipeline")
TRANSFORMERS = Kind(lambda value: _are_steps(value, ("passthrough", "drop")), "transformers of a union")
