"""Naive Bayes for counts: one pass to count, the logarithms when they are first asked for."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from fastlin import run, validation
from fastlin.engine import passes
from fastlin.engine import rows as row_kernels
from fastlin.linear.labels import union
from fastlin.validation import Rows, real_number


class MultinomialNB(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Multinomial naive Bayes.

    p(k | x) ∝ μ_k Π_j φ_kj^{x_j} with φ_kj = (αVρ_j + c_kj)/(αV + Σ_j c_kj), c the counts of feature j under label k and ρ the
    base measure. A document that no label can produce gets the class prior; a label without counts gets ρ.

    Parameters
    ----------
    alpha : float or array of shape (n_features,)
        Pseudo-counts; 0 is the maximum-likelihood estimate, c_kj/Σ_j c_kj.
    force_alpha : bool
        False raises alpha to 1e-10 at least, as in scikit-learn.
    fit_prior : bool
        μ by counts, or uniform.
    class_prior : array of shape (n_labels,), optional
        μ itself.
    base_measure : array of shape (n_features,), optional
        ρ, normalised to sum 1; uniform when not given.
    concentration : float, optional
        Instead of alpha: the MAP estimate under Dirichlet(aρ), φ ∝ max(0, c_kj + aρ_j − 1). aρ_j < 1 is the sparse prior,
        aρ_j = 1 the uninformative one.
    n_jobs : int or None
        Threads; they never change a bit of the model.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[2.0, 1, 0], [1, 0, 0], [0, 1, 3]])
    >>> model = MultinomialNB().fit(X, ["a", "a", "b"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]]).tolist()
    ['a', 'b']
    """

    classes_: NDArray[Any]
    class_count_: NDArray[np.float64]
    n_features_in_: int
    _counts: NDArray[np.float64]  # [V, K]

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        base_measure: Any = None,
        concentration: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.base_measure = base_measure
        self.concentration = concentration
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the rows of X under their labels."""
        rows, classes, codes, weights = self._checked(X, y, sample_weight)
        self._smoothing(rows.n_columns)
        self._log_prior(np.ones(len(classes)))
        counts, class_count = self._count(rows, codes, weights, len(classes))
        self._install(classes, counts, class_count)
        validate_data(self, X, reset=True, skip_check_array=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows to the counts. `classes` may announce labels, but need not: they may appear in any call."""
        first = not hasattr(self, "classes_")
        rows, seen, codes, weights = self._checked(X, y, sample_weight)
        if not first:
            validate_data(self, X, reset=False, skip_check_array=True)
        known = seen if first else union(self.classes_, seen)
        if classes is not None:
            known = union(known, validation.as_labels(classes, len(classes), estimator=type(self).__name__, name="classes")[0])
        codes = np.searchsorted(known, seen).astype(np.int32)[codes]
        self._smoothing(rows.n_columns)
        self._log_prior(np.ones(len(known)))
        if first:
            counts, class_count = self._count(rows, codes, weights, len(known))
        else:
            counts, class_count = self._counts, self.class_count_
            if len(known) > len(self.classes_):
                places = np.searchsorted(known, self.classes_)
                counts, class_count = np.zeros((rows.n_columns, len(known))), np.zeros(len(known))
                counts[:, places], class_count[places] = self._counts, self.class_count_
            run.count(rows, codes, weights, counts, self.n_jobs)
            class_count = class_count + _class_count(codes, weights, len(known))
        self._install(known, counts, class_count)
        if first:
            validate_data(self, X, reset=True, skip_check_array=True)
        return self

    # What was learnt

    @property
    def feature_count_(self) -> NDArray[np.float64]:
        """c, shape (n_labels, n_features)."""
        self._check_fitted()
        return self._counts.T

    @property
    def class_log_prior_(self) -> NDArray[np.float64]:
        """log μ."""
        self._check_fitted()
        return self._log_prior(self.class_count_)

    @property
    def feature_log_prob_(self) -> NDArray[np.float64]:
        """log φ, shape (n_labels, n_features)."""
        self._check_fitted()
        return self._log_phi()[0].T

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each row; the first of `classes_` among equals."""
        rows = self._checked_rows(X)
        codes = np.zeros(len(rows), np.int64)

        def choose(scores: NDArray[np.float64], start: int, stop: int) -> None:
            row_kernels.best(self._possible(scores), codes[start:stop])

        if len(self.classes_) > 1:
            self._forward(rows, choose)
        return self.classes_[codes]

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(x, k) without the multinomial coefficient, columns as `classes_`."""
        rows = self._checked_rows(X)
        scores = np.empty((len(rows), len(self.classes_)))

        def keep(block: NDArray[np.float64], start: int, stop: int) -> None:
            scores[start:stop] = block

        self._forward(rows, keep)
        return scores

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(k | x), columns as `classes_`."""
        return self._probabilities(X, logarithmic=True)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """p(k | x), columns as `classes_`."""
        return self._probabilities(X, logarithmic=False)

    def loo_score(self, X: Any, y: Any, alphas: Any, sample_weight: Any = None) -> NDArray[np.float64]:
        """Leave-one-out accuracy for each of many `alphas`: counted once, each row's own counts taken back.

        Equal to fitting n times without one row each, with this estimator's other parameters.
        """
        rows, classes, codes, weights = self._checked(X, y, sample_weight)
        counts, class_count = self._count(rows, codes, weights, len(classes))
        own_weight = weights if len(weights) else np.ones(len(rows))
        measure = self._measure(rows.n_columns)
        fixed = self._log_prior(class_count) if not self._prior_by_counts else None
        scores = []
        for alpha in validation.as_vector(np.atleast_1d(alphas), "alphas"):
            prior = real_number("alphas", float(alpha), at_least=0) * rows.n_columns * measure
            logs, totals = _log_phi(counts, prior, measure)
            right = np.zeros(len(rows))

            def judge(block: NDArray[np.float64], start: int, stop: int) -> None:
                mine, part = np.arange(stop - start), slice(start, stop)
                label, weight = codes[part], own_weight[part]
                own = np.empty(stop - start)
                indices, values = run.part(rows, start, stop, np.float64)
                passes.own_scores(
                    rows.indptr, indices, values, start, stop, codes, own_weight, counts, totals, prior, measure, own
                )
                with np.errstate(divide="ignore"):
                    left = np.maximum(0.0, class_count[label] - weight)
                    block += np.log(class_count) if fixed is None else fixed
                    block[mine, label] = own + (np.log(left) if fixed is None else fixed[label])
                hopeless = np.isneginf(block.max(axis=1))
                fallback = np.tile(class_count, (stop - start, 1))
                fallback[mine, label] = left
                block[hopeless] = fallback[hopeless] if fixed is None else fixed
                right[part] = block.argmax(axis=1) == label

            run.forward(rows, logs, np.zeros(len(classes)), judge, self.n_jobs)
            scores.append(np.average(right, weights=own_weight))
        return np.array(scores)

    def get_state(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays: counts and labels."""
        self._check_fitted()
        arrays = {"feature_count": self.feature_count_.copy(), "class_count": self.class_count_.copy()}
        return arrays | validation.export_labels(self.classes_)

    def set_state(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Take over a state that `get_state` returned."""
        missing = {"feature_count", "class_count"} - set(arrays)
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        classes = validation.restore_labels(arrays)
        counts = validation.as_finite(arrays["feature_count"], "state['feature_count']", ndim=2)
        class_count = validation.as_vector(arrays["class_count"], "state['class_count']")
        if len(counts) != len(classes) or len(class_count) != len(classes) or (counts < 0).any() or (class_count < 0).any():
            raise ValueError(f"state['feature_count'] and state['class_count'] must hold counts of {len(classes)} labels")
        self._install(classes, np.array(counts.T, order="C"), class_count.copy())
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    # Parts

    def _checked(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Rows, NDArray[Any], NDArray[np.int32], NDArray[np.float64]]:
        validation.as_jobs(self.n_jobs)
        rows = validation.as_rows(X, dtype=np.dtype(np.float64), nonnegative=True)
        classes, codes = validation.as_labels(y, len(rows), estimator=type(self).__name__)
        weights = validation.as_weights(sample_weight, len(rows))
        return rows, classes, codes, np.empty(0) if weights is None else weights

    def _count(
        self, rows: Rows, codes: NDArray[np.int32], weights: NDArray[np.float64], n_labels: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        counts = np.zeros((rows.n_columns, n_labels))
        run.count(rows, codes, weights, counts, self.n_jobs)
        return counts, _class_count(codes, weights, n_labels)

    def _install(self, classes: NDArray[Any], counts: NDArray[np.float64], class_count: NDArray[np.float64]) -> None:
        self.classes_, self._counts, self.class_count_ = classes, counts, class_count
        self.n_features_in_ = len(counts)
        self.__dict__.pop("_logs", None)

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit or partial_fit first.")

    def _checked_rows(self, X: Any) -> Rows:
        self._check_fitted()
        rows = validation.as_rows(X, dtype=np.dtype(np.float64), nonnegative=True)
        validate_data(self, X, reset=False, skip_check_array=True)
        return rows.without_zeros() if rows.zeros and self._log_phi()[1] else rows

    def _measure(self, n_features: int) -> NDArray[np.float64]:
        """ρ."""
        if self.base_measure is None:
            return np.full(n_features, 1.0 / n_features)
        measure = validation.as_vector(self.base_measure, "base_measure")
        if len(measure) != n_features:
            raise ValueError(f"base_measure has {len(measure)} entries, X has {n_features} features")
        if (measure < 0).any() or not 0 < measure.sum() < np.inf:
            raise ValueError("base_measure must be non-negative with a positive, finite sum")
        return measure / measure.sum()

    def _smoothing(self, n_features: int) -> NDArray[np.float64]:
        """What is added to the counts: αVρ_j, or aρ_j − 1."""
        measure = self._measure(n_features)
        if self.concentration is not None:
            if not (np.ndim(self.alpha) == 0 and self.alpha == 1.0):
                raise ValueError("alpha and concentration exclude each other; leave alpha at its default")
            return real_number("concentration", self.concentration, at_least=0, at_most=1e100) * measure - 1.0
        if np.ndim(self.alpha) == 0:
            alpha = np.full(1, real_number("alpha", self.alpha, at_least=0, at_most=1e100))
        else:
            alpha = validation.as_vector(self.alpha, "alpha")
            if self.base_measure is not None:
                raise ValueError("alpha as an array and base_measure exclude each other; alpha is the prior of each feature")
            if len(alpha) != n_features:
                raise ValueError(f"alpha has {len(alpha)} entries, X has {n_features} features")
            if (alpha < 0).any():
                raise ValueError(f"alpha must not be negative, got {alpha.min():g}")
        if not self.force_alpha and alpha.min() < 1e-10:
            warnings.warn("alpha too small will result in numeric errors, setting alpha = 1e-10", stacklevel=3)
            alpha = np.maximum(alpha, 1e-10)
        if self.base_measure is None:  # αVρ_j without its rounding
            return np.broadcast_to(alpha, n_features).copy()
        return alpha * n_features * measure

    @property
    def _prior_by_counts(self) -> bool:
        return self.class_prior is None and bool(self.fit_prior)

    def _log_prior(self, class_count: NDArray[np.float64]) -> NDArray[np.float64]:
        n_labels = len(class_count)
        if self.class_prior is not None:
            prior = validation.as_vector(self.class_prior, "class_prior")
            if len(prior) != n_labels:
                raise ValueError(f"Number of priors must match number of classes: class_prior has {len(prior)}, y has {n_labels}")
            if (prior < 0).any():
                raise ValueError(f"class_prior must not be negative, got {prior.min():g}")
            if abs(prior.sum() - 1) > 1e-6:
                raise ValueError(f"class_prior must sum to 1, got {prior.sum():g}")
            with np.errstate(divide="ignore"):
                return np.log(prior)
        if not self.fit_prior or not class_count.any():
            return np.full(n_labels, -np.log(n_labels))
        with np.errstate(divide="ignore"):
            return np.log(class_count) - np.log(class_count.sum())

    def _log_phi(self) -> tuple[NDArray[np.float64], bool]:
        """log φ as [V, K], and whether some φ is 0. Made once; two threads that both make it make the same."""
        if not hasattr(self, "_logs"):
            measure = self._measure(self.n_features_in_)
            logs, _ = _log_phi(self._counts, self._smoothing(self.n_features_in_), measure)
            self._logs = logs, bool(np.isneginf(logs).any())
        return self._logs

    def _forward(self, rows: Rows, infer: Any) -> None:
        run.forward(rows, self._log_phi()[0], self.class_log_prior_, infer, self.n_jobs)

    def _possible(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores, with the class prior where no label can produce the row."""
        if self._log_phi()[1] or np.isneginf(self.class_log_prior_).any():
            scores[np.isneginf(scores.max(axis=1))] = self.class_log_prior_
        return scores

    def _probabilities(self, X: Any, logarithmic: bool) -> NDArray[np.float64]:
        scores = self._possible(self.predict_joint_log_proba(X))
        row_kernels.normalise(scores, logarithmic)
        return scores


def _class_count(codes: NDArray[np.int32], weights: NDArray[np.float64], n_labels: int) -> NDArray[np.float64]:
    return np.bincount(codes, weights=weights if len(weights) else None, minlength=n_labels).astype(np.float64)


def _log_phi(
    counts: NDArray[np.float64], prior: NDArray[np.float64], measure: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """log φ as [V, K] for φ ∝ max(0, c + prior), and the totals; a label whose total is 0 gets the base measure."""
    if (prior >= 0).all():
        totals = counts.sum(axis=0) + prior.sum()
    else:
        totals = np.maximum(0.0, counts + prior[:, None]).sum(axis=0)
    empty = totals == 0
    logs = np.empty_like(counts)
    row_kernels.smoothed_logs(counts, prior, np.log(np.where(empty, 1.0, totals)), logs)
    with np.errstate(divide="ignore"):
        logs[:, empty] = np.log(measure)[:, None]
    return logs, totals
