"""Parquet and Arrow's files, by pyarrow: columns of labels and texts, or of labels, indices and values."""

import contextlib
import io
import itertools
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.data.arrow_shards import pyarrow
from fastlin.data.blocks import Block, Documents
from fastlin.data.errors import ReadError
from fastlin.data.readers.line_formats import ReadRequest, as_columns
from fastlin.data.readers.parsed_records import TEXT_SEPARATOR, as_target
from fastlin.data.readers.sources import InputFile
from fastlin.validation import MAX_COLUMNS

ROWS_PER_BATCH = 8192  # of a batch of a Parquet file
ARROW_FILE = b"ARROW1"  # what Arrow's files begin with, and its streams do not
PIPE_BYTES = 1 << 20  # bytes of a pipe at a time


class ColumnNames(NamedTuple):
    """Which columns are wanted."""

    label: str | None
    texts: list[str] | None  # None: indices and values
    weight: str | None
    keep: list[str]

    @property
    def columns(self) -> list[str]:
        content = ["indices", "values"] if self.texts is None else self.texts
        return [name for name in (self.label, *content, self.weight, *self.keep) if name is not None]


def read_arrow(files: list[InputFile], request: ReadRequest) -> Iterator[Block | Documents]:
    """Files of Arrow's formats."""
    return itertools.chain.from_iterable(tables(file, "arrow", request) for file in files)


def read_parquet(files: list[InputFile], request: ReadRequest) -> Iterator[Block | Documents]:
    """Parquet files."""
    return itertools.chain.from_iterable(tables(file, "parquet", request) for file in files)


def tables(file: InputFile, form: str, request: ReadRequest) -> Iterator[Block | Documents]:
    """Read a file batch by batch."""
    pa, given, keep = pyarrow(), request.options, request.kept
    label, text, n_features = given["label"], given["text"], given["n_features"]
    row, width = 1, n_features or 1
    try:
        for batch in _parquet(file) if form == "parquet" else _arrow(file):
            sparse = text is ... and {"indices", "values"} <= set(batch.schema.names)
            texts = None if sparse else as_columns("text" if text is ... else text)
            names = ColumnNames("label" if label is ... else label, texts, given["weight"], keep)
            if sparse and keep:
                raise ReadError(file.name, 0, f"the column {keep[0]!r} is kept of documents, and these are rows")
            part = _Batch(batch, names, file.name, row, request.numeric)
            row += batch.num_rows
            if not batch.num_rows:
                continue
            if sparse:
                block = part.rows(width, n_features, request.dtype)
                width = block.X.shape[1]
                yield block
            else:
                yield part.documents()
    except (ReadError, FileNotFoundError):
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # names of columns may be no UTF-8
        raise ReadError(file.name, 0, f"the {form} file is damaged or not whole: {error}"[:300]) from error


def _parquet(file: InputFile) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with _seekable(file) as source, pq.ParquetFile(source) as table:
        yield from table.iter_batches(ROWS_PER_BATCH)


def _arrow(file: InputFile) -> Iterator[Any]:
    """A file, which begins with "ARROW1" and is also called Feather, or a stream."""
    import pyarrow as pa

    with contextlib.ExitStack() as opened:
        if _can_seek(file):
            source = opened.enter_context(_seekable(file))
            stream = pa.PythonFile(source, "r") if file.stream else opened.enter_context(pa.OSFile(source))
            magic = stream.read(len(ARROW_FILE))
            stream.seek(0)
        else:
            stream = io.BufferedReader(_Begun(file.stream))
            magic = stream.peek(len(ARROW_FILE))[: len(ARROW_FILE)]
        if magic != ARROW_FILE:
            yield from opened.enter_context(pa.ipc.open_stream(stream))  # batches as they come
            return
        whole = stream if _can_seek(file) else opened.enter_context(_seekable(InputFile(file.name, stream)))
        reader = opened.enter_context(pa.ipc.open_file(whole))
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


