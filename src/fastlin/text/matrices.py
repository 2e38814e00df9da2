"""The containers that transformers return."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config

from fastlin.engine import columns as engine_columns
from fastlin.text.vocabulary import Chunk
from fastlin.validation import WIDEST

WIDENED = (np.dtype(np.int64), np.dtype(np.float64))  # what counts become in their own memory


def as_configured(matrix: Any) -> Any:
    """A CSR as `csr_matrix`, or as `csr_array` where scikit-learn is set to sparse_interface="sparray"."""
    kind = sp.csr_array if get_config().get("sparse_interface") == "sparray" else sp.csr_matrix
    return matrix if type(matrix) is kind else kind(matrix)


def csr(values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> Any:
    """The arrays as a CSR in the configured container. Indices are int32 unless there are too many non-zeros."""
    index = np.int64 if len(values) > WIDEST or shape[1] > WIDEST else np.int32
    indices, indptr = indices.astype(index, copy=False), indptr.astype(index, copy=False)
    return as_configured(sp.csr_array((values, indices, indptr), shape=shape))


def assemble(chunks: list[Chunk], columns: NDArray[np.int32] | None, dtype: Any) -> tuple[Any, Any, Any]:
    """data, indices and indptr of all rows, in the memory of the chunks, which are used up."""
    lengths, indices, room = chunks[0] if len(chunks) == 1 else _joined(chunks)
    chunks.clear()
    size = len(indices)
    counts = room.view(np.int32)[:size]
    if columns is not None:
        size = engine_columns.relabel(indices, counts, columns, lengths)
        indices, counts = indices[:size], counts[:size]
    dtype = np.dtype(dtype)
    if dtype in WIDENED:
        data = room.view(dtype)[:size]
        engine_columns.widen(counts, data)
    else:
        data = counts.astype(dtype, copy=False)
    if 2 * size < len(room):  # most was pruned, and is to be freed
        data, indices = data.copy(), indices.copy()
    return data, indices, np.concatenate([[0], np.cumsum(lengths)])


def _joined(chunks: list[Chunk]) -> Chunk:
    """All rows as one chunk; what is joined is freed."""
    size = sum(len(chunk.numbers) for chunk in chunks)
    joined = Chunk(
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
