"""A corpus on disk: its shards are mapped when their rows are asked for, and proved when they are first seen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data.arrow_shards import ArrowShard
from fastlin.data.manifest import MANIFEST_NAME, read_manifest
from fastlin.data.npy_files import CorpusError
from fastlin.data.segments import Segment, group_starts, segment_bounds
from fastlin.data.shards import NO_GROUPS, NpyShard, Shard, ShardRows
from fastlin.data.string_files import read_table
from fastlin.engine.core import csr_check, csr_scores
from fastlin.runtime.buffer_pool import BufferPool
from fastlin.validation import CSRRows

SHARD_TYPES: dict[str, type[NpyShard] | type[ArrowShard]] = {"npy": NpyShard, "arrow": ArrowShard}


class OnDiskStore:
    """The rows of all shards, one behind the other."""

    def __init__(self, path: Path, verify: bool, dtype: np.dtype[Any] | None) -> None:
        folder = path.parent if path.name == MANIFEST_NAME else path
        self.path: Path | None = folder
        self._verify = verify
        self.manifest = manifest = read_manifest(folder / MANIFEST_NAME)
        self.shape, self.dtype = (manifest.rows, manifest.features), dtype or np.dtype(manifest.dtype)
        self.nnz = sum(shard.nonzeros for shard in manifest.shards)
        if self.dtype == np.float32 and not all(shard.dtype == "float32" for shard in manifest.shards):
            raise ValueError(f"float32 does not hold the values of {folder}; write(…, dtype='float32') rounds them")
        self.weighted, self.grouped, self.hashed = manifest.weighted, manifest.grouped, manifest.hashed
        self._place = place = folder / manifest.folder
        self.classes = np.empty(0)
        if "labels" in manifest.tables:
            self.classes = read_table(place, "labels", manifest.tables["labels"], verify)
            if not len(self.classes) or (self.classes[1:] <= self.classes[:-1]).any():
                raise CorpusError(f"the labels of {folder} are not sorted and distinct")
        kind, n_labels = SHARD_TYPES[manifest.storage], len(self.classes)
        self.shards: list[Shard] = [
            kind(place, number, facts, manifest, n_labels, verify) for number, facts in enumerate(manifest.shards)
        ]
        self.starts = np.cumsum([0, *(shard.n_rows for shard in self.shards)])
        self._buffers = BufferPool()
        self._seen: dict[tuple[int, int], Any] = {}

    def names(self) -> NDArray[Any] | None:
        """The features' names."""
        facts = self.manifest.tables.get("names")
        if facts is None:
            return None
        return read_table(self._place, "names", facts, self._verify)

    def bounds(self, limit: int) -> NDArray[np.int64]:
        """Where segments of so much work start, and the number of rows."""
        groups = group_starts(self.groups()) if self.grouped else None
        if self.manifest.segment == limit:
            if groups is not None and not np.isin(self.starts, groups).all():
                raise CorpusError(f"a group of {self.path} lies in two shards")
            return self.starts
        indptr = np.concatenate([np.zeros(1, np.int64), *(np.diff(shard.indptr()) for shard in self.shards)])
        np.cumsum(indptr, out=indptr)
        return segment_bounds(indptr, limit, groups)

    def groups(self) -> NDArray[np.int64]:
        """The number of every row's group; of length 0 without groups."""
        return np.concatenate([shard.groups() for shard in self.shards]) if self.grouped else NO_GROUPS

    def codes(self) -> NDArray[np.int32]:
        """The codes of all rows, proved."""
        codes = np.concatenate([shard.codes() for shard in self.shards])
        self._check_codes(codes)
        return codes

    def weights(self) -> NDArray[np.float64]:
        """The weights of all rows, proved; of length 0 for all ones."""
        weights = np.concatenate([shard.weights() for shard in self.shards])
        self._check_weights(weights)
        return weights

    def read(self, start: int, stop: int) -> Segment:
        """Consecutive rows, proved; a view of a mapped file where they lie in one and have the type of the values."""
        inside = range(
            int(np.searchsorted(self.starts, start, "right")) - 1, int(np.searchsorted(self.starts, stop, "left"))
        )
        parts = list(self._parts(inside, start, stop))
        indptr, indices, values, codes, weights = parts[0] if len(parts) == 1 else _joined(parts)
        manifest = self.manifest
        rows = CSRRows(
            indptr, indices, self._typed(values),
            manifest.features, manifest.negative, manifest.zeros, manifest.largest,
        )  # fmt: skip
        stamps = [self.shards[number].stamp() for number in inside]
        if self._seen.get((start, stop)) != stamps:
            self._prove(rows, codes, weights, f"rows {start} to {stop} of {self.path}")
            self._seen[start, stop] = stamps
        return Segment(start, rows, codes, weights)

    def _typed(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if values.dtype == self.dtype else self._buffers.astype(values, self.dtype)

    def _parts(self, inside: range, start: int, stop: int) -> Iterator[ShardRows]:
        for number in inside:
            shard, first = self.shards[number], int(self.starts[number])
            yield shard.read_rows(max(start - first, 0), min(stop - first, shard.n_rows))

    def _prove(self, rows: CSRRows, codes: NDArray[np.int32], weights: NDArray[np.float64], where: str) -> None:
        """What the kernels and the facts of the whole corpus rely on."""
        matrix = rows.indptr, rows.indices, rows.values, rows.n_columns
        facts = csr_scores.validate_csr(*matrix)
        if facts is None:
            fault, _, _ = csr_check.find_fault(*matrix)
            raise CorpusError(f"{where} are damaged: {FAULTS[fault]}")
        canonical, negative, zeros, largest = facts
        if not canonical:
            raise CorpusError(f"{where} are damaged: the indices of a row do not rise")
        if negative > rows.negative or zeros > rows.zeros or largest > rows.largest:
            raise CorpusError(f"{where} are damaged: their values are not those of the corpus")
        self._check_codes(codes)
        self._check_weights(weights)

    def _check_codes(self, codes: NDArray[np.int32]) -> None:
        if len(codes) and not (codes.min() >= 0 and codes.max() < len(self.classes)):
            raise CorpusError(
                f"the labels of {self.path} are damaged: one is none of the {len(self.classes)} there are"
            )

    def _check_weights(self, weights: NDArray[np.float64]) -> None:
        if not ((weights >= 0) & (weights <= 1e100)).all():
            raise CorpusError(f"the weights of {self.path} are damaged: one is negative or no number")


FAULTS = {
    csr_check.INDPTR_START: "indptr does not begin at 0",
    csr_check.INDPTR_ORDER: "indptr falls",
    csr_check.INDPTR_END: "indptr ends beyond the values",
    csr_check.INDEX_RANGE: "an index is no column",
    csr_check.NOT_FINITE: "a value is not finite",
}


def _joined(parts: list[ShardRows]) -> ShardRows:
    """Parts of several shards as one copy."""
    offsets = np.cumsum([0, *(part.indptr[-1] for part in parts)])
    indptr = [part.indptr[1:] + offset for part, offset in zip(parts, offsets.tolist(), strict=False)]
    rest = (np.concatenate([getattr(part, name) for part in parts]) for name in ShardRows._fields[1:])
    return ShardRows(np.concatenate([np.zeros(1, np.int64), *indptr]), *rest)
