"""Labels of which some are missing."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.validation.categorical import is_known
from fastlin.validation.labels import as_exact, as_labels

MISSING = (-1, "-1", "", b"-1", b"")  # numpy makes "-1" of the −1 in a list of strings; a file's field may be empty


def as_partly_labels(y: Any, n_rows: int, *, estimator: str, name: str = "y") -> tuple[NDArray[Any], NDArray[np.int32]]:
    """(classes, codes): the sorted distinct labels, and each row's place among them, −1 where its label is missing.

    A missing label is −1, "-1", "", None, NaN or pandas' NA. There may be no labels at all.
    """
    y = _as_array(y, name) if isinstance(y, list | tuple) else _filled(y)
    if y is not None and not sp.issparse(y):
        from sklearn.utils.validation import column_or_1d

        y = column_or_1d(y, warn=True)  # a column of pandas is as numpy has it
        if y.dtype.kind == "f":
            y = np.where(np.isnan(y), -1, y)
        elif y.dtype.kind == "O":
            there = np.array([not is_missing(label) for label in y.tolist()], bool)
            if len(y) == n_rows and there.any():
                codes = np.full(n_rows, -1, np.int32)
                labels = _narrowed(y[there])
                classes, codes[there] = as_labels(labels, len(labels), estimator=estimator, name=name)
                return classes, codes
            y = np.where(there, y, -1) if there.any() else np.full(len(y), -1)
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


def _as_array(y: Sequence[Any], name: str) -> Any:
    """Labels of a list as an array in which each is what it was; those that are missing may be of any kind."""
    if len(set(map(type, y))) < 2:
        return as_exact(y, name)
    missing = [is_missing(label) for label in y]
    there = as_exact([label for label, none in zip(y, missing, strict=True) if not none], name)
    if not any(missing) or not isinstance(there, np.ndarray):
        return there if isinstance(there, np.ndarray) else np.asarray(y)
    array = np.full(len(y), np.nan) if there.dtype.kind == "f" else np.full(len(y), None, object)
    array[~np.array(missing)] = there
    return array


def _filled(y: Any) -> Any:
    """With None where numpy masks a label: what lies there is none."""
    return np.where(np.ma.getmaskarray(y), np.array(None), y.data) if isinstance(y, np.ma.MaskedArray) else y


def places_of_labels(classes: NDArray[Any]) -> NDArray[np.int32]:
    """The place of each class among those that are labels; −1 for those that say that there is none."""
    missing = np.array([is_missing(label) for label in classes.tolist()], bool)
    return np.where(missing, -1, np.cumsum(~missing) - 1).astype(np.int32)


def is_missing(label: Any) -> bool:
    """Whether this stands for no label."""
    return not is_known(label) or (isinstance(label, numbers.Real | str | bytes) and label in MISSING)


def refuse_missing(y: Any, name: str) -> None:
    """Where every row needs a label."""
    if any(is_missing(label) for label in np.asarray(_filled(y)).ravel().tolist()):
        raise ValueError(f"every row of {name} needs a label; -1, '-1', '', None and NaN stand for none")
