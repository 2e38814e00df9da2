"""Naive Bayes for counts: one pass to count, the logarithms when they are first asked for."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.class_counts import ClassCounts, SmoothingPrior, as_measure, leave_one_out_correct
from fastlin.core.dataset_passes import DatasetPartitions
from fastlin.core.estimator import reads
from fastlin.naive_bayes.discrete import DiscreteNB
from fastlin.runtime import parallel
from fastlin.validation import real_number
from fastlin.validation.parameter_kinds import ABSENT, NUMBERS, Kind, ParameterTable, Real


class MultinomialNB(DiscreteNB):
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
    multilabel_ : bool
        Whether y was an indicator: a row may have several labels, and `classes_` are the numbers of its columns.
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

    _parameters: ClassVar[ParameterTable] = DiscreteNB._parameters | {
        "base_measure": NUMBERS | ABSENT,
        "concentration": Kind((Real(at_least=0) | ABSENT).allows, "a number from 0, or None"),
    }

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

        Returns
        -------
        array of shape (n_alphas,)
            Accuracies, in the order of `alphas`.
        """
        if self.concentration is not None:
            raise ValueError("loo_score tries values of alpha, and concentration takes alpha's place; leave it None")
        data = self._working_copy()._read(X, y, sample_weight, reset=True)
        if data.label_sets is not None:
            raise ValueError("loo_score is of rows that have one label each, and y is an indicator")
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

    # Parts

    def _prior(self, n_features: int, n_labels: int) -> SmoothingPrior:
        """What the parameters say, checked; it costs nothing a feature unless a parameter is an array of them."""
        if self.grow_features and self.base_measure is not None:
            raise ValueError("base_measure knows all features, which grow_features does not")
        measure = as_measure(self.base_measure, n_features)
        return SmoothingPrior(self._pseudo(measure, n_features), measure, self._label_prior(n_labels))

    def _pseudo(self, measure: NDArray[np.float64], n_features: int) -> NDArray[np.float64]:
        """What is added to the counts: αVρ_j, or aρ_j − 1."""
        if self.concentration is not None:
            if not (np.ndim(self.alpha) == 0 and self.alpha == 1.0):
                raise ValueError("alpha and concentration exclude each other; leave alpha at its default")
            return real_number("concentration", self.concentration, at_least=0, at_most=1e100) * measure - 1.0
        alpha = self._smoothing(n_features, self.base_measure)
        return alpha if self.base_measure is None else alpha * n_features * measure
