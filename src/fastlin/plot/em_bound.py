"""The bound that EM raises, iteration by iteration."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.inspection.weights import learner_of
from fastlin.plot.display import Display, fitted_attribute


class EMBoundDisplay(Display):
    """Plot of the bound of one EM fit, or of several, and of what their restarts came to.

    Parameters
    ----------
    bounds : array of shape (n_iter + 1,)
        Before the first iteration, and after each.
    restarts : array of shape (n_init,), optional
        Where each start ended.
    name : str
        The name of the curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    line_ : matplotlib's line

    Examples
    --------
    >>> from fastlin import MultinomialMixture
    >>> from fastlin.plot import EMBoundDisplay
    >>> model = MultinomialMixture(2, random_state=0).fit([[3, 0, 1], [0, 2, 2], [4, 1, 0], [0, 3, 1]])
    >>> display = EMBoundDisplay.from_estimator(model)
    >>> bool((display.bounds[1:] >= display.bounds[:-1]).all())
    True
    """

    def __init__(self, bounds: NDArray[Any], *, restarts: NDArray[Any] | None = None, name: str = "") -> None:
        self.bounds, self.restarts, self.name = bounds, restarts, name

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Any = None, **line_options: Any) -> Self:
        """Plot the bound of a model that EM fitted.

        Parameters
        ----------
        estimator : fitted MultinomialMixture, SemiSupervisedNB, HMM, PCFG or another with a `bound_`
            Or a pipeline that ends with one.
        name : str, optional
            The name of the curve; that of the estimator's class when not given.
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        EMBoundDisplay
        """
        bounds = np.asarray(fitted_attribute(estimator, "bound_", "only models that EM fitted have a bound"), float)
        learner = learner_of(estimator)
        judged = getattr(learner, "early_stopping", False)  # starts have accuracies then, and no bounds
        restarts = None if judged else getattr(learner, "restart_scores_", None)
        name = type(learner).__name__ if name is None else name
        return cls(np.atleast_1d(bounds), restarts=restarts, name=name).plot(ax, **line_options)

    def plot(self, ax: Any = None, **line_options: Any) -> Self:
        """Draw the curve, and a mark for each restart at its right.

        Parameters
        ----------
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        EMBoundDisplay
            Itself.
        """
        ax = self._axes(ax)
        (self.line_,) = ax.plot(self.bounds, **{"marker": ".", "label": self.name} | line_options)
        if self.restarts is not None and len(self.restarts) > 1:
            at = np.full(len(self.restarts), len(self.bounds) - 1)
            label = f"{len(self.restarts)} starts"
            ax.plot(at, self.restarts, "_", color=self.line_.get_color(), markersize=12, label=label)
        ax.set(xlabel="iteration", ylabel="bound")
        ax.legend()
        return self
