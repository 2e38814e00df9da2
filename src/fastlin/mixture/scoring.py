"""What a mixture of multinomials says of documents, once it is known."""

from abc import ABC
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import DensityMixin

from fastlin import validation
from fastlin.core.dataset import Dataset
from fastlin.core.estimator import reads
from fastlin.core.generative_model import MultinomialModel
from fastlin.core.sparse_estimator import Scorer, dense_scorer
from fastlin.engine.core import row_scores as row_kernels
from fastlin.validation import whole_number

Floats = NDArray[np.float64]
MOST_DRAWN = 1 << 31  # words


class MixtureDensity(DensityMixin, MultinomialModel, ABC):
    """p(x) = Σ_c π_c Π_j φ_cj^{x_j}, from expected counts and a prior."""

    random_state: Any
    n_features_in_: int

    @property
    @reads
    def weights_(self) -> Floats:
        """π."""
        self._check_fitted()
        return np.exp(self._counts.log_prior())

    @reads
    def predict(self, X: Any) -> NDArray[np.int64]:
        """The most likely component of each row of X, a matrix or a `Corpus`; the first among equals.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.

        Returns
        -------
        array of int64 of shape (n_samples,)
            Numbers of components, from 0 on.
        """
        return self._most_likely(self._checked_rows(X))

    @reads
    def score_samples(self, X: Any) -> Floats:
        """log p(x) of each row, without the multinomial coefficient; −inf where no component can produce it.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.

        Returns
        -------
        array of shape (n_samples,)
            Nats.
        """
        return self._log_likelihoods(self._checked_rows(X))

    @reads
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """The mean of log p(x) over the rows of X, a matrix or a `Corpus`, which has weights itself.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            How many rows each stands for; None with a Corpus.

        Returns
        -------
        float
            Nats a row; the higher, the better.
        """
        likelihood, mass = self._likelihood(self._checked_rows(X), sample_weight)
        return likelihood / mass

    @reads
    def perplexity(self, X: Any, sample_weight: Any = None) -> float:
        """exp(−Σ w log p(x) / Σ w Σ_j x_j): out of how many equally likely words the model had to guess each.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.
        sample_weight : array of shape (n_samples,), optional
            How many rows each stands for; None with a Corpus.

        Returns
        -------
        float
            From 1 on; infinite if no component can produce a row.

        Raises
        ------
        ValueError
            If there are no words.
        """
        rows = self._checked_rows(X)
        likelihood, _ = self._likelihood(rows, sample_weight)
        words = self._words(rows, sample_weight)
        if words == 0:
            raise ValueError("X has no words, of which perplexity is a mean")
        with np.errstate(over="ignore"):
            return float(np.exp(-likelihood / words))

    @reads
    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """−2 Σ w log p(x) + m log Σ w with the m = K − 1 + K(V − 1) free parameters; the lower, the better.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.
        sample_weight : array of shape (n_samples,), optional
            How many rows each stands for; None with a Corpus.

        Returns
        -------
        float
            The criterion, which compares models of the same rows.
        """
        likelihood, mass = self._likelihood(self._checked_rows(X), sample_weight)
        return -2 * likelihood + self._n_parameters() * float(np.log(mass))

    @reads
    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """−2 Σ w log p(x) + 2m with the m = K − 1 + K(V − 1) free parameters; the lower, the better.

        Parameters
        ----------
        X : matrix of shape (n_samples, n_features), or Corpus
            Counts, dense or sparse: not negative.
        sample_weight : array of shape (n_samples,), optional
            How many rows each stands for; None with a Corpus.

        Returns
        -------
        float
            The criterion, which compares models of the same rows.
        """
        likelihood, _ = self._likelihood(self._checked_rows(X), sample_weight)
        return -2 * likelihood + 2 * self._n_parameters()

    @reads
    def sample(
        self, n_samples: int = 1, lengths: Any = None, random_state: Any = None
    ) -> tuple[sp.csr_array, NDArray[np.int64]]:
        """Documents as the model makes them.

        Parameters
        ----------
        n_samples : int
        lengths : int or array of shape (n_samples,), optional
            Words of each document; None: the mean of those learnt from, rounded.
        random_state : int, RandomState, Generator or None
            None: the estimator's own.

        Returns
        -------
        X : CSR of shape (n_samples, n_features)
            Counts.
        components : array of shape (n_samples,)
            Where each comes from.
        """
        self._check_fitted()
        n = whole_number("n_samples", n_samples, 1)
        words = self._lengths(lengths, n)
        generator = validation.as_generator(self.random_state if random_state is None else random_state)
        weights = self.weights_
        components = generator.choice(len(weights), n, p=weights / weights.sum())
        features = np.empty(int(words.sum()), np.int64)
        owners = np.repeat(np.arange(n), words)
        for component, logs in enumerate(self.feature_log_prob_):
            own = np.flatnonzero(components[owners] == component)
            reach = np.cumsum(np.exp(logs))
            features[own] = np.searchsorted(reach, generator.random(len(own)) * reach[-1], side="right")
        X = sp.coo_array((np.ones(len(features)), (owners, features)), shape=(n, self.n_features_in_)).tocsr()
        return X, components

    # Parts

    def _scorer(self) -> Scorer:
        found = self._estimates()
        return dense_scorer(found.logs, found.log_prior, self.n_jobs)

    def _log_likelihoods(self, rows: Dataset) -> Floats:
        """log p(x) of each row."""
        found = np.empty(len(rows))

        def add_up(scores: Floats, start: int, stop: int) -> None:
            best = scores.max(axis=1)
            row_kernels.softmax(self._possible(scores), True)
            found[start:stop] = best - scores.max(axis=1)

        self._forward(rows, self._scorer(), add_up)
        return found

    def _likelihood(self, rows: Dataset, sample_weight: Any) -> tuple[float, float]:
        """Σ w log p(x), and Σ w."""
        logs, weights = self._log_likelihoods(rows), self._weights_of(rows, sample_weight)
        there = weights > 0
        if not there.any():
            raise ValueError("sample_weight is zero for every row of X")
        return float(weights[there] @ logs[there]), float(weights.sum())

    def _weights_of(self, rows: Dataset, sample_weight: Any) -> Floats:
        """w of each row."""
        weights = rows.sample_weights(sample_weight)
        return weights if len(weights) else np.ones(len(rows))

    def _words(self, rows: Dataset, sample_weight: Any) -> float:
        """Σ w Σ_j x_j."""
        weights = self._weights_of(rows, sample_weight)
        of_parts = (
            np.repeat(weights[start : start + len(part)], np.diff(part.indptr)) @ part.values[: part.nnz]
            for start, part in self._iter_segments(rows)
        )
        return float(sum(of_parts))

    def _lengths(self, lengths: Any, n_samples: int) -> NDArray[np.int64]:
        """Words of each document that is to be drawn."""
        if lengths is None:
            rows = self._counts.labels.sum()
            with np.errstate(over="ignore"):
                mean = self._counts.features.sum() / rows if rows > 0 else 0.0
            if not mean * n_samples < MOST_DRAWN:
                raise ValueError(f"documents have {mean:.3g} words on average: give lengths, how many are to be drawn")
            return np.full(n_samples, round(mean))
        array = np.asarray(lengths)
        if array.shape not in ((), (n_samples,)) or array.dtype.kind not in "iu" or (array < 0).any():
            raise ValueError(f"lengths must be whole numbers of 0 or more, one or {n_samples}; got {lengths!r:.60}")
        words = np.broadcast_to(array.astype(np.float64), n_samples).sum()
        if words > MOST_DRAWN:
            raise ValueError(f"lengths asks for {words:.3g} words; at most {MOST_DRAWN} are drawn at once")
        return np.broadcast_to(array.astype(np.int64), n_samples)

    def _n_parameters(self) -> int:
        """Of weights, and of words in each component, that are free."""
        n_components, n_features = len(self._counts.labels), self.n_features_in_
        return n_components - 1 + n_components * (n_features - 1)
