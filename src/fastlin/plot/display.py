"""The axes of displays, and the learner behind a pipeline."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from fastlin.inspection.weights import learner_of


class Display:
    """A display: after `plot`, `ax_` are the axes that were drawn into and `figure_` their figure."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        """The axes of the caller, or new ones."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("plots need matplotlib: pip install fastlin[plot]") from error
            _, ax = plt.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def fitted_attribute(model: Any, name: str, wanted: str) -> Any:
    """An attribute of a fitted learner, or of the one at the end of a pipeline."""
    learner = learner_of(model)
    check_is_fitted(learner)
    found = getattr(learner, name, None)
    if found is None:
        raise TypeError(f"{type(learner).__name__} has no {name}: {wanted}")
    return found


def shortened(name: str, longest: int = 40) -> str:
    """A name that leaves room for the plot; what matplotlib would read as mathematics is text."""
    name = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return "".join(each if each.isprintable() else "�" for each in name).replace("$", r"\$")
