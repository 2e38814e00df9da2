""".npy files of a corpus: written in pieces, and mapped once they are found to be what the manifest says."""

import mmap
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.storage.crc32 import crc32
from fastlin.storage.zip_layout import npy_header

HEADER = 128  # bytes before the values of a vector's .npy file
POPULATE = getattr(mmap, "MAP_POPULATE", 0)  # Linux's: the pages that are in memory are mapped at once, not one by one


class CorpusError(ValueError):
    """A stored corpus is damaged, or no corpus."""


class Stamp(NamedTuple):
    """Fingerprint of a file: it changes when the file does."""

    size: int
    changed: int
    inode: int


def stamp_of(descriptor: int) -> Stamp:
    found = os.fstat(descriptor)
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ino)


def write_array(path: Path, dtype: Any, length: int, pieces: Iterable[NDArray[Any]]) -> int:
    """Write a vector that comes in pieces; the CRC-32 of the file."""
    header = npy_header(np.dtype(dtype).str, (length,))
    digest = crc32(header)
    with path.open("wb") as file:
        file.write(header)
        for piece in pieces:
            data = np.ascontiguousarray(piece, dtype).view(np.uint8).data
            digest = crc32(data, digest)
            file.write(data)
    return digest


def map_file(path: Path) -> tuple[mmap.mmap, Stamp]:
    """A whole file, mapped, and its stamp."""
    try:
        with path.open("rb", buffering=0) as file:
            stamp = stamp_of(file.fileno())
            if not stamp.size:
                raise CorpusError(f"{path} is empty")
            if POPULATE:
                options = {"flags": mmap.MAP_SHARED | POPULATE, "prot": mmap.PROT_READ}
            else:
                options = {"access": mmap.ACCESS_READ}
            return mmap.mmap(file.fileno(), stamp.size, **options), stamp
    except FileNotFoundError as error:
        raise CorpusError(f"{path} is missing: the corpus is incomplete") from error


def map_array(path: Path, dtype: Any, length: int) -> tuple[NDArray[Any], mmap.mmap, Stamp]:
    """The vector in a file, mapped; the whole file; and its stamp. Its size is proved, its contents are not."""
    dtype = np.dtype(dtype)
    room, stamp = map_file(path)
    if stamp.size != HEADER + length * dtype.itemsize:
        raise CorpusError(f"{path} has {stamp.size} bytes, and not those of {length} values of type {dtype}")
    if room[:HEADER] != npy_header(dtype.str, (length,)):
        raise CorpusError(f"{path} is not the .npy file of {length} values of type {dtype} that was written")
    return np.frombuffer(room, dtype, length, HEADER), room, stamp
