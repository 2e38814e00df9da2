"""Named arrays and a JSON header in one file that holds no code, written whole or not at all, trusted in nothing."""

import json
import math
import mmap as memory
import os
import re
import stat
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fastlin.runtime.atomic_write import atomic_write
from fastlin.storage.crc32 import crc32, crc32_in_threads
from fastlin.storage.load_context import LoadContext, ModelFileError
from fastlin.storage.zip_layout import (
    ALIGNMENT,
    END_SIZE,
    Member,
    directory_start,
    ending,
    last_member,
    local_header,
    npy_header,
)

FORMAT = 1  # of the files written; those of earlier ones are read
HEADER = "model.json"
_LARGEST_HEADER = 1 << 26
_PIECE = 1 << 22  # bytes: what is written is still in cache when its digest is taken
_NAME = re.compile(r"[A-Za-z0-9_]+([./-][A-Za-z0-9_]+)*", re.ASCII)
_NUMBERS = {np.dtype(kind).str for kind in "?bBhHiIlLqQefd"}
_FIELDS = _NUMBERS - {"|b1"}
_TEXT = re.compile(r"(<U|\|S)[1-9][0-9]{0,7}", re.ASCII)  # numpy counts the bytes of a string in 31 bits

Arrays = dict[str, NDArray[Any]]


def write_archive(path: Any, kind: str, header: dict[str, Any], arrays: Arrays) -> int:
    """Write a header of JSON's types and arrays of numbers or strings; returns the bytes of the file.

    The file appears whole, in the place of an old one, or not at all: an OSError leaves the old one as it was.

    Parameters
    ----------
    path : str or path
        The file.
    kind : str
        What is written: "model", "checkpoint", …
    header : dict
        Of JSON's types.
    arrays : dict of str to array
        Numbers or strings, of any shape.

    Returns
    -------
    int
        Bytes.
    """
    arrays = {name: _writable(name, array) for name, array in arrays.items()}
    with atomic_write(path) as file:
        return _write(file, kind, header, arrays)


