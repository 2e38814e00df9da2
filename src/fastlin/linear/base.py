"""What all classifiers share: to scikit-learn they are classifiers of sparse rows."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from fastlin import run, validation
from fastlin.engine import rows as row_kernels
from fastlin.linear.labels import check_kind, places
from fastlin.validation import Rows

Labelled = tuple[Rows, NDArray[np.int32]]


class SparseClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted once it knows its labels."""

    n_features_in_: int
    coef_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _check_width(self, X: Any, rows: Rows, reset: bool) -> None:
        """Set, or compare, the number of features and their names."""
        validate_data(self, X, reset=reset, skip_check_array=True)
        if rows.n_columns != self.n_features_in_:  # X may show scikit-learn another shape than its rows have
            raise ValueError(
                f"X has {rows.n_columns} features, but {type(self).__name__} expects {self.n_features_in_}"
            )

    def _checked_validation(self, X: Any, y: Any, classes: NDArray[Any], learnt: Rows) -> Labelled:
        """Rows and codes of validation data; a label that is not learnt has the code −1."""
        if X is None or y is None:
            raise ValueError("X_val and y_val must be given together")
        rows = validation.as_rows(X, dtype=learnt.values.dtype, name="X_val")
        if rows.n_columns != learnt.n_columns:
            raise ValueError(f"X_val has {rows.n_columns} features, X has {learnt.n_columns}")
        validate_data(self, X, reset=False, skip_check_array=True)
        seen, codes = validation.as_labels(y, len(rows), estimator=type(self).__name__, name="y_val")
        check_kind(classes, seen)
        return rows, places(classes, seen)[codes]

    def _dense_weights(self, n_features: int, width: int, dtype: Any) -> NDArray[Any]:
        """`coef_` as the engine takes it, [V, K], after proving that it and `intercept_`, which users may set, fit."""
        weights = np.require(np.asarray(self.coef_).T, dtype, ["C", "A"])
        intercept = getattr(self, "intercept_", None)
        if weights.shape != (n_features, width) or (intercept is not None and np.shape(intercept) != (width,)):
            shapes = f"coef_ of shape {weights.T.shape}" + ("" if intercept is None else f", {np.shape(intercept)}")
            raise ValueError(f"{shapes} does not fit {width} column(s) of weights and {n_features} features")
        return weights

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit or partial_fit first")

    def _become(self, model: Self) -> Self:
        """Take over all that a copy has learnt, at once: until then, nothing has changed."""
        self.__dict__ = dict(model.__dict__)
        return self


def forward_sparse(
    rows: Rows, coef: Any, intercept: NDArray[np.float64], infer: Callable[[NDArray[np.float64], int, int], None]
) -> None:
    """`run.forward` for weights that are a CSR in scikit-learn's shape."""
    columns = coef.T.tocsr()
    for start, stop in run.blocks(rows, len(intercept)):
        indices, values = run.part(rows, start, stop, np.float64)
        indptr = rows.indptr[start : stop + 1] - rows.indptr[start]
        block = sp.csr_array((values, indices, indptr), shape=(stop - start, rows.n_columns))
        infer((block @ columns).toarray() + intercept, start, stop)


def probabilities(scores: NDArray[np.float64], n_labels: int, logarithmic: bool) -> NDArray[np.float64]:
    """The (log-)probabilities of the labels, from scores [n, columns] that it may overwrite."""
    if n_labels == 1:
        return np.full((len(scores), 1), 0.0 if logarithmic else 1.0)
    if scores.shape[1] > 1:
        row_kernels.normalise(scores, logarithmic)
        return scores
    both = np.empty((len(scores), 2))
    row_kernels.sigmoids(np.ascontiguousarray(scores[:, 0]), both, logarithmic)
    return both
