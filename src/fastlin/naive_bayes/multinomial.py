"""Naive Bayes for counts: one pass to count, the logarithms when they are first asked for."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import storage, validation
from fastlin.core.class_counts import ClassCounts, SmoothingPrior, as_alpha, as_measure, leave_one_out_correct
from fastlin.core.dataset import Dataset
from fastlin.core.dataset_passes import DatasetPartitions
from fastlin.core.estimator import learns, reads
from fastlin.core.generative_model import GenerativeClassifier, MultinomialModel
from fastlin.core.label_sets import label_positions, union_of_labels
from fastlin.core.sparse_estimator import Scorer, dense_scorer
from fastlin.linear.growing_features import GrowingClassifier, drop_unknown_columns
from fastlin.runtime import parallel
from fastlin.validation import real_number
from fastlin.validation.parameter_kinds import (
    ABSENT,
    JOBS,
    LABEL_PRIOR,
    NUMBERS,
    TRUTH,
    Kind,
    ParameterTable,
    Real,
    check_parameters,
)


class MultinomialNB(MultinomialModel, GenerativeClassifier, GrowingClassifier):
    """Multinomial naive Bayes.

    p(k | x) ∝ μ_k Π_j φ_kj^{x_j} with φ_kj = (αVρ_j + c_kj)/(αV + Σ_j c_kj), where c_kj counts feature j under label k
    and ρ is the base measure: the most likely parameters, smoothed. A document that no label can produce gets the
    class prior; a label without counts gets ρ; an explicit zero is no occurrence.

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
        Instead of alpha: the MAP estimate under Dirichlet(aρ), φ ∝ max(0, c_kj + aρ_j − 1). aρ_j < 1 is the sparse
        prior, aρ_j = 1 the uninformative one.
    n_jobs : int or None
        Threads; they never change a bit of the model.
    grow_features : bool
        Later matrices may have more features than those before, or fewer: `partial_fit` counts new ones, predictions
        leave them out. V is then the number of features so far; alpha and base_measure cannot be arrays.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    class_count_ : array of shape (n_labels,)
        Rows of each label, weighted.
    class_log_prior_ : array of shape (n_labels,)
        log μ.
    feature_count_ : array of shape (n_labels, n_features)
        c.
    feature_log_prob_ : array of shape (n_labels, n_features)
        log φ.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import MultinomialNB
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[2.0, 1, 0], [1, 0, 0], [0, 1, 3]])
    >>> model = MultinomialNB().fit(X, ["a", "a", "b"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]]).tolist()
    ['a', 'b']
    """

    _parameters: ClassVar[ParameterTable] = LABEL_PRIOR | {
        "alpha": NUMBERS, "force_alpha": TRUTH, "base_measure": NUMBERS | ABSENT,
        "concentration": Kind((Real(at_least=0) | ABSENT).allows, "a number from 0, or None"),
        "grow_features": TRUTH, "n_jobs": JOBS,
    }  # fmt: skip

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
        grow_features: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.base_measure = base_measure
        self.concentration = concentration
        self.n_jobs = n_jobs
        self.grow_features = grow_features

    # Learning

    @learns
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the rows of X under their labels.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Non-negative; a CSR of float32 or float64 with int32 indices is used where it lies.
        y : array of shape (n_samples,)
            Labels: strings or integers. None with a Corpus, which brings labels and weights.
        sample_weight : array of shape (n_samples,), optional
            None with a Corpus.
        """
        model = self._working_copy()
        data = model._read(X, y, sample_weight, reset=True)
        classes = data.classes
        counts = ClassCounts.zeros(data.shape[1], len(classes), self._prior(data.shape[1], len(classes)))
        with parallel.WorkerPool(self.n_jobs) as workers:
            counts.count_segments(workers.passes(DatasetPartitions(data)))
        if data.weighted and not counts.labels.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to count")
        return self._take_fitted(model._install(classes, counts))

    @learns
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows to the counts. `classes` may announce labels, but need not: they may appear in any call."""
        model, first = self._working_copy(), not hasattr(self, "classes_")
        data = model._read(X, y, sample_weight, reset=first)
        known = data.classes if first else union_of_labels(self.classes_, data.classes)
        if classes is not None:
            known = union_of_labels(known, validation.as_classes(classes))
        place, n_features = label_positions(known, data.classes), data.shape[1]
        if first:
            counts = ClassCounts.zeros(n_features, len(known), self._prior(n_features, len(known)))
        else:
            n_features = max(n_features, self.n_features_in_)
            prior = self._prior(n_features, len(known))
            counts = self._counts.resized(prior, label_positions(known, self.classes_), len(known), n_features)
            model._learn_names(X)
            counts.columns = _columns(model, n_features)
        for _ in data.segments():  # what a corpus holds is refused before the first row is counted
            pass
        try:
            for segment in data.segments():
                counts.add(segment.rows, place[segment.codes], segment.weights, self.n_jobs, keep=True)
        finally:  # after Ctrl-C, what the whole blocks said
            self._take_fitted(model._install(known, counts.settle()))
        return self

    @reads
    def loo_score(self, X: Any, y: Any = None, alphas: Any = 1.0, sample_weight: Any = None) -> NDArray[np.float64]:
        """Leave-one-out accuracy for each of many `alphas`: counted once, each row's own counts taken back.

        Equal to fitting n times without one row each, with this estimator's other parameters.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
        y : array of shape (n_samples,)
            None with a Corpus.
        alphas : array of numbers
            The values to try; without any, 1.0.
        sample_weight : array of shape (n_samples,), optional
            Weighs a row in the counts and in the accuracy. None with a Corpus.
        """
        if self.concentration is not None:
            raise ValueError("loo_score tries values of alpha, and concentration takes alpha's place; leave it None")
        data = self._working_copy()._read(X, y, sample_weight, reset=True)
        tried = [
            real_number("alphas", float(alpha), at_least=0, at_most=1e100)
            for alpha in validation.as_vector(np.atleast_1d(alphas), "alphas")
        ]
        n_features, n_labels = data.shape[1], len(data.classes)
        counts = ClassCounts.zeros(n_features, n_labels, self._prior(n_features, n_labels))
        with parallel.WorkerPool(self.n_jobs) as workers:
            counts.count_segments(workers.passes(DatasetPartitions(data)))
        right, total = np.zeros(len(tried)), 0.0
        for segment in data.segments():
            rows = segment.rows.without_zeros()
            weights = segment.weights if data.weighted else np.ones(len(rows))
            total += float(weights.sum())
            for place, alpha in enumerate(tried):
                right[place] += weights @ leave_one_out_correct(
                    rows, segment.codes, weights, counts, alpha, self.n_jobs
                )
        return right / total

    # The state

    @reads
    def get_state(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays: counts and labels."""
        self._check_fitted()
        counts = self._counts.snapshot()
        arrays = {"feature_count": counts.features.T.copy(), "class_count": counts.labels.copy()}
        return arrays | storage.export_labels(self.classes_)

    @learns
    def set_state(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Take over a state that `get_state` returned; the prior is this estimator's."""
        missing = {"feature_count", "class_count"} - set(arrays)
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        classes = storage.restore_labels(arrays)
        features = validation.as_finite(arrays["feature_count"], "state['feature_count']", ndim=2)
        labels = validation.as_vector(arrays["class_count"], "state['class_count']")
        if len(features) != len(classes) or len(labels) != len(classes) or (features < 0).any() or (labels < 0).any():
            raise ValueError(
                f"state['feature_count'] and state['class_count'] must hold counts of {len(classes)} labels"
            )
        counts = ClassCounts.zeros(features.shape[1], len(classes), self._prior(features.shape[1], len(classes)))
        counts.features[:], counts.labels[:] = features.T, labels
        return self._take_fitted(self._working_copy()._install(classes, counts))

    # Parts

    def _read(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Dataset:
        """What is to be counted."""
        check_parameters(self)
        return self._read_labelled(X, y, sample_weight, reset, **self._row_constraints())

    def _scorer(self) -> Scorer:
        found = self._estimates()
        return drop_unknown_columns(dense_scorer(found.logs, found.log_prior, self.n_jobs), len(found.logs))

    def _install(self, classes: NDArray[Any], counts: ClassCounts) -> Self:
        self.classes_, self._counts = classes, counts
        self.n_features_in_ = len(counts.features)
        return self

    def _prior(self, n_features: int, n_labels: int) -> SmoothingPrior:
        """What the parameters say, checked; it costs nothing a feature unless a parameter is an array of them."""
        if self.grow_features and (np.ndim(self.alpha) or self.base_measure is not None):
            raise ValueError("alpha and base_measure as arrays know all features, which grow_features does not")
        measure = as_measure(self.base_measure, n_features)
        return SmoothingPrior(self._pseudo(measure, n_features), measure, self._label_prior(n_labels))

    def _pseudo(self, measure: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        """What is added to the counts: αVρ_j, or aρ_j − 1."""
        if self.concentration is not None:
            if not (np.ndim(self.alpha) == 0 and self.alpha == 1.0):
                raise ValueError("alpha and concentration exclude each other; leave alpha at its default")
            return real_number("concentration", self.concentration, at_least=0, at_most=1e100) * measure - 1.0
        alpha = as_alpha(self.alpha, n_features, self.base_measure)
        if not self.force_alpha and alpha.min() < 1e-10:
            warnings.warn("alpha too small will result in numeric errors, setting alpha = 1e-10", stacklevel=4)
            alpha = np.maximum(alpha, 1e-10)
        return alpha if self.base_measure is None else alpha * n_features * measure


def _columns(model: MultinomialNB, n_features: int) -> dict[str, Any]:
    """How many features there are, and their names."""
    names = getattr(model, "feature_names_in_", None)
    return {"n_features_in_": n_features} | ({} if names is None else {"feature_names_in_": names})
