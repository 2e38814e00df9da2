"""How a fit went: objective, gap or accuracy against time or iterations."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.inspection.weights import learner_of
from fastlin.plot.display import Display, fitted_attribute

ABOVE_ZERO = frozenset({"gap", "duality_gap", "gradient_norm", "updates"})  # what falls by powers of ten
COUNTERS = ("iteration", "epoch", "round", "n_features")  # the first that a history has is its abscissa


class FitHistoryDisplay(Display):
    """Plot of one number of `history_` against another.

    Parameters
    ----------
    x, y : array of shape (n_records,)
    x_name, y_name : str
        What they are, as in `history_`.
    name : str
        The name of the curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    line_ : matplotlib's line

    Examples
    --------
    >>> from fastlin import LogisticRegression
    >>> from fastlin.plot import FitHistoryDisplay
    >>> model = LogisticRegression(solver="lbfgs").fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["a", "b", "b"])
    >>> display = FitHistoryDisplay.from_estimator(model, y="duality_gap")
    >>> display.ax_.get_ylabel(), display.ax_.get_yscale()
    ('duality gap', 'log')
    """

    def __init__(self, x: NDArray[Any], y: NDArray[Any], *, x_name: str, y_name: str, name: str = "") -> None:
        self.x, self.y, self.x_name, self.y_name, self.name = x, y, x_name, y_name, name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: str | None = None, y: str = "objective", name: str | None = None, ax: Any = None,
        **line_options: Any,
    ) -> Self:  # fmt: skip
        """Plot the history of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator with a `history_`, or a pipeline that ends with one
        x : str, optional
            "seconds", or another number of the history; its counter of iterations, epochs or rounds when not given.
        y : str
            "objective", "duality_gap", "gradient_norm", "updates", "validation_score": what the history has.
        name : str, optional
            The name of the curve; that of the estimator's class when not given.
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        FitHistoryDisplay
        """
        history = fitted_attribute(estimator, "history_", "only a fit in iterations has a history")
        known = list(dict.fromkeys(key for record in history for key, value in record.items() if _is_number(value)))
        x = next((counter for counter in COUNTERS if counter in known), "seconds") if x is None else x
        for argument, wanted in (("x", x), ("y", y)):
            if wanted not in known:
                raise ValueError(f"{argument}={wanted!r} is not in history_, which has {', '.join(known) or 'nothing'}")
        records = [record for record in history if _is_number(record.get(x)) and _is_number(record.get(y))]
        learner = learner_of(estimator)
        display = cls(
            np.array([record[x] for record in records], float),
            np.array([record[y] for record in records], float),
            x_name=x, y_name=y, name=type(learner).__name__ if name is None else name,
        )  # fmt: skip
        return display.plot(ax, **line_options)

    def plot(self, ax: Any = None, **line_options: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        FitHistoryDisplay
            Itself.
        """
        ax = self._axes(ax)
        (self.line_,) = ax.plot(self.x, self.y, **{"marker": ".", "label": self.name} | line_options)
        if self.y_name in ABOVE_ZERO and (self.y > 0).any():
            ax.set_yscale("log")
        ax.set(xlabel=self.x_name.replace("_", " "), ylabel=self.y_name.replace("_", " "))
        ax.legend()
        return self


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