class _Begun(io.RawIOBase):
    """An open file of which at least a few bytes come at the first reading."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream, self._held = stream, b""
        while len(self._held) < len(ARROW_FILE) and (part := stream.read(len(ARROW_FILE) - len(self._held))):
            self._held += part

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        part = self._held or self._stream.read(len(room)) or b""
        part, self._held = part[: len(room)], part[len(room) :]
        room[: len(part)] = part
        return len(part)


def _can_seek(file: InputFile) -> bool:
    return file.stream is None or (hasattr(file.stream, "seekable") and file.stream.seekable())


@contextlib.contextmanager
def _seekable(file: InputFile) -> Iterator[Any]:
    """The path of a file, or an open one in which one can go back: a pipe goes into a temporary file."""
    if file.stream is None:
        yield file.name
        return
    if _can_seek(file):
        yield file.stream
        return
    with tempfile.TemporaryFile(prefix="fastlin-") as copy:
        while part := file.stream.read(PIPE_BYTES):
            copy.write(part)
        copy.seek(0)
        yield copy


class _Batch:
    """A batch of records, and where its file has it."""

    def __init__(self, batch: Any, names: ColumnNames, path: str, row: int, numeric: bool = False) -> None:
        self.batch, self.names, self.path, self.row, self.numeric = batch, names, path, row, numeric
        missing = [name for name in names.columns if name not in batch.schema.names]
        if missing:
            there = ", ".join(map(repr, batch.schema.names))
            raise ReadError(path, 0, f"there is no column {missing[0]!r} among {there}"[:300])
        batch.validate(full=True)  # offsets and UTF-8

    def documents(self) -> Documents:
        parts = [self.column(name) for name in self.names.texts or ()]
        for name, part in zip(self.names.texts or (), parts, strict=True):
            if not all(isinstance(text, str) for text in part):
                raise ReadError(self.path, 0, f"the column {name!r} does not hold texts")
        texts = parts[0] if len(parts) == 1 else [TEXT_SEPARATOR.join(row) for row in zip(*parts, strict=True)]
        labels = self.labels()
        labels = labels if labels is None or self.numeric else [str(label) for label in labels]
        kept = {name: self.batch.column(name).to_pylist() for name in self.names.keep} or None
        return Documents(texts, labels, self.weights(), self.path, self.row, kept)

    def rows(self, width: int, n_features: int | None, dtype: Any) -> Block:
        """Rows of lists of indices and of values."""
        indptr, indices = self.lists("indices", "iu")
        ends, values = self.lists("values", "iuf")
        if not np.array_equal(indptr, ends):
            row = int(np.argmax(indptr != ends)) - 1
            raise self.error(row, "there are not as many values as indices")
        limit = MAX_COLUMNS if n_features is None else n_features
        self.check(indptr, (indices < 0) | (indices >= limit), indices, f"is no index from 0 to {limit - 1}")
        self.check(indptr, ~np.isfinite(values), values, "is not finite")
        width = max(width, int(indices.max(initial=0)) + 1)
        parts = values.astype(dtype, copy=False), indices.astype(np.int32), indptr
        labels = self.labels()
        y = None if labels is None else np.array(labels)
        X = sp.csr_array(parts, shape=(self.batch.num_rows, width))
        return Block(X, y, self.weights(), None, self.path, self.row)

    def labels(self) -> list[Any] | None:
        if self.names.label is None:
            return None
        labels = self.column(self.names.label)
        return [self.target(row, label) for row, label in enumerate(labels)] if self.numeric else labels

    def target(self, row: int, label: Any) -> float:
        try:
            return as_target(label)
        except (TypeError, ValueError) as error:
            raise self.error(row, str(error)) from None

    def weights(self) -> NDArray[np.float64] | None:
        if self.names.weight is None:
            return None
        weights = self.column(self.names.weight)
        try:
            found = np.array(weights, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ReadError(self.path, 0, f"the column {self.names.weight!r} does not hold numbers") from error
        wrong = ~((found >= 0) & (found < np.inf))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise self.error(row, f"the weight {found[row]} is not a finite number from 0 on")
        return found

    def column(self, name: Any) -> list[Any]:
        """As Python's objects, all of them there."""
        values = self.batch.column(name).to_pylist()
        if None in values:
            raise self.error(values.index(None), f"the column {name!r} has no value")
        return values

    def lists(self, name: str, kinds: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Where the lists of a column begin, and all that they hold."""
        column = self.batch.column(name)
        if column.null_count:
            raise self.error(column.is_null().to_pylist().index(True), f"the column {name!r} has no value")
        if not hasattr(column, "offsets"):
            raise ReadError(self.path, 0, f"the column {name!r} does not hold lists, but {column.type}")
        offsets = column.offsets.to_numpy().astype(np.int64)
        inside = column.flatten()
        if inside.null_count:
            raise ReadError(self.path, 0, f"a list of the column {name!r} has a value that is missing")
        values = inside.to_numpy(zero_copy_only=False)
        if values.dtype.kind not in kinds:
            raise ReadError(self.path, 0, f"the column {name!r} holds lists of {column.type.value_type}")
        return offsets - offsets[0], values

    def check(self, indptr: NDArray[np.int64], wrong: NDArray[np.bool_], values: NDArray[Any], what: str) -> None:
        if wrong.any():
            place = int(np.argmax(wrong))
            raise self.error(int(np.searchsorted(indptr, place, side="right")) - 1, f"{values[place]} {what}")

    def error(self, row: int, what: str) -> ReadError:
        return ReadError(self.path, self.row + row, what, "row")
