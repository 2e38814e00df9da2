"""Count cut-offs: features seen too seldom are noise, and most of the columns."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from fastlin.core.dataset import read_rows
from fastlin.core.estimator import learns
from fastlin.select.selector import Selector, check_columns_of
from fastlin.validation.parameter_kinds import Integer, ParameterTable, Real, check_parameters


class CountCutoff(Selector):
    """Keeps the features that at least `min_rows` rows have and whose values add up to at least `min_count`.

    Parameters
    ----------
    min_rows : int
        How many rows must have the feature (a value other than zero).
    min_count : float
        How much the values of the feature must add up to.

    Attributes
    ----------
    row_counts_ : array of shape (n_features_in_,)
        How many rows have each feature.
    counts_ : array of shape (n_features_in_,)
        The sums of the columns.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin.select import CountCutoff
    >>> cutoff = CountCutoff(min_rows=2).fit([[1, 0, 3], [2, 0, 0], [1, 1, 0]])
    >>> cutoff.row_counts_.tolist(), cutoff.counts_.tolist(), cutoff.get_support().tolist()
    ([3, 1, 1], [4.0, 1.0, 3.0], [True, False, False])
    """

    _parameters: ClassVar[ParameterTable] = {"min_rows": Integer(at_least=0), "min_count": Real(at_least=0)}

    def __init__(self, min_rows: int = 1, min_count: float = 0) -> None:
        self.min_rows = min_rows
        self.min_count = min_count

    row_counts_: NDArray[np.int64]
    counts_: NDArray[np.float64]

    @learns
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn passes labels to every step
        """Count.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.
        y : ignored

        Returns
        -------
        self
            The selector, with its counts in `counts_`.
        """
        model = self._working_copy()
        check_parameters(model)
        data = read_rows(X, {"nonnegative": True})
        counts, row_counts = np.zeros(data.n_features), np.zeros(data.n_features, np.int64)
        for _, rows in data.numbered_rows():
            indices, values = rows.indices[: rows.nnz], rows.values[: rows.nnz]
            counts += np.bincount(indices, weights=values, minlength=len(counts))
            row_counts += np.bincount(indices[values != 0], minlength=len(counts))
        validate_data(model, X, reset=True, skip_check_array=True)
        model.counts_, model.row_counts_ = counts, row_counts
        return self._take_fitted(model)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        check_columns_of(self, "row_counts_", "iu")
        check_columns_of(self, "counts_", "f")
        return (self.row_counts_ >= self.min_rows) & (self.counts_ >= self.min_count)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
