"""Blocks of rows become the shards of a corpus on disk, one segment after the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.data.atomic_folder import AtomicFolder
from fastlin.data.manifest import Manifest, ShardFacts, TableFacts
from fastlin.data.npy_files import map_array, write_array
from fastlin.data.segments import group_starts, segment_bounds
from fastlin.data.shards import COLUMN_TYPES
from fastlin.data.string_files import write_table
from fastlin.validation import CSRRows

FLOAT, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
LABEL_KINDS = {int: "numbers", float: "numbers", bool: "truths", str: "strings", bytes: "bytes"}


@dataclass
class PendingRows:
    """Rows that wait for their shard."""

    indptr: NDArray[np.int64]  # from 0
    indices: NDArray[np.int32]
    values: NDArray[Any]
    columns: dict[str, NDArray[Any]]  # label, weight, group: those that there are

    def between(self, start: int, stop: int) -> "PendingRows":
        first, last = self.indptr[start], self.indptr[stop]
        return PendingRows(
            self.indptr[start : stop + 1] - first,
            self.indices[first:last],
            self.values[first:last],
            {name: column[start:stop] for name, column in self.columns.items()},
        )


class ShardWriter:
    """Writes .npy shards, each of which is a segment of `limit` non-zeros at most.

    `dtype` is the type of the values, on disk, too; None: that of the rows, on disk float32 wherever that is exact.
    """

    def __init__(self, target: AtomicFolder, limit: int, dtype: np.dtype[Any] | None = None) -> None:
        self._target, self._limit, self._dtype = target, limit, dtype
        self._pending: list[PendingRows] = []
        self._work = 0
        self._labels: dict[Any, int] = {}  # numbered in the order in which they were met
        self._label_dtypes: set[np.dtype[Any]] = set()
        self._columns: list[str] | None = None
        self._shards: list[ShardFacts] = []
        self._n_rows = self._n_columns = 0
        self._negative = self._zeros = self._doubles = False
        self._largest = 0.0

    def add(
        self,
        rows: CSRRows,
        labels: tuple[NDArray[Any], NDArray[np.int32]] | None = None,
        weights: NDArray[np.float64] | None = None,
        groups: NDArray[np.int64] | None = None,
    ) -> None:
        """Further rows; `labels` are their classes and codes, `groups` the number of each row's group."""
        columns: dict[str, Any] = {"label": labels and self._numbered(*labels), "weight": weights, "group": groups}
        columns = {name: column for name, column in columns.items() if column is not None}
        if self._columns is None:
            self._columns = list(columns)
        if self._columns != list(columns):
            odd = " and ".join(sorted({*self._columns} ^ {*columns}))
            raise ValueError(f"some rows have a {odd} and others, from row {self._n_rows} on, differ")
        rows = rows if self._dtype is None else retyped(rows, self._dtype)
        self._doubles |= rows.values.dtype == DOUBLE
        self._negative |= rows.negative
        self._zeros |= rows.zeros
        self._largest = max(self._largest, rows.largest)
        self._n_columns = max(self._n_columns, rows.n_columns)
        self._n_rows += len(rows)
        self._pending.append(PendingRows(rows.indptr, rows.indices[: rows.nnz], rows.values[: rows.nnz], columns))
        self._work += rows.nnz + len(rows)
        if self._work > self._limit:
            self._flush(last=False)

    def finish(
        self,
        n_features: int | None = None,
        names: NDArray[Any] | None = None,
        hashed: dict[str, Any] | None = None,
    ) -> Manifest:
        """Write what waits, put the labels into order, and the manifest into its place."""
        if not self._n_rows:
            raise ValueError("there are no rows; a corpus has at least one")
        self._flush(last=True)
        tables: dict[str, TableFacts] = {}
        if self._labels:
            tables["labels"] = self._sort_labels()
        if names is not None:
            tables["names"] = write_table(self._target.place, "names", names)
        columns = self._columns or []
        manifest = Manifest(
            folder=self._target.place.name,
            storage="npy",
            rows=self._n_rows,
            features=max(self._n_columns, n_features or 1),
            dtype=str(DOUBLE if self._doubles else FLOAT),
            weighted="weight" in columns,
            grouped="group" in columns,
            negative=bool(self._negative),
            zeros=bool(self._zeros),
            largest=self._largest,
            segment=self._limit,
            shards=self._shards,
            tables=tables,
            hashed=hashed or {},
        )
        self._target.commit(manifest)
        return manifest

    def _numbered(self, classes: NDArray[Any], codes: NDArray[np.int32]) -> NDArray[np.int32]:
        present = np.flatnonzero(np.bincount(codes, minlength=len(classes)))
        labels = classes[present].tolist()
        met = {LABEL_KINDS.get(type(label), "others") for label in [*labels[:1], *list(self._labels)[:1]]}
        if len(met) > 1:
            raise ValueError(f"labels are {' and '.join(sorted(met))}, from row {self._n_rows} on; kinds do not mix")
        self._label_dtypes.add(classes.dtype)
        places = np.zeros(len(classes), np.int32)
        places[present] = [self._labels.setdefault(label, len(self._labels)) for label in labels]
        return places[codes]

    def _sort_labels(self) -> TableFacts:
        """Write the labels in their order, and the codes for it."""
        ordered = sorted(self._labels)
        dtype = np.result_type(*self._label_dtypes)
        if dtype.hasobject and not isinstance(ordered[0], str):
            dtype = np.array(ordered).dtype
        place = np.empty(len(ordered), np.int32)
        place[[self._labels[label] for label in ordered]] = np.arange(len(ordered), dtype=np.int32)
        if (place[1:] < place[:-1]).any():
            for number, facts in enumerate(self._shards):
                path = self._target.place / f"{number:06d}.label.npy"
                codes = place[map_array(path, np.int32, facts.rows)[0]]
                facts.digests["label"] = write_array(path, np.int32, len(codes), [codes])
        return write_table(self._target.place, "labels", np.array(ordered, dtype))

    def _flush(self, last: bool) -> None:
        """Write the segments that are complete: all but the last one, unless no more rows come."""
        if not self._pending:
            return
        lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(piece.indptr) for piece in self._pending)])
        groups = None
        if "group" in self._pending[0].columns:
            groups = group_starts(np.concatenate([piece.columns["group"] for piece in self._pending]))
        bounds = segment_bounds(np.cumsum(lengths), self._limit, groups).tolist()
        if not last:
            bounds.pop()
        for start, stop in pairwise(bounds):
            self._write(list(self._between(start, stop)))
        self._pending = [] if last else list(self._between(bounds[-1], len(lengths) - 1))
        self._work = sum(len(piece.indices) + len(piece.indptr) - 1 for piece in self._pending)

    def _between(self, start: int, stop: int) -> Iterator[PendingRows]:
        """Some of the rows that wait."""
        first = 0
        for piece in self._pending:
            n_rows = len(piece.indptr) - 1
            low, high = max(start - first, 0), min(stop - first, n_rows)
            if low < high:
                yield piece if (low, high) == (0, n_rows) else piece.between(low, high)
            first += n_rows

    def _write(self, pieces: list[PendingRows]) -> None:
        """One shard."""
        dtype = self._dtype or (FLOAT if all(narrow(piece.values) for piece in pieces) else DOUBLE)
        n_rows, nonzeros = (
            sum(sizes) for sizes in zip(*((len(p.indptr) - 1, len(p.indices)) for p in pieces), strict=True)
        )
        start = self._target.place / f"{len(self._shards):06d}"
        digests = {
            "indptr": write_array(Path(f"{start}.indptr.npy"), np.int64, n_rows + 1, _pointers(pieces)),
            "indices": write_array(Path(f"{start}.indices.npy"), np.int32, nonzeros, (p.indices for p in pieces)),
            "values": write_array(Path(f"{start}.values.npy"), dtype, nonzeros, (p.values for p in pieces)),
        }
        for name in pieces[0].columns:
            column = (piece.columns[name] for piece in pieces)
            digests[name] = write_array(Path(f"{start}.{name}.npy"), COLUMN_TYPES[name], n_rows, column)
        self._shards.append(ShardFacts(n_rows, nonzeros, str(dtype), digests))


def retyped(rows: CSRRows, dtype: np.dtype[Any]) -> CSRRows:
    """The rows with values of another type, proved anew: rounding may make zeros."""
    if rows.values.dtype == dtype:
        return rows
    with np.errstate(under="ignore"):
        return validation.as_rows(validation.check_values(rows, dtype=dtype).astype(dtype).matrix())


def narrow(values: NDArray[Any]) -> bool:
    """Whether float32 holds the values exactly."""
    if values.dtype == FLOAT:
        return True
    with np.errstate(all="ignore"):
        return bool((values.astype(FLOAT) == values).all())


def _pointers(pieces: list[PendingRows]) -> Iterator[NDArray[np.int64]]:
    """Where the rows of all pieces start, one behind the other."""
    yield np.zeros(1, np.int64)
    offset = 0
    for piece in pieces:
        yield piece.indptr[1:] + offset
        offset += len(piece.indices)
