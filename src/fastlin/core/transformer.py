"""What the transformers share: to scikit-learn they are transformers of sparse rows."""

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fastlin import validation
from fastlin.core.estimator import Estimator, learns, reads
from fastlin.core.sparse_output import FRAMES, frame_of
from fastlin.validation import MAX_COLUMNS, CSRRows


class Transformer(TransformerMixin, Estimator):
    """A transformer whose rows, and the names of whose columns, are those of one moment."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "transform" in vars(cls):  # scikit-learn has wrapped it, to name the columns of data frames
            cls.transform = reads(cls.transform)

    @learns
    def fit_transform(self, /, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to X, and transform it; nobody else learns in between.

        Parameters
        ----------
        X : as in `fit`
        y : as in `fit`
        **fit_params
            Further arguments of `fit`.

        Returns
        -------
        what `transform` does
        """
        return super().fit_transform(X, y, **fit_params)


class SparseTransformer(Transformer):
    """A transformer that takes rows, dense or sparse, and makes a CSR, or an array where `sparse_output` is False."""

    sparse_output: bool
    n_features_in_: int

    def _rows_to_learn(self, X: Any, *, nonnegative: bool = False) -> CSRRows:
        """X as rows, after setting what scikit-learn wants to know of it."""
        rows = validation.as_rows(X, nonnegative=nonnegative)
        validate_data(self, X, reset=True, skip_check_array=True)
        return rows

    def _rows(self, X: Any, *, nonnegative: bool = False) -> CSRRows:
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

    def _given(self, matrix: Any, X: Any) -> Any:
        """The matrix made of X as its user wants it."""
        if self.sparse_output and (kind := output_of(self)) in FRAMES:
            return frame_of(matrix, X, self.get_feature_names_out(), kind)
        return container(matrix, self.sparse_output)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def output_of(estimator: Any) -> str:
    """The container that scikit-learn's `set_output`, or its configuration, asks for."""
    chosen: str | None = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    return str(get_config()["transform_output"]) if chosen is None else chosen


def check_columns(estimator: Any, n_columns: int) -> None:
    """Refuse a `n_features_in_` or `feature_names_in_` that was set and does not fit the columns that were learnt."""
    found, name = estimator.n_features_in_, type(estimator).__name__
    if not isinstance(found, Integral) or found != n_columns:
        raise ValueError(f"n_features_in_ is {found!r}, but {name} was fitted with {n_columns} columns")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and np.shape(names) != (n_columns,):
        raise ValueError(
            f"feature_names_in_ has shape {np.shape(names)}, but {name} was fitted with {n_columns} columns"
        )


def names_of_columns(estimator: Any, input_features: Any, n_columns: int) -> NDArray[Any]:
    """The names of the columns that were learnt, or those given for them, or x0, x1, …"""
    check_columns(estimator, n_columns)
    names: NDArray[Any] = OneToOneFeatureMixin.get_feature_names_out(estimator, input_features)
    return names


def proved(X: Any) -> Any:
    """X itself, which is well formed if it is sparse: scipy converts and indexes without looking."""
    if sp.issparse(X):
        validation.check_structure(X)
    return X


def assemble(values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[np.int64], width: int) -> sp.csr_array:
    """A CSR of arrays that it keeps; indices are int32 unless there are more columns or values than that counts."""
    kind = np.int32 if max(width, int(indptr[-1])) <= MAX_COLUMNS else np.int64
    arrays = values, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
    return sp.csr_array(arrays, shape=(len(indptr) - 1, width))


def container(matrix: Any, sparse_output: bool) -> Any:
    """A sparse array as its user wants it: dense, or of the interface that scikit-learn is set to."""
    if not sparse_output:
        return matrix.toarray()
    return matrix if get_config().get("sparse_interface") == "sparray" else sp.csr_matrix(matrix)
