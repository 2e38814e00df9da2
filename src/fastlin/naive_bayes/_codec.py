"""What a model file holds of naive Bayes."""

from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core._codec import (
    EM_REPORT,
    container_from_state,
    container_to_state,
    packed_counts,
    proved_counts,
    report_from_state,
    report_to_state,
)
from fastlin.core.class_counts import ClassCounts
from fastlin.mixture._codec import mixture_to_state
from fastlin.naive_bayes.category_encoder import CategoryCounts, CategoryEncoder
from fastlin.storage.fields import RISING, between, proved
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.state_arrays import proved_labels
from fastlin.storage.weight_packing import Packing

CHOSEN = ("alpha_", "components_", "unlabeled_weight_", "scores_", "path_")  # by folds  # by folds


def _counts_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    state = {"classes": model.classes_, **packed_counts(model, model._counts, packing)}
    return state | container_to_state(model)


def _counts_from_state(model: Any, state: State, context: LoadContext) -> None:
    classes = proved_labels(state.pop("classes"))
    container_from_state(model, state, classes)
    features, labels = proved_counts(state, model._n_counted(len(classes)), context)
    reject_unknown(state)
    model._install(classes, ClassCounts(features, labels, model._count_prior(len(features), len(classes))))


def _categories_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    counts = model._counts.compact()
    state = {"classes": model.classes_, **packed_counts(model, counts, packing)}
    state |= {"sizes": counts.sizes, "kinds": [alphabet.kind for alphabet in counts.alphabets]}
    state["known"] = np.array([alphabet.size for alphabet in counts.alphabets])
    return state | {"names": [alphabet.names() for alphabet in counts.alphabets]}


def _categories_from_state(model: Any, state: State, context: LoadContext) -> None:
    classes = proved_labels(state.pop("classes"))
    features, labels = proved_counts(state, len(classes), context)
    sizes, known, kinds, names = (state.pop(name) for name in ("sizes", "known", "kinds", "names"))
    reject_unknown(state)
    proved(sizes, "sizes", np.int64, (None,), between(0, 2**31 - 1))
    proved(known, "known", np.int64, sizes.shape, between(0, 2**31 - 1))
    if not len(sizes) or (known > sizes).any() or len(features) != max(1, int(sizes.sum())):
        raise ValueError(f"features must be {int(sizes.sum())} rows, one for each category, with known <= sizes")
    alphabets = list(starmap(_alphabet, zip(kinds, known.tolist(), names, strict=True)))
    prior = model._prior(len(classes))
    counts = CategoryCounts(features, labels, prior, sizes=sizes.copy(), rooms=sizes.copy(), alphabets=alphabets)
    model._install(classes, counts)


def _alphabet(kind: str, size: int, names: list[Any]) -> CategoryEncoder:
    """The categories of a position."""
    if kind not in ("", "numbers", "strings", "bytes") or (kind == "") != (size == 0):
        raise ValueError(f"categories of the kind {kind!r:.60}")
    wanted = {"strings": str, "bytes": bytes}.get(kind)
    table = dict(zip(names, range(len(names)), strict=True))
    if len(table) != (0 if wanted is None else size) or any(type(name) is not wanted for name in names):
        raise ValueError(f"names must be {size} different categories of the kind {kind!r}")
    return CategoryEncoder(kind, size, table)


def _semi_supervised_to_state(model: Any, packing: Packing) -> State:
    state = mixture_to_state(model, packing) | report_to_state(model, packing, *CHOSEN)
    return state | {"classes": model.classes_, "families": model._families}


def _semi_supervised_from_state(model: Any, state: State, context: LoadContext) -> None:
    report_from_state(model, state, *EM_REPORT, *CHOSEN)
    classes, families = proved_labels(state.pop("classes")), _proved_families(state.pop("families"))
    features, components = proved_counts(state, int(families[-1]), context)
    reject_unknown(state)
    if len(families) != len(classes) + 1:
        raise ValueError(
            f"families must have {len(classes) + 1} entries, one more than there are labels, got {len(families)}"
        )
    chosen = model
    if hasattr(model, "_template"):
        chosen = model._template(model.alpha_, model.components_, model.unlabeled_weight_)
    prior = chosen._prior(len(features), len(classes))
    model._install(classes, families, ClassCounts(features, components, prior))


def _proved_families(families: Any) -> NDArray[np.int64]:
    """Where the components of each label begin, and how many there are."""
    proved(families, "families", np.int64, (None,), RISING)
    if not len(families) or families[0] != 0:
        raise ValueError("families must begin with 0")
    return np.array(families)


COUNTED = ModelCodec(_counts_to_state, _counts_from_state)
SEMI_SUPERVISED = ModelCodec(_semi_supervised_to_state, _semi_supervised_from_state)
CODECS = {
    "fastlin.CategoricalNB": ModelCodec(_categories_to_state, _categories_from_state),
    **dict.fromkeys(("fastlin.BernoulliNB", "fastlin.ComplementNB", "fastlin.MultinomialNB"), COUNTED),
    "fastlin.SemiSupervisedNB": SEMI_SUPERVISED,
    "fastlin.SemiSupervisedNBCV": SEMI_SUPERVISED,
}
