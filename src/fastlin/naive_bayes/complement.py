"""Complement naive Bayes: a label by what the other labels' documents lack."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import Estimates, Floats, SmoothingPrior, as_measure, log_phi
from fastlin.core.estimator import reads
from fastlin.engine.core import event_models
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.naive_bayes.discrete import DiscreteNB
from fastlin.validation.parameter_kinds import TRUTH, ParameterTable


class ComplementNB(DiscreteNB):
    """Complement naive Bayes (Rennie, Shih, Teevan and Karger 2003).

    The score of label k is Σ_j x_j w_kj with w_kj = −log θ_kj and θ_kj = (α_j + Σ_{l≠k} c_lj)/(Σ_i α_i + Σ_{l≠k} c_li),
    where c_lj counts feature j under label l: the rows of the other labels are more, and more alike in number, than
    those of the label itself. The prior counts with a single label only, as in scikit-learn.

    Where α is 0, a feature that no other label has weighs ∞ for the one that has it: the first such label of a row is
    the answer, and all of them share its probability.

    Parameters
    ----------
    alpha : float or array of shape (n_features,)
        Pseudo-counts; 0 is the maximum-likelihood estimate.
    force_alpha : bool
        False raises alpha to 1e-10 at least, as in scikit-learn.
    fit_prior : bool
        μ by counts, or uniform.
    class_prior : array of shape (n_labels,), optional
        μ itself.
    norm : bool
        Divide the weights of a label by their sum. Where that is infinite, the infinite ones share 1.
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
        Rows of each label, weighted.
    class_log_prior_ : array of shape (n_labels,)
        log μ.
    feature_count_ : array of shape (n_labels, n_features)
        c.
    feature_all_ : array of shape (n_features,)
        Σ_k c.
    feature_log_prob_ : array of shape (n_labels, n_features)
        w.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import ComplementNB
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[2.0, 1, 0], [1, 0, 0], [0, 1, 3]])
    >>> model = ComplementNB().fit(X, ["a", "a", "b"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]]).tolist()
    ['a', 'b']
    """

    _parameters: ClassVar[ParameterTable] = DiscreteNB._parameters | {"norm": TRUTH}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
        n_jobs: int | None = None,
        grow_features: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.n_jobs = n_jobs
        self.grow_features = grow_features

    @property
    @reads
    def feature_all_(self) -> NDArray[np.float64]:
        """Σ_k c of each feature."""
        self._check_fitted()
        counted = self._counts.snapshot().features
        return counted.sum(axis=1) if self._container is None else counted[:, -1].copy()

    def _prior(self, n_features: int, n_labels: int) -> SmoothingPrior:
        measure, labels = as_measure(None, n_features), self._label_prior(n_labels)
        return ComplementPrior(self._smoothing(n_features), measure, labels, bool(self.norm))


@dataclass(frozen=True)
class ComplementPrior(SmoothingPrior):
    """Pseudo-counts of complements."""

    norm: bool = False

    def estimates(self, features: Floats, labels: Floats) -> "ComplementEstimates":
        complement = aligned_zeros(features.shape)
        event_models.complement_counts(features, complement)
        return self._of_complements(complement, labels)

    def side_estimates(self, rest: Floats, own: Floats, labels: Floats) -> "ComplementEstimates":
        """Each side of a label is the other's complement."""
        return self._of_complements(np.hstack([own, rest]), labels)

    def _of_complements(self, complement: Floats, labels: Floats) -> "ComplementEstimates":
        logs, _, infinite = log_phi(complement, self.pseudo, self.measure)
        if self.norm:
            logs = _normalized(logs, infinite)
        else:
            np.negative(logs, out=logs)
        return ComplementEstimates(logs, infinite and not self.norm, labels, self)


@dataclass(frozen=True, eq=False)
class ComplementEstimates(Estimates):
    """Weights that may be ∞, where those of multinomials may be −∞."""

    @property
    def bias(self) -> Floats:
        return self.log_prior if len(self.labels) == 1 else np.zeros(len(self.labels))

    @property
    def undecided(self) -> Floats:
        return np.zeros(len(self.labels))

    def mask_impossible(self, scores: Floats) -> Floats:
        """The scores, with 0 for ∞ and −∞ for the others of such rows; in place."""
        if self.impossible:
            infinite = np.isposinf(scores)
            rows = infinite.any(axis=1)
            scores[rows] = np.where(infinite[rows], 0.0, -np.inf)
        return scores


def _normalized(logs: Floats, some_infinite: bool) -> Floats:
    """log θ over its sum for each label; in the limit of small θ where some are −∞, all alike where all θ are 1."""
    sums = logs.sum(axis=0)
    if not some_infinite and sums.all():
        logs /= sums
        return logs
    infinite = np.isneginf(logs)
    found = np.divide(logs, sums, where=np.isfinite(sums) & (sums != 0), out=np.full(logs.shape, 1.0 / len(logs)))
    places = infinite.any(axis=0)
    found[:, places] = infinite[:, places] / infinite[:, places].sum(axis=0)
    return found
