"""Labels and their weights, real targets, groups of rows and places within them."""

import numbers
from collections.abc import Sized
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.validation.arrays import as_finite, as_vector
from fastlin.validation.categorical import is_known
from fastlin.validation.parameters import one_of, real_number

MAX_TARGET = 1e100
MAX_HASHED_BYTES = 128  # of a label
HASH_BITS = 16
GOLDEN_RATIO = 0x9E3779B97F4A7C15  # 2⁶⁴/φ, as Fibonacci hashing has it


def as_labels(y: Any, n_rows: int, *, estimator: str, name: str = "y") -> tuple[NDArray[Any], NDArray[np.int32]]:
    """(classes, codes): the sorted distinct labels, and each row's place among them."""
    y = _one_column(y, estimator, name)
    check_length(y, n_rows, name)
    if y.dtype.kind == "f":
        finite = np.isfinite(y)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(f"Input {name} contains {'NaN' if np.isnan(y[row]) else 'infinity'} at row {row}")
        fraction = y != np.floor(y)
        if fraction.any():
            row = int(np.argmax(fraction))
            raise ValueError(f"Unknown label type: continuous. {name} holds {y[row]} at row {row}; labels are discrete")
    if y.dtype.kind in "iub":
        classes, codes = _encode_integers(y)
    elif y.dtype.kind in "OUST":
        classes, codes = _encode_characters(y) or _encode_objects(y, name)
    else:
        if y.dtype.kind in "mM" and np.isnat(y).any():
            raise ValueError(f"{name} holds NaT at row {int(np.argmax(np.isnat(y)))}")
        classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32, copy=False)


def as_targets(y: Any, n_rows: int, *, estimator: str, name: str = "y") -> NDArray[np.float64]:
    """A finite number for each row."""
    targets = as_vector(_one_column(y, estimator, name), name)
    check_length(targets, n_rows, name)
    return _within_bounds(targets, name)


def as_target_columns(y: Any, n_rows: int, *, estimator: str, name: str = "y") -> NDArray[np.float64]:
    """A finite number for each row, or for each row and target."""
    _check_given(y, estimator, name)
    y = np.asarray(as_exact(y, name))
    targets = as_finite(y, name, ndim=2 if y.ndim > 1 else 1)
    check_length(targets, n_rows, name)
    if targets.ndim == 2 and not targets.shape[1]:
        raise ValueError(f"{name} has no column: one for each target is wanted")
    return _within_bounds(targets, name)


def _within_bounds(targets: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    largest = np.abs(targets).max(initial=0)
    if largest > MAX_TARGET:
        raise ValueError(f"{name} holds ±{largest:g}; at most {MAX_TARGET:g} is supported")
    return targets


def _one_column(y: Any, estimator: str, name: str) -> NDArray[Any]:
    """Labels or targets as a vector of whatever they are."""
    from sklearn.utils.validation import column_or_1d

    _check_given(y, estimator, name)
    y = as_exact(y, name)
    if type(y) is np.ndarray and y.ndim == 1:
        return np.ascontiguousarray(y)
    return np.asarray(column_or_1d(y, warn=True))


def _check_given(y: Any, estimator: str, name: str) -> None:
    if y is None:
        raise ValueError(f"{estimator} requires {name} to be passed, but the target {name} is None")
    if sp.issparse(y):
        raise TypeError(f"{name} must be a vector, got a sparse matrix")
    if getattr(getattr(y, "dtype", None), "kind", None) == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {y.dtype}")


def check_length(y: Sized, n_rows: int, name: str) -> None:
    """Refuse a target of another number of rows than X has."""
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {name.replace('y', 'X')} has {n_rows}, "
            f"{name} has {len(y)}"
        )


