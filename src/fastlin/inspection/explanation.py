"""Why a document got its label: what each of its features adds to each label's score."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.inspection import html
from fastlin.inspection.located_features import LocatedText, WordContribution, located_text
from fastlin.inspection.weights import FeatureNames, WeightView, learner_of, rows_of, transformers_of

SHOWN = 15


@dataclass(frozen=True, eq=False)
class Explanation:
    """The scores of a document's labels, taken apart.

    score_k = b_k + Σ_j x_j θ_jk. What sets the label apart from the next is the difference of their columns, and that
    is what is shown: the differences add up to the label's margin. Two labels have half the model's score each, with
    opposite signs, and the margin is the score. So it is where a document may have several labels.

    Attributes
    ----------
    label : label
        The one that is explained.
    against : label or None
        The best of the others; None if there is none.
    classes : tuple of labels
        All labels, in the model's order.
    scores : array of shape (n_labels,)
        One for each label.
    intercept : array of shape (n_labels,)
        b.
    features : tuple of str
        Those of the document, in the order of what they say for the label, strongest first.
    values : array of shape (n_features,)
        x.
    contributions : array of shape (n_features, n_labels)
        x_j θ_jk.
    located : LocatedText or None
        The document's text and where its features stand in it; None if that is not known.
    """

    label: Any
    against: Any
    classes: tuple[Any, ...]
    scores: NDArray[np.float64]
    intercept: NDArray[np.float64]
    features: tuple[str, ...]
    values: NDArray[np.float64]
    contributions: NDArray[np.float64]
    located: LocatedText | None = None

    @classmethod
    def of(
        cls,
        classes: Sequence[Any],
        intercept: NDArray[np.float64],
        features: Sequence[str],
        values: NDArray[np.float64],
        contributions: NDArray[np.float64],
        label: Any = None,
        independent: bool = False,
        located: LocatedText | None = None,
    ) -> "Explanation":
        """Why a label, or the best of all, rather than the best of the others; features in any order.

        Labels that are `independent`, of which a document may have several, compete with no other.

        Parameters
        ----------
        classes : sequence of labels
            The labels of the model, in its order.
        intercept : array of shape (n_labels,)
            What the scores are of a row without features.
        features : sequence of str of length n
            Names of the features that the row has.
        values : array of shape (n,)
            Their values.
        contributions : array of shape (n, n_labels)
            What each feature adds to the score of each label.
        label : label, optional
            The one to explain; None: that with the highest score.
        independent : bool
            Whether a row may have several labels: a label's rival is then the score 0.
        located : LocatedText, optional
            The document's text, and where its features stand in it.

        Returns
        -------
        Explanation
            Features in the order of what they contribute to the margin.

        Raises
        ------
        ValueError
            If the model has no such label.
        """
        scores = intercept + contributions.sum(axis=0)
        if (scores == -np.inf).all():  # no label can produce the document, and the prior decides
            scores, contributions = intercept, np.zeros_like(contributions)
        if label is None:
            place = int(np.argmax(scores))
        elif label in classes:
            place = list(classes).index(label)
        else:
            raise ValueError(f"the model has no label {label!r}; it has {', '.join(map(str, classes[:20]))}")
        rivals = [] if independent else np.argsort(-scores, kind="stable").tolist()
        others = [other for other in rivals if other != place]
        own = contributions[:, place]
        own = _less(own, contributions[:, others[0]]) if others else own
        order = np.argsort(-own, kind="stable")
        return cls(
            classes[place],
            classes[others[0]] if others else None,
            tuple(classes),
            scores,
            intercept,
            tuple(features[each] for each in order),
            values[order],
            contributions[order],
            located,
        )

    @property
    def margin(self) -> float:
        """The label's score less that of `against`; negative if the model prefers the other."""
        return float(self._apart(self.scores))

    def _apart(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        own = columns[..., self.classes.index(self.label)]
        return own if self.against is None else _less(own, columns[..., self.classes.index(self.against)])

    def strongest(self, n: int = SHOWN) -> list[tuple[str, float, float]]:
        """(name, value, contribution to the margin) of the n features that contribute most, for or against.

        Parameters
        ----------
        n : int
            Features at most.

        Returns
        -------
        list of (str, float, float)
            By falling absolute contribution.
        """
        apart = self._apart(self.contributions)
        order = np.argsort(-np.abs(apart), kind="stable")[:n]
        return [(self.features[place], float(self.values[place]), float(apart[place])) for place in order]

    def words(self) -> list[WordContribution]:
        """What each word of the document's text contributes to the margin, in the order of the text.

        What a feature contributes is shared equally by the places where it stands, and there by the characters of
        words; so the words add up to all features that stand in the text. Empty where it is not known where they do:
        for a document without a text, or a vectoriser with an `analyzer` function.

        Returns
        -------
        list of WordContribution
        """
        if self.located is None:
            return []
        return self.located.words(self.features, self._apart(self.contributions).tolist())

    def as_dict(self, n: int = SHOWN) -> dict[str, Any]:
        """What is shown, in plain types.

        Parameters
        ----------
        n : int
            Features at most.

        Returns
        -------
        dict
            `label`, `against`, `margin`, `intercept`, `scores` by label, and `features`, dicts with `name`, `value` and
            `contribution`.
        """
        return {
            "label": self.label,
            "against": self.against,
            "margin": self.margin,
            "intercept": float(self._apart(self.intercept)),
            "scores": dict(zip(map(str, self.classes), self.scores.tolist(), strict=True)),
            "features": [{"name": a, "value": b, "contribution": c} for a, b, c in self.strongest(n)],
        }

    def __str__(self) -> str:
        rather = "" if self.against is None else f" rather than {self.against}"
        lines = [f"{self.label}{rather}: ahead by {self.margin:.4g}", "  contribution     value  feature"]
        shown = self.strongest()
        lines += [f"  {part:>+12.4f}  {value:>8.4g}  {name}" for name, value, part in shown]
        rest = float(self._apart(self.contributions).sum()) - sum(part for _, _, part in shown)
        if len(shown) < len(self.features):
            lines.append(f"  {rest:>+12.4f}            {len(self.features) - len(shown)} more features")
        lines.append(f"  {float(self._apart(self.intercept)):>+12.4f}            the intercept")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html.block(self.html_table(), *self.coloured_words())

    def html_table(self) -> html.Markup:
        """The strongest features as HTML.

        Returns
        -------
        Markup
            A string.
        """
        shown = self.strongest()
        largest = max((abs(part) for _, _, part in shown), default=0.0)
        rest = float(self._apart(self.contributions).sum()) - sum(part for _, _, part in shown)
        rows: list[tuple[Any, ...]] = [(html.bar(part, largest), part, value, name) for name, value, part in shown]
        if len(shown) < len(self.features):
            rows.append(("", rest, "", f"{len(self.features) - len(shown)} more features"))
        rows.append(("", float(self._apart(self.intercept)), "", "the intercept"))
        rather = "" if self.against is None else f" rather than {self.against}"
        head = f"{self.label}{rather}: ahead by {self.margin:.4g}"
        return html.table(["", "contribution", "value", "feature"], rows, head)

    def coloured_words(self) -> list[html.Markup]:
        """The document's text as HTML, its words in the colour of what they contribute.

        Returns
        -------
        list of Markup
            One string; none if it is not known where the features stand in a text.
        """
        words = self.words()
        if self.located is None or not words:
            return []
        pieces, done = [], 0
        for word in words:
            named = ", ".join(f"{name} {part:+.4g}" for name, part in word.features)
            pieces += [(self.located.text[done : word.start], 0.0, "")]
            pieces += [(self.located.text[word.start : word.end], word.contribution, named)]
            done = word.end
        largest = max(abs(word.contribution) for word in words)
        return [html.coloured_text([*pieces, (self.located.text[done:], 0.0, "")], largest)]


def explain(model: Any, document: Any, label: Any = None) -> Explanation:
    """Take the scores of one document apart, feature by feature.

    Parameters
    ----------
    model : fitted classifier or mixture or k-means, or a pipeline that ends with one
        Not one whose labels have several components: their scores are no sum over features.
    document : str, or whatever the model takes one of
        For a model without a vectoriser: a row, that is a matrix of one row or a vector; or a tuple of attributes.
    label : label, optional
        Why this one, rather than the best of the others; the label predicted when not given.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from fastlin import CountVectorizer, Perceptron
    >>> from fastlin.inspection import explain
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(CountVectorizer(), Perceptron(max_iter=5, tol=None, shuffle=False, intercept_decay=1))
    >>> model = model.fit(["a good film", "a bad film", "not bad"], ["up", "down", "up"])
    >>> print(explain(model, "a good, bad day"))
    up rather than down: ahead by 2
      contribution     value  feature
           +2.0000         1  good
           -1.0000         1  bad
           +1.0000            the intercept
    """
    return Explainer(model).explain(document, label)


class Explainer:
    """A model's weights and names, looked up once for many documents."""

    def __init__(self, model: Any) -> None:
        if hasattr(learner_of(model), "predict_nbest"):
            raise TypeError(
                "the labels of a sequence depend on each other: none has a score of its own to explain; "
                "explain_token explains one beside the others"
            )
        self._model, self._weights, self._names = model, WeightView(model), FeatureNames(model)
        if self._weights.components:
            raise TypeError(
                "labels of several components have scores that are no sum over features: nothing to explain"
            )

    def explain(self, document: Any, label: Any = None) -> Explanation:
        weights, indices, values = self._weights, *self._row(document)
        contributions = weights.of_features(indices) * values[:, np.newaxis]
        names = self._names.of(indices)
        return Explanation.of(
            weights.classes, weights.intercept, names, values, contributions, label, weights.independent,
            located_text(self._model, document),
        )  # fmt: skip

    def _row(self, document: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Columns and values of what the classifier sees of a document."""
        learner = learner_of(self._model)
        if hasattr(learner, "categories_"):
            return _attributes(learner, document)
        text = isinstance(document, str | bytes)  # also numpy's, which have a shape
        alone = bool(transformers_of(self._model)) and (text or not hasattr(document, "shape"))
        row = rows_of(self._model, [document] if alone else document)
        row = row if sp.issparse(row) else np.atleast_2d(np.asarray(row, dtype=float))
        rows = validation.as_rows(row, name="document")
        if len(rows) != 1:
            raise ValueError(f"explain takes one document, got {len(rows)} rows")
        if rows.n_columns != self._weights.n_features:
            raise ValueError(f"the document has {rows.n_columns} features, the model {self._weights.n_features}")
        rows = rows.binarized(getattr(learner, "binarize", None))
        return rows.indices[: rows.nnz], rows.values[: rows.nnz].astype(float)


def _attributes(learner: Any, attributes: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The same of a tuple: the categories that are known."""
    if isinstance(attributes, str) or len(attributes) != learner.n_features_in_:
        raise ValueError(f"explain takes one tuple of {learner.n_features_in_} attributes, got {attributes!r:.60}")
    found, start = [], 0
    for attribute, categories, n in zip(attributes, learner.categories_, learner.n_categories_.tolist(), strict=True):
        found += [start + place for place in np.flatnonzero(categories == attribute).tolist()]
        start += n
    return np.array(found, np.int64), np.ones(len(found))


def _less(own: Any, other: Any) -> Any:
    """own − other, and 0 where both are −∞."""
    with np.errstate(invalid="ignore"):
        return np.where(own == other, 0.0, own - other)
