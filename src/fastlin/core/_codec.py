"""What the codecs of several rooms share: the report of a fit, counts under labels, common parameters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import ClassCounts
from fastlin.storage.fields import Law, between, proved
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import State
from fastlin.storage.weight_packing import Packing, unpack
from fastlin.validation import CONTAINERS
from fastlin.validation.parameter_kinds import PLAIN

REPORT = ("history_", "objective_", "certificate_", "converged_", "n_iter_")  # what is told of a fit
EM_REPORT = ("bound_", "restart_scores_")  # and of one by EM
MOST = 1e290  # of a count: so many as there may be still have a sum
COUNTS = Law(between(0, MOST).holds, "counts, none below 0 or too large to be added")
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


def container_to_state(model: Any) -> State:
    """Of a model that learnt from an indicator of several labels a row, what that came in."""
    container = getattr(model, "_container", None)
    return {} if container is None else {"container": container}


def container_from_state(model: Any, state: State, classes: NDArray[Any]) -> None:
    """Let a model know what its target was, before the columns that it has are proved."""
    container = state.pop("container", None)
    if container is not None:
        if container not in CONTAINERS or not model._takes_indicators:
            raise ValueError(f"container must be one of {CONTAINERS}, got {container!r:.60}")
        if not np.array_equal(classes, np.arange(len(classes))):
            raise ValueError("classes must be the columns of an indicator")
    model._container = container


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
    features = unpack(state.pop("features"), context)
    labels = proved(state.pop("labels"), "labels", np.float64, (width,), COUNTS)
    proved(features, "features", np.float64, (None, len(labels)))
    if not features.size or (context.verify and not 0 <= features.min() <= features.max() <= MOST):
        raise ValueError(f"features must hold {COUNTS.wording}")
    return features, labels.copy()
