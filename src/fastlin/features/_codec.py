"""Codecs of the transformers of columns and documents."""

from typing import Any

import numpy as np

from fastlin.features.conjunction_tree import ConjunctionHashing, ConjunctionTree
from fastlin.storage.fields import FINITE, Field, between, of_fields, proved, rising_to
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, attributes, reject_unknown
from fastlin.storage.state_arrays import proved_labels
from fastlin.storage.weight_packing import Packing
from fastlin.validation import MAX_COLUMNS

FIELDS = {"hashing": ("depth", "powers", "groups", "n_buckets", "signs"), "tree": ("starts", "columns", "skip")}

# Dicts


def _dicts_to_state(model: Any, _: Packing) -> State:
    return {"vocabulary_": model.vocabulary_} if hasattr(model, "vocabulary_") else {}


def _dicts_from_state(model: Any, state: State, context: LoadContext) -> None:  # noqa: ARG001
    if state:
        vocabulary = state.pop("vocabulary_")
        reject_unknown(state)
        if set(map(type, vocabulary.values())) - {int} or sorted(vocabulary.values()) != list(range(len(vocabulary))):
            raise ValueError("vocabulary_ must give the columns 0, 1, … to its names, each once")
        model.vocabulary_, model.feature_names_ = vocabulary, sorted(vocabulary, key=vocabulary.__getitem__)


# Conjunctions


def _conjunctions_to_state(model: Any, _: Packing) -> State:
    if not hasattr(model, "_finder"):
        return {}
    finder = model._finder
    kind = "hashing" if isinstance(finder, ConjunctionHashing) else "tree"
    return {"rank": model._rank, kind: {name: getattr(finder, name) for name in FIELDS[kind]}}


def _conjunctions_from_state(model: Any, state: State, context: LoadContext) -> None:  # noqa: ARG001
    if not state:
        return
    rank = proved(state.pop("rank"), "rank", np.int32, (None,), between(-1, MAX_COLUMNS))
    kept = rank[rank >= 0]
    if "hashing" in state:
        model._finder, width = _hashing(state.pop("hashing"), len(rank))
        if not np.array_equal(kept, np.flatnonzero(rank >= 0)):
            raise ValueError("rank must hold the number of each column, or -1, where conjunctions are hashed")
    else:
        model._finder, width = _tree(state.pop("tree"), len(kept))
        if not np.array_equal(kept, np.arange(len(kept))):
            raise ValueError("rank must number the columns that conjunctions are made of from 0 on")
    reject_unknown(state)
    model._rank, model.n_features_in_ = rank, len(rank)
    model.n_output_features_ = width + (len(rank) if model.include_original else 0)


def _hashing(fields: State, n_columns: int) -> tuple[ConjunctionHashing, int]:
    finder = ConjunctionHashing(**fields)
    if type(finder.depth) is not int or type(finder.n_buckets) is not int or finder.depth not in (2, 3):
        raise ValueError(f"depth must be 2 or 3 and n_buckets a whole number, got {finder.depth!r:.40}")
    if not 1 <= finder.n_buckets <= MAX_COLUMNS or finder.groups.dtype != np.uint64:
        raise ValueError(
            f"n_buckets must be from 1 to {MAX_COLUMNS}, groups uint64; got {finder.n_buckets}, {finder.groups.dtype}"
        )
    if finder.groups.shape not in ((0,), (n_columns,)) or {type(finder.powers), type(finder.signs)} != {bool}:
        raise ValueError(f"groups must be empty or of shape {(n_columns,)}; powers and signs True or False")
    return finder, finder.n_buckets


def _tree(fields: State, n_columns: int) -> tuple[ConjunctionTree, int]:
    finder, n = ConjunctionTree(**fields), n_columns
    if finder.skip not in (0, 1) or len(finder.starts) not in (1, 2) or len(finder.columns) != len(finder.starts):
        raise ValueError("skip must be 0 or 1, starts and columns one or two arrays each")
    for starts, columns in zip(finder.starts, finder.columns, strict=True):
        proved(columns, "columns", np.int32, (None,), between(0, n_columns - 1))
        proved(starts, "starts", np.int64, (n + 1,), rising_to(len(columns)))
        rises = np.diff(columns) > 0
        rises[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(columns))] - 1] = True
        if not rises.all():
            raise ValueError("columns must rise within each conjunction")
        n = len(columns)
    return finder, sum(map(len, finder.columns))


# Functions of columns


def _elementwise_from_state(model: Any, state: State, context: LoadContext) -> None:  # noqa: ARG001
    reject_unknown(state)
    if hasattr(model, "n_features_in_"):
        model._n_columns = model.n_features_in_


# Log-count ratios


def _prove_ratio(model: Any, state: State) -> None:
    classes, ratio = proved_labels(state["classes_"]), state["log_ratio_"]
    proved(ratio, "log_ratio_", np.float64, (1 if len(classes) == 2 else len(classes), None))
    model.n_features_in_ = ratio.shape[1]


_NOTHING = attributes()
CODECS = {
    "fastlin.Conjunctions": ModelCodec(_conjunctions_to_state, _conjunctions_from_state),
    "fastlin.DictVectorizer": ModelCodec(_dicts_to_state, _dicts_from_state),
    "fastlin.DocumentFeatures": _NOTHING,
    "fastlin.Elementwise": ModelCodec(_NOTHING.to_state, _elementwise_from_state),
    "fastlin.FeatureHasher": _NOTHING,
    "fastlin.interchange.VWHasher": _NOTHING,
    "fastlin.LogCountRatio": of_fields(
        Field("log_ratio_", np.float64, ("rows", "n"), (FINITE,)), more=("classes_",), prove=_prove_ratio
    ),
}
