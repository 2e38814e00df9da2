"""The base of selectors: scikit-learn's mixin, whose matrices are proved before scipy indexes them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fastlin.core.estimator import Estimator, reads
from fastlin.core.sparse_output import FRAMES, frame_of
from fastlin.core.transformer import Transformer, check_columns, names_of_columns, output_of, proved


class Selector(Transformer, SelectorMixin, Estimator):
    """A selector of columns; a subclass says which ones by `_get_support_mask`."""

    n_features_in_: int

    @reads
    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Say which columns are kept.

        Parameters
        ----------
        indices : bool
            Return the numbers of the columns, rather than a mask.

        Returns
        -------
        array of bool, shape (n_features_in_,), or of int
        """
        support: NDArray[Any] = super().get_support(indices=indices)
        return support

    def transform(self, X: Any) -> Any:
        """Keep the columns that were selected.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features)

        Returns
        -------
        matrix of shape (n_samples, n_selected)
            A CSR where X is sparse, otherwise an array; of the type of X.
        """
        if sp.issparse(proved(X)) and (kind := output_of(self)) in FRAMES:
            X = validate_data(self, X, dtype=None, accept_sparse="csr", reset=False)
            return frame_of(self._transform(X), X, self.get_feature_names_out(), kind)
        return super().transform(X)

    @reads
    def inverse_transform(self, X: Any) -> Any:
        """Put columns of zeros where columns were left out.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_selected)

        Returns
        -------
        matrix of shape (n_samples, n_features)
        """
        return super().inverse_transform(proved(X))

    @reads
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the columns that are kept.

        Parameters
        ----------
        input_features : array of str, optional
            Names for columns that came without.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        support = self.get_support()
        names: NDArray[Any] = names_of_columns(self, input_features, len(support))[support]
        return names


def check_columns_of(selector: Any, name: str, kinds: str) -> None:
    """Refuse an attribute that was set and is not a number for each column, of one of the kinds of numpy."""
    array = np.asarray(getattr(selector, name))
    if array.dtype.kind not in kinds or array.ndim != 1:
        raise ValueError(
            f"{name} must be a vector with one value for each column, got dtype {array.dtype}, shape {array.shape}"
        )
    check_columns(selector, len(array))
