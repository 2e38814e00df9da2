"""What a model file holds of each model that learns without labels, or without all of them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.linear.counts import Counts
from fastlin.linear.files import RUN, SEARCHED, give_report, packed_counts, proved_counts, take_report
from fastlin.store.exports import proved_labels
from fastlin.store.keeping import Keeper, State, only
from fastlin.store.parameters import ABSENT, FLAG, LABEL_WEIGHTS, NUMBERS, PLAIN, WORD, Table, choice, real, whole
from fastlin.store.reading import Reading
from fastlin.store.weights import IN_FLOAT64, Packing, unpack

CHOSEN = ("alpha_", "components_", "unlabeled_weight_", "scores_", "path_")  # by folds


def _take_mixture(model: Any, packing: Packing) -> State:
    model._check_fitted()
    return take_report(model, packing, "bound_") | packed_counts(model, model._counts, packing)


def _give_mixture(model: Any, state: State, reading: Reading) -> None:
    give_report(model, state, "bound_")
    features, components = proved_counts(state, None, reading)
    only(state)
    model._counts, model.n_features_in_ = Counts(features, components, model._prior(len(features))), len(features)


def _take_semi_supervised(model: Any, packing: Packing) -> State:
    state = _take_mixture(model, packing) | take_report(model, packing, *CHOSEN)
    return state | {"classes": model.classes_, "families": model._families}


def _give_semi_supervised(model: Any, state: State, reading: Reading) -> None:
    give_report(model, state, "bound_", *CHOSEN)
    classes, families = proved_labels(state.pop("classes")), _proved_families(state.pop("families"))
    features, components = proved_counts(state, int(families[-1]), reading)
    only(state)
    if len(families) != len(classes) + 1:
        raise ValueError(
            f"families must have {len(classes) + 1} entries, one more than there are labels, got {len(families)}"
        )
    chosen = model
    if hasattr(model, "_template"):
        chosen = model._template(model.alpha_, model.components_, model.unlabeled_weight_)
    prior = chosen._prior(len(features), len(classes))
    model._install(classes, families, Counts(features, components, prior))


def _proved_families(families: Any) -> NDArray[np.int64]:
    """Where the components of each label begin, and how many there are."""
    if families.dtype != np.int64 or families.ndim != 1 or families[0] != 0:
        raise ValueError("families must be a vector of int64 that begins with 0")
    if (families[1:] <= families[:-1]).any():
        raise ValueError("families must rise: each label has a component at least")
    return np.array(families)


def _take_kmeans(model: Any, packing: Packing) -> State:
    model._check_fitted()
    state = take_report(model, packing, "inertia_") | {
        "centres": packing.pack(model.cluster_centers_.T, copies=IN_FLOAT64)
    }
    return state if packing.serving else state | {"labels_": model.labels_}


def _give_kmeans(model: Any, state: State, reading: Reading) -> None:
    give_report(model, state, "inertia_")
    centres, labels = unpack(state.pop("centres"), reading, copies=IN_FLOAT64), state.pop("labels_", None)
    only(state)
    if sp.issparse(centres) or not centres.size or centres.dtype.kind != "f":
        raise ValueError(f"centres must be a dense matrix of floats, got {centres.dtype}, shape {centres.shape}")
    if labels is not None:
        if labels.dtype != np.int32 or labels.ndim != 1 or not ((labels >= 0) & (labels < centres.shape[1])).all():
            raise ValueError(f"labels_ must be a vector of int32 from 0 to {centres.shape[1] - 1}")
        model.labels_ = labels.copy()
    model.cluster_centers_ = np.ascontiguousarray(centres.T, np.float64)  # in another order sums would round otherwise
    model.n_features_in_ = len(centres)


_EM = RUN | {"tol": real(0), "max_iter": whole(1), "n_init": whole(1), "base_measure": NUMBERS | ABSENT}
_PARTLY = _EM | {"fit_prior": FLAG, "class_prior": NUMBERS | ABSENT}
PARAMETERS: dict[str, Table] = {
    "fastlin.KMeans": RUN | {
        "n_clusters": whole(1), "init": WORD | NUMBERS, "n_init": choice("auto") | whole(1), "max_iter": whole(1),
        "tol": real(0), "copy_x": FLAG, "algorithm": WORD, "metric": WORD, "temperature": real(0) | ABSENT,
    },
    "fastlin.MultinomialMixture": _EM | {"n_components": whole(1), "alpha": NUMBERS, "init": WORD | NUMBERS},
    "fastlin.SemiSupervisedNB": _PARTLY | {
        "alpha": NUMBERS, "unlabeled_weight": real(0), "components": NUMBERS | LABEL_WEIGHTS, "early_stopping": FLAG,
        "validation_fraction": real(0, 1), "n_iter_no_change": whole(1),
    },
    "fastlin.SemiSupervisedNBCV": _PARTLY | SEARCHED | {
        "unlabeled_weights": NUMBERS, "components": PLAIN, "alphas": PLAIN,
    },
}  # fmt: skip

SEMI_SUPERVISED = Keeper(_take_semi_supervised, _give_semi_supervised)
KEEPERS = {
    "fastlin.KMeans": Keeper(_take_kmeans, _give_kmeans),
    "fastlin.MultinomialMixture": Keeper(_take_mixture, _give_mixture),
    "fastlin.SemiSupervisedNB": SEMI_SUPERVISED,
    "fastlin.SemiSupervisedNBCV": SEMI_SUPERVISED,
}
