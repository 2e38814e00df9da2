"""Bernoulli naive Bayes: the features that a document has, and those that it lacks."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import Estimates, Floats, SmoothingPrior, as_measure
from fastlin.core.dataset import Dataset
from fastlin.core.sparse_estimator import Infer, Scorer, dense_scorer
from fastlin.engine.core import event_models
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.naive_bayes.discrete import DiscreteNB
from fastlin.runtime import parallel
from fastlin.validation import CSRRows
from fastlin.validation.parameter_kinds import ABSENT, ParameterTable, Real


class BernoulliNB(DiscreteNB):
    """Bernoulli naive Bayes: the multi-variate event model of McCallum and Nigam (1998).

    p(k | x) ∝ μ_k Π_j p_kj^{b_j} (1 − p_kj)^{1−b_j} with p_kj = (c_kj + α_j)/(N_k + 2α_j), where b says which features
    occur, c_kj counts the rows of label k in which feature j does, and N_k all of them. A row costs its non-zeros:
    what an empty one scores is summed once.

    A row that no label can produce gets the class prior; without rows and pseudo-counts, p is ½.

    Parameters
    ----------
    alpha : float or array of shape (n_features,)
        Pseudo-counts, of the rows with a feature and of those without; 0 is the maximum-likelihood estimate.
    force_alpha : bool
        False raises alpha to 1e-10 at least, as in scikit-learn.
    binarize : float or None
        A feature occurs where it exceeds this, 0 or more. None takes values from 0 to 1 as they are: shares of an
        occurrence.
    fit_prior : bool
        μ by counts, or uniform.
    class_prior : array of shape (n_labels,), optional
        μ itself.
    n_jobs : int or None
        Threads; they never change a bit of the model.
    grow_features : bool
        Later matrices may have more features than those before, or fewer: `partial_fit` counts new ones, predictions
        leave them out. alpha cannot be an array.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    multilabel_ : bool
        Whether y was an indicator: a row may have several labels, and `classes_` are the numbers of its columns.
    class_count_ : array of shape (n_labels,)
        N: rows of each label, weighted.
    class_log_prior_ : array of shape (n_labels,)
        log μ.
    feature_count_ : array of shape (n_labels, n_features)
        c.
    feature_log_prob_ : array of shape (n_labels, n_features)
        log p.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import BernoulliNB
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[2.0, 1, 0], [1, 0, 0], [0, 1, 3]])
    >>> model = BernoulliNB().fit(X, ["a", "a", "b"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]]).tolist()
    ['a', 'b']
    """

    _parameters: ClassVar[ParameterTable] = DiscreteNB._parameters | {"binarize": Real(at_least=0) | ABSENT}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        n_jobs: int | None = None,
        grow_features: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.grow_features = grow_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.binarize is None
        return tags

    def _row_constraints(self) -> dict[str, Any]:
        counted = {"nonnegative": type(self).__name__, "highest": 1.0} if self.binarize is None else {}
        return {"dtype": np.dtype(np.float64), **counted}

    def _threshold(self) -> float | None:
        return self.binarize

    def _prior(self, n_features: int, n_labels: int) -> SmoothingPrior:
        measure, labels = as_measure(None, n_features), self._label_prior(n_labels)
        return BernoulliPrior(self._smoothing(n_features), measure, labels)

    def _iter_segments(self, rows: Dataset) -> Any:
        drop = self._estimates().impossible
        for start, part in rows.numbered_rows():
            found = part.binarized(self._threshold())
            yield start, found.without_zeros() if drop else found

    def _scorer_of(self, found: Estimates) -> Scorer:
        if not isinstance(found, BernoulliEstimates) or found.required is None:
            return super()._scorer_of(found)
        return _strict_scorer(found, self.n_jobs)


@dataclass(frozen=True)
class BernoulliPrior(SmoothingPrior):
    """Pseudo-counts of rows with a feature, and of rows without."""

    def estimates(self, features: Floats, labels: Floats) -> "BernoulliEstimates":
        (V, K), pseudo = features.shape, np.broadcast_to(self.pseudo, len(features)).copy()
        logs, weights, absent, impossible = aligned_zeros((V, K)), aligned_zeros((V, K)), np.zeros(K), False
        size = max(1, parallel.BLOCK_WORK // K)
        for start in range(0, V, size):
            block, empty = slice(start, start + size), np.zeros(K)
            found = event_models.occurrence_logs(
                features[block], labels, pseudo[block], logs[block], weights[block], empty
            )
            absent, impossible = absent + empty, impossible or found
        required = np.isposinf(weights) if impossible else None
        if required is not None:
            weights[required] = 0.0
            required = required if required.any() else None
        return BernoulliEstimates(logs, impossible, labels, self, weights, absent, required)


@dataclass(frozen=True, eq=False)
class BernoulliEstimates(Estimates):
    """log p, and how a row without features becomes one that has some."""

    odds: Floats  # log p − log(1 − p); 0 where p is 1
    absent: Floats  # Σ_j log(1 − p_kj), but for p = 1
    required: NDArray[np.bool_] | None  # where p is 1: a row without is impossible; None: nowhere

    @property
    def weights(self) -> Floats:
        return self.odds

    @property
    def bias(self) -> Floats:
        return self.log_prior + self.absent


def _strict_scorer(found: BernoulliEstimates, n_jobs: int | None) -> Scorer:
    """Scores of −∞ where a feature is missing that all rows of the label have."""
    assert found.required is not None
    K, needed = len(found.labels), found.required.astype(np.float64)
    both = dense_scorer(np.hstack([found.weights, -needed]), np.append(found.bias, needed.sum(axis=0)), n_jobs)

    def forward(rows: CSRRows, infer: Infer) -> None:
        def refuse(scores: Floats, start: int, stop: int) -> None:
            infer(np.where(scores[:, K:] > 0, -np.inf, scores[:, :K]), start, stop)

        both.forward(rows, refuse)

    return Scorer(K, forward)
