"""Labels and names of features as files: numbers, or strings as their bytes and where each ends."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data.manifest import TableFacts
from fastlin.data.npy_files import CorpusError, map_array, write_array
from fastlin.storage.crc32 import crc32

STRING_KINDS = {"S": "S", "U": "U", "T": "O", "O": "O"}  # how strings come back: bytes, numpy's, objects


def write_table(folder: Path, name: str, array: NDArray[Any]) -> TableFacts:
    """Write a vector of numbers, strings or bytes."""
    kind = STRING_KINDS.get(array.dtype.kind)
    if kind is None:
        if array.dtype.kind not in "iubf":
            raise TypeError(f"{name} of type {array.dtype} cannot be stored; use strings or integers")
        digest = write_array(folder / f"{name}.npy", array.dtype, len(array), [array])
        return TableFacts(array.dtype.str, len(array), 0, {name: digest})
    strings = array.tolist()
    odd = next((value for value in strings if not isinstance(value, bytes if kind == "S" else str)), None)
    if odd is not None:
        raise TypeError(f"{name} of type {type(odd).__name__} cannot be stored; use strings or integers")
    encoded = strings if kind == "S" else [value.encode("utf-8", "surrogatepass") for value in strings]
    ends = np.cumsum([len(value) for value in encoded], dtype=np.int64)
    data = np.frombuffer(b"".join(encoded), np.uint8)
    digests = {
        f"{name}-bytes": write_array(folder / f"{name}-bytes.npy", np.uint8, len(data), [data]),
        f"{name}-ends": write_array(folder / f"{name}-ends.npy", np.int64, len(ends), [ends]),
    }
    return TableFacts(kind, len(array), len(data), digests)


def read_table(folder: Path, name: str, facts: TableFacts, verify: bool) -> NDArray[Any]:
    """The vector that was written, proved."""
    if facts.dtype not in STRING_KINDS:
        if not re.fullmatch(r"[<>|][iubf][1248]", facts.dtype):
            raise CorpusError(f"the {name} of {folder} cannot be of type {facts.dtype!r}")
        return _read(folder, name, facts, np.dtype(facts.dtype), facts.length, verify)
    data = _read(folder, f"{name}-bytes", facts, np.uint8, facts.size, verify).tobytes()
    ends = _read(folder, f"{name}-ends", facts, np.int64, facts.length, verify)
    starts = np.concatenate([np.zeros(1, np.int64), ends])
    if (starts[1:] < starts[:-1]).any() or starts[-1] != facts.size:
        raise CorpusError(f"{folder / name}-ends.npy does not divide its strings")
    pieces: list[Any] = [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=False)]
    try:
        strings = pieces if facts.dtype == "S" else [piece.decode("utf-8", "surrogatepass") for piece in pieces]
    except UnicodeDecodeError as error:
        raise CorpusError(f"{folder / name}-bytes.npy holds no text: {error}") from error
    return np.array(strings, facts.dtype)


def _read(folder: Path, name: str, facts: TableFacts, dtype: Any, length: int, verify: bool) -> NDArray[Any]:
    array, room, _ = map_array(folder / f"{name}.npy", dtype, length)
    if verify and crc32(room) != facts.digests.get(name):
        raise CorpusError(f"{folder / name}.npy is damaged: its CRC-32 is not that of the corpus")
    return array.copy()
