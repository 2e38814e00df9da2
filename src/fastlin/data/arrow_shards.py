"""Arrow IPC shards: one record batch a file, memory-mapped and read without a copy.

A row has its `label`, its `indices: list<uint32>` and its `values: list<float32>` (or float64), maybe a `weight` and a
`group`. Labels are a dictionary column whose codes are the corpus's, so that they are not copied either.
"""

import importlib.util
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data.atomic_folder import AtomicFolder
from fastlin.data.manifest import Manifest, ShardFacts
from fastlin.data.npy_files import CorpusError, Stamp, map_file
from fastlin.data.segments import Segment
from fastlin.data.shard_writer import narrow, retyped
from fastlin.data.shards import NO_CODES, NO_GROUPS, NO_WEIGHTS, ShardRows, Store
from fastlin.data.string_files import write_table
from fastlin.storage.crc32 import crc32
from fastlin.validation import one_of


def pyarrow() -> Any:
    """The library, which is an extra."""
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ImportError as error:
        raise ImportError("Parquet and Arrow files need pyarrow: pip install 'fastlin[arrow]'") from error
    return pa


def storage_of(format: str | None) -> str:  # noqa: A002
    """How a corpus is stored that is written in this format."""
    if format is not None:
        return one_of("format", format, ("arrow", "npy"))
    return "npy" if importlib.util.find_spec("pyarrow") is None else "arrow"


class ArrowShard:
    """The file `<number>.arrow` of a folder."""

    def __init__(self, folder: Path, number: int, facts: ShardFacts, manifest: Manifest, n_labels: int, verify: bool):
        self.n_rows = facts.rows
        self._path, self._facts, self._manifest = folder / f"{number:06d}.arrow", facts, manifest
        self._n_labels, self._verify = n_labels, verify
        self._stamp: Stamp | None = None

    def read_rows(self, start: int, stop: int) -> ShardRows:
        batch, rows = self._batch(), slice(start, stop)
        indptr = batch["indices"].offsets.to_numpy().astype(np.int64)
        first, last = int(indptr[start]), int(indptr[stop])
        return ShardRows(
            indptr[start : stop + 1] - first,
            _aligned(batch["indices"].values).view(np.int32)[first:last],
            _aligned(batch["values"].values)[first:last],
            self._codes(batch)[rows],
            self._weights(batch)[rows],
        )

    def indptr(self) -> NDArray[np.int64]:
        return self._batch()["indices"].offsets.to_numpy().astype(np.int64)

    def codes(self) -> NDArray[np.int32]:
        return self._codes(self._batch())

    def weights(self) -> NDArray[np.float64]:
        return self._weights(self._batch())

    def groups(self) -> NDArray[np.int64]:
        return _aligned(self._batch()["group"]) if self._manifest.grouped else NO_GROUPS

    def stamp(self) -> Any:
        """Fingerprint of the file: another one when it has changed since."""
        return self._stamp

    def _codes(self, batch: dict[str, Any]) -> NDArray[np.int32]:
        return _aligned(batch["label"].indices) if self._n_labels else NO_CODES

    def _weights(self, batch: dict[str, Any]) -> NDArray[np.float64]:
        return _aligned(batch["weight"]) if self._manifest.weighted else NO_WEIGHTS

    def _batch(self) -> dict[str, Any]:
        """The columns, mapped; where the file is new or has changed they are proved to be what they should."""
        pa = pyarrow()
        room, stamp = map_file(self._path)
        new = stamp != self._stamp
        if new and self._verify and crc32(room) != self._facts.digests.get("arrow"):
            raise CorpusError(f"{self._path} is damaged: its CRC-32 is not that of the corpus")
        try:
            reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(room)))
            batch = reader.get_batch(0)
            if new:
                batch.validate(full=True)
                self._check(pa, reader.num_record_batches, batch)
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        except CorpusError:
            raise
        except (pa.ArrowException, OSError, ValueError, TypeError, LookupError) as error:
            raise CorpusError(f"{self._path} is damaged: {error}") from error
        self._stamp = stamp
        return columns

    def _check(self, pa: Any, n_batches: int, batch: Any) -> None:
        """The types, the lengths, no nulls, and the same rows in indices and values."""
        expected = _types(pa, self._manifest, self._facts.dtype)
        found = {name: batch.schema.field(name).type for name in batch.schema.names}
        if self._n_labels:
            label = found.pop("label", None)
            if label is None or not pa.types.is_dictionary(label) or label.index_type != pa.int32():
                raise CorpusError(f"{self._path} has labels of type {label}; int32 codes of a dictionary are needed")
            if len(batch.column("label").dictionary) != self._n_labels:
                raise CorpusError(f"{self._path} knows other labels than the corpus")
        if found != expected:
            raise CorpusError(f"{self._path} has columns {found}; the corpus says {expected}")
        if n_batches != 1 or batch.num_rows != self.n_rows:
            raise CorpusError(f"{self._path} does not hold the {self.n_rows} rows that the corpus says")
        indices, values = batch.column("indices"), batch.column("values")
        if any(column.null_count for column in (*batch.columns, indices.values, values.values)):
            raise CorpusError(f"{self._path} holds nulls")
        if not indices.offsets.equals(values.offsets) or indices.offsets[0].as_py() != 0:
            raise CorpusError(f"{self._path} has rows with more indices than values, or fewer")
        if indices.offsets[-1].as_py() != self._facts.nonzeros:
            raise CorpusError(f"{self._path} does not hold the {self._facts.nonzeros} values that the corpus says")


