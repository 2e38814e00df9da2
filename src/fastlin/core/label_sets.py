"""Sets of labels that grow, and their columns of weights."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray


def n_weight_columns(n_labels: int) -> int:
    """Two labels share a column of weights, w = θ₁ − θ₀."""
    return 1 if n_labels <= 2 else n_labels


def union_of_labels(known: NDArray[Any], seen: NDArray[Any]) -> NDArray[Any]:
    """All labels, sorted. Kinds do not mix: False is not 0, b"a" is not "a"."""
    check_kind(known, seen)
    if known.dtype == seen.dtype and known.dtype != object:
        return known if np.isin(seen, known).all() else np.union1d(known, seen)
    every = {*map(_exact, known.tolist()), *map(_exact, seen.tolist())}  # one type of numpy could not hold them all
    if len(every) == len(known):
        return known
    return np.array(sorted(every), dtype=object if object in (known.dtype, seen.dtype) else None)


def label_positions(known: NDArray[Any], seen: NDArray[Any]) -> NDArray[np.int32]:
    """Where each of the labels seen stands among those known; −1: nowhere."""
    place = {_exact(label): index for index, label in enumerate(known.tolist())}
    return np.array([place.get(_exact(label), -1) for label in seen.tolist()], np.int32)


def check_kind(known: NDArray[Any], seen: NDArray[Any]) -> None:
    """Labels of one kind: strings, bytes, booleans or numbers."""
    if np.ndim(known) != 1 or not len(known):  # users may set them
        raise ValueError(f"classes_ must be a vector of the labels known, got shape {np.shape(known)}")
    if _kind(known[0]) != _kind(seen[0]):
        old, new = known.tolist()[0], seen.tolist()[0]
        raise ValueError(f"the labels known are like {old!r}, the new ones like {new!r}: kinds do not mix")


def _kind(label: Any) -> str:
    kinds = {"text": str, "bytes": bytes, "truth": bool | np.bool_, "number": numbers.Real}
    return next((name for name, kind in kinds.items() if isinstance(label, kind)), type(label).__name__)


def _exact(label: Any) -> Any:
    """A float label is a whole number: as an int it compares with others without rounding."""
    return int(label) if isinstance(label, float) else label


def check_set_weights(model: Any, widths: set[int]) -> None:
    """Refuse what users have set by hand unless it belongs together: columns of weights and intercepts, features."""
    shape = tuple(getattr(model.coef_, "shape", None) or np.shape(model.coef_))
    if len(shape) != 2 or shape[1] != model.n_features_in_:
        raise ValueError(f"coef_ has shape {shape}, which does not fit n_features_in_ = {model.n_features_in_!r:.60}")
    if shape[0] not in widths:
        n_labels = len(model.classes_) if hasattr(model, "classes_") else 1
        raise ValueError(f"coef_ of shape {shape} does not fit classes_ of {n_labels} label(s)")
    if hasattr(model, "intercept_") and np.shape(model.intercept_) != shape[:1]:
        raise ValueError(
            f"intercept_ has shape {np.shape(model.intercept_)}, which does not fit coef_ of shape {shape}"
        )


def column_mapping(old: NDArray[Any], new: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each column under the new labels: which old column it continues (−1: none), and times what."""
    source, factor = np.full(n_weight_columns(len(new)), -1), np.zeros(n_weight_columns(len(new)))
    where = label_positions(new, old)
    if len(old) > 2:
        source[where], factor[where] = np.arange(len(old)), 1.0
    elif len(old) == 2:
        source[where], factor[where] = 0, (-0.5, 0.5)
    return source, factor
