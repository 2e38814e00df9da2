"""Summary of a model: its parts, what was chosen for them, and how large they are."""

import inspect
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fastlin.inspection import html
from fastlin.inspection.weights import WeightView, learner_of, transformers_of

SHOWN = 12  # labels
LONGEST = 80  # characters of a parameter's value


@dataclass(frozen=True)
class StepSummary:
    """An estimator, and its parameters that are not the defaults.

    Attributes
    ----------
    name : str
        Its class.
    parameters : dict
        From names to values.
    """

    name: str
    parameters: dict[str, Any]

    def __str__(self) -> str:
        shown = (f"{name}={_cut(_shown(value))}" for name, value in self.parameters.items())
        return f"{self.name}({', '.join(shown)})"

    def as_dict(self) -> dict[str, Any]:
        """Name and parameters; what is no number and no string, as it is shown.

        Returns
        -------
        dict
            `name` and `parameters`; what JSON can hold.
        """
        plain = {
            name: value if isinstance(value, str | int | float | bool | None) else _shown(value)
            for name, value in self.parameters.items()
        }
        return {"name": self.name, "parameters": plain}


def _shown(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else " ".join(repr(value).split())


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


@dataclass(frozen=True)
class Summary:
    """The parts of a model, its labels (or clusters) and its weights.

    Attributes
    ----------
    parts : tuple of StepSummary
        As in the pipeline: the classifier last.
    labels : tuple of labels
        In the model's order.
    features : int
        Columns.
    weights : int
        Numbers that the model holds for them.
    nonzero : int
        How many of these are not 0.
    dtype : str
        Their type.
    bytes : int
        Their memory.
    clusters : bool
        Whether labels are the numbers of clusters.
    """

    parts: tuple[StepSummary, ...]
    labels: tuple[Any, ...]
    features: int
    weights: int
    nonzero: int
    dtype: str
    bytes: int
    clusters: bool = False

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            A key for each field; `parts` are dicts, too.
        """
        return asdict(self) | {"parts": tuple(part.as_dict() for part in self.parts)}

    def _rows(self) -> list[tuple[str, str]]:
        """What is said of the model, each with its name."""
        labels = ", ".join(map(str, self.labels[:SHOWN])) + (", …" if len(self.labels) > SHOWN else "")
        weights = f"{self.weights:,} of {self.dtype}, {self.nonzero:,} of them not 0; {self.bytes / 1e6:,.1f} MB"
        return [
            *(("" if place else "parts", str(part)) for place, part in enumerate(self.parts)),
            ("clusters" if self.clusters else "labels", f"{len(self.labels):,}: {labels}"),
            ("features", f"{self.features:,}"),
            ("weights", weights),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<9} {value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        return html.table((), self._rows())


def summary(model: Any) -> Summary:
    """Describe a fitted classifier or clustering, or a pipeline that ends with one.

    Parameters
    ----------
    model : fitted classifier or mixture or k-means, or a pipeline that ends with one

    Returns
    -------
    Summary

    Examples
    --------
    >>> from fastlin import CountVectorizer, MultinomialNB
    >>> from fastlin.inspection import summary
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(CountVectorizer(ngram_range=(1, 2)), MultinomialNB(alpha=0.1))
    >>> print(summary(model.fit(["a good film", "a bad film"], ["up", "down"])))
    parts     CountVectorizer(ngram_range=(1, 2))
              MultinomialNB(alpha=0.1)
    labels    2: down, up
    features  5
    weights   10 of float64, 10 of them not 0; 0.0 MB
    """
    weights, learner = WeightView(model), learner_of(model)
    held = weights.array
    values = held.data if hasattr(held, "toarray") else np.asarray(held)
    templates = [step for step in (getattr(learner, "features_", None),) if step is not None]
    return Summary(
        tuple(
            StepSummary(type(step).__name__, changed(step)) for step in (*transformers_of(model), *templates, learner)
        ),
        tuple(weights.classes),
        weights.n_features,
        int(np.prod(held.shape)),
        int(np.count_nonzero(values)),
        str(values.dtype),
        int(values.nbytes),
        weights.clusters,
    )


def changed(step: Any) -> dict[str, Any]:
    """The parameters that differ from their defaults."""
    defaults = {name: one.default for name, one in inspect.signature(type(step)).parameters.items()}
    chosen = step.get_params(deep=False)
    if getattr(step, "features_", None) is not None:
        del chosen["features"]  # a part of its own
    return {name: value for name, value in chosen.items() if repr(value) != repr(defaults.get(name))}
