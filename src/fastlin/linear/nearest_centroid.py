"""Nearest centroids: Rocchio's classifier of sparse rows."""

import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from fastlin import validation
from fastlin.core.dataset import Dataset, DatasetView, LabelledBlock, training_view
from fastlin.core.estimator import learns, reads
from fastlin.core.label_sets import label_positions, union_of_labels
from fastlin.core.sparse_estimator import Scorer, SparseClassifier, probabilities
from fastlin.linear.centroid_distances import CentroidModel
from fastlin.linear.class_moments import ClassMoments, mean_moments, median_moments
from fastlin.validation.parameter_kinds import ABSENT, JOBS, NUMBERS, OneOf, ParameterTable, Real, check_parameters

METRICS = ("euclidean", "manhattan", "cosine")
PRIORS = ("uniform", "empirical")


class NearestCentroid(SparseClassifier):
    """The label of the nearest centroid; on tf-idf vectors, Rocchio's classifier.

    The centroid of a label is the mean of its rows or, `metric="manhattan"`, the median of each feature. Rows go to the
    centroid at the smallest distance; with priors that differ, to the highest −d² + 2 log π_k, where d is taken of
    features divided by their standard deviation within the labels. That is scikit-learn's, of sparse rows at the cost
    of their non-zeros. `shrink_threshold` moves centroids towards the mean of all rows (Tibshirani and others 2002).

    Parameters
    ----------
    metric : {"euclidean", "manhattan", "cosine"}
        d; "cosine" compares rows with means by their angle, and has no priors.
    shrink_threshold : float, optional
        Standard deviations by which centroids are moved, at most to the mean of all rows.
    priors : {"uniform", "empirical"} or array of shape (n_labels,)
        π; brought to the sum 1.
    n_jobs : int or None
        Threads; they never change a bit.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        The labels, sorted.
    centroids_ : array of shape (n_labels, n_features)
        The centroids, shrunk.
    class_prior_ : array of shape (n_labels,)
        π.
    within_class_std_dev_ : array of shape (n_features,)
        The standard deviation about the centroids, pooled; 0 where there are no more rows than labels.
    deviations_ : array of shape (n_labels, n_features)
        How many standard deviations each centroid, shrunk, is from the mean of all rows.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)
        Where X has names for its columns.

    Examples
    --------
    >>> from fastlin import NearestCentroid
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[2.0, 1, 0], [1, 0, 0], [0, 1, 3]])
    >>> model = NearestCentroid().fit(X, ["a", "a", "b"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]]).tolist()
    ['a', 'a']
    >>> model.partial_fit(csr_array([[0.0, 0, 1]]), ["c"]).predict([[0, 0, 1]]).tolist()
    ['c']
    """

    _parameters: ClassVar[ParameterTable] = {
        "metric": OneOf(*METRICS), "shrink_threshold": Real(above=0) | ABSENT,
        "priors": OneOf(*PRIORS) | NUMBERS, "n_jobs": JOBS,
    }  # fmt: skip
    _fitted: CentroidModel

    def __init__(
        self,
        metric: Literal["euclidean", "manhattan", "cosine"] = "euclidean",
        *,
        shrink_threshold: float | None = None,
        priors: Any = "uniform",
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors
        self.n_jobs = n_jobs

    @learns
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centroids of these rows.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.
        y : array of shape (n_samples,)
            Labels: strings or integers. None with a Corpus, which brings labels and weights.
        sample_weight : array of shape (n_samples,), optional
            How many rows each one stands for; None with a Corpus.

        Returns
        -------
        self
            The fitted classifier.
        """
        model = self._working_copy()
        data = model._read(X, y, sample_weight, reset=True)
        view = training_view(data)
        if not _differ(view):
            raise ValueError("All features have zero variance. Division by zero.")
        K, V = len(view.classes), view.n_features
        if self.metric == "manhattan":
            moments = median_moments(view.blocks, K, V, self.n_jobs)
        else:
            moments = mean_moments(view.blocks(), K, V, self.n_jobs)
        return self._take_fitted(model._install(view.classes, moments))

    @available_if(lambda self: self.metric != "manhattan")
    @learns
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the means; not of `metric="manhattan"`, whose medians do not add up.

        `classes` may announce labels, but need not: they may appear in any call. It costs the size of the centroids.
        """
        model, first = self._working_copy(), not hasattr(self, "classes_")
        data = model._read(X, y, sample_weight, reset=first)
        known = data.classes if first else union_of_labels(self.classes_, data.classes)
        if classes is not None:
            known = union_of_labels(known, validation.as_classes(classes))
        view = DatasetView(data, known).among(known, label_positions(known, data.classes))
        moments = mean_moments(view.blocks(), len(known), view.n_features, self.n_jobs)
        if not first:
            moments = self._fitted.moments.resized(label_positions(known, self.classes_), len(known)).merged(moments)
        return self._take_fitted(model._install(known, moments))

    @available_if(lambda self: self.metric == "euclidean")
    @reads
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """−d² + 2 log π of each label, [n, K]; of two labels, the second's less the first's."""
        rows = self._checked_rows(X)
        scores = self._discriminants(rows)
        if scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        norms = [self._fitted.squared_norms(part) for _, part in rows.numbered_rows()]
        return scores - np.concatenate(norms)[:, np.newaxis]

    @available_if(lambda self: self.metric == "euclidean")
    @reads
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The softmax of the decision function, [n, K]."""
        return probabilities(self._discriminants(self._checked_rows(X)), len(self.classes_), False)

    @available_if(lambda self: self.metric == "euclidean")
    @reads
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of the probabilities, [n, K]."""
        return probabilities(self._discriminants(self._checked_rows(X)), len(self.classes_), True)

    @property
    @reads
    def centroids_(self) -> NDArray[np.float64]:
        """The centroids, shrunk."""
        return self._centroid_model().centroids.T

    @property
    @reads
    def deviations_(self) -> NDArray[np.float64]:
        """How far the centroids are from the mean of all rows."""
        return self._centroid_model().deviations.T

    @property
    @reads
    def within_class_std_dev_(self) -> NDArray[np.float64]:
        """The pooled standard deviation of each feature."""
        return self._centroid_model().deviation

    @property
    @reads
    def class_prior_(self) -> NDArray[np.float64]:
        """π."""
        return self._centroid_model().prior

    # Parts

    def _centroid_model(self) -> CentroidModel:
        self._check_fitted()
        return self._fitted

    def _read(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Dataset:
        check_parameters(self)
        return self._read_labelled(X, y, sample_weight, reset, **self._row_constraints())

    def _install(self, classes: NDArray[Any], moments: ClassMoments) -> Self:
        self._fitted = CentroidModel(moments, self.shrink_threshold, self._prior(moments.rows))
        self.classes_, self.n_features_in_ = classes, len(moments.mean)
        return self

    def _prior(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """π of labels that have so many rows."""
        K = len(rows)
        if isinstance(self.priors, str):
            return rows / rows.sum() if self.priors == "empirical" and rows.any() else np.full(K, 1 / K)
        prior = validation.as_vector(self.priors, "priors")
        if len(prior) != K:
            raise ValueError(f"priors has {len(prior)} entries, there are {K} labels")
        if (prior < 0).any() or not 0 < prior.sum() < np.inf:
            raise ValueError(f"priors must be non-negative with a positive, finite sum, got {prior.min():g} among them")
        if not np.isclose(prior.sum(), 1.0):
            warnings.warn("The priors do not sum to 1. Normalizing such that it sums to one.", stacklevel=4)
            prior = prior / prior.sum()
        return prior

    def _check_fitted(self) -> None:
        super()._check_fitted()
        known, shape = self._fitted.moments.centroids.shape, (self.n_features_in_, len(self.classes_))
        if known != shape:  # users may set them
            raise ValueError(f"n_features_in_ and classes_ are {shape}, but there are centroids of {known}")

    def _scorer(self) -> Scorer:
        return self._fitted.scorer(self.metric, self.n_jobs)

    def _codes(self, rows: Dataset) -> NDArray[np.int64]:
        return super()._codes(rows) if len(self.classes_) > 1 else np.zeros(len(rows), np.int64)

    def _discriminants(self, rows: Dataset) -> NDArray[np.float64]:
        """−d² + 2 log π of each label, but for ‖x/σ‖²."""
        scorer = self._fitted.discriminant_scorer(self.n_jobs)
        whole = np.empty((len(rows), scorer.width))
        self._forward(rows, scorer, lambda scores, start, stop: np.copyto(whole[start:stop], scores))
        return whole


def _differ(view: DatasetView) -> bool:
    """Whether some row is not the first one."""
    first: LabelledBlock | None = None
    for block in view.blocks():
        rows = block.rows.without_zeros()
        first = block._replace(rows=rows.between(0, 1)) if first is None else first
        if not _all_are(rows, first.rows.indices, first.rows.values):
            return True
    return False


def _all_are(rows: Any, indices: NDArray[np.int32], values: NDArray[Any]) -> bool:
    """Whether each of these rows has just these non-zeros."""
    n = len(indices)
    if (np.diff(rows.indptr) != n).any():
        return False
    shape = len(rows), n
    return bool(
        (rows.indices[: rows.nnz].reshape(shape) == indices).all()
        and (rows.values[: rows.nnz].reshape(shape) == values).all()
    )
