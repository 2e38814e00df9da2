"""What a model file holds of every model of sequences; each kind has a codec of its own beside it."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.core._codec import report_from_state, report_to_state
from fastlin.sequence.base import SequenceModel
from fastlin.sequence.file_columns import FileColumns
from fastlin.sequence.label_encoder import LabelEncoder
from fastlin.sequence.tokens import Attributes
from fastlin.storage.fields import FINITE, Law, proved
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import State
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
