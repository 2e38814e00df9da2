"""What forms of k-means share: distances of rows from centres, and what follows from them."""

from abc import ABC
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from fastlin import validation
from fastlin.cluster.kmeans_data import normalize_rows
from fastlin.cluster.kmeans_steps import squares
from fastlin.cluster.seeding import squared_norms
from fastlin.core.dataset import Dataset
from fastlin.core.estimator import learns, reads
from fastlin.core.sparse_estimator import Scorer, SparseEstimator, dense_scorer
from fastlin.validation import CSRRows


class CentreModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, SparseEstimator, ABC):
    """A model by centres: a row belongs to the nearest."""

    n_jobs: int | None
    labels_: NDArray[np.int32]
    cluster_centers_: Any

    @learns
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:  # noqa: ARG002
        """`fit`, and the clusters of the rows.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            What `fit` takes.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            How many rows each stands for; None with a Corpus.

        Returns
        -------
        array of int32 of shape (n_samples,)
            The number of each row's cluster, as `labels_`.
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    @learns
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.float64]:  # noqa: ARG002
        """`fit`, and the distances of the rows from the centres.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            What `fit` takes.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            How many rows each stands for; None with a Corpus.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            The distances, as `transform` returns them.
        """
        return self.fit(X, sample_weight=sample_weight)._distances(X)

    @reads
    def predict(self, X: Any) -> NDArray[np.int32]:
        """The nearest centre of each row of X, a matrix or a `Corpus`; the first among equals.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of int32 of shape (n_samples,)
            Numbers of clusters, from 0 on.
        """
        rows = self._checked_rows(X)
        labels = np.empty(len(rows), np.int32)

        def use(scores: NDArray[np.float64], start: int, stop: int) -> None:
            labels[start:stop] = scores.argmax(axis=1)

        self._forward(rows, self._scorer(), use)
        return labels

    @reads
    def transform(self, X: Any) -> NDArray[np.float64]:
        """The distances of the rows from the centres, [n, K]: ‖x − c‖, on the sphere 1 − cos.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Dense or sparse.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            Distances, a column for each row of `cluster_centers_`.
        """
        return self._distances(X)

    @reads
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """What `fit` minimises, of these rows and with a minus.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
        y : None
            Left aside.
        sample_weight : array of shape (n_samples,), optional
            w; None with a Corpus.

        Returns
        -------
        float
            −Σ w times a row's distance, squared if it is Euclidean, from its nearest centre: at most 0 for k-means.
        """
        rows = self._checked_rows(X)
        weights = rows.sample_weights(sample_weight)
        costs, width = np.empty(len(rows)), self._width()

        def use(distances: NDArray[np.float64], start: int, stop: int) -> None:
            lowest = distances.min(axis=1)
            costs[start:stop] = lowest
            if width is not None:
                costs[start:stop] -= width * np.log(soft_kernel(distances, lowest, width).mean(axis=1))

        self._measure(rows, use)
        return -float(np.sum(costs * weights if len(weights) else costs))

    # Parts

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def _spherical(self) -> bool:
        """Whether distances are those of directions."""
        return False

    def _width(self) -> float | None:
        """t' of the soft form; None: a row belongs to one centre."""
        return None

    def _iter_segments(self, rows: Dataset) -> Iterable[tuple[int, CSRRows]]:
        segments = super()._iter_segments(rows)
        return ((start, normalize_rows(part)) for start, part in segments) if self._spherical() else segments

    def _check_fitted(self) -> None:
        super()._check_fitted()
        shape = np.shape(self.cluster_centers_)  # users may set it
        if len(shape) != 2 or shape[1] != self.n_features_in_ or not shape[0]:
            raise ValueError(
                f"cluster_centers_ of shape {shape} does not fit n_features_in_ = {self.n_features_in_!r:.60} features"
            )

    def _scorer(self) -> Scorer:
        centres = validation.as_finite(self.cluster_centers_, "cluster_centers_", 2)
        shift = np.zeros(len(centres)) if self._spherical() else 0.5 * squares(centres.T)
        return dense_scorer(np.ascontiguousarray(centres.T), -shift, self.n_jobs)

    def _measure(self, rows: Dataset, use: Callable[[NDArray[np.float64], int, int], None]) -> None:
        """d of all centres goes to `use`, a block of rows at a time."""
        spherical = self._spherical()
        norms = (
            np.ones(0) if spherical else np.concatenate([squared_norms(part) for _, part in self._iter_segments(rows)])
        )

        def infer(scores: NDArray[np.float64], start: int, stop: int) -> None:
            distances = 1 - scores if spherical else norms[start:stop, np.newaxis] - 2 * scores
            use(np.maximum(distances, 0.0), start, stop)

        self._forward(rows, self._scorer(), infer)

    def _distances(self, X: Any) -> NDArray[np.float64]:
        rows = self._checked_rows(X)
        whole = np.empty((len(rows), len(self.cluster_centers_)))
        self._measure(rows, lambda distances, start, stop: np.copyto(whole[start:stop], distances))
        return whole if self._spherical() else np.sqrt(whole, out=whole)


def soft_kernel(distances: NDArray[np.float64], lowest: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """exp(−(d − min d) / t')."""
    with np.errstate(over="ignore", under="ignore"):
        return np.exp((lowest[:, np.newaxis] - distances) / width)
