"""The features that speak most strongly for each label."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastlin.inspection import html
from fastlin.inspection.weights import FeatureNames, WeightView
from fastlin.validation import whole_number


@dataclass(frozen=True)
class LabelFeatures:
    """The strongest features of a label, strongest first.

    Attributes
    ----------
    label : label
        The label, or the number of a cluster.
    names : tuple of str
        Names of features.
    weights : tuple of float
        Their weights.
    """

    label: Any
    names: tuple[str, ...]
    weights: tuple[float, ...]

    def __str__(self) -> str:
        lines = (f"  {weight:>10.4f}  {name}" for name, weight in zip(self.names, self.weights, strict=True))
        return "\n".join([str(self.label), *lines])

    def _repr_html_(self) -> str:
        largest = max(self.weights, default=0.0)
        pairs = zip(self.names, self.weights, strict=True)
        return html.table((), [(html.bar(weight, largest), weight, name) for name, weight in pairs], str(self.label))


class FeatureTable(list[LabelFeatures]):
    """The strongest features of several labels: a list, which a notebook shows side by side.

    Parameters
    ----------
    iterable : iterable of LabelFeatures
    """

    def _repr_html_(self) -> str:
        cells = "".join(
            f'<div style="display: inline-block; vertical-align: top; margin-right: 2em">{one._repr_html_()}</div>'
            for one in self
        )
        return html.Markup(f"<div>{cells}</div>")


def top_features(model: Any, n: int = 20, labels: Iterable[Any] | None = None) -> FeatureTable:
    """The n features with the largest weights of each label.

    The weights are `coef_`'s; with two labels, w speaks for the second and −w for the first. Of naive Bayes they are
    log φ_kj less its mean over the labels: log φ itself would list the words that are frequent everywhere. So it is of
    the components of a mixture, and of the emissions of a hidden Markov model; of k-means the weights are the centres.

    Parameters
    ----------
    model : fitted classifier, model of sequences, mixture or k-means, or a pipeline that ends with one
        The clusters of the latter are numbers from 0; a label's components are called label/1, label/2, … Its
        features have the names that the vectoriser knows, or those of X's columns.
    n : int
        How many for each label; only features that speak for the label are listed.
    labels : iterable, optional
        Only these labels; all of them when not given.

    Returns
    -------
    FeatureTable
        A list of `LabelFeatures`.

    Examples
    --------
    >>> from fastlin import CountVectorizer, MultinomialNB
    >>> from fastlin.inspection import top_features
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(CountVectorizer(), MultinomialNB())
    >>> print(top_features(model.fit(["good fine film", "good film", "bad film"], ["up", "up", "down"]), 1)[1])
    up
          0.3466  good
    """
    n = whole_number("n", n, 0)
    weights, names = WeightView(model), FeatureNames(model)
    known = weights.classes
    wanted = known if labels is None else list(labels)
    unknown = [label for label in wanted if label not in known]
    if unknown:
        raise ValueError(f"the model has no label {unknown[0]!r}; it has {', '.join(map(str, known[:20]))}")
    found = FeatureTable()
    for label in wanted:
        column = weights.of_label(known.index(label))
        count = min(n, len(column))
        best = np.argpartition(-column, count - 1)[:count] if count else np.empty(0, np.int64)
        best = best[column[best] > 0]
        best = best[np.lexsort((best, -column[best]))]
        found.append(LabelFeatures(label, tuple(names.of(best)), tuple(column[best].tolist())))
    return found
