"""The strongest features of each label, as bars."""

from collections.abc import Iterable
from typing import Any, Self

from fastlin.inspection import LabelFeatures, top_features
from fastlin.plot.display import Display, shortened


class TopFeaturesDisplay(Display):
    """Bars of the strongest features of labels.

    Parameters
    ----------
    features : list of LabelFeatures
        As `fastlin.inspection.top_features` gives them.

    Attributes
    ----------
    ax_ : matplotlib's axes, or an array of them, one a label
    figure_ : matplotlib's figure

    Examples
    --------
    >>> from fastlin import CountVectorizer, LogisticRegression
    >>> from fastlin.plot import TopFeaturesDisplay
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(CountVectorizer(), LogisticRegression())
    >>> model = model.fit(["a good film", "a bad film", "not good"], ["up", "down", "down"])
    >>> display = TopFeaturesDisplay.from_estimator(model, 2)
    >>> [ax.get_title() for ax in display.ax_]
    ['down', 'up']
    """

    def __init__(self, features: list[LabelFeatures]) -> None:
        self.features = features

    @classmethod
    def from_estimator(
        cls, estimator: Any, n: int = 10, *, labels: Iterable[Any] | None = None, ax: Any = None, **bar_options: Any
    ) -> Self:
        """Plot the features that speak most strongly for each label.

        Parameters
        ----------
        estimator : fitted classifier, model of sequences, mixture or k-means, or a pipeline that ends with one
        n : int
            How many for each label.
        labels : iterable, optional
            Only these labels.
        ax : matplotlib's axes, or a sequence of as many as there are labels, optional
            New ones when not given.
        **bar_options
            As in `matplotlib.axes.Axes.barh`.

        Returns
        -------
        TopFeaturesDisplay
        """
        return cls(top_features(estimator, n, labels)).plot(ax, **bar_options)

    def plot(self, ax: Any = None, **bar_options: Any) -> Self:
        """Draw a panel for each label.

        Parameters
        ----------
        ax : matplotlib's axes, or a sequence of as many as there are labels, optional
            New ones when not given.
        **bar_options
            As in `matplotlib.axes.Axes.barh`.

        Returns
        -------
        TopFeaturesDisplay
            Itself.
        """
        if not self.features:
            raise ValueError("there is no label whose features could be drawn")
        panels = self._panels(ax)
        for panel, found in zip(panels, self.features, strict=True):
            places = range(len(found.names), 0, -1)
            panel.barh(places, found.weights, **bar_options)
            panel.set_yticks(places, [shortened(name) for name in found.names])
            panel.set(title=shortened(str(found.label)), xlabel="weight")
        self.ax_ = panels if len(panels) > 1 else panels[0]
        return self

    def _panels(self, ax: Any) -> Any:
        """Axes for each label."""
        if ax is None and len(self.features) > 1:
            first = self._axes(None)
            figure, tallest = first.figure, max(len(found.names) for found in self.features)
            first.remove()
            figure.set_size_inches(4 * len(self.features), 1.2 + 0.25 * tallest)
            figure.set_layout_engine("constrained")
            self.figure_ = figure
            return figure.subplots(1, len(self.features))
        panels = list(ax) if hasattr(ax, "__len__") else [self._axes(ax)]
        if len(panels) != len(self.features):
            raise ValueError(f"ax must be as many axes as there are labels, {len(self.features)}; got {len(panels)}")
        self.figure_ = panels[0].figure
        return panels
