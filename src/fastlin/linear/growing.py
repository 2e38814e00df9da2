"""Streams whose matrices widen: a vocabulary that grows has new features after the known ones."""

from abc import ABC
from typing import Any

import numpy as np
from sklearn.utils.validation import _get_feature_names

from fastlin.linear.base import Infer, Readable, Scorer, SparseClassifier, dense_scorer
from fastlin.optim.state import OnlineState
from fastlin.validation import Rows


class GrowingClassifier(SparseClassifier, ABC):
    """A classifier that may learn features as they come."""

    grow_features: bool

    def _check_width(self, X: Any, rows: Readable, reset: bool) -> None:
        """With `grow_features` a matrix may have more features than are known, or fewer: the first are the same."""
        if reset or not self.grow_features:
            super()._check_width(X, rows, reset)
            return
        known, names = getattr(self, "feature_names_in_", None), _get_feature_names(X)
        if known is None or names is None:
            return
        for place, (one, other) in enumerate(zip(known, names, strict=False)):
            if one != other:
                raise ValueError(
                    f"new features follow those that are known: feature {place} of X is {other!r}, but was {one!r}"
                )

    def _learn_names(self, X: Any) -> None:
        """Names of features beyond those known."""
        known, names = getattr(self, "feature_names_in_", None), _get_feature_names(X)
        if known is not None and names is not None and len(names) > len(known):
            self.feature_names_in_ = names


def known_only(scorer: Scorer, n_features: int) -> Scorer:
    """Of wider rows, the features that are known."""

    def forward(rows: Rows, infer: Infer) -> None:
        scorer.forward(rows.first(n_features) if rows.n_columns > n_features else rows, infer)

    return Scorer(scorer.width, forward)


def grown_scorer(state: OnlineState, n_jobs: int | None) -> Scorer:
    """For weights whose columns may be more than the labels, and in another order."""
    scorer, order = dense_scorer(state.columns(), state.lanes(), n_jobs), state.order
    if len(order) < scorer.width or len(state.rank()):
        every = scorer

        def forward(rows: Rows, infer: Infer) -> None:
            every.forward(rows, lambda scores, start, stop: infer(np.ascontiguousarray(scores[:, order]), start, stop))

        scorer = Scorer(len(order), forward)
    return known_only(scorer, len(state.weights))
