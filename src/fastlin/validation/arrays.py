"""Arrays of numbers: weights of rows, and what a user says of each feature."""

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.validation.rows import as_rows


def as_weights(
    sample_weight: Any, n_rows: int, name: str = "sample_weight", unit: str = "row"
) -> NDArray[np.float64] | None:
    """Non-negative finite weights, one a row; None stands for ones."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, sample_weight)
    weights = as_vector(sample_weight, name)
    if len(weights) != n_rows:
        raise ValueError(f"{name} has {len(weights)} entries, X has {n_rows} {unit}s")
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(f"{name} must not be negative: {weights[row]:g} at {unit} {row}")
    if (weights > 1e100).any():
        row = int(np.argmax(weights > 1e100))
        raise ValueError(f"{name} holds {weights[row]:g} at {unit} {row}; at most 1e100 is supported")
    return weights


def as_vector(values: Any, name: str) -> NDArray[np.float64]:
    """A contiguous finite float64 vector."""
    return as_finite(values, name, ndim=1)


def as_finite(values: Any, name: str, ndim: int) -> NDArray[np.float64]:
    """A contiguous finite float64 array of so many dimensions; a sparse matrix is proved before scipy fills one."""
    if sp.issparse(values) and ndim == 2:
        values = as_rows(values, dtype=np.dtype(np.float64), name=name).matrix().toarray()
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("complex")
        array = np.require(array, np.float64, ["C", "A"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers") from error
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        place = np.unravel_index(int(np.argmin(finite)), array.shape)
        kind = "NaN" if np.isnan(array[place]) else "infinity"
        raise ValueError(f"{name} contains {kind} at {', '.join(str(int(index)) for index in place)}")
    return array


def as_positive(values: Any, name: str, n: int) -> NDArray[np.float64]:
    """A variance for each of n features, from one for all or one each."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers") from error
    if array.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a number or an array of shape ({n},), got shape {array.shape}")
    wrong = ~((array >= 1e-100) & ((array <= 1e100) | (array == np.inf)))
    if wrong.any():
        place = f" at {int(np.argmax(wrong))}" if array.ndim else ""
        raise ValueError(f"{name} must lie between 1e-100 and 1e100 or be inf, got {array[wrong].flat[0]:g}{place}")
    return np.ascontiguousarray(np.broadcast_to(array, n))


def as_cutoff(values: Any, n: int) -> NDArray[np.int64]:
    """How many rows must have a pair: a whole number for each of n features, from one for all or one each."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise TypeError(f"cutoff must be a whole number, or one for each feature, got {values!r}")
    if array.shape not in ((), (n,)):
        raise ValueError(f"cutoff must be a whole number or an array of shape ({n},), got shape {array.shape}")
    if (array < 1).any():
        place = f" at {int(np.argmax(array < 1))}" if array.ndim else ""
        raise ValueError(f"cutoff must be at least 1, got {array.min()}{place}")
    return np.ascontiguousarray(np.broadcast_to(array.astype(np.int64), n))


def as_real(array: Any) -> np.dtype[Any]:
    """The type in which the kernels take weights of a user's: float32 stays, all else is float64."""
    return np.dtype(np.float32 if getattr(array, "dtype", None) == np.float32 else np.float64)
