"""Python's plain values as JSON and back, nothing lost: tuples, infinities and dicts with keys of any kind included."""

import math
from typing import Any

import numpy as np

from fastlin.store.archive import ModelFileError

_SCALARS = {
    kind.__name__: kind for kind in (np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint64, np.bool_)
}


def encode(value: Any, name: str) -> Any:
    """`value` as JSON: a tagged object [tag, …] for all but None, truth values, whole and finite numbers, strings."""
    if value is None or (isinstance(value, bool | int | str) and type(value) in (bool, int, str)):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if type(value) in (list, tuple):
        items = [encode(item, name) for item in value]
        return items if type(value) is list else {"tuple": items}
    if type(value) is dict:
        return {"dict": [[encode(key, name), encode(item, name)] for key, item in value.items()]}
    if isinstance(value, np.generic) and type(value).__name__ in _SCALARS:
        return {type(value).__name__: encode(value.item(), name)}
    raise TypeError(f"{name}: {type(value).__name__} does not go into a file: {value!r:.80}")


def decode(value: Any) -> Any:
    """What `encode` was given; ModelFileError for what it never writes."""
    try:
        return _decoded(value)
    except (TypeError, ValueError, KeyError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"a value that no model has: {error}") from None


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, held),) = value.items()
    match tag:
        case "float":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[held]
        case "bytes":
            return bytes.fromhex(held)
        case "tuple":
            return tuple(_decoded(item) for item in held)
        case "dict":
            return {_decoded(key): _decoded(item) for key, item in held}
        case _:
            return _SCALARS[tag](_decoded(held))
