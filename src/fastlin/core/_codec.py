"""What the codecs of several rooms share: the report of a fit, counts under labels, common parameters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import ClassCounts
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import State
from fastlin.storage.weight_packing import Packing, unpack
from fastlin.validation.parameter_kinds import PLAIN

REPORT = ("history_", "objective_", "certificate_", "converged_", "n_iter_")  # what is told of a fit
MOST = 1e290  # of a count: so many as there may be still have a sum
HISTORY = ("history_", "path_")


def report_to_state(model: Any, packing: Packing, *more: str) -> State:
    """What is told of a fit; a file for serving has no history."""
    names = [name for name in (*REPORT, *more) if not (packing.serving and name in HISTORY)]
    return {name: vars(model)[name] for name in names if name in vars(model)}


def report_from_state(model: Any, state: State, *more: str) -> None:
    for name in (*REPORT, *more):
        if name in state:
            if not PLAIN.allows(state[name]):
                raise ValueError(f"{name} that is no report of a fit")
            setattr(model, name, state.pop(name))


def packed_counts(model: Any, counts: ClassCounts, packing: Packing) -> State:
    """Counts, which nothing but a whole file keeps right."""
    if packing.serving:
        name = type(model).__name__
        raise ValueError(f"{name} is saved as counts, which dtype and prune would falsify: leave them out")
    counts = counts.snapshot()
    return {"features": packing.pack(counts.features), "labels": counts.labels}


def proved_counts(
    state: State, width: int | None, context: LoadContext
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts of features and of rows under so many labels, or as many as there are."""
    features, labels = unpack(state.pop("features"), context), state.pop("labels")
    if labels.dtype != np.float64 or labels.ndim != 1 or len(labels) != (len(labels) if width is None else width):
        raise ValueError(
            f"features and labels must be float64 of as many labels as classes, got {features.shape}, {labels.shape}"
        )
    if features.dtype != np.float64 or features.shape[1:] != labels.shape or not features.size:
        raise ValueError(
            f"features and labels must be float64 of as many labels as classes, got {features.shape}, {labels.shape}"
        )
    if not ((labels >= 0) & (labels <= MOST)).all() or (
        context.verify and not 0 <= features.min() <= features.max() <= MOST
    ):
        raise ValueError("counts below 0, or too large to be added")
    return features, labels.copy()
