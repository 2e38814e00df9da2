"""Python's values as JSON and arrays, and back: nothing lost, nothing run.

In JSON, None, truth values, whole and finite numbers, strings and lists stand for themselves; all else is an object of
one entry, {kind: content}.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.storage.archive import Arrays
from fastlin.storage.load_context import LoadContext, ModelFileError
from fastlin.storage.state_arrays import export_generator, restore_generator

_SCALARS = {
    np.dtype(kind).type.__name__: np.dtype(kind).type
    for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
}
_TYPES: dict[str, Any] = {**_SCALARS, "float": float, "int": int, "bool": bool}
_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_COMPACT = 64  # from so many strings on, a list of them, or a dict from them to whole numbers, lies in arrays
_DEEPEST = 100
STRING, ENTRY = 80, 200  # bytes of a Python string without its characters, and of an entry of a dict with its number

Objects = Callable[[Any, str], Any]  # what becomes of a value that is none of these here; the name says where it stood


class JsonEncoder:
    """Turns values into JSON, and collects their arrays; without arrays, all of a value is JSON."""

    def __init__(self, objects: Objects | None = None, arrays: bool = True) -> None:
        self.arrays: Arrays = {}
        self._compact = _COMPACT if arrays else math.inf
        self._has_arrays = arrays
        self._seen: dict[Any, str] = {}  # by where they lie: one array may be part of a model twice
        self._objects = objects

    def __call__(self, value: Any, name: str) -> Any:
        """`value` as JSON; `name` is what messages and arrays are called by."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is list:
            many = len(value) >= self._compact and set(map(type, value)) == {str}
            return {"list": self._strings(value, name)} if many else self._items(value, name)
        if isinstance(value, np.ndarray) and self._has_arrays:
            return self._array(value, name)
        for kind, write in _WRITERS:
            if isinstance(value, kind):
                return write(self, value, name)
        if isinstance(value, type) and value.__name__ in _TYPES and _TYPES[value.__name__] is value:
            return {"type": value.__name__}
        if self._objects is None:
            raise TypeError(f"{name}: {type(value).__name__} does not go into a file: {value!r:.80}")
        return self._objects(value, name)

    def add(self, array: Any, name: str) -> str:
        """Note an array down for the table; returns what it is called there."""
        same = array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str
        if array.size and same in self._seen:
            return self._seen[same]
        place = name = "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "_" for c in name)[:150]
        while place in self.arrays:
            place = f"{name}.{len(self.arrays)}"
        self.arrays[place] = array
        self._seen[same] = place
        return place

    def _items(self, values: Any, name: str) -> list[Any]:
        return [self(item, f"{name}.{place}") for place, item in enumerate(values)]

    def _array(self, array: NDArray[Any], name: str) -> Any:
        if array.dtype != object:
            return {"array": self.add(array, name)}
        if array.ndim == 1 and set(map(type, array)) == {str}:
            return {"strings": self._strings(array.tolist(), name)}
        return {"objects": [list(array.shape), self._items(array.reshape(-1).tolist(), name)]}

    def _strings(self, strings: list[str], name: str) -> list[str]:
        """The characters of all of them, and where each begins."""
        parts = [string.encode("utf-8", "surrogatepass") for string in strings]
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum(list(map(len, parts)), out=offsets[1:])
        text = np.frombuffer(b"".join(parts), np.uint8)
        return [self.add(text, f"{name}.text"), self.add(offsets, f"{name}.offsets")]

    def _mapping(self, value: dict[Any, Any], name: str) -> Any:
        if len(value) >= self._compact and set(map(type, value)) == {str} and set(map(type, value.values())) == {int}:
            numbers = np.array(list(value.values()))
            if numbers.dtype == np.int64:
                return {"numbers": [*self._strings(list(value), name), self.add(numbers, f"{name}.numbers")]}
        return {"dict": [[self(key, name), self(item, f"{name}.{key}")] for key, item in value.items()]}

    def _sparse(self, matrix: Any, name: str) -> Any:
        matrix = matrix.tocsr()
        parts = [self.add(getattr(matrix, part), f"{name}.{part}") for part in ("data", "indices", "indptr")]
        return {"csr_matrix" if isinstance(matrix, sp.spmatrix) else "csr_array": [list(matrix.shape), *parts]}

    def _generator(self, generator: np.random.Generator, name: str) -> Any:
        if not isinstance(generator.bit_generator, np.random.PCG64):
            kind = type(generator.bit_generator).__name__
            raise TypeError(f"{name}: a generator of {kind} does not go into a file: use a PCG64, or a seed")
        return {"generator": self.add(export_generator(generator)["random"], name)}


_WRITERS: list[tuple[Any, Callable[[JsonEncoder, Any, str], Any]]] = [
    (np.str_, lambda _, value, __: str(value)),
    (bytes, lambda _, value, __: {"bytes": value.hex()}),
    (tuple, lambda encode, value, name: {"tuple": encode._items(value, name)}),
    (frozenset, lambda encode, value, name: {"frozenset": encode._items(sorted(value, key=repr), name)}),
    (set, lambda encode, value, name: {"set": encode._items(sorted(value, key=repr), name)}),
    (dict, JsonEncoder._mapping),
    (slice, lambda encode, value, name: {"slice": encode._items((value.start, value.stop, value.step), name)}),
    (tuple(_SCALARS.values()), lambda encode, value, name: {type(value).__name__: encode(value.item(), name)}),
    (np.dtype, lambda _, value, __: {"dtype": np.dtype(value).name}),
    ((sp.sparray, sp.spmatrix), JsonEncoder._sparse),
    (np.random.Generator, JsonEncoder._generator),
]