def as_exact(y: Any, name: str) -> Any:
    """Labels in a list as an array in which each is what it was: one of numpy's makes strings of 1 beside "b"."""
    if not isinstance(y, list | tuple):
        return y
    types = set(map(type, y))
    if any(issubclass(kind, list | tuple | np.ndarray) for kind in types):
        return y  # a column, perhaps
    _check_kinds(types, y, name)
    array = np.asarray(y)
    if array.dtype.kind != "f" or all(issubclass(kind, float | np.floating) for kind in types):
        return array
    if all(issubclass(kind, numbers.Integral) for kind in types):  # too wide for one type of numpy's
        return np.array(y, dtype=np.uint64 if min(y) >= 0 and max(y) < 2**64 else object)
    row = next((row for row, (label, held) in enumerate(zip(y, array.tolist(), strict=True)) if label != held), None)
    if row is not None and y[row] == y[row]:
        raise ValueError(f"{name} holds {y[row]!r} at row {row}, which is no float: give all labels as integers")
    return array


def _check_kinds(types: set[type], values: Any, name: str) -> None:
    """Labels are all strings, bytes, booleans or numbers: True is not 1, and 1 is not "1"."""
    kinds = {_kind(label_type) for label_type in types}
    if len(kinds) > 1:
        first: dict[str, str] = {}
        for row, value in enumerate(values):
            first.setdefault(_kind(type(value)), f"{value!r:.60} at row {row}")
        found = ", ".join(sorted(label_type.__name__ for label_type in types))
        examples = " and ".join(first.values())
        raise TypeError(f"{name} must hold labels of one kind that can be sorted, got {found}: {examples}")


def _kind(label_type: type) -> str:
    kinds: dict[str, Any] = {"text": str, "bytes": bytes, "truth": (bool, np.bool_), "number": numbers.Real}
    return next((name for name, kind in kinds.items() if issubclass(label_type, kind)), label_type.__name__)


def as_classes(classes: Any) -> NDArray[Any]:
    """Announced labels, sorted and distinct."""
    if not np.size(classes):
        raise ValueError("classes must hold at least one label")
    return as_labels(classes, len(classes), estimator="partial_fit", name="classes")[0]


