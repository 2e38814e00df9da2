"""What a search along paths has found, as arrays by fold, l1_ratio and C, and in scikit-learn's earlier shapes.

Until its version 1.10, scikit-learn has an entry for each label: numbers are repeated, and what belongs to a label's
weights is found in a dict by the label, with the axis of C before that of l1_ratio.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

WARN = "warn"  # scikit-learn's word for a default of which it warns


def given(value: Any, default: Any) -> Any:
    """A parameter's value; the default in the place of scikit-learn's sign for one."""
    return default if isinstance(value, str) and value == WARN else value


def tabulate(paths: list[Any], name: str, n_ratios: int, order: NDArray[np.int64], missing: float) -> NDArray[Any]:
    """An entry of all records, [folds, l1_ratios, Cs in the order given]; fits that were not made have `missing`."""
    found = np.full((len(paths), n_ratios * len(order)), missing)
    for row, path in zip(found, paths, strict=True):
        row[: len(path.records)] = [record[name] for record in path.records]
    return found.reshape(len(paths), n_ratios, len(order))[:, :, np.argsort(order)]


def as_legacy(model: Any) -> None:
    """Give a search's attributes scikit-learn's earlier shapes."""
    drops_ratios = given(model.l1_ratios, None) is None
    labels = model.classes_[-len(model.coef_) :]

    def turned(array: NDArray[Any]) -> NDArray[Any]:
        """[folds, Cs, l1_ratios, …], without the l1_ratios if none were asked for."""
        array = np.swapaxes(array, 1, 2)
        return array[:, :, 0] if drops_ratios else array

    model.scores_ = {label: turned(model.scores_) for label in labels}
    if hasattr(model, "coefs_paths_"):
        weights = model.coefs_paths_
        model.coefs_paths_ = {label: turned(weights[..., place, :]) for place, label in enumerate(labels)}
    model.n_iter_ = turned(model.n_iter_)[np.newaxis]
    model.C_, model.l1_ratio_ = np.full(len(labels), model.C_), np.full(len(labels), model.l1_ratio_)


def without_legacy(model: Any) -> dict[str, Any]:
    """C_, l1_ratio_, scores_ and n_iter_ by fold, l1_ratio and C, of whatever shapes they are."""
    if not isinstance(model.scores_, dict):
        return {name: vars(model)[name] for name in ("C_", "l1_ratio_", "scores_", "n_iter_")}
    shape = len(next(iter(model.scores_.values()))), len(model.Cs_), len(model.l1_ratios_)
    scores = next(iter(model.scores_.values())).reshape(shape)
    return {
        "C_": float(model.C_[0]), "l1_ratio_": float(model.l1_ratio_[0]), "scores_": scores.swapaxes(1, 2),
        "n_iter_": model.n_iter_[0].reshape(shape).swapaxes(1, 2),
    }  # fmt: skip
