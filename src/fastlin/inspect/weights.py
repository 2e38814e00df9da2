"""The weights of any linear classifier in one form, and the names of its features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.text.tfidf import TfidfTransformer


def learner_of(model: Any) -> Any:
    """The classifier at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def transformers_of(model: Any) -> list[Any]:
    """What happens to documents before the classifier sees them; a lexicon brings a vectoriser of its own."""
    steps = [step for _, step in model.steps[:-1]] if hasattr(model, "steps") else []
    steps.append(getattr(learner_of(model), "vectorizer_", None))
    return [step for step in steps if step is not None and not isinstance(step, str)]  # "passthrough"


def rows_of(model: Any, documents: Any) -> Any:
    """What the classifier at the end of a pipeline is given for some documents."""
    for step in transformers_of(model):
        documents = step.transform(documents)
    return documents


class Weights:
    """θ and b of a fitted classifier, with a column for each label.

    Two labels that share one column of weights w have −w/2 and w/2, so that the difference of their scores is the
    model's. Naive Bayes has log φ and log μ.
    """

    def __init__(self, model: Any) -> None:
        learner = learner_of(model)
        self.logarithms = hasattr(learner, "feature_log_prob_")
        coef = learner.feature_log_prob_ if self.logarithms else getattr(learner, "coef_", None)
        if coef is None or not hasattr(learner, "classes_"):
            raise TypeError(f"{type(learner).__name__} is not a fitted linear classifier: it has no weights of labels")
        self.array: Any = coef  # a row each label, or one row for two; dense or a CSR
        self.classes: list[Any] = learner.classes_.tolist()
        self.shared = self.array.shape[0] == 1 and len(self.classes) == 2
        intercept = getattr(learner, "class_log_prior_" if self.logarithms else "intercept_", 0.0)
        intercept = np.broadcast_to(np.asarray(intercept, dtype=float), self.array.shape[:1])
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


class Names:
    """The names of a model's features: those that its vectoriser knows, else x0, x1, …"""

    def __init__(self, model: Any) -> None:
        self._names: Any = getattr(learner_of(model), "feature_names_in_", None)
        for step in transformers_of(model):
            self._names = _names_after(step, self._names)

    def of(self, indices: Sequence[int] | NDArray[Any]) -> list[str]:
        """The names of some features; those that share a hash, joined by a bar."""
        places = [int(index) for index in indices]
        if self._names is None:
            return [f"x{place}" for place in places]
        if isinstance(self._names, dict):
            return [" | ".join(self._names.get(place, (f"x{place}",))) for place in places]
        return [str(self._names[place]) for place in places]


def _names_after(step: Any, names: Any) -> Any:
    """The names of a step's columns: an array, {column: names} of hashed features, or None if nobody knows them."""
    if getattr(step, "names", 0) and hasattr(step, "names_"):
        return step.names_
    if isinstance(names, dict):
        return names if isinstance(step, TfidfTransformer) else None
    if not hasattr(step, "get_feature_names_out"):
        return None
    return step.get_feature_names_out(names)
