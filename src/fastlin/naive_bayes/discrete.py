"""What the event models of naive Bayes share: one pass to count, the logarithms when they are first asked for."""

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from fastlin import storage, validation
from fastlin.core.class_counts import ClassCounts, Estimates, SmoothingPrior, as_alpha
from fastlin.core.dataset import Dataset
from fastlin.core.dataset_passes import DatasetPartitions
from fastlin.core.estimator import learns, reads
from fastlin.core.generative_model import GenerativeClassifier, MultinomialModel
from fastlin.core.label_sets import label_positions, union_of_labels
from fastlin.core.multilabel import MultilabelClassifier, independent_probabilities
from fastlin.core.sparse_estimator import Scorer, dense_scorer
from fastlin.linear.growing_features import GrowingClassifier, drop_unknown_columns
from fastlin.naive_bayes.one_vs_rest import OneVsRestEstimates, OneVsRestPrior, odds_scorer
from fastlin.runtime import parallel
from fastlin.validation.parameter_kinds import JOBS, LABEL_PRIOR, NUMBERS, TRUTH, ParameterTable, check_parameters

MIN_ALPHA = 1e-10  # that force_alpha=False leaves


def _has_one_label_a_row(model: "DiscreteNB") -> bool:
    if model._container is not None:
        raise AttributeError("predict_joint_log_proba is of a model of one label a row, and y was an indicator")
    return True


