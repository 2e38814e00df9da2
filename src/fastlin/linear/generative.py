"""What classifiers share that count under each label, and turn p(x | k) round by Bayes."""

from abc import ABC
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.engine import rows as row_kernels
from fastlin.linear.base import Readable, SparseClassifier
from fastlin.linear.counts import Counts


class GenerativeClassifier(SparseClassifier, ABC):
    """A classifier by counts: p(k | x) ∝ μ_k p(x | k). What no label can produce gets the class prior."""

    fit_prior: bool
    class_prior: Any
    _counts: Counts

    @property
    def class_count_(self) -> NDArray[np.float64]:
        """Rows of each label, weighted."""
        self._check_fitted()
        return self._counts.labels

    @property
    def class_log_prior_(self) -> NDArray[np.float64]:
        """log μ."""
        self._check_fitted()
        return self._counts.log_prior()

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(x, k) without the multinomial coefficient, columns as `classes_`."""
        return self._scores(self._checked_rows(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(k | x), columns as `classes_`."""
        return self._probabilities(X, logarithmic=True)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(k | x), columns as `classes_`."""
        return self._probabilities(X, logarithmic=False)

    # Parts

    def _codes(self, rows: Readable) -> NDArray[np.int64]:
        codes = np.zeros(len(rows), np.int64)

        def choose(scores: NDArray[np.float64], start: int, stop: int) -> None:
            row_kernels.best(self._possible(scores), codes[start:stop])

        if len(self.classes_) > 1:
            self._forward(rows, self._scorer(), choose)
        return codes

    def _probabilities(self, X: Any, logarithmic: bool) -> NDArray[np.float64]:
        scores = self.predict_joint_log_proba(X)
        row_kernels.normalise(self._possible(scores), logarithmic)
        return scores

    def _possible(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores, with the class prior where no label can produce the row; in place."""
        return self._counts.possible(scores)

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
