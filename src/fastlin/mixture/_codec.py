"""What a model file holds of a mixture."""

from typing import Any

from fastlin.core._codec import (
    EM_REPORT,
    packed_counts,
    proved_counts,
    report_from_state,
    report_to_state,
)
from fastlin.core.class_counts import ClassCounts
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import Packing


def mixture_to_state(model: Any, packing: Packing) -> State:
    model._check_fitted()
    return report_to_state(model, packing, *EM_REPORT) | packed_counts(model, model._counts, packing)


def _mixture_from_state(model: Any, state: State, context: LoadContext) -> None:
    report_from_state(model, state, *EM_REPORT)
    features, components = proved_counts(state, None, context)
    reject_unknown(state)
    model._counts, model.n_features_in_ = ClassCounts(features, components, model._prior(len(features))), len(features)


CODECS = {"fastlin.MultinomialMixture": ModelCodec(mixture_to_state, _mixture_from_state)}
