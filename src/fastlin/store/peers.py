"""What a model file holds of scikit-learn's classes: the attributes that their `transform` reads."""

from typing import Any

import numpy as np

from fastlin.store.exports import proved_labels
from fastlin.store.keeping import Keeper, State, attributes

_NOTHING = attributes()
_COLUMNS = ("scale_", "mean_", "var_", "max_abs_", "variances_", "scores_", "pvalues_", "idf_")  # one number a column


def _proved(keeper: Keeper, prove: Any) -> Keeper:
    """A keeper that gives what `prove(model, state)` does not refuse."""

    def give(model: Any, state: State, verify: bool) -> None:
        prove(model, state)
        keeper.give(model, state, verify)

    return Keeper(keeper.take, give)


def _prove_columns(model: Any, state: State) -> None:
    shapes = {np.shape(state[name]) for name in _COLUMNS if state.get(name) is not None}
    if shapes and shapes != {(getattr(model, "n_features_in_", None),)}:
        raise ValueError("columns that do not belong together")


def _prove_terms(_: Any, state: State) -> None:
    """The columns of a vocabulary are 0, 1, …: scikit-learn makes matrices of them without looking."""
    vocabulary = state.get("vocabulary_", {})
    if set(map(type, vocabulary.values())) - {int} or sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise ValueError("a vocabulary without a column for each term")
    weights = state.get("_tfidf")
    if weights is not None and np.shape(getattr(weights, "idf_", np.empty(len(vocabulary)))) != (len(vocabulary),):
        raise ValueError("a vocabulary with other columns than its weights")


def _prove_names(model: Any, state: State) -> None:
    _prove_terms(model, state)
    if list(state.get("vocabulary_", {})) != sorted(state.get("feature_names_", []), key=state["vocabulary_"].get):
        raise ValueError("names that are not those of the vocabulary")


def _prove_labels(_: Any, state: State) -> None:
    if "classes_" in state:
        proved_labels(state["classes_"])


def _prove_components(_: Any, state: State) -> None:
    if "components_" in state and (np.ndim(state["components_"]) != 2 or state["components_"].dtype.kind != "f"):
        raise ValueError("components that are no matrix")


def _prove_steps(model: Any, _: State) -> None:
    steps = model.get_params(deep=False).get("steps", model.get_params(deep=False).get("transformer_list"))
    if not isinstance(steps, list) or not steps:
        raise ValueError("no steps")
    for name, step in steps:
        if not isinstance(name, str) or not (step in ("passthrough", "drop", None) or hasattr(step, "fit")):
            raise ValueError(f"a step that is none: {name!r:.40}")


_STEPS = _proved(_NOTHING, _prove_steps)
_SCORED = _proved(attributes("scores_", "pvalues_"), _prove_columns)
KEEPERS = {
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
    "sklearn.pipeline.FeatureUnion": _STEPS,
    "sklearn.pipeline.Pipeline": _STEPS,
    "sklearn.preprocessing.Binarizer": _NOTHING,
    "sklearn.preprocessing.LabelEncoder": _proved(attributes("classes_"), _prove_labels),
    "sklearn.preprocessing.MaxAbsScaler": _proved(attributes("scale_", "max_abs_", "n_samples_seen_"), _prove_columns),
    "sklearn.preprocessing.Normalizer": _NOTHING,
    "sklearn.preprocessing.StandardScaler": _proved(
        attributes("scale_", "mean_", "var_", "n_samples_seen_"), _prove_columns
    ),
}
