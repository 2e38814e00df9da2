"""Quality of rankings by scores of labels: ROC AUC, top-k accuracy, and what a threshold costs and brings."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from fastlin.inspection import html


@dataclass(frozen=True)
class LabelThreshold:
    """A label that is given to every document whose score for it reaches a threshold; None: no threshold does it.

    Attributes
    ----------
    label : label
        The label.
    threshold : float or None
        The lowest score that gets it.
    precision : float or None
        The share of those that get the label which have it.
    recall : float or None
        The share of those that have the label which get it.
    documents : int
        Documents that get it.
    """

    label: Any
    threshold: float | None
    precision: float | None
    recall: float | None
    documents: int


@dataclass(frozen=True)
class Cut:
    """Predictions whose score reaches a threshold, and those left open that do not reach it.

    Attributes
    ----------
    threshold : float
        The least score that is answered.
    documents : int
        Documents answered.
    coverage : float
        Their share of all documents.
    accuracy : float or None
        The share of those answered that is right.
    labels : tuple of LabelThreshold
        Each label by itself, against the rest.
    """

    threshold: float
    documents: int
    coverage: float
    accuracy: float | None
    labels: tuple[LabelThreshold, ...]


@dataclass(frozen=True)
class RankingReport:
    """The figures of a ranking by scores of labels; 0/0 is None.

    Attributes
    ----------
    documents : int
        Documents looked at.
    roc_auc : float or None
        The mean over the labels that some documents have and others lack.
    labels : tuple of (label, float or None)
        The ROC AUC of each label against the rest.
    top_k : tuple of (int, float)
        k, and the share of documents whose label is among the k best.
    cuts : tuple of Cut
        One for each threshold that was asked for.
    min_precision : float or None
        What was asked for.
    operating_points : tuple of LabelThreshold
        Of each label, the lowest threshold with this precision.
    """

    documents: int
    roc_auc: float | None
    labels: tuple[tuple[Any, float | None], ...]
    top_k: tuple[tuple[int, float], ...]
    cuts: tuple[Cut, ...]
    min_precision: float | None
    operating_points: tuple[LabelThreshold, ...]

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            A key for each field; records in it are dicts, too.
        """
        return asdict(self)

    def _repr_html_(self) -> str:
        return html.lines(self)

    def __str__(self) -> str:
        parts = []
        if self.labels:
            parts.append(self._areas())
        if self.top_k:
            parts.append("\n".join(f"top-{k} accuracy {share:.4f}" for k, share in self.top_k))
        for cut in self.cuts:
            right = "" if cut.accuracy is None else f", accuracy {cut.accuracy:.4f}"
            head = (
                f"threshold {cut.threshold:g}: {cut.documents:,} of {self.documents:,} documents ({cut.coverage:.1%})"
            )
            parts.append("\n".join([head + right, *_table(cut.labels)]))
        if self.operating_points:
            head = f"lowest threshold with a precision of {self.min_precision:g}"
            parts.append("\n".join([head, *_table(self.operating_points)]))
        return "\n\n".join(parts)

    def _areas(self) -> str:
        width = max(5, *(len(str(label)) for label, _ in self.labels))
        head = f"ROC AUC {_shown(self.roc_auc)}"
        return "\n".join([head, *(f"{label!s:<{width}}  {_shown(area)}" for label, area in self.labels)])


def _shown(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.4f}"


def _table(rows: Sequence[LabelThreshold]) -> list[str]:
    width = max(5, *(len(str(row.label)) for row in rows))
    lines = [f"{'label':<{width}}  {'threshold':>12}  precision  recall  predicted"]
    return lines + [
        f"{row.label!s:<{width}}  {'–' if row.threshold is None else f'{row.threshold:.9g}':>12}"
        f"  {_shown(row.precision):>9}  {_shown(row.recall):>6}  {row.documents:>9,}"
        for row in rows
    ]


