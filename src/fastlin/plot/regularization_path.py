"""Scores, weights or numbers of weights along C."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.inspection.weights import learner_of
from fastlin.plot.display import Display, fitted_attribute, shortened

VALUES = ("score", "n_nonzero", "objective", "duality_gap", "coef")


class RegularizationPathDisplay(Display):
    """Plot of a search over C: the mean over the folds and their spread, or the weights of features.

    Parameters
    ----------
    Cs : array of shape (n_cs,)
        Ascending.
    values : array of shape (n_folds, n_cs), or (n_features, n_cs)
    value_name : str
        "score", "n_nonzero", "objective", "duality_gap", or "coef".
    best_C : float, optional
        Where the search ended.
    names : sequence of str
        Of features, whose weights are drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib's axes and figure
    lines_ : list of matplotlib's lines

    Examples
    --------
    >>> from fastlin import LogisticRegressionCV
    >>> from fastlin.plot import RegularizationPathDisplay
    >>> from scipy.sparse import random_array
    >>> X = random_array((60, 8), density=0.5, rng=0, format="csr")
    >>> y = (X[:, [0]].toarray()[:, 0] > 0.2).astype(int)
    >>> model = LogisticRegressionCV(Cs=[0.1, 1, 10, 100], cv=3).fit(X, y)
    >>> display = RegularizationPathDisplay.from_estimator(model)
    >>> display.values.shape, display.ax_.get_xscale()
    ((3, 4), 'log')
    """

    def __init__(
        self,
        Cs: NDArray[Any],
        values: NDArray[Any],
        *,
        value_name: str = "score",
        best_C: float | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        self.Cs, self.values, self.value_name, self.best_C, self.names = Cs, values, value_name, best_C, names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        value: Literal["score", "n_nonzero", "objective", "duality_gap", "coef"] = "score",
        l1_ratio: float | None = None,
        label: Any = None,
        n_features: int = 12,
        feature_names: Any = None,
        ax: Any = None,
        **line_options: Any,
    ) -> Self:
        """Plot the path of a search.

        Parameters
        ----------
        estimator : fitted LogisticRegressionCV, or a pipeline that ends with one
        value : {"score", "n_nonzero", "objective", "duality_gap", "coef"}
            "coef": the weights of the features that are the largest at any C, their mean over the folds.
        l1_ratio : float, optional
            One of `l1_ratios_`; the one that was chosen, or the first, when not given.
        label : label, optional
            Whose weights; the last label's when not given.
        n_features : int
            How many features' weights.
        feature_names : sequence of str, optional
            The names of the columns; those that the model knows, or x0, x1, … when not given.
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        RegularizationPathDisplay
        """
        records = fitted_attribute(estimator, "path_", "only LogisticRegressionCV has a path of C")
        learner = learner_of(estimator)
        if value not in VALUES:
            raise ValueError(f"value must be one of {', '.join(VALUES)}, got {value!r}")
        ratios = list(dict.fromkeys(record["l1_ratio"] for record in records))
        if l1_ratio is None:
            l1_ratio = learner.l1_ratio_ if learner.l1_ratio_ in ratios else ratios[0]
        if l1_ratio not in ratios:
            raise ValueError(f"l1_ratio={l1_ratio!r} was not searched, only {', '.join(map(str, ratios))}")
        Cs = np.unique([record["C"] for record in records])
        names: tuple[str, ...] = ()
        if value == "coef":
            values, names = _largest_weights(learner, l1_ratio, label, n_features, feature_names)
        else:
            folds = list(dict.fromkeys(record["fold"] for record in records))
            values = np.full((len(folds), len(Cs)), np.nan)
            for record in records:
                if record["l1_ratio"] == l1_ratio:
                    values[folds.index(record["fold"]), np.searchsorted(Cs, record["C"])] = record[value]
        display = cls(Cs, values, value_name=value, best_C=float(learner.C_), names=names)
        return display.plot(ax, **line_options)

    def plot(self, ax: Any = None, **line_options: Any) -> Self:
        """Draw the path, and a line where the best C is.

        Parameters
        ----------
        ax : matplotlib's axes, optional
            New ones when not given.
        **line_options
            As in `matplotlib.axes.Axes.plot`.

        Returns
        -------
        RegularizationPathDisplay
            Itself.
        """
        ax = self._axes(ax)
        if self.value_name == "coef":
            self.lines_ = ax.plot(self.Cs, self.values.T, **line_options)
            for line, name in zip(self.lines_, self.names, strict=True):
                line.set_label(shortened(name, 24))
            ax.legend(fontsize="small")
        else:
            means, spread = self.values.mean(axis=0), self.values.std(axis=0)
            self.lines_ = ax.plot(self.Cs, means, **{"marker": "."} | line_options)
            if len(self.values) > 1:
                ax.fill_between(self.Cs, means - spread, means + spread, alpha=0.2, color=self.lines_[0].get_color())
        if self.best_C is not None:
            ax.axvline(self.best_C, linestyle=":", color="grey")
        ax.set(xlabel="C", ylabel={"n_nonzero": "weights that are not 0", "coef": "weight"}.get(
            self.value_name, self.value_name.replace("_", " ")
        ), xscale="log")  # fmt: skip
        return self


def _largest_weights(
    learner: Any, l1_ratio: float, label: Any, n_features: int, feature_names: Any
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """The weights of the features that are the largest somewhere along the path, and their names."""
    paths = fitted_attribute(learner, "coefs_paths_", "fit with keep_paths=True, which keeps the weights of every C")
    if isinstance(paths, dict):
        raise ValueError("use_legacy_attributes=True keeps other shapes: plot a fit without it")
    classes = learner.classes_.tolist()
    if label is not None and label not in classes:
        raise ValueError(f"the model has no label {label!r}; it has {', '.join(map(str, classes[:20]))}")
    place = len(classes) - 1 if label is None else classes.index(label)
    shared = paths.shape[3] == 1  # w of two labels
    weights = paths[:, list(learner.l1_ratios_).index(l1_ratio), :, 0 if shared else place, : learner.n_features_in_]
    weights = weights.mean(axis=0)[np.argsort(learner.Cs_, kind="stable")].T * (-1.0 if shared and place == 0 else 1.0)
    best = np.argsort(-np.abs(weights).max(axis=1), kind="stable")[:n_features]
    known = getattr(learner, "feature_names_in_", None) if feature_names is None else feature_names
    return weights[best], tuple(f"x{place}" if known is None else str(known[place]) for place in best.tolist())
