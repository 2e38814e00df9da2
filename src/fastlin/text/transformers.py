"""What the transformers share: to scikit-learn they are transformers of sparse rows."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fastlin import validation
from fastlin.validation import WIDEST, Rows


class SparseTransformer(TransformerMixin, BaseEstimator):
    """A transformer that takes rows, dense or sparse, and makes a CSR, or an array where `sparse_output` is False."""

    sparse_output: bool
    n_features_in_: int

    def _rows_to_learn(self, X: Any, *, nonnegative: bool = False) -> Rows:
        """X as rows, after setting what scikit-learn wants to know of it."""
        rows = validation.as_rows(X, nonnegative=nonnegative)
        validate_data(self, X, reset=True, skip_check_array=True)
        return rows

    def _rows(self, X: Any, *, nonnegative: bool = False) -> Rows:
        """X as rows, of the width that was learnt."""
        check_is_fitted(self)
        rows = validation.as_rows(X, nonnegative=nonnegative)
        validate_data(self, X, reset=False, skip_check_array=True)
        if rows.n_columns != self.n_features_in_:  # X may show scikit-learn another shape than its rows have
            raise ValueError(
                f"X has {rows.n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return rows

    def _given(self, matrix: Any) -> Any:
        return container(matrix, self.sparse_output)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def assemble(values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[np.int64], width: int) -> sp.csr_array:
    """A CSR of arrays that it keeps; indices are int32 unless there are more columns or values than that counts."""
    kind = np.int32 if max(width, int(indptr[-1])) <= WIDEST else np.int64
    arrays = values, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
    return sp.csr_array(arrays, shape=(len(indptr) - 1, width))


def container(matrix: Any, sparse_output: bool) -> Any:
    """A sparse array as its user wants it: dense, or of the interface that scikit-learn is set to."""
    if not sparse_output:
        return matrix.toarray()
    return matrix if get_config().get("sparse_interface") == "sparray" else sp.csr_matrix(matrix)