class JsonDecoder:
    """Turns JSON back into values; what `JsonEncoder` does not write is a ModelFileError."""

    def __init__(
        self, arrays: Arrays, objects: Callable[[str, Any], Any] | None = None, context: LoadContext | None = None
    ) -> None:
        self._arrays = arrays
        self._context = LoadContext() if context is None else context
        self._objects = objects
        self._depth = 0

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, list | dict):
            return value
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise ModelFileError(f"values must not be nested more than {_DEEPEST} deep")
            return self._inside(value)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, MemoryError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"a value that no model has: {error!r:.200}") from None
        finally:
            self._depth -= 1

    def _inside(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self(item) for item in value]
        ((kind, content),) = value.items()
        if kind in _SCALARS:
            return _SCALARS[kind](self(content))
        if kind in _READERS:
            return _READERS[kind](self, content)
        if self._objects is None:
            raise ModelFileError(f"a value of the unknown kind {kind[:40]!r}")
        return self._objects(kind, content)

    def _objects_array(self, shape: list[int], items: list[Any]) -> NDArray[Any]:
        array = np.empty(len(items), object)
        array[:] = [self(item) for item in items]
        return array.reshape(shape)

    def _strings(self, text: str, offsets: str) -> NDArray[np.object_]:
        raw, bounds = self._arrays[text], self._arrays[offsets]
        self._context.take(STRING * bounds.size + 5 * raw.nbytes, "its strings")
        return strings(raw, bounds)

    def _numbers(self, text: str, offsets: str, numbers: str) -> dict[str, int]:
        keys = self._strings(text, offsets).tolist()
        self._context.take(ENTRY * len(keys), "its names")
        found = dict(zip(keys, self._arrays[numbers].tolist(), strict=True))
        if len(found) < len(keys):
            raise ModelFileError("names in an object must differ, one is there twice")
        return found

    def _csr(self, kind: Any, shape: list[int], data: str, indices: str, indptr: str) -> Any:
        return sparse(kind, shape, *(self._array(name) for name in (data, indices, indptr)))

    def _array(self, name: str) -> NDArray[Any]:
        """An array as it lies in the file; whoever gets it may copy it."""
        array = self._arrays[name]
        self._context.take(2 * array.nbytes, name)
        return array


_READERS: dict[str, Callable[[JsonDecoder, Any], Any]] = {
    "float": lambda _, content: _SPECIAL[content],
    "bytes": lambda _, content: bytes.fromhex(content),
    "tuple": lambda decode, content: tuple(decode(_listed(content))),
    "frozenset": lambda decode, content: frozenset(decode(_listed(content))),
    "set": lambda decode, content: set(decode(_listed(content))),
    "dict": lambda decode, content: {decode(key): decode(item) for key, item in map(_listed, _listed(content))},
    "slice": lambda decode, content: slice(*decode(_listed(content))),
    "dtype": lambda _, content: np.dtype(_SCALARS[content]),
    "type": lambda _, content: _TYPES[content],
    "array": lambda decode, content: decode._array(content),
    "objects": lambda decode, content: decode._objects_array(*_listed(content)),
    "strings": lambda decode, content: decode._strings(*_listed(content)),
    "list": lambda decode, content: decode._strings(*_listed(content)).tolist(),
    "numbers": lambda decode, content: decode._numbers(*_listed(content)),
    "csr_array": lambda decode, content: decode._csr(sp.csr_array, *_listed(content)),
    "csr_matrix": lambda decode, content: decode._csr(sp.csr_matrix, *_listed(content)),
    "generator": lambda decode, content: restore_generator({"random": decode._arrays[content]}),
}


def _listed(content: Any) -> list[Any]:
    """No string or object in the place of a list."""
    if type(content) is not list:
        raise TypeError("no list where there must be one")
    return content


def sparse(
    kind: Any, shape: list[int], data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any]
) -> sp.csr_array:
    """A CSR whose arrays are proved; scipy's own check passes offsets that end below where they were."""
    n_rows, n_columns = shape
    if {data.ndim, indices.ndim, indptr.ndim} != {1} or data.dtype.kind not in "fiub":
        raise ModelFileError("data, indices and indptr of a sparse matrix must be vectors")
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64) or len(data) != len(indices):
        raise ModelFileError("data, indices and indptr of a sparse matrix must fit its shape")
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise ModelFileError("indptr of a sparse matrix must rise from 0 to the number of values")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ModelFileError("indices of a sparse matrix must be columns of its shape")
    return kind((data, indices, indptr), shape=(n_rows, n_columns))


def strings(text: NDArray[Any], offsets: NDArray[Any]) -> NDArray[np.object_]:
    """The strings that lie one behind the other in UTF-8."""
    if text.dtype != np.uint8 or offsets.dtype != np.int64 or text.ndim != 1 or offsets.ndim != 1 or not len(offsets):
        raise ModelFileError("strings must be UTF-8 in an array of bytes, with offsets")
    if offsets[0] != 0 or offsets[-1] != len(text) or (offsets[1:] < offsets[:-1]).any():
        raise ModelFileError("offsets of strings must rise from 0 to the number of bytes")
    raw, bounds = text.tobytes(), offsets.tolist()
    found = np.empty(len(bounds) - 1, object)
    for place, (start, stop) in enumerate(pairwise(bounds)):
        found[place] = raw[start:stop].decode("utf-8", "surrogatepass")
    return found


def encode(value: Any, name: str) -> Any:
    """A value without arrays as JSON."""
    return JsonEncoder(arrays=False)(value, name)


def decode(value: Any) -> Any:
    """Decode what `encode` returned."""
    return JsonDecoder({})(value)
