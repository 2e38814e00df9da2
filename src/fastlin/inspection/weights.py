"""The weights of any linear classifier in one form, and the names of its features."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from fastlin import validation
from fastlin.core.estimator import Estimator
from fastlin.core.model_kinds import has_model_for_each_label, is_about_language, is_parser
from fastlin.naive_bayes.discrete import DiscreteNB
from fastlin.text.tfidf_transformer import TfidfTransformer


def learner_of(model: Any) -> Any:
    """The classifier at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def transformers_of(model: Any) -> list[Any]:
    """Steps that documents go through before the classifier; a lexicon brings a vectoriser of its own."""
    steps = [step for _, step in model.steps[:-1]] if hasattr(model, "steps") else []
    steps.append(getattr(learner_of(model), "vectorizer_", None))
    return [step for step in steps if step is not None and not isinstance(step, str)]  # "passthrough"


def rows_of(model: Any, documents: Any) -> Any:
    """Transform documents as the pipeline does before its classifier."""
    for step in transformers_of(model):
        documents = step.transform(documents)
    return documents


def advice(model: Any) -> str:
    """Which functions show such a model, to end the message of one that does not; empty: none does."""
    learner = learner_of(model)
    if is_parser(learner):
        return "; fastlin.inspection.grammar describes it"
    if has_model_for_each_label(learner):
        return "; fastlin.inspection.language describes it, explain_text explains a text's label"
    if hasattr(type(learner), "surprisal"):
        return "; fastlin.inspection.language describes it, surprisal shows the words of a sentence"
    if is_about_language(learner):
        return "; fastlin.inspection.language describes it"
    if isinstance(learner, RegressorMixin):
        return "; fastlin.inspection.regressor describes it"
    if _held(learner)[0] is not None:
        return "; fastlin.inspection.summary describes it, explain explains a document's label"
    return ""


class WeightView:
    """θ and b of a fitted model, with a column for each label, or for each cluster.

    Two labels that share one column of weights w have −w/2 and w/2, so that the difference of their scores is the
    model's. Naive Bayes has log φ and log μ, or its weights of complements, or log odds of occurrences; mixtures have
    log φ and log μ by component, and without μ hidden Markov models; k-means has c and −‖c‖²/2. Where labels have
    several components, each of these has a column, called label/1, label/2, … Models of sequences have the weights of
    the features of tokens.
    """

    def __init__(self, model: Any) -> None:
        learner = learner_of(model)
        learner = learner._snapshot() if isinstance(learner, Estimator) else learner  # of one moment
        coef, self.logarithms = _held(learner)
        self.independent = getattr(learner, "_container", None) is not None  # labels of which a row may have several
        self.clusters = coef is not None and not hasattr(learner, "classes_")
        if coef is None or (self.clusters and not _answers_by_column(learner)):
            name = type(learner).__name__
            raise TypeError(f"{name} is not a fitted linear classifier: it has no weights of labels{advice(learner)}")
        self.array: Any = _proved(coef)  # dense or a CSR; one row for two labels
        self.classes: list[Any] = _columns(learner, self.array.shape[0])
        n_rows, n_labels = self.array.shape[0], len(self.classes)
        if n_rows != n_labels and (n_rows, n_labels) != (1, 2):
            raise ValueError(f"the weights have {n_rows} rows, and classes_ holds {n_labels} labels: they must agree")
        self.components = not self.clusters and len(self.classes) > len(learner.classes_)
        self.shared = self.array.shape[0] == 1 and len(self.classes) == 2
        intercept = np.asarray(_intercept(learner), dtype=float)
        if intercept.shape not in ((), (1,), self.array.shape[:1]):
            raise ValueError(f"intercept_ has shape {intercept.shape}, and the weights have {self.array.shape[0]} rows")
        intercept = np.broadcast_to(intercept, self.array.shape[:1])
        self.intercept = np.array([-0.5, 0.5]) * intercept if self.shared else intercept
        self._mean: Any = self.array.mean(axis=0) if self.logarithms else 0.0

    @property
    def n_features(self) -> int:
        return int(self.array.shape[1])

    def of_label(self, place: int) -> NDArray[np.float64]:
        """How much each feature speaks for a label: w or −w; of naive Bayes log φ over its mean of the labels."""
        if self.shared:
            return self._row(0) * (1.0 if place else -1.0)
        row = self._row(place)
        with np.errstate(invalid="ignore"):  # log 0 everywhere
            return np.where(row == -np.inf, row, row - self._mean) if self.logarithms else row

    def of_features(self, indices: NDArray[Any]) -> NDArray[np.float64]:
        """The weights of some features, a row each."""
        columns = self.array[:, indices]
        columns = columns.toarray() if hasattr(columns, "toarray") else np.asarray(columns)
        columns = columns.T.astype(float)
        return columns * np.array([-0.5, 0.5]) if self.shared else columns

    def _row(self, place: int) -> NDArray[np.float64]:
        row = self.array[[place]]
        return np.asarray(row.toarray() if hasattr(row, "toarray") else row, dtype=float)[0]