def write_arrow(target: AtomicFolder, store: Store, limit: int, dtype: np.dtype[Any] | None) -> None:
    """Store a corpus as Arrow shards, each of which is a segment of `limit` non-zeros at most."""
    pa = pyarrow()
    bounds = store.bounds(limit).tolist()

    def segments() -> Iterator[Segment]:
        for start, stop in pairwise(bounds):
            segment = store.read(start, stop)
            yield segment if dtype is None else segment._replace(rows=retyped(segment.rows, dtype))

    negative, zeros, largest, short = False, False, 0.0, True
    for segment in segments():  # what is true of all rows, and whether float32 holds all values
        rows = segment.rows
        negative, zeros, largest = negative or rows.negative, zeros or rows.zeros, max(largest, rows.largest)
        short = short and narrow(rows.values)
    names = store.names()
    manifest = Manifest(
        folder=target.place.name,
        storage="arrow",
        rows=store.shape[0],
        features=store.shape[1],
        dtype=str(dtype or store.dtype),
        weighted=store.weighted,
        grouped=store.grouped,
        negative=negative,
        zeros=zeros,
        largest=largest,
        segment=limit,
        shards=[],
        tables={} if names is None else {"names": write_table(target.place, "names", names)},
        hashed=store.hashed,
    )
    labels = None
    if len(store.classes):
        manifest.tables["labels"] = write_table(target.place, "labels", store.classes)
        labels = pa.array(store.classes.tolist())
    stored = str(dtype) if dtype is not None else "float32" if short else "float64"
    types = _types(pa, manifest, stored)
    metadata = {"n_features": str(manifest.features), "hashed": json.dumps(manifest.hashed)}
    if names is not None:
        metadata["vocabulary"] = ", ".join(f"{name}.npy" for name in manifest.tables["names"].digests)
    groups = store.groups()
    for number, segment in enumerate(segments()):
        batch = _record_batch(pa, segment, groups[segment.start :], types, labels)
        path = target.place / f"{number:06d}.arrow"
        schema = batch.schema.with_metadata(metadata)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            writer.write_batch(batch.replace_schema_metadata(metadata))
        digests = {"arrow": crc32(map_file(path)[0])}
        manifest.shards.append(ShardFacts(len(segment.rows), segment.rows.nnz, stored, digests))
    target.commit(manifest)


def _record_batch(pa: Any, segment: Segment, groups: NDArray[np.int64], types: dict[str, Any], labels: Any) -> Any:
    _, rows, codes, weights = segment
    offsets = pa.array(rows.indptr.astype(np.int32))
    values = rows.values.astype(types["values"].value_type.to_pandas_dtype(), copy=False)
    columns = {
        "indices": pa.ListArray.from_arrays(offsets, pa.array(rows.indices.view(np.uint32)), types["indices"]),
        "values": pa.ListArray.from_arrays(offsets, pa.array(values), types["values"]),
        "weight": pa.array(weights),
        "group": pa.array(groups[: len(rows)]),
    }
    columns = {name: column for name, column in columns.items() if name in types}
    if labels is not None:
        columns = {"label": pa.DictionaryArray.from_arrays(pa.array(codes), labels)} | columns
    return pa.record_batch(columns)


def _types(pa: Any, manifest: Manifest, dtype: str) -> dict[str, Any]:
    """The types of the columns other than the label."""
    types = {"indices": pa.list_(pa.uint32()), "values": pa.list_(getattr(pa, dtype)())}
    types |= {"weight": pa.float64()} if manifest.weighted else {}
    return types | ({"group": pa.int64()} if manifest.grouped else {})


def _aligned(array: Any) -> NDArray[Any]:
    """The array without a copy, unless its buffer is at an odd place."""
    return np.require(array.to_numpy(zero_copy_only=True), requirements=["A"])
