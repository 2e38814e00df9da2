""".npy files of a corpus: written in pieces, and mapped once they are found to be what the manifest says."""

import mmap
import os
import zlib
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

CHECKED_AT_ONCE = 1 << 24  # bytes between two looks at Ctrl-C


class CorpusError(ValueError):
    """A stored corpus is damaged, or no corpus."""


class Stamp(NamedTuple):
    """What changes when a file does."""

    size: int
    changed: int
    inode: int


def stamp_of(descriptor: int) -> Stamp:
    found = os.fstat(descriptor)
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ino)


def write_array(path: Path, dtype: Any, length: int, pieces: Iterable[NDArray[Any]]) -> int:
    """Write a vector that comes in pieces; the CRC-32 of the file."""
    header = BytesIO()
    described = {"descr": npy.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (length,)}
    npy.write_array_header_1_0(header, described)
    digest = zlib.crc32(header.getvalue())
    with path.open("wb") as file:
        file.write(header.getvalue())
        for piece in pieces:
            data = np.ascontiguousarray(piece, dtype).view(np.uint8).data
            digest = zlib.crc32(data, digest)
            file.write(data)
    return digest


def digest_of(data: Any) -> int:
    """The CRC-32 of bytes."""
    view, digest = memoryview(data), 0
    for start in range(0, len(view), CHECKED_AT_ONCE):
        digest = zlib.crc32(view[start : start + CHECKED_AT_ONCE], digest)
    return digest


def map_file(path: Path) -> tuple[mmap.mmap, Stamp]:
    """A whole file, mapped, and its stamp."""
    try:
        with path.open("rb", buffering=0) as file:
            stamp = stamp_of(file.fileno())
            if not stamp.size:
                raise CorpusError(f"{path} is empty")
            return mmap.mmap(file.fileno(), stamp.size, flags=mmap.MAP_SHARED | POPULATE, prot=mmap.PROT_READ), stamp
    except FileNotFoundError as error:
        raise CorpusError(f"{path} is missing: the corpus is incomplete") from error


def map_array(path: Path, dtype: Any, length: int) -> tuple[NDArray[Any], mmap.mmap, Stamp]:
    """The vector in a file, mapped; the whole file; and its stamp. Its size is proved, its contents are not."""
    dtype = np.dtype(dtype)
    room, stamp = map_file(path)
    start = _check_header(path, BytesIO(room[:4096]), dtype, length)
    if start % 64 or stamp.size != start + length * dtype.itemsize:
        raise CorpusError(f"{path} has {stamp.size} bytes; {length} values of type {dtype} need another number")
    return np.frombuffer(room, dtype, length, start), room, stamp


POPULATE = getattr(mmap, "MAP_POPULATE", 0)  # the pages that are in memory are mapped at once, not one by one


def _check_header(path: Path, file: BytesIO, dtype: np.dtype[Any], length: int) -> int:
    """Where the values of a .npy file begin, if it holds what it should."""
    try:
        npy.read_magic(file)
        shape, _, found = npy.read_array_header_1_0(file)
    except (ValueError, TypeError, SyntaxError, OverflowError, RecursionError, MemoryError) as error:
        raise CorpusError(f"{path} is no .npy file: {error}") from error
    if (shape, found) != ((length,), dtype):
        raise CorpusError(f"{path} holds {found} of shape {shape}; the corpus says {dtype} of shape ({length},)")
    return file.tell()