def _answers_by_column(learner: Any) -> bool:
    """Whether predictions are columns of the weights."""
    return hasattr(learner, "predict") and not isinstance(learner, RegressorMixin)


def _proved(coef: Any) -> Any:
    """The weights, which may have been set: scipy indexes sparse ones without looking."""
    array = np.hstack(coef) if isinstance(coef, list) else coef
    if sp.issparse(array):
        return validation.as_sparse(array, "coef_")
    array = np.asarray(array)
    if array.ndim != 2:
        raise ValueError(f"weights must be a matrix of labels by features, got shape {array.shape}")
    return array


def _held(learner: Any) -> tuple[Any, bool]:
    """The weights, and whether they are logarithms of probabilities."""
    if hasattr(learner, "feature_log_prob_"):
        if isinstance(learner, DiscreteNB):  # log odds of each label against the rest, where a row may have several
            return learner._estimates().weights.T, learner._container is None
        return learner.feature_log_prob_, True
    if hasattr(learner, "emissionprob_"):
        with np.errstate(divide="ignore"):
            return np.log(learner.emissionprob_), True
    coef = getattr(learner, "coef_", None)
    return getattr(learner, "cluster_centers_", None) if coef is None else coef, False


def _columns(learner: Any, n: int) -> list[Any]:
    """Names of the n columns of weights, or of the two that share one."""
    if not hasattr(learner, "classes_"):
        return list(range(n))
    labels = getattr(learner, "component_classes_", learner.classes_).tolist()
    several = {label for label in labels if labels.count(label) > 1}
    return [
        f"{label}/{1 + labels[:place].count(label)}" if label in several else label
        for place, label in enumerate(labels)
    ]


def _intercept(learner: Any) -> Any:
    """b; of components, their label's."""
    if hasattr(learner, "cluster_centers_"):
        return -0.5 * np.square(learner.cluster_centers_).sum(axis=1)  # of centres on the sphere, the same for all
    if isinstance(learner, DiscreteNB):
        return learner._estimates().bias
    if hasattr(learner, "weights_"):
        with np.errstate(divide="ignore"):
            return np.log(learner.weights_)
    if hasattr(learner, "component_classes_"):
        return np.repeat(learner.class_log_prior_, np.unique(learner.component_classes_, return_counts=True)[1])
    return getattr(learner, "class_log_prior_" if hasattr(learner, "feature_log_prob_") else "intercept_", 0.0)


class FeatureNames:
    """The names of a model's features: those that it or its vectoriser knows, else x0, x1, …"""

    def __init__(self, model: Any) -> None:
        learner = learner_of(model)
        self._names: Any = getattr(learner, "feature_names_in_", getattr(learner, "attributes_", None))
        for step in transformers_of(model):
            self._names = _names_after(step, self._names)
        if hasattr(learner, "categories_"):
            columns = [f"x{place}" for place in range(learner.n_features_in_)] if self._names is None else self._names
            self._names = list(
                chain.from_iterable(map(_categories, columns, learner.categories_, learner.n_categories_))
            )

    def of(self, indices: Sequence[int] | NDArray[Any]) -> list[str]:
        """The names of some features; those that share a hash, joined by a bar."""
        places = [int(index) for index in indices]
        if self._names is None:
            return [f"x{place}" for place in places]
        if isinstance(self._names, dict):
            return [" | ".join(self._names.get(place, (f"x{place}",))) for place in places]
        if places and max(places) >= len(self._names):
            raise ValueError(f"there are names for {len(self._names)} columns, and weights of column {max(places)}")
        return [str(self._names[place]) for place in places]


def _categories(column: str, categories: NDArray[Any], n: int) -> list[str]:
    """The names of a position's categories; those without one are …"""
    return [f"{column}={category}" for category in categories] + [f"{column}=…"] * (int(n) - len(categories))


def _names_after(step: Any, names: Any) -> Any:
    """The names of a step's columns: an array, {column: names} of hashed features, or None if nobody knows them."""
    if getattr(step, "keep_names", 0) and hasattr(step, "names_"):
        return step.names_
    if isinstance(names, dict):
        return names if isinstance(step, TfidfTransformer) else None
    if not hasattr(step, "get_feature_names_out"):
        return None
    return step.get_feature_names_out(names)
