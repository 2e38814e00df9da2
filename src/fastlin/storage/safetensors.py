"""The safetensors format: eight bytes that say how long a header of JSON is, the header, and arrays one by one.

What the format has no type for (strings, records) is written as bytes; type and shape of these are in the metadata.
"""

import json
import math
import os
import stat
from typing import Any, NoReturn

import numpy as np

from fastlin.runtime.atomic_write import atomic_write
from fastlin.storage.archive import (
    Arrays,
    check_values,
    described_dtype,
    dtype_of,
    is_storable,
    without_repeats,
)
from fastlin.storage.load_context import LoadContext, ModelFileError

AS_BYTES = "fastlin.as_bytes"  # of the metadata: {array: [type, shape]} of those that are written as bytes
METADATA = "__metadata__"
MAX_HEADER_BYTES = 100_000_000
LENGTH_BYTES = ALIGNMENT = 8
_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_NAMES = {described: name for name, described in _TYPES.items()}
_MAX_DIMENSIONS = 8


def write_tensors(path: Any, arrays: Arrays, metadata: dict[str, str]) -> int:
    """Write arrays of numbers or strings, and strings about them, in safetensors; returns the bytes of the file.

    The file appears whole, in the place of an old one, or not at all.

    Parameters
    ----------
    path : str or path
    arrays : dict of str to array
        Numbers, strings, or records of numbers.
    metadata : dict of str to str

    Returns
    -------
    int
        Bytes.
    """
    stored, as_bytes, alignments = {}, {}, {}
    for name, array in arrays.items():
        array = np.asarray(array)
        array = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        described, alignments[name] = described_dtype(array.dtype), array.dtype.alignment
        if not is_storable(described):
            raise TypeError(f"an array of {array.dtype} ({name!r}) does not go into a file")
        if not isinstance(described, str) or described not in _NAMES:
            as_bytes[name] = [described, list(array.shape)]
            array = np.frombuffer(array.tobytes(), np.uint8)
        stored[name] = array
    if as_bytes:
        metadata = metadata | {AS_BYTES: json.dumps(as_bytes)}
    header: dict[str, Any] = {METADATA: metadata}
    order = sorted(stored, key=lambda name: -alignments[name])  # so that each begins at a multiple of its type
    start = 0
    for name in order:
        array = stored[name]
        stop = start + array.nbytes
        kind = _NAMES[array.dtype.str]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % ALIGNMENT)
    if len(text) > MAX_HEADER_BYTES:
        raise ValueError(f"a header of {len(text)} bytes: safetensors holds up to {MAX_HEADER_BYTES}")
    with atomic_write(path) as file:
        file.write(len(text).to_bytes(LENGTH_BYTES, "little"))
        file.write(text)
        for name in order:
            file.write(stored[name].reshape(-1).view(np.uint8).data)
    return LENGTH_BYTES + len(text) + start


def read_tensors(path: Any, context: LoadContext | None = None) -> tuple[Arrays, dict[str, str]]:
    """The arrays of a file in safetensors, whoever wrote it, and what its metadata says.

    Parameters
    ----------
    path : str or path
    context : LoadContext, optional
        How much memory the file may take.

    Returns
    -------
    (dict of str to array, dict of str to str)
        Read-only arrays, and the metadata.

    Raises
    ------
    ModelFileError
        The file is cut short, its header is wrong, or it has a type that numpy lacks.
    OSError
        It cannot be read.
    """
    try:
        context = LoadContext() if context is None else context
        return _read(_content(path, context), context)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def _content(path: Any, context: LoadContext) -> bytes:
    with open(path, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            _refuse("not a regular file")
        size = os.fstat(file.fileno()).st_size
        context.begin(size)
        context.take(size, "a copy of all of it")
        return file.read(size)


def _read(raw: bytes, context: LoadContext) -> tuple[Arrays, dict[str, str]]:
    length = int.from_bytes(raw[:LENGTH_BYTES], "little")
    first = LENGTH_BYTES + length
    if len(raw) < LENGTH_BYTES or length > MAX_HEADER_BYTES or first > len(raw):
        _refuse(f"a header of {length} bytes in a file of {len(raw)}: no safetensors, or its end is missing")
    header = _header(raw[LENGTH_BYTES:first], context)
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        _refuse(f"{METADATA} must be an object of strings")
    arrays, ranges = {}, []
    for name, entry in header.items():
        kind, shape, (start, stop) = _entry(name, entry)
        if math.prod(shape) * kind.itemsize != stop - start:
            _refuse(f"{name!r:.60} has {stop - start} bytes, which are not {kind} of shape {shape}")
        if stop > len(raw) - first:
            _refuse(f"{name!r:.60} ends at byte {stop}, and there are {len(raw) - first}")
        try:
            arrays[name] = np.frombuffer(raw, kind, math.prod(shape), first + start).reshape(shape)
        except ValueError:  # no bytes, and a product of the other dimensions beyond all addresses
            _refuse(f"{name!r:.60} has a shape that is too large: {shape}")
        check_values(name, arrays[name])
        ranges.append((start, stop))
    ranges.sort()
    stops = [0, *(stop for _, stop in ranges)]
    if [start for start, _ in ranges] != stops[:-1] or stops[-1] != len(raw) - first:
        _refuse("the arrays leave bytes between them, share some, or do not reach the end of the file")
    return _of_bytes(arrays, metadata), metadata


def _header(text: bytes, context: LoadContext) -> dict[str, Any]:
    context.take_json(text)
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=without_repeats)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the header is no JSON: {error!s:.200}") from None
    if not isinstance(header, dict):
        _refuse("the header must be an object of arrays")
    return header


def _entry(name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], list[int]]:
    """Type, shape and place of an array."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        _refuse(f"{name!r:.60} must have dtype, shape and data_offsets")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _TYPES:
        _refuse(f"{name!r:.60} is of the type {entry['dtype']!r:.40}, which is none of {', '.join(_TYPES)}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    numbers = isinstance(shape, list) and len(shape) <= _MAX_DIMENSIONS and isinstance(offsets, list)
    if not numbers or any(type(n) is not int or not 0 <= n < 2**48 for n in (*shape, *offsets)):
        _refuse(f"{name!r:.60} has a shape or offsets that are no such numbers: {shape!r:.60}, {offsets!r:.60}")
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        _refuse(f"{name!r:.60} must begin before it ends, got the offsets {offsets!r:.60}")
    return np.dtype(_TYPES[entry["dtype"]]), tuple(shape), offsets


def _of_bytes(arrays: Arrays, metadata: dict[str, str]) -> Arrays:
    """The arrays, those that were written as bytes as they were."""
    try:
        entries = json.loads(metadata.get(AS_BYTES, "{}"))
        for name, (described, shape) in entries.items():
            if not is_storable(described) or any(type(n) is not int or n < 0 for n in shape):
                _refuse(f"{name!r:.60} is of no type that a model holds")
            arrays[name] = arrays[name].view(dtype_of(described)).reshape(shape)
            check_values(name, arrays[name])
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{AS_BYTES} does not fit the arrays: {error!r:.200}") from None
    return arrays


def _refuse(reason: str) -> NoReturn:
    raise ModelFileError(reason)
