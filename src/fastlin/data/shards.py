"""Shards: rows that lie in one place on disk. Here those in .npy files."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.data.manifest import Manifest, ShardFacts
from fastlin.data.npy_files import CorpusError, Stamp, map_array
from fastlin.data.segments import Segment
from fastlin.storage.crc32 import crc32

COLUMN_TYPES = {"label": np.int32, "weight": np.float64, "group": np.int64}
NO_CODES, NO_WEIGHTS, NO_GROUPS = np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64)


class ShardRows(NamedTuple):
    """Some of a shard's rows, as they lie in its files: of the right types and lengths, but not proved."""

    indptr: NDArray[np.int64]  # from 0
    indices: NDArray[np.int32]
    values: NDArray[Any]
    codes: NDArray[np.int32]
    weights: NDArray[np.float64]


class Shard(Protocol):
    """Rows in one place."""

    n_rows: int

    def read_rows(self, start: int, stop: int) -> ShardRows: ...
    def indptr(self) -> NDArray[np.int64]: ...
    def codes(self) -> NDArray[np.int32]: ...
    def weights(self) -> NDArray[np.float64]: ...
    def groups(self) -> NDArray[np.int64]: ...
    def stamp(self) -> Any: ...


class Store(Protocol):
    """Where the rows of a corpus are."""

    path: Path | None
    shape: tuple[int, int]
    nnz: int
    dtype: np.dtype[Any]
    classes: NDArray[Any]
    weighted: bool
    grouped: bool
    hashed: dict[str, Any]

    def bounds(self, limit: int) -> NDArray[np.int64]: ...
    def read(self, start: int, stop: int) -> Segment: ...
    def codes(self) -> NDArray[np.int32]: ...
    def weights(self) -> NDArray[np.float64]: ...
    def groups(self) -> NDArray[np.int64]: ...
    def names(self) -> NDArray[Any] | None: ...


class NpyShard:
    """The files `<number>.<column>.npy` of a folder."""

    def __init__(self, folder: Path, number: int, facts: ShardFacts, manifest: Manifest, n_labels: int, verify: bool):
        self.n_rows = facts.rows
        self._start, self._facts, self._verify = str(folder / f"{number:06d}"), facts, verify
        self._labelled, self._weighted = n_labels > 0, manifest.weighted
        self._stamps: dict[str, Stamp] = {}

    def read_rows(self, start: int, stop: int) -> ShardRows:
        indptr, rows = self.indptr(), slice(start, stop)
        first, last = int(indptr[start]), int(indptr[stop])
        values = self._column("values", np.dtype(self._facts.dtype), self._facts.nonzeros)
        indices = self._column("indices", np.int32, self._facts.nonzeros)
        return ShardRows(
            indptr if (start, stop) == (0, self.n_rows) else indptr[start : stop + 1] - first,
            indices[first:last],
            values[first:last],
            self.codes()[rows],
            self.weights()[rows],
        )

    def indptr(self) -> NDArray[np.int64]:
        """Proved to rise from 0 to the number of non-zeros."""
        known = self._stamps.get("indptr")
        indptr = self._column("indptr", np.int64, self.n_rows + 1)
        if self._stamps["indptr"] != known:
            ends = (int(indptr[0]), int(indptr[-1]))
            if ends != (0, self._facts.nonzeros) or (indptr[1:] < indptr[:-1]).any():
                self._stamps.pop("indptr")
                raise CorpusError(
                    f"{self._start}.indptr.npy does not divide {self._facts.nonzeros} non-zeros into rows"
                )
        return indptr

    def codes(self) -> NDArray[np.int32]:
        return self._column("label", np.int32, self.n_rows) if self._labelled else NO_CODES

    def weights(self) -> NDArray[np.float64]:
        return self._column("weight", np.float64, self.n_rows) if self._weighted else NO_WEIGHTS

    def groups(self) -> NDArray[np.int64]:
        return self._column("group", np.int64, self.n_rows)

    def stamp(self) -> Any:
        """Fingerprint of the files of its parts: another one when some have changed since."""
        return [self._stamps.get(name) for name in ("indptr", "indices", "values", "label", "weight")]

    def _column(self, name: str, dtype: Any, length: int) -> NDArray[Any]:
        """One of the files, mapped; its CRC-32 is proved where it is new or has changed."""
        path = Path(f"{self._start}.{name}.npy")
        array, room, stamp = map_array(path, dtype, length)
        if self._stamps.get(name) != stamp:
            if self._verify and crc32(room) != self._facts.digests.get(name):
                raise CorpusError(f"{path} is damaged: its CRC-32 is not that of the corpus")
            self._stamps[name] = stamp
        return array
