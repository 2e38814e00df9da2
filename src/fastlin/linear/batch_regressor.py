"""Regressors that are fitted to an optimum: how they predict, with weights in scikit-learn's shapes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.estimator import reads
from fastlin.core.sparse_estimator import Scorer, SparseRegressor, dense_scorer, sparse_scorer


class BatchRegressor(SparseRegressor):
    """A regressor whose `coef_` and `intercept_`, which users may set, are of one target or of several."""

    coef_: Any
    intercept_: Any
    fit_intercept: bool
    n_jobs: int | None

    @reads
    def predict(self, X: Any) -> NDArray[np.float64]:
        """The targets of each row of X, a matrix or a `Corpus`: a real number, or one for each of several targets.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_targets)
            Predicted targets; two axes if those learnt from had two.
        """
        scores = self._scores(self._checked_rows(X))
        return scores if self._has_columns() else scores[:, 0]

    # Parts

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def _check_fitted(self) -> None:
        super()._check_fitted()
        shape: tuple[int, ...] = getattr(self.coef_, "shape", ())
        intercepts, n_targets = np.shape(self.intercept_), shape[0] if len(shape) == 2 else 1
        one = n_targets == 1 or not self.fit_intercept  # a number will do
        fits = intercepts == (n_targets,) or (one and intercepts == ())
        if len(shape) not in (1, 2) or shape[-1] != self.n_features_in_ or not shape[-1] or not fits:
            raise ValueError(
                f"coef_ of shape {shape}, intercept_ of shape {intercepts} and n_features_in_ = "
                f"{self.n_features_in_!r:.60} do not fit each other"
            )
        validation.as_vector(np.atleast_1d(self.intercept_), "intercept_")
        if sp.issparse(self.coef_):
            validation.as_rows(self.coef_, name="coef_")

    def _has_columns(self) -> bool:
        """Whether there are several targets."""
        return np.ndim(self.coef_) == 2 and self.coef_.shape[0] > 1

    def _row_constraints(self) -> dict[str, Any]:
        return {"dtype": validation.as_real(self.coef_)}  # float32 from a file of quantised weights

    def _scorer(self) -> Scorer:
        rows = self.coef_ if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        intercept = np.ascontiguousarray(np.broadcast_to(np.asarray(self.intercept_, np.float64), rows.shape[0]))
        if sp.issparse(rows):
            return sparse_scorer(rows, intercept)
        weights = np.require(rows.T, validation.as_real(rows), ["C", "A"])
        return dense_scorer(weights, intercept, self.n_jobs)
