"""What a model file holds of k-means."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from fastlin.cluster.kmeans_steps import squares
from fastlin.cluster.online_centres import OnlineCentres
from fastlin.core._codec import COUNTS, report_from_state, report_to_state
from fastlin.storage.fields import between, proved
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import IN_FLOAT64, Packing, unpack
from fastlin.validation import whole_number


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


def _batches_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    centres = model._centres
    state = report_to_state(model, packing, "inertia_", "n_steps_") | {"counts": centres.counts}
    if packing.serving:
        return state | {"centres": packing.pack(centres.weights(), copies=IN_FLOAT64)}
    if "labels_" in vars(model):
        state["labels_"] = model.labels_
    learning = {name: getattr(centres, name) for name in ("of_sums", "peaks", "batch_size", "unassigned")}
    sums = packing.pack(centres.sums, copies=IN_FLOAT64)
    return state | {"sums": sums, "learning": learning, "random": model._generator}


def _batches_from_state(model: Any, state: State, context: LoadContext) -> None:
    report_from_state(model, state, "inertia_", "n_steps_")
    serving, labels = "centres" in state, state.pop("labels_", None)
    sums = unpack(state.pop("centres" if serving else "sums"), context, copies=IN_FLOAT64)
    learning, generator = state.pop("learning", {}), state.pop("random", None)
    counts = proved(state.pop("counts"), "counts", np.float64, (None,), COUNTS).copy()
    reject_unknown(state)
    if (
        sp.issparse(sums)
        or sums.dtype.kind != "f"
        or not len(sums)
        or sums.shape[1:] != counts.shape
        or not len(counts)
    ):
        raise ValueError(f"centres must be dense floats of {len(counts)} clusters, got shape {sums.shape}")
    sums = np.ascontiguousarray(sums, np.float64)
    if serving:
        sums = sums * np.where(counts > 0, counts, 1.0)
        learning = {"of_sums": squares(sums), "peaks": squares(sums), "batch_size": 1, "unassigned": 0}
    elif not isinstance(generator, np.random.Generator):
        raise ValueError(f"random must be a generator, got {generator!r:.60}")
    if labels is not None:
        model.labels_ = proved(labels, "labels_", np.int32, (None,), between(0, len(counts) - 1)).copy()
    norms = [proved(learning[name], name, np.float64, counts.shape, COUNTS).copy() for name in ("of_sums", "peaks")]
    numbers = [whole_number(name, learning[name], 0) for name in ("batch_size", "unassigned")]
    model._centres = OnlineCentres(sums, counts, norms[0], norms[1], numbers[0], numbers[1])
    model._generator = np.random.default_rng() if generator is None else generator
    model.n_features_in_ = len(sums)


CODECS = {
    "fastlin.KMeans": ModelCodec(_kmeans_to_state, _kmeans_from_state),
    "fastlin.MiniBatchKMeans": ModelCodec(_batches_to_state, _batches_from_state),
}
