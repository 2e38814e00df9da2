"""What a model file holds of a conditional random field."""

import numpy as np

from fastlin.sequence._codec import proved_table, shared_to_state, weights_from_state, weights_to_state
from fastlin.sequence.crf.model import CRF
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import Packing


def _crf_to_state(model: CRF, packing: Packing) -> State:
    state = shared_to_state(model, packing) | weights_to_state(model, packing)
    state["transitions"] = np.asarray(model.transitions_, np.float64)
    if model.second_order_ is not None:
        state["second_order"] = np.asarray(model.second_order_, np.float64)
    return state


def _crf_from_state(model: CRF, state: State, context: LoadContext) -> None:
    weights_from_state(model, state, context)
    K, second = len(model.classes_), "second_order" in state
    model.transitions_ = proved_table(state, "transitions", (K, K))
    model.second_order_ = proved_table(state, "second_order", (K, K, K)) if second else None
    if model.order != (2 if second else 1):
        raise ValueError("transitions of another order")
    reject_unknown(state)


CODECS = {"fastlin.sequence.CRF": ModelCodec(_crf_to_state, _crf_from_state)}
