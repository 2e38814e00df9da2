"""What each selected feature was worth."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.plot.display import Display, fitted_attribute

LOSSES = {"log_likelihood": "log-likelihood"}


class SelectionCurveDisplay(Display):
    """Learning curve of greedy selection: log-likelihood, or accuracy on validation data, by number of features.

    Parameters
    ----------
    n_features : array of shape (n_rounds,)
    values : array of shape (n_rounds,)
    value_name : str
        What the values are, as in `history_`.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    line_ : matplotlib's line

    Examples
    --------
    >>> from fastlin.plot import SelectionCurveDisplay
    >>> from fastlin.select import SelectFeatures
    >>> X, y = [[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]], [1, 0, 1, 0]
    >>> display = SelectionCurveDisplay.from_estimator(SelectFeatures(n_features=2).fit(X, y))
    >>> display.n_features.tolist(), display.ax_.get_xlabel()
    ([1, 2], 'features')
    """

    def __init__(self, n_features: NDArray[Any], values: NDArray[Any], *, value_name: str = "log_likelihood") -> None:
        self.n_features, self.values, self.value_name = n_features, values, value_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, value: str = "log_likelihood", ax: Any = None, **line_options: Any
    ) -> Self:
        """Plot the rounds of a selection.

        Parameters
        ----------
        estimator : fitted SelectFeatures
        value : str
            "log_likelihood", "gain" or "validation_score": a number of its `history_`.
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        SelectionCurveDisplay
        """
        history = fitted_attribute(estimator, "history_", "only a selection in rounds has a history")
        rounds = [record for record in history if "n_features" in record and record.get(value) is not None]
        if not rounds:
            known = ", ".join(dict.fromkeys(key for record in history for key in record))
            raise ValueError(f"value={value!r} is not in the rounds of history_, which has {known or 'nothing'}")
        found = ([record[key] for record in rounds] for key in ("n_features", value))
        return cls(*map(np.array, found), value_name=value).plot(ax, **line_options)

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
        SelectionCurveDisplay
            Itself.
        """
        ax = self._axes(ax)
        (self.line_,) = ax.plot(self.n_features, self.values, **{"marker": "."} | line_options)
        ax.set(xlabel="features", ylabel=LOSSES.get(self.value_name, self.value_name.replace("_", " ")))
        return self
