"""The containers that transformers return."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config

from fastlin.engine import columns as engine_columns
from fastlin.text.vocabulary import Chunk
from fastlin.validation import WIDEST

DIRECT = (np.int32, np.int64, np.float32, np.float64)  # the types that the engine writes


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
    """data, indices and indptr of all rows; the chunks are used up, so that memory holds them only once."""
    size = sum(len(chunk.numbers) for chunk in chunks)
    indices = np.empty(size, np.int32)
    data = np.empty(size, dtype if dtype in DIRECT else np.int64)
    lengths, kept = [np.zeros(1, np.int64)], 0
    for chunk in _used_up(chunks):
        stop = kept + len(chunk.numbers)
        if columns is None:
            indices[kept:stop], data[kept:stop] = chunk.numbers, chunk.counts
        else:
            stop = kept + engine_columns.relabel(*chunk[1:], columns, chunk[0], indices[kept:stop], data[kept:stop])
        lengths.append(chunk.lengths)
        kept = stop
    if kept < size:
        indices, data = indices[:kept].copy(), data[:kept].copy()
    return data.astype(dtype, copy=False), indices, np.cumsum(np.concatenate(lengths))


def _used_up(chunks: list[Chunk]) -> Iterable[Chunk]:
    chunks.reverse()
    while chunks:
        yield chunks.pop()
