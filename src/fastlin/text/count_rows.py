"""Rows of counts, one chunk behind the other, to the arrays of a matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text import vocabulary_order
from fastlin.text.vocabulary import CountChunk

WIDENED = (np.dtype(np.int64), np.dtype(np.float64))  # what counts become in their own memory


def assemble(chunks: list[CountChunk], columns: NDArray[np.int32] | None, dtype: Any) -> tuple[Any, Any, Any]:
    """data, indices and indptr of all rows, in the memory of the chunks, which are used up."""
    lengths, indices, room = chunks[0] if len(chunks) == 1 else _joined(chunks)
    chunks.clear()
    size = len(indices)
    counts = room.view(np.int32)[:size]
    if columns is not None:
        size = vocabulary_order.relabel_rows(indices, counts, columns, lengths)
        indices, counts = indices[:size], counts[:size]
    dtype = np.dtype(dtype)
    if dtype in WIDENED:
        data = room.view(dtype)[:size]
        vocabulary_order.widen_counts(counts, data)
    else:
        data = counts.astype(dtype, copy=False)
    if 2 * size < len(room):  # most was pruned, and is to be freed
        data, indices = data.copy(), indices.copy()
    return data, indices, np.concatenate([[0], np.cumsum(lengths)])


def _joined(chunks: list[CountChunk]) -> CountChunk:
    """All rows as one chunk; what is joined is freed."""
    size = sum(len(chunk.numbers) for chunk in chunks)
    joined = CountChunk(
        np.concatenate([np.empty(0, np.int64), *(chunk.lengths for chunk in chunks)]),
        np.empty(size, np.int32),
        np.empty(size, np.int64),
    )
    chunks.reverse()
    start = 0
    while chunks:
        chunk = chunks.pop()
        stop = start + len(chunk.numbers)
        joined.numbers[start:stop], joined.counts[start:stop] = chunk.numbers, chunk.counts
        start = stop
    return joined
