"""Scores of single features against the labels, from one pass that counts: the cheap rivals of a model's gains."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, xlogy

from fastlin.core.dataset import DatasetView, read_dataset, training_view
from fastlin.select.label_counts import feature_counts, label_counts, presence

Floats = NDArray[np.float64]


def information_gain(X: Any, y: Any = None, *, sample_weight: Any = None, n_jobs: int | None = None) -> Floats:
    """H(Y) − H(Y | the row has the feature or not): what the presence of each feature says about the label, in nats.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features), or Corpus
        Counts, dense or sparse; a feature is there where its value is above zero.
    y : array of shape (n_samples,)
        Labels, at least two kinds; None with a corpus, as are its weights.
    sample_weight : array of shape (n_samples,), optional
        How often each row counts.
    n_jobs : int or None
        Threads; they never change a bit.

    Returns
    -------
    array of shape (n_features,)
        Between 0 and log K; for `SelectKBest`, as it is.

    Examples
    --------
    >>> from fastlin.select import information_gain
    >>> information_gain([[1, 1, 0], [2, 1, 1], [0, 1, 0], [0, 1, 0]], ["a", "a", "b", "b"]).round(3).tolist()
    [0.693, 0.0, 0.216]
    """
    data = read_dataset(X, y, sample_weight, estimator="information_gain", nonnegative=True)
    return gains_of_presence(training_view(data), n_jobs)


def chi2(X: Any, y: Any = None, *, sample_weight: Any = None, n_jobs: int | None = None) -> tuple[Floats, Floats]:
    """χ² = Σ_k (c_kj − e_kj)²/e_kj of each feature's counts under the labels, e_kj = c_j P(k), and its p-value.

    The numbers are those of `sklearn.feature_selection.chi2`; NaN for a feature without counts.

    Parameters
    ----------
    X : matrix of shape (n_samples, n_features), or Corpus
        Counts, dense or sparse.
    y : array of shape (n_samples,)
        Labels, at least two kinds; None with a corpus, as are its weights.
    sample_weight : array of shape (n_samples,), optional
        How often each row counts.
    n_jobs : int or None
        Threads; they never change a bit.

    Returns
    -------
    scores, p_values : arrays of shape (n_features,)
        For `SelectKBest`, as they are; K − 1 degrees of freedom.

    Examples
    --------
    >>> from fastlin.select import chi2
    >>> scores, p_values = chi2([[1, 1, 0], [2, 1, 1], [0, 1, 0], [0, 1, 0]], ["a", "a", "b", "b"])
    >>> scores.tolist(), p_values.round(3).tolist()
    ([3.0, 0.0, 1.0], [0.083, 1.0, 0.317])
    """
    data = read_dataset(X, y, sample_weight, estimator="chi2", nonnegative=True)
    return chi_squared(training_view(data), n_jobs)


def gains_of_presence(data: DatasetView, n_jobs: int | None) -> Floats:
    """The information gain of every column."""
    there, labels = feature_counts(data, presence, n_jobs), label_counts(data)
    n, n_there = labels.sum(), there.sum(axis=1)
    joint = xlogy(there, there).sum(axis=1) - xlogy(n_there, n_there)
    missing = np.maximum(labels - there, 0.0)
    joint += xlogy(missing, missing).sum(axis=1) - xlogy(n - n_there, n - n_there)
    entropy = np.log(n) - xlogy(labels, labels).sum() / n
    return np.maximum(entropy + joint / n, 0.0)


def chi_squared(data: DatasetView, n_jobs: int | None) -> tuple[Floats, Floats]:
    """χ² of every column and its p-value."""
    counts, labels = feature_counts(data, lambda rows: rows.values, n_jobs), label_counts(data)
    expected = np.outer(counts.sum(axis=1), labels / labels.sum())
    with np.errstate(invalid="ignore"):
        counts -= expected
        np.square(counts, out=counts)
        counts /= expected
        scores = counts.sum(axis=1)
    return scores, chdtrc(len(data.classes) - 1, scores)
