"""Labels of which some are missing."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from fastlin.validation.labels import as_labels

MISSING = (-1, "-1", "")  # numpy makes "-1" of the −1 in a list of strings; in a file the field may be empty


def as_partly_labels(y: Any, n_rows: int, *, estimator: str, name: str = "y") -> tuple[NDArray[Any], NDArray[np.int32]]:
    """(classes, codes): the sorted distinct labels, and each row's place among them, −1 where its label is missing.

    A missing label is −1, "-1", "" or None. There may be no labels at all.
    """
    y = np.asarray(y) if isinstance(y, list | tuple) else y
    if getattr(getattr(y, "dtype", None), "kind", None) == "O":
        values = column_or_1d(y, warn=True)
        there = np.array([not is_missing(label) for label in values.tolist()], bool)
        if len(values) == n_rows and there.any():
            codes = np.full(n_rows, -1, np.int32)
            labels = _narrowed(values[there])
            classes, codes[there] = as_labels(labels, len(labels), estimator=estimator, name=name)
            return classes, codes
        y = np.where(there, values, -1) if there.any() else np.full(len(values), -1)
    classes, codes = as_labels(y, n_rows, estimator=estimator, name=name)
    place = places_of_labels(classes)
    return classes[place >= 0], place[codes]


def _narrowed(labels: NDArray[Any]) -> NDArray[Any]:
    """Objects as the integers or booleans that they are: only None among them had made objects of them."""
    kinds = (np.bool_, bool) if isinstance(labels[0], bool | np.bool_) else numbers.Integral
    if not all(isinstance(label, kinds) for label in labels):
        return labels
    narrowed = np.array(labels.tolist())
    return narrowed if narrowed.dtype.kind in "iub" else labels


def places_of_labels(classes: NDArray[Any]) -> NDArray[np.int32]:
    """The place of each class among those that are labels; −1 for those that say that there is none."""
    missing = np.array([is_missing(label) for label in classes.tolist()], bool)
    return np.where(missing, -1, np.cumsum(~missing) - 1).astype(np.int32)


def is_missing(label: Any) -> bool:
    """Whether this stands for no label."""
    return label is None or (isinstance(label, numbers.Real | str) and label in MISSING)


def refuse_missing(y: Any, name: str) -> None:
    """Where every row needs a label."""
    if any(is_missing(label) for label in np.asarray(y).ravel().tolist()):
        raise ValueError(f"every row of {name} needs a label; -1, '-1', '' and None stand for none")