def _encode_integers(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A table over the range of the labels, where that is short; no sorting of the rows."""
    low, high = int(y.min()), int(y.max())
    if y.dtype.kind == "b" or high - low > 4 * len(y) + 1000 or high > np.iinfo(np.int64).max:
        return np.unique(y, return_inverse=True)
    offsets = np.subtract(y, low, dtype=np.int64, casting="unsafe")
    present = np.bincount(offsets, minlength=1) > 0
    places = np.cumsum(present) - 1
    return (np.flatnonzero(present) + low).astype(y.dtype), places[offsets]


def _encode_characters(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """Labels of numpy's strings by their hashes; None: the labels are something else, or two have one hash."""
    if y.dtype.kind not in "US" or not y.dtype.isnative or not 0 < y.itemsize <= MAX_HASHED_BYTES or not len(y):
        return None
    characters = y.view(np.uint32 if y.dtype.kind == "U" else np.uint8).reshape(len(y), -1)
    factors = np.cumprod(np.full(characters.shape[1], GOLDEN_RATIO, np.uint64))  # its powers, modulo 2⁶⁴
    keys = (characters.astype(np.uint64) @ factors >> np.uint64(64 - HASH_BITS)).astype(np.intp)
    row_of = np.empty(1 << HASH_BITS, np.intp)
    row_of[keys] = np.arange(len(y))
    if (characters[row_of[keys]] != characters).any():
        return None
    found = np.flatnonzero(np.bincount(keys))
    labels = y[row_of[found]]
    order = np.argsort(labels)
    code_of = np.empty(1 << HASH_BITS, np.int64)
    code_of[found[order]] = np.arange(len(found))
    return labels[order], code_of[keys]


def _encode_objects(y: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Hash the labels, sort only the distinct ones."""
    values = y.tolist()
    if y.dtype.kind == "O":
        types = set(map(type, values))
        if len(types) > 1 and all(is_known(value) for value in values):
            _check_kinds(types, values, name)
    try:
        ordered = sorted(set(values))
    except TypeError as error:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        row = next((row for row, value in enumerate(values) if not is_known(value)), None)
        missing = "" if row is None else f": that of row {row} is missing"
        raise TypeError(f"{name} must hold labels of one kind that can be sorted, got {kinds}{missing}") from error
    if not any(all(isinstance(label, kind) for label in ordered) for kind in (str, bytes, bool, numbers.Integral)):
        odd = next((label for label in ordered if not isinstance(label, str | numbers.Integral)), ordered[0])
        raise ValueError(f"Unknown label type: {name} holds {odd!r}; give labels as strings or as integers")
    place = {label: code for code, label in enumerate(ordered)}
    return np.array(ordered, dtype=y.dtype), np.fromiter(map(place.__getitem__, values), np.int64, len(values))


def as_groups(group_sizes: Any, n_rows: int) -> NDArray[np.int64]:
    """Where the group of each instance starts among n rows, and n: from the number of rows of each group."""
    return _starts(group_sizes, n_rows, "group_sizes", "group", 1)


def as_lengths(lengths: Any, n_rows: int) -> NDArray[np.int64]:
    """Where each sequence starts among n rows, and n: from the number of rows of each, which may be 0."""
    return _starts(lengths, n_rows, "lengths", "sequence", 0)


def _starts(counts: Any, n_rows: int, name: str, part: str, least: int) -> NDArray[np.int64]:
    sizes = _whole_vector(counts, name)
    wrong = (sizes < least) | (sizes > n_rows)
    if wrong.any():
        place = int(np.argmax(wrong))
        needed = f"X has {n_rows} rows"
        if sizes[place] < least:
            needed = f"a {part} has at least one row" if least else "no length is negative"
        raise ValueError(f"{name} holds {sizes[place]} for {part} {place}; {needed}")
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes.astype(np.int64), out=starts[1:])
    if starts[-1] != n_rows:
        raise ValueError(f"the {len(sizes)} {name} add up to {starts[-1]}, but X has {n_rows} rows")
    return starts


def as_positions(y: Any, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of the right row within each group."""
    places, sizes = _whole_vector(y, "y"), np.diff(starts)
    if len(places) != len(sizes):
        raise ValueError(f"y has {len(places)} entries, group_sizes has {len(sizes)}: one position for each group")
    wrong = (places < 0) | (places >= sizes)
    if wrong.any():
        group = int(np.argmax(wrong))
        raise ValueError(f"y holds {places[group]} for group {group}, which has the positions 0 to {sizes[group] - 1}")
    return places.astype(np.int64)


def _whole_vector(values: Any, name: str) -> NDArray[Any]:
    """A vector of integers of any width."""
    if sp.issparse(values):
        raise TypeError(f"{name} must be a vector of whole numbers, got a sparse matrix")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be a vector of whole numbers: {error}") from error
    if array.ndim != 1:
        found = f"shape {array.shape}" if array.ndim else repr(values)
        raise ValueError(f"{name} must be a vector of whole numbers, got {found}")
    if len(array) and array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole numbers, got {array.dtype} {array.tolist()[0]!r}, …")
    return array


def class_factors(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.int32],
    strict: bool,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64] | None:
    """Factors of the weights of the rows of each class; None stands for ones.

    "balanced" lets the classes that have a weight have the same, as the weights of the rows say. `strict`: a dict that
    leaves out classes must not name others, which would be slips of the pen.
    """
    if class_weight is None:
        return None
    factors = np.ones(len(classes))
    if isinstance(class_weight, str):
        one_of("class_weight", class_weight, ["balanced"])
        masses = np.bincount(codes, weights if weights is not None and len(weights) else None, minlength=len(classes))
        there = masses > 0
        with np.errstate(over="ignore"):
            np.divide(masses.sum(), np.count_nonzero(there) * masses, where=there, out=factors)
        if not np.isfinite(factors).all():
            raise ValueError("class_weight='balanced': the weights of the rows of a class are too small to balance")
        return factors
    if not isinstance(class_weight, dict):
        raise TypeError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    for place, label in enumerate(classes.tolist()):
        weight = class_weight.get(label, 1.0)
        factors[place] = real_number(f"class_weight[{label!r}]", weight, at_least=0, at_most=1e100)
    unknown = set(class_weight) - set(classes.tolist())
    if strict and unknown and not set(classes.tolist()) <= set(class_weight):
        missing = [label for label in classes.tolist() if label not in class_weight]
        raise ValueError(
            f"The classes {sorted(unknown, key=repr)} of class_weight are not labels of y, and it lacks {missing!r:.60}"
        )
    return factors
