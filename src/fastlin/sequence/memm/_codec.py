"""What a model file holds of a maximum-entropy Markov model."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from fastlin.sequence._codec import proved_table, shared_to_state, weights_from_state, weights_to_state
from fastlin.sequence.memm.model import MEMM
from fastlin.sequence.memm.tag_dictionary import TagDictionary
from fastlin.storage.fields import proved, sorted_below
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import Packing


def _memm_to_state(model: MEMM, packing: Packing) -> State:
    state = shared_to_state(model, packing) | weights_to_state(model, packing)
    state |= {"start": np.asarray(model.start_, np.float64), "transitions": np.asarray(model.transitions_, np.float64)}
    if model._dictionary is not None:
        state |= {"words": model._dictionary.columns, "labels_of_words": model._dictionary.masks}
    return state


def _memm_from_state(model: MEMM, state: State, context: LoadContext) -> None:
    weights_from_state(model, state, context)
    K, V = model.coef_.shape
    if model.order not in (1, 2) or sp.issparse(model.coef_):
        raise ValueError(f"order must be 1 or 2 and coef dense, got order={model.order!r:.60}")
    model.start_ = proved_table(state, "start", (K,))
    model.transitions_ = proved_table(state, "transitions", (K, K) if model.order == 1 else (K + 1, K, K))
    model._dictionary = None
    if "words" in state:
        model._dictionary = _proved_dictionary(state.pop("words"), state.pop("labels_of_words"), (V, K))
    reject_unknown(state)


def _proved_dictionary(columns: Any, masks: Any, shape: tuple[int, int]) -> TagDictionary:
    """The labels of some of the columns, of so many, [V, K]."""
    proved(columns, "words", np.int64, (None,), sorted_below(shape[0]))
    proved(masks, "labels_of_words", np.bool_, (len(columns), shape[1]))
    return TagDictionary(columns.copy(), masks.copy())


CODECS = {"fastlin.sequence.MEMM": ModelCodec(_memm_to_state, _memm_from_state)}
