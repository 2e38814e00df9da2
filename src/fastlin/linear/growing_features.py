"""Streams whose matrices widen: a vocabulary that grows has new features after the known ones."""

from abc import ABC
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fastlin.core.dataset import CSRDataset, Dataset
from fastlin.core.sparse_estimator import Floats, Infer, Labels, Scorer, SparseClassifier, SparseEstimator, score_csr
from fastlin.optim.online_state import OnlineState
from fastlin.runtime import parallel
from fastlin.validation import CSRRows


class GrowingEstimator(SparseEstimator, ABC):
    """An estimator that may learn features as they come."""

    grow_features: bool

    def _check_width(self, X: Any, rows: Dataset, reset: bool) -> None:
        """With `grow_features` a matrix may have more features than are known, or fewer: the first are the same."""
        if reset or not self.grow_features:
            super()._check_width(X, rows, reset)
            return
        known, names = getattr(self, "feature_names_in_", None), _names_of_features(X)
        if known is None or names is None:
            return
        for place, (one, other) in enumerate(zip(known, names, strict=False)):
            if one != other:
                raise ValueError(
                    f"new features follow those that are known: feature {place} of X is {other!r}, but was {one!r}"
                )

    def _learn_names(self, X: Any) -> None:
        """Names of features beyond those known."""
        known, names = getattr(self, "feature_names_in_", None), _names_of_features(X)
        if known is not None and names is not None and len(names) > len(known):
            self.feature_names_in_ = names


class GrowingClassifier(GrowingEstimator, SparseClassifier, ABC):
    """A classifier that may learn features as they come."""


def _names_of_features(X: Any) -> Any:
    """The names of X's columns as scikit-learn finds them; None if they have none."""
    reader = BaseEstimator()
    validate_data(reader, X, reset=True, skip_check_array=True)
    return getattr(reader, "feature_names_in_", None)


def n_known_columns(rows: CSRRows, n_features: int) -> CSRRows:
    """Of wider rows, the features that are known."""
    return rows.first(n_features) if rows.n_columns > n_features else rows


def drop_unknown_columns(scorer: Scorer, n_features: int) -> Scorer:
    """Score wider rows by the features that are known."""
    return scorer._replace(forward=lambda rows, infer: scorer.forward(n_known_columns(rows, n_features), infer))


def grown_scorer(state: OnlineState, n_jobs: int | None) -> Scorer:
    """For weights that are learnt meanwhile, each call with those of one moment.

    A learner waits while a few rows are scored; more of them are scored with a view of the weights. Where weights have
    to be settled before, that is done for the features of a few rows alone.
    """

    def forward(rows: CSRRows, infer: Infer) -> None:
        rows, few = n_known_columns(rows, len(state.weights)), rows.nnz <= len(state.weights)
        with state.lock.reading():
            weights, bias = state.settled_or_none(), state.column_intercepts()
            if weights is not None and few:
                parallel.forward(rows, weights, bias, _in_order(state, infer), n_jobs)
                return
            if few and state.should_look_up(rows.nnz):
                rows, weights = _looked_up(rows, state)
            else:
                weights = state.column_weights()
        parallel.forward(rows, weights, bias, _in_order(state, infer), n_jobs)

    def direct(rows: CSRDataset, scores: Floats, labels: Labels) -> bool:
        if not _lie_in_order(state):
            return False
        with state.lock.reading():
            weights, bias = state.settled_or_none(), state.column_intercepts()
            if weights is None:
                return False
            if rows.matrix.data.size <= len(weights):
                return score_csr(rows, weights, bias, n_jobs, scores, labels)
            weights = state.column_weights()
        return score_csr(rows, weights, bias, n_jobs, scores, labels)

    return Scorer(len(state.order), forward, direct)


def lasting_scorer(state: OnlineState, n_jobs: int | None) -> Scorer:
    """For weights of this moment, however often they are asked."""
    with state.lock.reading():
        weights, bias = state.column_weights(), state.column_intercepts()

    def forward(rows: CSRRows, infer: Infer) -> None:
        parallel.forward(n_known_columns(rows, len(weights)), weights, bias, _in_order(state, infer), n_jobs)

    return Scorer(len(state.order), forward)


def _in_order(state: OnlineState, infer: Infer) -> Infer:
    """`infer` for columns that may be more than the labels, and in another order."""
    order = state.order
    if _lie_in_order(state):
        return infer
    return lambda scores, start, stop: infer(np.ascontiguousarray(scores[:, order]), start, stop)


def _lie_in_order(state: OnlineState) -> bool:
    """Whether the columns are the labels' and no others."""
    return len(state.order) == state.weights.shape[1] and (len(state.order) == 1 or not len(state.rank()))


def _looked_up(rows: CSRRows, state: OnlineState) -> tuple[CSRRows, NDArray[Any]]:
    """The rows with the features that they have alone, and the weights of these."""
    features, places = np.unique(rows.indices[: rows.nnz], return_inverse=True)
    weights = state.feature_weights(features.astype(np.int64))
    return replace(rows, indices=places.astype(np.int32), n_columns=len(weights)), weights
