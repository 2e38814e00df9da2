"""What a model file holds of k-means."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from fastlin.core._codec import (
    report_from_state,
    report_to_state,
)
from fastlin.storage.fields import between, proved
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import IN_FLOAT64, Packing, unpack


def _kmeans_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    state = report_to_state(model, packing, "inertia_") | {
        "centres": packing.pack(model.cluster_centers_.T, copies=IN_FLOAT64)
    }
    return state if packing.serving else state | {"labels_": model.labels_}


def _kmeans_from_state(model: Any, state: State, context: LoadContext) -> None:
    report_from_state(model, state, "inertia_")
    centres, labels = unpack(state.pop("centres"), context, copies=IN_FLOAT64), state.pop("labels_", None)
    reject_unknown(state)
    if sp.issparse(centres) or not centres.size or centres.dtype.kind != "f":
        raise ValueError(f"centres must be a dense matrix of floats, got {centres.dtype}, shape {centres.shape}")
    if labels is not None:
        model.labels_ = proved(labels, "labels_", np.int32, (None,), between(0, centres.shape[1] - 1)).copy()
    model.cluster_centers_ = np.ascontiguousarray(centres.T, np.float64)  # in another order sums would round otherwise
    model.n_features_in_ = len(centres)


CODECS = {"fastlin.KMeans": ModelCodec(_kmeans_to_state, _kmeans_from_state)}
