"""What naive Bayes and the online learners share: to scikit-learn they are classifiers of sparse rows."""

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError


class SparseClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted once it knows its labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit or partial_fit first")

    def _become(self, model: Self) -> Self:
        """Take over all that a copy has learnt, at once: until then, nothing has changed."""
        self.__dict__ = dict(model.__dict__)
        return self