class DiscreteNB(MultinomialModel, MultilabelClassifier, GenerativeClassifier, GrowingClassifier, ABC):
    """A model by counts of features under labels, whose `_prior` makes weights of them.

    Of an indicator of several labels a row it is a binary model of each label against the rest: one pass counts the
    rows of each label, and all rows, and what is left is the rest's.
    """

    _takes_indicators: ClassVar[bool] = True
    alpha: Any
    force_alpha: bool
    _parameters: ClassVar[ParameterTable] = LABEL_PRIOR | {
        "alpha": NUMBERS, "force_alpha": TRUTH, "grow_features": TRUTH, "n_jobs": JOBS,
    }  # fmt: skip

    # Learning

    @learns
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the rows of X under their labels.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Non-negative, but for BernoulliNB; a CSR of float32 or float64 with int32 indices is used where it lies.
        y : array of shape (n_samples,), or indicator of shape (n_samples, n_labels)
            Labels: strings or integers; or, sparse or dense, which labels each row has. None with a Corpus, which
            brings labels and weights.
        sample_weight : array of shape (n_samples,), optional
            None with a Corpus.

        Returns
        -------
        self
            The fitted classifier.
        """
        model = self._working_copy()
        data = model._read(X, y, sample_weight, reset=True)
        classes = data.classes
        counts = model._no_counts(data.shape[1], len(classes))
        with parallel.WorkerPool(self.n_jobs) as workers:
            counts.count_segments(workers.passes(DatasetPartitions(data)), self._threshold(), data.label_sets)
        if data.weighted and not counts.labels.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to count")
        return self._take_fitted(model._install(classes, counts))

    @learns
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows to the counts. `classes` may announce labels, but need not: they may appear in any call.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            As for `fit`, with the columns of the first call.
        y : array of shape (n_samples,), or indicator of shape (n_samples, n_labels)
            Labels; None with a Corpus.
        classes : array, optional
            Labels that later calls will bring, or all.
        sample_weight : array of shape (n_samples,), optional
            How many rows each stands for; None with a Corpus.

        Returns
        -------
        self
            The classifier, with these rows counted, too.
        """
        model, first = self._working_copy(), not hasattr(self, "classes_")
        data = model._read(X, y, sample_weight, reset=first)
        known = data.classes if first else union_of_labels(self.classes_, data.classes)
        if classes is not None:
            known = union_of_labels(known, validation.as_classes(classes))
        sets, n_features = data.label_sets, data.shape[1]
        if sets is not None and len(known) != sets.n_labels:
            raise ValueError(f"classes must be the columns of y, 0 to {sets.n_labels - 1}")
        place = label_positions(known, data.classes) if sets is None else np.arange(len(sets), dtype=np.int32)
        if first:
            counts = model._no_counts(n_features, len(known))
        else:
            n_features = max(n_features, self.n_features_in_)
            prior, before = model._count_prior(n_features, len(known)), label_positions(known, self.classes_)
            if sets is not None:
                before = np.arange(len(known) + 1, dtype=np.int32)
            counts = self._counts.resized(prior, before, model._n_counted(len(known)), n_features)
            model._learn_names(X)
            counts.columns = _columns(model, n_features)
        for _ in data.segments():  # what a corpus holds is refused before the first row is counted
            pass
        try:
            for segment in data.segments():
                counts.add(
                    segment.rows.binarized(self._threshold()),
                    place[segment.codes],
                    segment.weights,
                    self.n_jobs,
                    keep=True,
                    sets=sets,
                )
        finally:  # after Ctrl-C, what the whole blocks said
            self._take_fitted(model._install(known, counts.settle()))
        return self

    # What was learnt

    @property
    @reads
    def feature_count_(self) -> NDArray[np.float64]:
        """c, a row for each label."""
        self._check_fitted()
        return self._counts.snapshot().features.T[: self._n_labels()]

    @property
    @reads
    def class_count_(self) -> NDArray[np.float64]:
        """Rows of each label, weighted."""
        self._check_fitted()
        return self._counts.labels[: self._n_labels()]

    @available_if(_has_one_label_a_row)
    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(x, k) without the multinomial coefficient, columns as `classes_`, if each row has one label."""
        return super().predict_joint_log_proba(X)

    # The state

    @reads
    def get_state(self) -> dict[str, NDArray[Any]]:
        """The whole state as named arrays: counts and labels.

        Returns
        -------
        dict of str to array
            Arrays of numbers and strings, which `numpy.savez` keeps without pickle.
        """
        self._check_fitted()
        counts = self._counts.snapshot()
        arrays: dict[str, NDArray[Any]] = {
            "feature_count": counts.features.T.copy(), "class_count": counts.labels.copy()
        }  # fmt: skip
        return arrays | self._export_container() | storage.export_labels(self.classes_)

    @learns
    def set_state(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Take over a state that `get_state` returned; the prior is this estimator's.

        Parameters
        ----------
        arrays : dict of str to array
            What `get_state` of a model of this class returned.

        Returns
        -------
        self
            The classifier, with these counts.

        Raises
        ------
        ValueError
            If an array is missing, or does not fit the others.
        """
        missing = {"feature_count", "class_count"} - set(arrays)
        if missing:
            raise ValueError(f"the state lacks {', '.join(sorted(missing))}")
        classes = storage.restore_labels(arrays)
        features = validation.as_finite(arrays["feature_count"], "state['feature_count']", ndim=2)
        labels = validation.as_vector(arrays["class_count"], "state['class_count']")
        model = self._working_copy()
        model._restore_container(arrays)
        wanted = model._n_counted(len(classes))
        if len(features) != wanted or len(labels) != wanted or (features < 0).any() or (labels < 0).any():
            raise ValueError(
                f"state['feature_count'] and state['class_count'] must hold counts of {len(classes)} labels"
            )
        counts = model._no_counts(features.shape[1], len(classes))
        counts.features[:], counts.labels[:] = features.T, labels
        return self._take_fitted(model._install(classes, counts))

    # Parts

    @abstractmethod
    def _prior(self, n_features: int, n_labels: int) -> SmoothingPrior:
        """What the parameters say, checked; it costs nothing a feature unless a parameter is an array of them."""

    def _threshold(self) -> float | None:
        """What values must exceed to count as one; None: they count as they are."""
        return None

    def _smoothing(self, n_features: int, base_measure: Any = None) -> NDArray[np.float64]:
        """alpha, of all features or of each, for `_prior`."""
        if self.grow_features and np.ndim(self.alpha):
            raise ValueError("alpha as an array knows all features, which grow_features does not")
        alpha = as_alpha(self.alpha, n_features, base_measure)
        if not self.force_alpha and alpha.min() < MIN_ALPHA:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {MIN_ALPHA:.1e}", stacklevel=5
            )
            alpha = np.maximum(alpha, MIN_ALPHA)
        return alpha

    def _read(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Dataset:
        """What is to be counted."""
        check_parameters(self)
        return self._read_labelled(X, y, sample_weight, reset, **self._row_constraints())

    def _n_counted(self, n_labels: int) -> int:
        """The columns of counts: one for each label and, where a row may have several, one for all rows."""
        return n_labels if self._container is None else n_labels + 1

    def _n_labels(self) -> int:
        return len(self._counts.labels) - (self._container is not None)

    def _count_prior(self, n_features: int, n_labels: int) -> SmoothingPrior:
        """The prior of all labels, or of each against the rest."""
        if self._container is None:
            return self._prior(n_features, n_labels)
        return OneVsRestPrior.of(self._prior(n_features, 2))

    def _no_counts(self, n_features: int, n_labels: int) -> ClassCounts:
        """Counts of nothing yet."""
        return ClassCounts.zeros(n_features, self._n_counted(n_labels), self._count_prior(n_features, n_labels))

    def _probabilities(self, X: Any, logarithmic: bool) -> NDArray[np.float64]:
        if self._container is None:
            return super()._probabilities(X, logarithmic)
        return independent_probabilities(self._scores(self._checked_rows(X)), logarithmic)

    def _scorer(self) -> Scorer:
        found = self._estimates()
        if isinstance(found, OneVsRestEstimates) and found.impossible:
            scorer = odds_scorer(found, self._scorer_of(found.sides))
        else:
            scorer = self._scorer_of(found)
        return drop_unknown_columns(scorer, len(found.logs))

    def _scorer_of(self, found: Estimates) -> Scorer:
        """What scores rows by estimates."""
        return dense_scorer(found.weights, found.bias, self.n_jobs)

    def _install(self, classes: NDArray[Any], counts: ClassCounts) -> Self:
        self.classes_, self._counts = classes, counts
        self.n_features_in_ = len(counts.features)
        return self


def _columns(model: DiscreteNB, n_features: int) -> dict[str, Any]:
    """How many features there are, and their names."""
    names = getattr(model, "feature_names_in_", None)
    return {"n_features_in_": n_features} | ({} if names is None else {"feature_names_in_": names})
