"""What naive Bayes and the online learners share: to scikit-learn they are classifiers of sparse rows."""

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from fastlin.validation import Rows


class SparseClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted once it knows its labels."""

    n_features_in_: int

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

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit or partial_fit first")

    def _become(self, model: Self) -> Self:
        """Take over all that a copy has learnt, at once: until then, nothing has changed."""
        self.__dict__ = dict(model.__dict__)
        return self
