"""What a model file holds of each model of sequences."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core._codec import COUNTS, packed_counts, proved_counts, report_from_state, report_to_state
from fastlin.core.class_counts import ClassCounts
from fastlin.sequence.base import SequenceModel
from fastlin.sequence.crf.model import CRF
from fastlin.sequence.file_columns import FileColumns
from fastlin.sequence.hmm.emissions import NO_PRIOR
from fastlin.sequence.hmm.model import HMM
from fastlin.sequence.hmm.transitions import Transitions
from fastlin.sequence.label_encoder import LabelEncoder
from fastlin.sequence.memm.model import MEMM
from fastlin.sequence.memm.tag_dictionary import TagDictionary
from fastlin.sequence.perceptron.averaged_weights import SavedWeights
from fastlin.sequence.perceptron.model import StructuredPerceptron
from fastlin.sequence.tokens import Attributes
from fastlin.storage.fields import FINITE, Law, proved, sorted_below
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, reject_unknown
from fastlin.storage.state_arrays import proved_labels
from fastlin.storage.weight_packing import Packing, unpack
from fastlin.validation import MAX_ABS_VALUE
from fastlin.validation.parameter_kinds import STRINGS


def shared_to_state(model: SequenceModel, packing: Packing) -> State:
    """What every model of sequences has: labels, the names of its columns, the report of its fit."""
    model._check_fitted()
    names = None if model._attributes is None else model._attributes.names
    state = report_to_state(model, packing) | {"classes": model.classes_, "names": names, "templates": model.features_}
    columns: FileColumns | None = getattr(model, "file_columns_", None)
    return state if columns is None else state | {"file_columns": [*columns]}


def shared_from_state(model: SequenceModel, state: State, n_columns: int) -> None:
    """The same, proved to fit so many columns of weights."""
    report_from_state(model, state)
    if "file_columns" in state:
        model.file_columns_ = FileColumns.proved(state.pop("file_columns"))
    classes, names, templates = proved_labels(state.pop("classes")), state.pop("names"), state.pop("templates")
    if not np.array_equal(LabelEncoder(classes).classes_, classes):
        raise ValueError("classes must be strings or integers")
    if names is not None and (type(names) is not list or len(names) != n_columns or not STRINGS.allows(names)):
        raise ValueError(f"names must be a list of {n_columns} names, one for each column of weights")
    made = None if templates is None else getattr(templates, "n_features_", None)
    if templates is not None and (names is not None or made != n_columns or not hasattr(templates, "tokens")):
        raise ValueError(f"templates must make {n_columns} columns, as many as the weights have")
    model.classes_, model.n_features_in_, model.features_ = classes, n_columns, templates
    model._attributes = None if names is None else Attributes(names)


def weights_to_state(model: Any, packing: Packing) -> State:
    """Weights of features, and of edges if there are any."""
    coef, edges = model.coef_, model.edge_coef_
    state = {"coef": packing.pack(coef if sp.issparse(coef) else np.asarray(coef).T)}
    return state if edges is None else state | {"edges": packing.pack(sp.csr_array(edges))}


def weights_from_state(model: Any, state: State, context: LoadContext) -> None:
    """The same, and what models of sequences share."""
    K = len(state["classes"])
    weights = unpack(state.pop("coef"), context)
    coef = weights if sp.issparse(weights) else weights.T
    if coef.dtype not in MAX_ABS_VALUE or coef.shape[0] != K:
        raise ValueError(f"weights of {coef.dtype}, shape {coef.shape}")
    shared_from_state(model, state, coef.shape[1])
    edges = unpack(state.pop("edges"), context) if "edges" in state else None
    if edges is not None and (not sp.issparse(edges) or edges.dtype not in MAX_ABS_VALUE or model.order != 1):
        raise ValueError("edges must be a sparse matrix of floats, of a model with order=1")
    if edges is not None and edges.shape != (coef.shape[1], K * K):
        raise ValueError(f"weights of edges of shape {edges.shape}")
    model.coef_, model.edge_coef_ = coef, edges


def proved_table(state: State, name: str, shape: tuple[int, ...], *laws: Law) -> NDArray[np.float64]:
    """A small array of finite numbers."""
    return proved(state.pop(name), name, np.float64, shape, FINITE, *laws).copy()


# Maximum-entropy Markov models


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


# Hidden Markov models


def _hmm_to_state(model: HMM, packing: Packing) -> State:
    state = shared_to_state(model, packing) | report_to_state(model, packing, "bound_")
    start, steps, ends = model._state.transitions.tables()
    state |= {"start": start, "steps": steps, "ends": ends, "hidden": model._hidden, "words": model._words}
    return state | packed_counts(model, model._state.counts, packing)


def _hmm_from_state(model: HMM, state: State, context: LoadContext) -> None:
    report_from_state(model, state, "bound_")
    K, order = len(state["classes"]), model.order
    if order not in (1, 2):
        raise ValueError(f"a model of order {order!r:.60}")
    features, labels = proved_counts(state, K, context)
    shared_from_state(model, state, len(features))
    histories = (K,) if order == 1 else (K + 1, K)
    shapes = {"start": (K,), "steps": (*histories, K), "ends": histories}
    tables = [proved_table(state, name, shape, COUNTS) for name, shape in shapes.items()]
    hidden, words = state.pop("hidden"), state.pop("words")
    reject_unknown(state)
    if type(hidden) is not bool or type(words) is not bool or (words and model._attributes is None):
        raise ValueError("hidden and words must be True or False; words need names of columns")
    model._hidden, model._words = hidden, words
    model._set_state(ClassCounts(features, labels, NO_PRIOR), Transitions(*tables))


# Online learners


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


# Conditional random fields


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


CODECS = {
    "fastlin.sequence.CRF": ModelCodec(_crf_to_state, _crf_from_state),
    "fastlin.sequence.HMM": ModelCodec(_hmm_to_state, _hmm_from_state),
    "fastlin.sequence.MEMM": ModelCodec(_memm_to_state, _memm_from_state),
    "fastlin.sequence.StructuredPerceptron": ModelCodec(_perceptron_to_state, _perceptron_from_state),
}
