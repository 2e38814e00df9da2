"""What a model file holds of each selector."""

from typing import Any

import numpy as np

from fastlin.linear.logistic import LogisticRegression
from fastlin.storage.fields import Field, of_fields
from fastlin.storage.model_codec import State


def _prove_cutoff(model: Any, state: State) -> None:
    model.n_features_in_ = len(state["counts_"])


def _prove_features(model: Any, state: State) -> None:
    support, order, learner = state["support_"], state["order_"], state["estimator_"]
    if not np.array_equal(np.sort(order), np.flatnonzero(support)):
        raise ValueError("order_ must hold the columns that the mask support_ has, each once")
    if not isinstance(learner, LogisticRegression) or learner.n_features_in_ != len(order):
        raise ValueError(f"estimator_ must be a LogisticRegression of the {len(order)} columns selected")
    model.n_features_in_ = len(support)


CODECS = {
    "fastlin.select.CountCutoff": of_fields(
        Field("row_counts_", np.int64), Field("counts_", np.float64), prove=_prove_cutoff
    ),
    "fastlin.select.SelectFeatures": of_fields(
        Field("support_", np.bool_, ("columns",)), Field("order_", np.int64), Field("gains_", np.float64),
        more=("estimator_", "history_", "n_iter_"), prove=_prove_features,
    ),
}  # fmt: skip
