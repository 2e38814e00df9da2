"""What models share that count, and turn p(x | k) round by Bayes: k is a label or, without labels, a component."""

from abc import ABC
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.class_counts import ClassCounts, Estimates
from fastlin.core.dataset import Dataset
from fastlin.core.estimator import reads
from fastlin.core.sparse_estimator import SparseClassifier, SparseEstimator
from fastlin.engine.core import row_scores as row_kernels
from fastlin.validation import CSRRows


class GenerativeModel(SparseEstimator, ABC):
    """A model by counts: p(k | x) ∝ μ_k p(x | k). What no k can produce gets the prior μ."""

    n_jobs: int | None
    _counts: ClassCounts

    @reads
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(k | x), a column for each label or, where there are none, component.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Natural logarithms; a row that no label can produce has those of the prior.
        """
        return self._probabilities(X, logarithmic=True)

    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(k | x), a column for each label or, where there are none, component.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Each row sums to 1, but for a model of several labels a row, whose columns stand by themselves.
        """
        return self._probabilities(X, logarithmic=False)

    def _most_likely(self, rows: Dataset) -> NDArray[np.int64]:
        """The most likely k of each row, the first among equals."""
        best, scorer = np.zeros(len(rows), np.int64), self._scorer()
        if scorer.width > 1 and self._estimates().all_possible and self._score_directly(rows, scorer, labels=best):
            return best

        def choose(scores: NDArray[np.float64], start: int, stop: int) -> None:
            row_kernels.argmax(self._possible(scores), best[start:stop])

        if scorer.width > 1:
            self._forward(rows, scorer, choose)
        return best

    def _probabilities(self, X: Any, logarithmic: bool) -> NDArray[np.float64]:
        scores = self._scores(self._checked_rows(X))
        row_kernels.softmax(self._possible(scores), logarithmic)
        return scores

    def _possible(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores, with the prior where no k can produce the row; in place."""
        return self._estimates().mask_impossible(scores)

    def _estimates(self) -> Estimates:
        """The estimates of the counts; the same for as long as a reader reads."""
        self._check_fitted()
        return self._counts.estimates()

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if self.n_features_in_ != self._width():  # users may set it
            name = type(self).__name__
            raise ValueError(f"n_features_in_ is {self.n_features_in_!r:.60}, but this {name} has {self._width()}")

    def _width(self) -> int:
        """The number of features that were counted."""
        return len(self._counts.features)

    def _lasting(self) -> Self:
        view = super()._lasting()
        if "_counts" in view.__dict__:
            counts = view._counts.snapshot()
            view.__dict__ |= {**counts.columns, "_counts": counts}
        return view


class MultinomialModel(GenerativeModel, ABC):
    """p(x | k) ∝ Π_j φ_kj^{x_j} of counts x."""

    @property
    @reads
    def feature_count_(self) -> NDArray[np.float64]:
        """c, a row for each label or component."""
        self._check_fitted()
        return self._counts.snapshot().features.T

    @property
    @reads
    def feature_log_prob_(self) -> NDArray[np.float64]:
        """log φ, a row for each label or component."""
        return self._estimates().logs.T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.poor_score = True  # on scikit-learn's clouds of points, which are no counts
        return tags

    def _row_constraints(self) -> dict[str, Any]:
        return {"dtype": np.dtype(np.float64), "nonnegative": type(self).__name__}

    def _scores_as_it_lies(self) -> bool:
        return type(self)._iter_segments is MultinomialModel._iter_segments and not self._estimates().impossible

    def _iter_segments(self, rows: Dataset) -> Iterable[tuple[int, CSRRows]]:
        segments = super()._iter_segments(rows)
        if not self._estimates().impossible:
            return segments
        return ((start, part.without_zeros()) for start, part in segments)


class GenerativeClassifier(GenerativeModel, SparseClassifier, ABC):
    """A classifier by counts."""

    fit_prior: bool
    class_prior: Any

    @property
    @reads
    def class_count_(self) -> NDArray[np.float64]:
        """Rows of each label, weighted."""
        self._check_fitted()
        return self._counts.labels

    @property
    @reads
    def class_log_prior_(self) -> NDArray[np.float64]:
        """log μ."""
        self._check_fitted()
        return self._counts.log_prior()

    @reads
    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(x, k) without the multinomial coefficient, columns as `classes_`.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples, n_labels)
            Natural logarithms; −∞ where a label cannot produce the row.
        """
        return self._scores(self._checked_rows(X))

    # Parts

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if len(self.classes_) != self._n_labels():  # users may set them
            raise ValueError(f"classes_ has {len(self.classes_)} labels, but there are counts of {self._n_labels()}")

    def _n_labels(self) -> int:
        """The number of labels under which rows were counted."""
        return len(self._counts.labels)

    def _codes(self, rows: Dataset) -> NDArray[np.int64]:
        return self._most_likely(rows)

    def _label_prior(self, n_labels: int) -> NDArray[np.float64] | None:
        """log μ, or None for that of the counts."""
        if self.class_prior is None:
            return None if self.fit_prior else np.full(n_labels, -np.log(n_labels))
        prior = validation.as_vector(self.class_prior, "class_prior")
        if len(prior) != n_labels:
            raise ValueError(
                f"Number of priors must match number of classes: class_prior has {len(prior)}, y has {n_labels}"
            )
        if (prior < 0).any():
            raise ValueError(f"class_prior must not be negative, got {prior.min():g}")
        if abs(prior.sum() - 1) > 1e-6:
            raise ValueError(f"class_prior must sum to 1, got {prior.sum():g}")
        with np.errstate(divide="ignore"):
            return np.log(prior)
