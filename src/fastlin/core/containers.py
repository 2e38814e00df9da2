"""The containers that transformers return."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config

from fastlin.validation import MAX_COLUMNS


def as_configured(matrix: Any) -> Any:
    """A CSR as `csr_matrix`, or as `csr_array` where scikit-learn is set to sparse_interface="sparray"."""
    kind = _configured()
    return matrix if type(matrix) is kind else kind(matrix)


def csr(values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> Any:
    """The arrays as a CSR in the configured container. Indices are int32 unless there are too many non-zeros."""
    index = np.int64 if len(values) > MAX_COLUMNS or shape[1] > MAX_COLUMNS else np.int32
    indices, indptr = indices.astype(index, copy=False), indptr.astype(index, copy=False)
    return _configured()((values, indices, indptr), shape=shape)


def _configured() -> Any:
    return sp.csr_array if get_config().get("sparse_interface") == "sparray" else sp.csr_matrix