def read_archive(
    path: Any, kind: str, *, mmap: bool = True, context: LoadContext | None = None
) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file of this kind, each byte of it proved.

    Parameters
    ----------
    path : str or path
    kind : str
        What was written: "model", "checkpoint", …
    mmap : bool
        Views of the mapped file, read-only; False copies it into memory.
    context : LoadContext, optional
        How it is read. One that does not verify leaves out the digests of the arrays, for a file already verified;
        never the shapes.

    Returns
    -------
    (dict, dict of str to array)
        The header and the arrays.

    Raises
    ------
    ModelFileError
        The file is not what `write_archive` has written, or asks for more memory than it may take.
    OSError
        It cannot be read.
    """
    try:
        context = LoadContext() if context is None else context
        return _read(_content(path, mmap, context), kind, context)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


# Writing


def _writable(name: str, array: Any) -> NDArray[Any]:
    if not _NAME.fullmatch(name) or len(name) > 200:
        raise ValueError(f"{name!r} is no name for an array of a file")
    array = np.asarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if not is_storable(described_dtype(array.dtype)):
        raise TypeError(f"an array of {array.dtype} ({name!r}) does not go into a file")
    return array


def _write(file: Any, kind: str, header: dict[str, Any], arrays: Arrays) -> int:
    members: list[Member] = []
    table: dict[str, Any] = {}
    for name, array in arrays.items():
        described = described_dtype(array.dtype)
        member = _write_member(file, members, f"{name}.npy", _pieces(array, npy_header(described, array.shape)))
        members.append(member)
        table[name] = {"dtype": described, "shape": list(array.shape), "crc32": member.crc}
    whole = {"format": FORMAT, "kind": kind, "arrays": table, "header": header}
    text = json.dumps(whole, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > _LARGEST_HEADER:
        raise ValueError(f"parameters of {len(text)} bytes: a model file holds up to {_LARGEST_HEADER}, besides arrays")
    members.append(_write_member(file, members, HEADER, iter([text])))
    tail = ending(members)
    file.write(tail)
    return members[-1].stop + len(tail)


def _write_member(file: Any, before: list[Member], name: str, pieces: Iterator[Any]) -> Member:
    """Content first: its digest, which stands before it, is taken on the way."""
    member = Member(name, before[-1].stop if before else 0, 0, 0)
    file.seek(member.start)
    size = crc = 0
    for piece in pieces:
        crc = crc32(piece, crc)
        file.write(piece)
        size += len(piece)
    member = member._replace(size=size, crc=crc)
    file.seek(member.offset)
    file.write(local_header(member))
    file.seek(member.stop)
    return member


def _pieces(array: NDArray[Any], first: bytes) -> Iterator[Any]:
    """The bytes of a `.npy` file in C order, copied piece by piece: an array may change while its digest is taken."""
    if first:
        yield first
    if array.flags.c_contiguous:
        raw = array.reshape(-1).view(np.uint8)
        yield from (raw[start : start + _PIECE].tobytes() for start in range(0, len(raw), _PIECE))
    else:
        step = max(1, _PIECE * len(array) // max(1, array.nbytes))
        for start in range(0, len(array), step):
            yield from _pieces(np.ascontiguousarray(array[start : start + step]), b"")


# Types


def described_dtype(dtype: np.dtype[Any]) -> Any:
    """A type as JSON has it: "<f8", or pairs of names and types."""
    if dtype.names is None:
        return dtype.str
    return [[name, described_dtype(dtype[name])] for name in dtype.names]


def is_storable(described: Any) -> bool:
    """Numbers and strings, or records of numbers; no objects."""
    if isinstance(described, str):
        return described in _NUMBERS or _TEXT.fullmatch(described) is not None
    if not isinstance(described, list) or not 0 < len(described) <= 100:
        return False
    pairs = [field for field in described if isinstance(field, list) and len(field) == 2]
    names = {
        field[0] for field in pairs if isinstance(field[0], str) and field[0].isascii() and field[0].isidentifier()
    }
    return len(names) == len(described) and all(isinstance(kind, str) and kind in _FIELDS for _, kind in pairs)


def dtype_of(described: Any) -> np.dtype[Any]:
    return np.dtype(described if isinstance(described, str) else [tuple(field) for field in described])


# Reading


def _content(path: Any, mmap: bool, context: LoadContext) -> NDArray[np.uint8]:
    """The bytes of a file."""
    with open(path, "rb", buffering=0, opener=_opened) as file:  # of a folder, an OSError that names it
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            _refuse("not a regular file")
        if status.st_size < END_SIZE:
            _refuse(f"{status.st_size} bytes are no model file")
        context.begin(status.st_size)
        if mmap:
            return np.frombuffer(memory.mmap(file.fileno(), 0, access=memory.ACCESS_READ), np.uint8)
        context.take(status.st_size, "a copy of all of it")
        raw: Any = np.empty(status.st_size + ALIGNMENT, np.uint8)
        raw = raw[-raw.ctypes.data % ALIGNMENT :][: status.st_size]
        filled = 0
        while filled < len(raw):
            got = file.readinto(memoryview(raw)[filled : filled + (1 << 30)])
            if not got:
                _refuse("the file became shorter while it was read")
            filled += got
        return raw


def _opened(path: Any, flags: int) -> int:
    """A descriptor; a pipe that nobody writes to is not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read(raw: NDArray[np.uint8], kind: str, context: LoadContext) -> tuple[dict[str, Any], Arrays]:
    start = directory_start(raw[-END_SIZE:].tobytes())
    if not 0 <= start <= len(raw) - END_SIZE or len(raw) - start > _LARGEST_HEADER:
        _refuse("no model file, or its end is missing")
    tail = raw[start:].tobytes()
    last = last_member(tail[:-END_SIZE], HEADER)
    if last is None or last.stop != start or last.size > _LARGEST_HEADER:
        _refuse(f"no model file: {HEADER} is not where it must be")
    text = raw[last.start : last.stop].tobytes()
    if crc32(text) != last.crc:
        _refuse(f"{HEADER} is damaged (CRC-32)")
    context.take_json(text)
    whole = _parsed(text)
    _check_kind(whole, kind)

    members, arrays = [], {}
    offset = 0
    for name, entry in whole["arrays"].items():
        described, shape, crc = _entry(name, entry)
        head, dtype = npy_header(described, shape), dtype_of(described)
        member = Member(f"{name}.npy", offset, len(head) + math.prod(shape) * dtype.itemsize, crc)
        members.append(member)
        offset = member.stop
        if offset > last.offset:
            _refuse(f"{name} does not fit into the file")
        if raw[member.offset : member.start + len(head)].tobytes() != local_header(member) + head:
            _refuse(f"the header of {name} is not what {HEADER} says")
        if context.verify and crc32_in_threads(raw[member.start : member.stop]) != crc:
            _refuse(f"{name} is damaged (CRC-32)")
        array = raw[member.start + len(head) : member.stop].view(dtype).reshape(shape)
        check_values(name, array)
        arrays[name] = array
    members.append(last)
    if offset != last.offset or raw[offset : last.start].tobytes() != local_header(last) or tail != ending(members):
        _refuse("bytes that belong to nothing, or a directory that is not what the members are")
    return whole["header"], arrays


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        whole = json.loads(text.decode("ascii"), object_pairs_hook=without_repeats, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{HEADER} is no JSON of a model: {error}") from None
    if not isinstance(whole, dict) or set(whole) != {"format", "kind", "arrays", "header"}:
        _refuse(f"{HEADER} is not that of a model")
    return whole


def _check_kind(whole: dict[str, Any], kind: str) -> None:
    version = whole["format"]
    if type(version) is not int or version < 1:
        _refuse(f"{HEADER} has no format version")
    if version > FORMAT:
        _refuse(f"written by a newer fastlin: format {version}, and this one reads up to {FORMAT}")
    if whole["kind"] != kind:
        _refuse(f"holds {str(whole['kind'])[:40]!r}, not {kind!r}")
    if not isinstance(whole["arrays"], dict) or not isinstance(whole["header"], dict):
        _refuse(f"{HEADER} is not that of a model")


def _entry(name: str, entry: Any) -> tuple[Any, tuple[int, ...], int]:
    """Type, shape and digest of an array, as the table has them."""
    if not _NAME.fullmatch(name) or len(name) > 200:
        _refuse(f"{name[:40]!r} is no name for an array")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "crc32"} or not is_storable(entry["dtype"]):
        _refuse(f"{name} has no type that a model holds")
    shape, crc = entry["shape"], entry["crc32"]
    if not isinstance(shape, list) or len(shape) > 8 or any(type(n) is not int or not 0 <= n < 2**48 for n in shape):
        _refuse(f"{name} has an impossible shape")
    if math.prod(max(n, 1) for n in shape) >= 2**48:
        _refuse(f"{name} has an impossible shape")
    if type(crc) is not int or not 0 <= crc < 2**32:
        _refuse(f"{name} has no digest")
    return entry["dtype"], tuple(shape), crc


def check_values(name: str, array: NDArray[Any]) -> None:
    """What no code expects: truth values but 0 and 1, characters that are none."""
    if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        _refuse(f"{name} holds impossible truth values")
    if array.dtype.kind == "U" and array.size and array.reshape(-1).view(np.uint32).max() > 0x10FFFF:
        _refuse(f"{name} holds impossible characters")


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) != len(pairs):
        _refuse(f"{HEADER} has a name twice")
    return found


def _refuse(reason: str) -> NoReturn:
    raise ModelFileError(reason)
