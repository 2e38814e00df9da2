"""What a model file holds of scikit-learn's classes: the attributes that their `transform` reads."""

from typing import Any

import numpy as np

from fastlin.model_files.classes import name_of, name_of_function
from fastlin.storage.load_context import LoadContext
from fastlin.storage.model_codec import ModelCodec, State, attributes
from fastlin.storage.state_arrays import proved_labels
from fastlin.validation.parameter_kinds import (
    ABSENT,
    COUNTING,
    DICTS,
    DTYPE,
    FLAG,
    HASHED,
    HASHED_TEXTS,
    IDF,
    JOBS,
    LABEL_WEIGHTS,
    LEFT_OUT,
    SEED,
    STEPS,
    STRINGS,
    TRANSFORMERS,
    Integer,
    Kind,
    OneOf,
    ParameterTable,
    Real,
)

_COLUMNS = ("scale_", "mean_", "var_", "max_abs_", "variances_", "scores_", "pvalues_", "idf_")  # one number a column


def _proved(codec: ModelCodec, prove: Any) -> ModelCodec:
    """A codec whose `from_state` takes what `prove(model, state)` does not refuse."""

    def from_state(model: Any, state: State, context: LoadContext) -> None:
        prove(model, state)
        codec.from_state(model, state, context)

    return ModelCodec(codec.to_state, from_state)


def _prove_columns(model: Any, state: State) -> None:
    if any(np.asarray(state[name]).dtype.kind != "f" for name in _COLUMNS if state.get(name) is not None):
        raise ValueError("columns that are no numbers")
    shapes = {np.shape(state[name]) for name in _COLUMNS if state.get(name) is not None}
    if shapes and shapes != {(getattr(model, "n_features_in_", None),)}:
        raise ValueError(f"{sorted(set(_COLUMNS) & set(state))} must have n_features_in_ values each")


def _prove_terms(_: Any, state: State) -> None:
    """The columns of a vocabulary are 0, 1, …: scikit-learn makes matrices of them without looking."""
    vocabulary = state.get("vocabulary_", {})
    if set(map(type, vocabulary.values())) - {int} or sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError("vocabulary_ must give the columns 0, 1, … to its terms, each once")
    weights = state.get("_tfidf")
    if weights is not None and name_of(weights) != "sklearn.feature_extraction.text.TfidfTransformer":
        raise ValueError("no weights of terms")
    if weights is not None and np.shape(getattr(weights, "idf_", np.empty(len(vocabulary)))) != (len(vocabulary),):
        raise ValueError(f"idf_ must have {len(vocabulary)} values, one for each term of vocabulary_")


def _prove_names(model: Any, state: State) -> None:
    _prove_terms(model, state)
    if list(state.get("vocabulary_", {})) != sorted(state.get("feature_names_", []), key=state["vocabulary_"].get):
        raise ValueError("feature_names_ must be the names of vocabulary_")


def _prove_labels(_: Any, state: State) -> None:
    if "classes_" in state:
        proved_labels(state["classes_"])


def _prove_components(_: Any, state: State) -> None:
    if "components_" in state and (np.ndim(state["components_"]) != 2 or state["components_"].dtype.kind != "f"):
        raise ValueError("components_ must be a matrix of floats")


# Parameters

