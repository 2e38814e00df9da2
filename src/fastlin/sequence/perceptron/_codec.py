"""What a model file holds of an online learner of sequences: weights to predict with, and to learn on."""

import numpy as np
import scipy.sparse as sp

from fastlin import validation
from fastlin.sequence._codec import proved_table, shared_from_state, shared_to_state
from fastlin.sequence.perceptron.averaged_weights import SavedWeights
from fastlin.sequence.perceptron.model import StructuredPerceptron
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.weight_packing import Packing, unpack
from fastlin.validation import MAX_ABS_VALUE


def _perceptron_to_state(model: StructuredPerceptron, packing: Packing) -> State:
    weights, two, three = model._weights()
    state = shared_to_state(model, packing) | {"coef": packing.pack(model.coef_ if sp.issparse(weights) else weights)}
    state |= {"transitions": two} | ({} if three is None else {"second_order": three})
    if not packing.serving and (learning := model._learning_state()) is not None:
        state |= {"learning": learning, "random": model._generator}
    return state


def _perceptron_from_state(model: StructuredPerceptron, state: State, context: LoadContext) -> None:
    """Weights to predict with; the numbers that learning needs are looked at when learning goes on."""
    weights = unpack(state.pop("coef"), context)
    if sp.issparse(weights):
        context.take(2 * weights.data.nbytes + 16 * (weights.nnz + weights.shape[1] + 1), "its weights by features")
        weights = weights.T.tocsr()
    if weights.dtype not in MAX_ABS_VALUE or weights.ndim != 2:
        raise ValueError(f"weights of {weights.dtype}, shape {weights.shape}")
    shared_from_state(model, state, weights.shape[0])
    K, second = len(model.classes_), "second_order" in state
    if weights.shape[1] != K or model.order != (2 if second else 1):
        raise ValueError(
            f"coef must have {K} labels, and second_order be there where order=2; got order={model.order!r:.60}"
        )
    two = proved_table(state, "transitions", (K, K))
    model._made = weights, two, proved_table(state, "second_order", (K, K, K)) if second else None
    learning = state.pop("learning", None)
    generator = state.pop("random") if "random" in state else validation.as_generator(model.random_state)
    if not isinstance(generator, np.random.Generator):
        raise ValueError(f"random must be a numpy Generator, got {type(generator).__name__}")
    reject_unknown(state)
    model._state, model._saved_weights, model._generator = None, None, generator
    if learning is not None:
        model._saved_weights = SavedWeights.validated(learning, weights.shape[0], K, 2 if second else 1)


CODECS = {"fastlin.sequence.StructuredPerceptron": ModelCodec(_perceptron_to_state, _perceptron_from_state)}
