"""How far the probabilities of a classifier can be believed."""

from typing import Any, Self

import numpy as np

from fastlin.core.dataset import scored_labels
from fastlin.inspection import Report, ReportAccumulator
from fastlin.inspection.weights import learner_of
from fastlin.plot.display import Display


class CalibrationDisplay(Display):
    """Plot of accuracy against the probability of the label predicted, over all labels.

    Parameters
    ----------
    report : Report
        As `fastlin.inspection.report` gives it, with probabilities.
    name : str
        The name of the curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    line_ : matplotlib's line

    Examples
    --------
    >>> from fastlin import LogisticRegression
    >>> from fastlin.plot import CalibrationDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> display = CalibrationDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    >>> display.report.accuracy, display.ax_.get_xlabel()
    (1.0, 'mean probability of the label predicted')
    """

    def __init__(self, report: Report, *, name: str = "") -> None:
        if not report.calibration:
            raise ValueError("the report was made without probabilities: there is no calibration to draw")
        self.report, self.name = report, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, name: str | None = None, ax: Any = None, **line_options: Any
    ) -> Self:
        """Plot the calibration of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier with `predict_proba`, or a pipeline that ends with one
        X : Corpus, or what the estimator predicts
        y : sequence of labels, optional
            The right ones; a `Corpus` brings its own.
        name : str, optional
            The name of the curve; that of the estimator's class when not given.
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        CalibrationDisplay
        """
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"{type(estimator).__name__} has no predict_proba: its answers are no probabilities")
        learner = learner_of(estimator)
        labels, _ = scored_labels(X, y, None)
        if labels is None:
            raise ValueError("y is missing: the right labels of X")
        name = type(learner).__name__ if name is None else name
        probabilities = estimator.predict_proba(X)
        if not hasattr(estimator, "classes_"):
            raise TypeError(f"{type(learner).__name__} has no classes_: its probabilities are not those of labels")
        return cls.from_predictions(labels, probabilities, estimator.classes_, name=name, ax=ax, **line_options)

    @classmethod
    def from_predictions(
        cls, y: Any, probabilities: Any, classes: Any, *, name: str = "", ax: Any = None, **line_options: Any
    ) -> Self:
        """Plot the calibration of given probabilities.

        Parameters
        ----------
        y : sequence of labels
            The right ones.
        probabilities : array of shape (n_rows, n_labels)
        classes : sequence of labels
            The columns of the probabilities.
        name : str
            The name of the curve.
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        CalibrationDisplay
        """
        probabilities, tally = np.asarray(probabilities, float), ReportAccumulator(classes)
        tally.add(y, np.asarray(classes)[probabilities.argmax(axis=1)], probabilities)
        return cls(tally.report(), name=name).plot(ax, **line_options)

    def plot(self, ax: Any = None, **line_options: Any) -> Self:
        """Draw the curve, and the diagonal on which probabilities are right.

        Parameters
        ----------
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        CalibrationDisplay
            Itself.
        """
        ax = self._axes(ax)
        if not any(line.get_gid() == "diagonal" for line in ax.lines):
            ax.plot([0, 1], [0, 1], ":", color="grey", gid="diagonal")
        bins = self.report.calibration
        label = f"{self.name} (error {self.report.calibration_error:.3f})".strip()
        (self.line_,) = ax.plot(
            [one.confidence for one in bins],
            [one.accuracy for one in bins],
            **{"marker": "o", "label": label} | line_options,
        )
        ax.set(xlabel="mean probability of the label predicted", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1))
        ax.legend()
        return self
