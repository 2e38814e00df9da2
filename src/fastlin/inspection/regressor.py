"""A regressor: its parts, and the features that move its predictions most."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin

from fastlin import validation
from fastlin.core.estimator import Estimator
from fastlin.inspection import html
from fastlin.inspection.features import LabelFeatures
from fastlin.inspection.summary import StepSummary, changed
from fastlin.inspection.weights import FeatureNames, learner_of, transformers_of
from fastlin.validation import whole_number


@dataclass(frozen=True)
class RegressorSummary:
    """The parts of a regressor, and its strongest features.

    Attributes
    ----------
    parts : tuple of StepSummary
        As in the pipeline: the regressor last.
    features : int
        Columns.
    nonzero : int
        How many weights are not 0.
    intercepts : tuple of float
        b of each target.
    strongest : tuple of LabelFeatures
        Of each target, by its number, the features whose weights are farthest from 0, with these weights.
    """

    parts: tuple[StepSummary, ...]
    features: int
    nonzero: int
    intercepts: tuple[float, ...]
    strongest: tuple[LabelFeatures, ...]

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            A key for each field; `parts` are dicts, too, and `strongest` of each target from names to weights.
        """
        named = tuple(dict(zip(one.names, one.weights, strict=True)) for one in self.strongest)
        return asdict(self) | {"parts": tuple(part.as_dict() for part in self.parts), "strongest": named}

    def _rows(self) -> list[tuple[str, str]]:
        """What is said of the model, each with its name."""
        return [
            *(("" if place else "parts", str(part)) for place, part in enumerate(self.parts)),
            ("features", f"{self.features:,}, {self.nonzero:,} weights not 0"),
            ("intercept", ", ".join(f"{intercept:.6g}" for intercept in self.intercepts)),
        ]

    def __str__(self) -> str:
        rows = [f"{name:<9} {value}" for name, value in self._rows()]
        for one in self.strongest:
            rows += ["", "weights" if len(self.strongest) == 1 else f"weights of target {one.label}"]
            rows += [f"  {weight:>+10.4f}  {name}" for name, weight in zip(one.names, one.weights, strict=True)]
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        tables = [html.table((), list(zip(one.weights, one.names, strict=True))) for one in self.strongest]
        return html.block(html.table((), self._rows()), *tables)


def regressor(model: Any, n: int = 20) -> RegressorSummary:
    """Describe a fitted linear regressor, or a pipeline that ends with one.

    Parameters
    ----------
    model : fitted Ridge, LinearSVR or SGDRegressor, or a pipeline that ends with one
    n : int
        How many features, those of the largest weights in size.

    Returns
    -------
    RegressorSummary

    Examples
    --------
    >>> from fastlin import CountVectorizer, Ridge
    >>> from fastlin.inspection import regressor
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(CountVectorizer(), Ridge(alpha=0.5))
    >>> print(regressor(model.fit(["good fine film", "good film", "bad film"], [5.0, 4.0, 1.0]), 2))
    parts     CountVectorizer()
              Ridge(alpha=0.5)
    features  4, 3 weights not 0
    intercept 2.69565
    <BLANKLINE>
    weights
         -1.1304  bad
         +1.1304  good
    """
    n, learner = whole_number("n", n, 0), learner_of(model)
    learner = learner._snapshot() if isinstance(learner, Estimator) else learner  # of one moment
    coef = getattr(learner, "coef_", None)
    if coef is None or not isinstance(learner, RegressorMixin):
        raise TypeError(f"{type(learner).__name__} is not a fitted linear regressor")
    rows: Any = validation.as_sparse(coef, "coef_") if sp.issparse(coef) else np.atleast_2d(np.asarray(coef, float))
    names, strongest = FeatureNames(model), []
    for target in range(rows.shape[0]):
        row = rows[[target]].toarray()[0] if sp.issparse(rows) else rows[target]
        best = np.argsort(-np.abs(row), kind="stable")[:n]
        best = best[row[best] != 0]
        strongest.append(LabelFeatures(target, tuple(names.of(best)), tuple(row[best].tolist())))
    steps = (*transformers_of(model), learner)
    return RegressorSummary(
        tuple(StepSummary(type(step).__name__, changed(step)) for step in steps),
        int(rows.shape[1]),
        int(rows.count_nonzero() if sp.issparse(rows) else np.count_nonzero(rows)),
        tuple(np.broadcast_to(np.asarray(learner.intercept_, float), rows.shape[:1]).tolist()),
        tuple(strongest),
    )
