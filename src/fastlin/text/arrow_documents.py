"""Columns of strings of Arrow, pandas and Polars as documents: the engine reads UTF-8 where it lies in memory."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text import vectorizer

DOCUMENTS_PER_SLICE = 1 << 14  # that become Python's strings together
FIRST_NON_ASCII = 128


def string_column(documents: Any) -> Any:
    """The documents as a chunked array of Arrow, if they are a column of strings that lies in memory as Arrow's do.

    None: they are not. A column of Python's objects is none: to copy them would take longer than to read them.
    """
    dtype = getattr(documents, "dtype", None)
    if hasattr(documents, "__dataframe__") or hasattr(documents, "columns") or not _is_arrow(documents, dtype):
        return None
    try:
        import pyarrow as pa
    except ImportError:  # then there is no Arrow but Polars', which can be iterated
        return None
    column = documents if isinstance(documents, pa.Array | pa.ChunkedArray) else pa.chunked_array(documents)
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    strings = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not strings:
        return None
    if column.type in (pa.string(), pa.large_string()):
        return column
    if pa.types.is_dictionary(column.type):  # of views, as Polars has them: Arrow writes out only those of strings
        column = column.cast(pa.dictionary(column.type.index_type, pa.large_string()))
    return column.cast(pa.large_string())


def _is_arrow(documents: Any, dtype: Any) -> bool:
    """Whether a container keeps its strings as Arrow does."""
    if hasattr(documents, "iloc"):  # of pandas, whose strings may be Python's
        return hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", None) == "pyarrow"
    return hasattr(documents, "__arrow_c_stream__") or hasattr(documents, "__arrow_c_array__")


def python_strings(column: Any) -> Iterator[Any]:
    """The strings of a column one by one, None where there is none."""
    for chunk in column.chunks:
        for start in range(0, len(chunk), DOCUMENTS_PER_SLICE):
            yield from chunk.slice(start, DOCUMENTS_PER_SLICE).to_pylist()


def string_slices(column: Any, text_of: Callable[[Any], str], limit: int) -> Iterator[vectorizer.StringSlices]:
    """Blocks of about `limit` bytes that the engine reads in place; `text_of` makes what it reads of other strings.

    The column has no gaps: documents that are missing are told of by who reads them one by one.
    """
    for chunk in column.chunks:
        if not len(chunk):
            continue
        chunk.validate(full=True)  # offsets within the data, and UTF-8: a column may come from anywhere
        data, offsets = _buffers(chunk)
        start = 0
        while start < len(chunk):
            stop = int(np.searchsorted(offsets, offsets[start] + limit, side="right"))
            stop = min(max(stop, start + 1), len(chunk))
            others = _others(chunk, data, offsets, start, stop)
            places = np.column_stack([offsets[start:stop], offsets[start + 1 : stop + 1]])
            yield vectorizer.StringSlices(data, places, {place: text_of(text) for place, text in others.items()})
            start = stop


def _buffers(chunk: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of a chunk, and where each string begins and the last one ends."""
    _, starts, data = chunk.buffers()
    width = np.int64 if str(chunk.type) == "large_string" else np.int32
    offsets = np.frombuffer(starts, width)[chunk.offset : chunk.offset + len(chunk) + 1].astype(np.int64)
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), offsets


def _others(chunk: Any, data: NDArray[np.uint8], offsets: NDArray[np.int64], start: int, stop: int) -> dict[int, str]:
    """The strings that are not of ASCII alone, by their place in the block."""
    part = data[offsets[start] : offsets[stop]]
    if not len(part) or part.max() < FIRST_NON_ASCII:
        return {}
    filled = np.flatnonzero(np.diff(offsets[start : stop + 1]))
    bits = np.bitwise_or.reduceat(part, offsets[start + filled] - offsets[start])
    places = filled[bits >= FIRST_NON_ASCII]
    texts = chunk.slice(start, stop - start).take(_indices(places)).to_pylist()
    return dict(zip(places.tolist(), texts, strict=True))


def _indices(places: NDArray[np.int64]) -> Any:
    import pyarrow as pa

    return pa.array(places)
