"""How often a model is right, for each label; what it takes for what; how far its probabilities can be believed."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.inspection import html

BINS = 10
LEAST = float(np.finfo(float).eps)  # a probability below this counts as this much in the log loss, as in scikit-learn
MATRIX = 12  # labels; with more of them, the most frequent confusions are shown instead
SHOWN = 10


@dataclass(frozen=True)
class LabelReport:
    """One label: of the documents predicted, the share that has it; of those that have it, the share found.

    Attributes
    ----------
    label : label
        The label.
    precision : float
        Right ones among those predicted.
    recall : float
        Right ones among those that have the label.
    f1 : float
        2PR / (P + R).
    documents : int
        Documents that have the label.
    predicted : int
        Documents that get it.
    """

    label: Any
    precision: float
    recall: float
    f1: float
    documents: int
    predicted: int


@dataclass(frozen=True)
class Bin:
    """The documents whose predicted label has a probability between two bounds.

    Attributes
    ----------
    low : float
        The lower bound.
    high : float
        The upper bound.
    documents : int
        How many there are.
    confidence : float
        The mean probability.
    accuracy : float
        The share whose label is right.
    """

    low: float
    high: float
    documents: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Report:
    """The figures of a classifier on labelled documents; 0/0 counts as 0.

    Attributes
    ----------
    documents : int
        Documents looked at.
    accuracy : float
        The share whose label is right.
    macro_f1 : float
        The mean of the labels' F1.
    labels : tuple of LabelReport
        One for each label.
    confusion : tuple of (label, label, int)
        True label, predicted one, documents: the most frequent first.
    log_loss : float or None
        −log p(true label), the mean; None without probabilities.
    calibration_error : float or None
        Σ_b n_b/n · |accuracy_b − confidence_b|.
    calibration : tuple of Bin
        By rising probability; bins without documents are left out.
    unit : str
        What is counted.
    """

    documents: int
    accuracy: float
    macro_f1: float
    labels: tuple[LabelReport, ...]
    confusion: tuple[tuple[Any, Any, int], ...]
    log_loss: float | None
    calibration_error: float | None
    calibration: tuple[Bin, ...]
    unit: str = "documents"

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types.

        Returns
        -------
        dict
            A key for each field; records in it are dicts, too.
        """
        return asdict(self)

    @property
    def headline(self) -> str:
        """The figures of all documents, in a line."""
        right = sum(count for true, predicted, count in self.confusion if true == predicted)
        head = f"accuracy {self.accuracy:.4f} ({right:,} of {self.documents:,}), macro F1 {self.macro_f1:.4f}"
        if self.log_loss is None:
            return head
        return f"{head}, log loss {self.log_loss:.4f}, calibration error {self.calibration_error:.4f}"

    def __str__(self) -> str:
        lines = [self.headline]
        width = max(5, *(len(str(one.label)) for one in self.labels))
        lines += ["", f"{'label':<{width}}  precision  recall      F1  {self.unit:>9}  predicted"]
        lines += [
            f"{one.label!s:<{width}}  {one.precision:>9.4f}  {one.recall:.4f}  {one.f1:.4f}"
            f"  {one.documents:>9,}  {one.predicted:>9,}"
            for one in self.labels
        ]
        lines += ["", *(self._matrix(width) if len(self.labels) <= MATRIX else self._pairs(width))]
        if self.calibration:
            lines += ["", f"probability  {self.unit:>9}    mean  accuracy"]
            lines += [
                f"{one.low:>5.1f}–{one.high:<5.1f}  {one.documents:>9,}  {one.confidence:.4f}    {one.accuracy:.4f}"
                for one in self.calibration
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html.block(html.paragraph(self.headline), *self.html_tables())

    def html_tables(self) -> list[html.Markup]:
        """The figures of each label, what was taken for what, and how far probabilities can be believed.

        Returns
        -------
        list of str
            Tables of HTML.
        """
        rows = [(one.label, one.precision, one.recall, one.f1, one.documents, one.predicted) for one in self.labels]
        tables = [html.table(["label", "precision", "recall", "F1", self.unit, "predicted"], rows)]
        if len(self.labels) <= MATRIX:
            names, cells = self._counts()
            tables.append(html.heat_map(names, cells, 0, "is \\ taken for"))
        else:
            wrong = [entry for entry in self.confusion if entry[0] != entry[1]]
            tables.append(html.table(["is", "taken for", self.unit], wrong[:SHOWN]))
        if self.calibration:
            bins = [
                (
                    f"{one.low:.1f}–{one.high:.1f}",
                    one.documents,
                    one.confidence,
                    one.accuracy,
                    html.bar(one.accuracy, 1.0),
                )
                for one in self.calibration
            ]
            tables.append(html.table(["probability", self.unit, "mean", "accuracy", ""], bins))
        return tables

    def _counts(self) -> tuple[list[Any], list[list[int]]]:
        """Labels, and how many of each (row) were taken for each."""
        counts = {(true, predicted): count for true, predicted, count in self.confusion}
        names = [one.label for one in self.labels]
        return names, [[counts.get((true, name), 0) for name in names] for true in names]

    def _matrix(self, width: int) -> list[str]:
        names, counts = self._counts()
        largest = max((count for row in counts for count in row), default=0)
        cells = [max(len(str(name)), len(f"{largest:,}")) for name in names]
        head = "  ".join(f"{name!s:>{cell}}" for name, cell in zip(names, cells, strict=True))
        rows = ["  ".join(f"{count:>{cell},}" for count, cell in zip(row, cells, strict=True)) for row in counts]
        return [
            f"{'is':<{width}}  taken for",
            f"{'':<{width}}  {head}",
            *(f"{true!s:<{width}}  {row}" for true, row in zip(names, rows, strict=True)),
        ]

    def _pairs(self, width: int) -> list[str]:
        wrong = [entry for entry in self.confusion if entry[0] != entry[1]]
        lines = [f"{'is':<{width}}  {'taken for':<{width}}  {self.unit:>9}"]
        lines += [f"{true!s:<{width}}  {predicted!s:<{width}}  {count:>9,}" for true, predicted, count in wrong[:SHOWN]]
        return lines if wrong else ["nothing was taken for something else"]


def report(y: Any, predicted: Any, probabilities: Any = None, classes: Any = None) -> Report:
    """Compare labels with predictions.

    Parameters
    ----------
    y : sequence of labels
        The right ones.
    predicted : sequence of labels
    probabilities : array of shape (n, n_labels), optional
        For the log loss and the calibration. A label that is not among `classes` has probability 0, and a probability
        below 2.2e-16 counts as 2.2e-16.
    classes : sequence of labels, optional
        The columns of `probabilities`: the model's `classes_`.

    Returns
    -------
    Report

    Examples
    --------
    >>> from fastlin.inspection import report
    >>> print(report(["up", "up", "down"], ["up", "down", "down"]))
    accuracy 0.6667 (2 of 3), macro F1 0.6667
    <BLANKLINE>
    label  precision  recall      F1  documents  predicted
    down      0.5000  1.0000  0.6667          1          2
    up        1.0000  0.5000  0.6667          2          1
    <BLANKLINE>
    is     taken for
           down  up
    down      1   0
    up        1   1
    """
    tally = ReportAccumulator(classes)
    tally.add(y, predicted, probabilities)
    return tally.report()


class ReportAccumulator:
    """The counts behind a report, added up block by block: memory for the labels, none for the documents.

    Parameters
    ----------
    classes : sequence of labels, optional
        The columns of the probabilities that will be added.
    unit : str
        What the report calls those that it counts.
    """

    def __init__(self, classes: Any = None, unit: str = "documents") -> None:
        self._unit = unit
        self._classes: list[Any] = [] if classes is None else _plain(classes)
        self._place = {label: place for place, label in enumerate(self._classes)}
        self._pairs: Counter[tuple[Hashable, Hashable]] = Counter()
        self._loss, self._judged = 0.0, 0
        self._bins = np.zeros((3, BINS))  # documents, sum of the probabilities, right

    def add(self, y: Any, predicted: Any, probabilities: Any = None) -> None:
        """Count some documents: their right labels, those predicted and, if there are any, the probabilities.

        Parameters
        ----------
        y : sequence of labels of length n
            Right labels.
        predicted : sequence of labels of length n
            Predicted labels.
        probabilities : array of shape (n, n_labels), optional
            Columns as the classes that the accumulator was made with.

        Raises
        ------
        ValueError
            If there are not as many predicted labels as right ones.
        """
        true, guessed = _plain(y), _plain(predicted)
        if len(true) != len(guessed):
            raise ValueError(f"y has {len(true)} labels, predicted {len(guessed)}")
        self._pairs.update(zip(true, guessed, strict=True))
        if probabilities is not None and true:
            self._judge(true, guessed, np.asarray(probabilities, dtype=float))

    def report(self) -> Report:
        """The figures of all that was added.

        Returns
        -------
        Report
            Figures of all documents since the accumulator was made.

        Raises
        ------
        ValueError
            If none was added.
        """
        n = self._pairs.total()
        if not n:
            raise ValueError(f"there is nothing to report on: there are no {self._unit}")
        true: Counter[Any] = Counter()
        guessed: Counter[Any] = Counter()
        for (own, other), count in self._pairs.items():
            true[own] += count
            guessed[other] += count
        labels = tuple(self._of_label(label, true[label], guessed[label]) for label in self._labels({*true, *guessed}))
        place = {one.label: index for index, one in enumerate(labels)}
        pairs = sorted(self._pairs.items(), key=lambda item: (-item[1], place[item[0][0]], place[item[0][1]]))
        counts, confidence, right = self._bins
        calibration = tuple(
            Bin(b / BINS, (b + 1) / BINS, int(counts[b]), float(confidence[b] / counts[b]), float(right[b] / counts[b]))
            for b in np.flatnonzero(counts).tolist()
        )
        return Report(
            n,
            sum(self._pairs[label, label] for label in true) / n,
            sum(one.f1 for one in labels) / len(labels),
            labels,
            tuple((own, other, total) for (own, other), total in pairs),
            self._loss / self._judged if self._judged else None,
            float(np.abs(right - confidence).sum() / self._judged) if self._judged else None,
            calibration,
            self._unit,
        )

    def _judge(self, true: list[Any], guessed: list[Any], probabilities: NDArray[np.float64]) -> None:
        if probabilities.shape != (len(true), len(self._classes)):
            raise ValueError(
                f"probabilities of shape {probabilities.shape} do not fit {len(true)} documents and "
                f"{len(self._classes)} classes"
            )
        own, chosen = self._of(true, probabilities), self._of(guessed, probabilities)
        self._loss -= float(np.log(np.maximum(own, LEAST)).sum())
        self._judged += len(true)
        bins = np.clip((chosen * BINS).astype(np.int64), 0, BINS - 1)
        right = np.fromiter((a == b for a, b in zip(true, guessed, strict=True)), float, len(true))
        for total, weights in zip(self._bins, (np.ones(len(true)), chosen, right), strict=True):
            total += np.bincount(bins, weights, BINS)

    def _of(self, labels: list[Any], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each document's label."""
        places = np.fromiter((self._place.get(label, -1) for label in labels), np.int64, len(labels))
        return np.where(places < 0, 0.0, probabilities[np.arange(len(labels)), places])

    def _labels(self, seen: set[Any]) -> list[Any]:
        """The labels seen: those of the model in its order, then the others."""
        others = seen - self._place.keys()
        return [label for label in self._classes if label in seen] + sorted(
            others, key=lambda one: (str(type(one)), one)
        )

    def _of_label(self, label: Any, documents: int, predicted: int) -> LabelReport:
        right = self._pairs[label, label]
        precision, recall = (right / total if total else 0.0 for total in (predicted, documents))
        f1 = 2 * right / (documents + predicted)
        return LabelReport(label, precision, recall, f1, documents, predicted)


def _plain(labels: Any) -> list[Any]:
    """Labels as Python's own objects."""
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
