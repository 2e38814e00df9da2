"""The weights of transitions between labels, as a heat map."""

from typing import Any, Self

import numpy as np

from fastlin.inspection import TransitionWeights, transitions
from fastlin.plot.display import Display, shortened


class TransitionsDisplay(Display):
    """Heat map of the transitions of a model of sequences of order 1.

    Parameters
    ----------
    transitions : TransitionWeights
        As `fastlin.inspection.transitions` gives them.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    im_ : matplotlib's image

    Examples
    --------
    >>> from fastlin.plot import TransitionsDisplay
    >>> from fastlin.sequence import CRF
    >>> model = CRF().fit([["the", "dog", "barks"], ["a", "cat", "ran"]], [["D", "N", "V"]] * 2)
    >>> display = TransitionsDisplay.from_estimator(model)
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['D', 'N', 'V']
    """

    def __init__(self, transitions: TransitionWeights) -> None:
        self.transitions = transitions

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **image_options: Any) -> Self:
        """Plot the transitions of a fitted model.

        Parameters
        ----------
        estimator : fitted CRF, MEMM, StructuredPerceptron or HMM
        ax : matplotlib's axes, optional
            New ones when not given.
        **image_options
            As in `matplotlib.axes.Axes.imshow`.

        Returns
        -------
        TransitionsDisplay
        """
        return cls(transitions(estimator)).plot(ax, **image_options)

    def plot(self, ax: Any = None, **image_options: Any) -> Self:
        """Draw the matrix: from the label of a row to that of a column; what cannot be is left blank.

        Parameters
        ----------
        ax : matplotlib's axes, optional
            New ones when not given.
        **image_options
            As in `matplotlib.axes.Axes.imshow`.

        Returns
        -------
        TransitionsDisplay
            Itself.
        """
        if self.transitions.order != 1:
            raise ValueError(f"a matrix shows transitions of order 1, and these are of order {self.transitions.order}")
        weights = np.ma.masked_invalid(self.transitions.weights)
        signed = bool((weights < 0).any())
        largest = float(np.abs(weights).max()) if weights.count() else 1.0
        defaults = {"cmap": "RdBu", "vmin": -largest, "vmax": largest} if signed else {"cmap": "Blues", "vmin": 0.0}
        ax = self._axes(ax)
        self.im_ = ax.imshow(weights, **defaults | image_options)
        self.figure_.colorbar(self.im_, ax=ax)
        names = [shortened(str(label), 20) for label in self.transitions.labels]
        ax.set_xticks(range(len(names)), names, rotation=90)
        ax.set_yticks(range(len(names)), names)
        ax.set(xlabel="to", ylabel="from")
        return self
