"""What a model file holds of each selector."""

from typing import Any

import numpy as np

from fastlin.linear.logistic import LogisticRegression
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, attributes

_CUTOFF = attributes("row_counts_", "counts_")
_FEATURES = attributes("order_", "gains_", "support_", "estimator_", "history_", "n_iter_")


def _cutoff_from_state(model: Any, state: State, context: LoadContext) -> None:
    if not state:
        return
    rows, counts = state["row_counts_"], state["counts_"]
    if rows.dtype != np.int64 or counts.dtype != np.float64 or rows.ndim != 1 or rows.shape != counts.shape:
        raise ValueError(
            f"row_counts_ and counts_ must be int64 and float64 of one length, got {rows.shape}, {counts.shape}"
        )
    _CUTOFF.from_state(model, state, context)
    model.n_features_in_ = len(rows)


def _features_from_state(model: Any, state: State, context: LoadContext) -> None:
    if not state:
        return
    support, order = state["support_"], state["order_"]
    if support.dtype != np.bool_ or support.ndim != 1 or not np.array_equal(np.sort(order), np.flatnonzero(support)):
        raise ValueError("order_ must hold the columns that the mask support_ has, each once")
    if order.dtype != np.int64 or order.ndim != 1 or not _is_of_features(state["gains_"], len(order)):
        raise ValueError("gains that are not those of the features")
    if not isinstance(state["estimator_"], LogisticRegression) or state["estimator_"].n_features_in_ != len(order):
        raise ValueError(f"estimator_ must be a LogisticRegression of the {len(order)} columns selected")
    _FEATURES.from_state(model, state, context)
    model.n_features_in_ = len(support)


def _is_of_features(gains: Any, n: int) -> bool:
    return isinstance(gains, np.ndarray) and gains.dtype == np.float64 and gains.shape == (n,)


CODECS = {
    "fastlin.select.CountCutoff": ModelCodec(_CUTOFF.to_state, _cutoff_from_state),
    "fastlin.select.SelectFeatures": ModelCodec(_FEATURES.to_state, _features_from_state),
}