class RankingAccumulator:
    """The scores and the labels behind a `RankingReport`: in memory, a number for each label of each document.

    Parameters
    ----------
    classes : sequence of labels
        The columns of the scores that will be added.
    """

    def __init__(self, classes: Sequence[Any]) -> None:
        self._classes = list(classes)
        self._place = {label: place for place, label in enumerate(self._classes)}
        self._codes: list[NDArray[np.int64]] = []
        self._scores: list[NDArray[np.float64]] = []

    def add(self, y: Sequence[Any], scores: Any) -> None:
        """Documents with their right labels and, a score for each label of each; unknown ones are never found.

        Parameters
        ----------
        y : sequence of labels of length n
            Right labels; one that the model has not is never found.
        scores : array of shape (n, n_labels)
            Probabilities or any other scores that rank labels, without NaN.

        Raises
        ------
        ValueError
            If the shapes do not fit, or a score is NaN.
        """
        scores = np.asarray(scores, dtype=np.float64)
        if scores.shape != (len(y), len(self._classes)):
            raise ValueError(
                f"scores of shape {scores.shape} do not fit {len(y)} documents, {len(self._classes)} classes"
            )
        if np.isnan(scores).any():
            raise ValueError("scores has NaN, which ranks nowhere")
        self._codes.append(np.fromiter((self._place.get(label, -1) for label in y), np.int64, len(y)))
        self._scores.append(scores)

    def report(
        self,
        *,
        auc: bool = True,
        top: Sequence[int] = (),
        thresholds: Sequence[float] = (),
        min_precision: float | None = None,
    ) -> RankingReport:
        """The figures that are asked for, of all that was added.

        Parameters
        ----------
        auc : bool
            Whether areas under the ROC curves are wanted.
        top : sequence of int
            Each k: how often the right label is among the k best.
        thresholds : sequence of float
            Each t: how many documents have a best score of at least t, and how many of these are right.
        min_precision : float, optional
            The lowest threshold of each label at which its precision is at least this.

        Returns
        -------
        RankingReport
            Fields that were not asked for are empty.

        Raises
        ------
        ValueError
            If no document was added.
        """
        if not self._codes:
            raise ValueError("there is nothing to report on: there are no documents")
        codes, scores = np.concatenate(self._codes), np.concatenate(self._scores)
        areas = [_area(codes == k, scores[:, k]) for k in range(len(self._classes))] if auc else []
        known = [area for area in areas if area is not None]
        points = (
            _lowest(label, codes == k, scores[:, k], min_precision)
            for k, label in enumerate(self._classes)
            if min_precision is not None
        )
        return RankingReport(
            len(codes),
            sum(known) / len(known) if known else None,
            tuple(zip(self._classes, areas, strict=True)) if auc else (),
            tuple((k, float((_ranks(codes, scores) <= k).mean())) for k in top),
            tuple(self._cut(codes, scores, threshold) for threshold in thresholds),
            min_precision,
            tuple(points),
        )

    def _cut(self, codes: NDArray[np.int64], scores: NDArray[np.float64], threshold: float) -> Cut:
        answered = scores.max(axis=1) >= threshold
        right = (scores.argmax(axis=1) == codes)[answered]
        labels = []
        for k, label in enumerate(self._classes):
            given, own = scores[:, k] >= threshold, codes == k
            found, n_given, n_own = int((given & own).sum()), int(given.sum()), int(own.sum())
            precision, recall = (found / total if total else None for total in (n_given, n_own))
            labels.append(LabelThreshold(label, threshold, precision, recall, n_given))
        accuracy = float(right.mean()) if len(right) else None
        return Cut(threshold, len(right), float(answered.mean()), accuracy, tuple(labels))


def _area(own: NDArray[np.bool_], scores: NDArray[np.float64]) -> float | None:
    """P(score of a document that has the label > that of one that lacks it), ties by half; Mann and Whitney's U."""
    positive, negative = int(own.sum()), int((~own).sum())
    if not positive or not negative:
        return None
    above = float(scipy.stats.rankdata(scores)[own].sum()) - positive * (positive + 1) / 2
    return above / positive / negative


def _ranks(codes: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The place of each document's label by its score, from 1 on; among equals in the order of the labels."""
    own = scores[np.arange(len(codes)), codes][:, None]
    before = np.arange(scores.shape[1]) < codes[:, None]
    ranks = 1 + (scores > own).sum(axis=1) + ((scores == own) & before).sum(axis=1)
    return np.where(codes < 0, np.iinfo(np.int64).max, ranks)


def _lowest(label: Any, own: NDArray[np.bool_], scores: NDArray[np.float64], precision: float | None) -> LabelThreshold:
    """The lowest threshold at which a label has this precision: the one with the highest recall."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # of documents with one score
    found = np.cumsum(own[order])[last]
    reached = np.flatnonzero(found >= np.asarray(precision) * (last + 1)) if own.any() else np.empty(0, np.int64)
    if not len(reached):
        return LabelThreshold(label, None, None, None, 0)
    best = reached[-1]
    given = int(last[best]) + 1
    threshold = float(scores[order[last[best]]])
    return LabelThreshold(label, threshold, float(found[best] / given), float(found[best] / own.sum()), given)


def ranking(
    y: Sequence[Any],
    scores: Any,
    classes: Sequence[Any],
    *,
    top: Sequence[int] = (),
    thresholds: Sequence[float] = (),
    min_precision: float | None = None,
) -> RankingReport:
    """Judge the scores (or probabilities) that a model gives labels, whatever label it predicts.

    Parameters
    ----------
    y : sequence of labels
        The right ones. One that is not among `classes` is never found.
    scores : array of shape (n, n_labels)
    classes : sequence of labels
        The columns of `scores`: the model's `classes_`.
    top : sequence of int
        Report the share of documents whose label is among the k best, for each k.
    thresholds : sequence of float
        Report what is left, and how good it is, when only scores from each of these on count.
    min_precision : float, optional
        Report for each label the lowest threshold with at least this precision.

    Returns
    -------
    RankingReport

    Examples
    --------
    >>> from fastlin.inspection import ranking
    >>> scores = [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]
    >>> print(ranking(["up", "up", "down"], scores, ["up", "down"], min_precision=0.9))
    ROC AUC 1.0000
    up     1.0000
    down   1.0000
    <BLANKLINE>
    lowest threshold with a precision of 0.9
    label     threshold  precision  recall  predicted
    up              0.4     1.0000  1.0000          2
    down            0.8     1.0000  1.0000          1
    """
    tally = RankingAccumulator(classes)
    tally.add(y, scores)
    return tally.report(top=top, thresholds=thresholds, min_precision=min_precision)