_SCORING: ParameterTable = {
    "score_func": Kind(lambda value: name_of_function(value) is not None, "a score of the table")
}
_COPY: ParameterTable = {"copy": FLAG}
PARAMETERS: dict[str, ParameterTable] = {
    "sklearn.decomposition.TruncatedSVD": {
        "n_components": Integer(at_least=1), "algorithm": OneOf("arpack", "randomized"), "n_iter": Integer(at_least=0),
        "tol": Real(at_least=0),
        "n_oversamples": Integer(at_least=1), "power_iteration_normalizer": OneOf("auto", "QR", "LU", "none"),
        "random_state": SEED,
    },
    "sklearn.feature_extraction.DictVectorizer": DICTS,
    "sklearn.feature_extraction.FeatureHasher": HASHED | {
        "input_type": OneOf("dict", "pair", "string"), "dtype": DTYPE,
    },
    "sklearn.feature_extraction.text.CountVectorizer": COUNTING,
    "sklearn.feature_extraction.text.HashingVectorizer": HASHED_TEXTS,
    "sklearn.feature_extraction.text.TfidfTransformer": IDF,
    "sklearn.feature_extraction.text.TfidfVectorizer": COUNTING | IDF,
    "sklearn.feature_selection.SelectKBest": _SCORING | {"k": Integer(at_least=0) | OneOf("all")},
    "sklearn.feature_selection.SelectPercentile": _SCORING | {"percentile": Real(at_least=0, at_most=100)},
    "sklearn.feature_selection.VarianceThreshold": {"threshold": Real(at_least=0)},
    "sklearn.pipeline.FeatureUnion": {
        "transformer_list": TRANSFORMERS, "n_jobs": JOBS, "transformer_weights": LABEL_WEIGHTS | ABSENT,
        "verbose": FLAG, "verbose_feature_names_out": FLAG,
    },
    "sklearn.pipeline.Pipeline": {
        "steps": STEPS, "transform_input": STRINGS | ABSENT, "memory": LEFT_OUT, "verbose": FLAG,
    },
    "sklearn.preprocessing.Binarizer": _COPY | {"threshold": Real()},
    "sklearn.preprocessing.LabelEncoder": {},
    "sklearn.preprocessing.MaxAbsScaler": _COPY | {"clip": FLAG},
    "sklearn.preprocessing.Normalizer": _COPY | {"norm": OneOf("l1", "l2", "max")},
    "sklearn.preprocessing.StandardScaler": _COPY | {"with_mean": FLAG, "with_std": FLAG},
}  # fmt: skip

_NOTHING = attributes()
_SCORED = _proved(attributes("scores_", "pvalues_"), _prove_columns)
CODECS = {
    "sklearn.decomposition.TruncatedSVD": _proved(
        attributes("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"),
        _prove_components,
    ),
    "sklearn.feature_extraction.DictVectorizer": _proved(attributes("feature_names_", "vocabulary_"), _prove_names),
    "sklearn.feature_extraction.FeatureHasher": _NOTHING,
    "sklearn.feature_extraction.text.CountVectorizer": _proved(
        attributes("vocabulary_", "fixed_vocabulary_"), _prove_terms
    ),
    "sklearn.feature_extraction.text.HashingVectorizer": _NOTHING,
    "sklearn.feature_extraction.text.TfidfTransformer": _proved(attributes("idf_"), _prove_columns),
    "sklearn.feature_extraction.text.TfidfVectorizer": _proved(
        attributes("vocabulary_", "fixed_vocabulary_", "_tfidf"), _prove_terms
    ),
    "sklearn.feature_selection.SelectKBest": _SCORED,
    "sklearn.feature_selection.SelectPercentile": _SCORED,
    "sklearn.feature_selection.VarianceThreshold": _proved(attributes("variances_"), _prove_columns),
    "sklearn.pipeline.FeatureUnion": _NOTHING,
    "sklearn.pipeline.Pipeline": _NOTHING,
    "sklearn.preprocessing.Binarizer": _NOTHING,
    "sklearn.preprocessing.LabelEncoder": _proved(attributes("classes_"), _prove_labels),
    "sklearn.preprocessing.MaxAbsScaler": _proved(attributes("scale_", "max_abs_", "n_samples_seen_"), _prove_columns),
    "sklearn.preprocessing.Normalizer": _NOTHING,
    "sklearn.preprocessing.StandardScaler": _proved(
        attributes("scale_", "mean_", "var_", "n_samples_seen_"), _prove_columns
    ),
}
