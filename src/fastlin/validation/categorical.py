"""Tuples of attributes, position by position: whole numbers that are codes, or strings."""

import itertools
import numbers
import sys
import warnings
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.validation.rows import MAX_COLUMNS

_KINDS = {"numbers": numbers.Real, "strings": str, "bytes": bytes}
_ADVICE = "a category is a whole number from 0 on, or a string"


class CategoricalColumn(NamedTuple):
    """A position of all tuples: a code for each row, −1 where nothing is known."""

    kind: str  # "numbers", which are the codes themselves, "strings" or "bytes"; "": nothing is known in any row
    codes: NDArray[np.integer[Any]]
    names: list[Any]  # what the codes of strings stand for, in the order of their first rows


def as_tuples(X: Any, name: str = "X") -> list[CategoricalColumn]:
    """Prove X, tuples of equal length, and return their positions; None and NaN stand for what is not known."""
    if sp.issparse(X):
        raise TypeError(f"{name} is a sparse matrix; tuples of attributes are dense: an array, a list or a data frame")
    return [_position(cells, name, column) for column, cells in enumerate(_columns(X, name))]


def _columns(X: Any, name: str) -> list[Any]:
    """Arrays, lists of objects, or the columns of a data frame."""
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype == object:
        X = X.tolist()
    if isinstance(X, list | tuple):
        return _columns_of_list(X, name)
    frame = hasattr(X, "iloc") and len(X.shape) == 2
    if not frame:
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead: {name} has shape {X.shape}. Reshape your data, by "
                "reshape(-1, 1) if it is one position, by reshape(1, -1) if it is one tuple"
            )
    _check_shape(X.shape, name)
    return [X.iloc[:, column] if frame else X[:, column] for column in range(X.shape[1])]


def _columns_of_list(X: Any, name: str) -> list[Any]:
    """Lists, from a list of tuples, lists or vectors."""
    try:
        lengths = set(map(len, X))
    except TypeError:
        lengths = {-1}
    if -1 in lengths or any(issubclass(kind, str | bytes | dict | set | frozenset) for kind in set(map(type, X))):
        raise ValueError(
            f"Expected 2D array, got 1D array instead: {name} is a list of what are no tuples. Reshape "
            "your data: a row is a tuple even if it has one attribute"
        )
    if len(lengths) > 1:
        row = next(row for row, attributes in enumerate(X) if len(attributes) != len(X[0]))
        raise ValueError(f"{name} holds {len(X[row])} attribute(s) at row {row}, {len(X[0])} at row 0")
    width = max(lengths, default=0)
    _check_shape((len(X), width), name)
    cells = list(itertools.chain.from_iterable(X))
    return [cells[column::width] for column in range(width)]


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    for n, what in zip(shape, ("sample", "feature"), strict=True):
        if n < 1:
            raise ValueError(f"Found {name} with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")


def _position(cells: Any, name: str, column: int) -> CategoricalColumn:
    kind = getattr(cells, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return _numbered(np.asarray(cells), name, column)
    if isinstance(kind, np.dtype) and kind.kind not in "OUST":
        complex_ = "Complex data not supported: " if kind.kind == "c" else ""
        raise ValueError(f"{complex_}{name} has dtype {kind} in column {column}; {_ADVICE}")
    try:
        if hasattr(cells, "factorize"):  # of pandas
            codes, found = cells.factorize()
            values = found.tolist()
        else:
            cells = cells if isinstance(cells, list) else cells.tolist()
            table: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
            codes, values = np.fromiter(map(table.__getitem__, cells), np.int32, len(cells)), list(table)
    except TypeError as error:
        raise TypeError(f"{name}, column {column}: {_ADVICE} ({error})") from error
    return _named(codes, values, name, column)


def _named(codes: NDArray[np.integer[Any]], values: list[Any], name: str, column: int) -> CategoricalColumn:
    """Codes of distinct values, as codes of those that are known."""
    there = np.fromiter(map(is_known, values), bool, len(values))
    known = list(itertools.compress(values, there))
    examples: dict[str, Any] = {}
    for value in known:
        kind = next((kind for kind, types in _KINDS.items() if isinstance(value, types)), None)
        if kind is None:
            raise TypeError(f"{name} holds {value!r:.60} in column {column}; {_ADVICE}")
        examples.setdefault(kind, value)
    if len(examples) > 1:
        one, other = list(examples.values())[:2]
        raise TypeError(
            f"{name} holds {one!r:.60} and {other!r:.60} in column {column}: kinds of categories do not mix"
        )
    if "numbers" in examples:
        numbers_ = np.full(len(values) + 1, np.nan)  # the last is that of the code −1
        numbers_[:-1][there] = list(map(_float, known))
        return _numbered(numbers_[codes], name, column)
    places = np.full(len(values) + 1, -1)
    places[:-1][there] = np.arange(len(known))
    return CategoricalColumn(next(iter(examples), ""), places[codes], known)


def _float(number: Any) -> float:
    """An integer that is too large for any float is, as a code, too large, too."""
    try:
        return float(number)
    except OverflowError:
        return float(MAX_COLUMNS)


def is_known(value: Any) -> bool:
    """Whether this is neither None nor NaN nor pandas' NA."""
    missing = getattr(sys.modules.get("pandas"), "NA", None)
    return value is not None and value is not missing and bool(value == value)


def _numbered(values: NDArray[Any], name: str, column: int) -> CategoricalColumn:
    """Numbers as codes; NaN is not known."""
    if values.dtype.kind == "b":
        return CategoricalColumn("numbers", values.view(np.int8), [])
    if np.fmin.reduce(values) < 0:
        row = int(np.argmax(values < 0))
        raise ValueError(
            f"Negative values in data passed to CategoricalNB (input {name}): {name} holds {values[row]:g} at row "
            f"{row}, column {column}; {_ADVICE}"
        )
    if values.dtype.kind == "f":
        known = ~np.isnan(values)
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise ValueError(f"{name} contains infinity at row {row}, column {column}; {_ADVICE}")
        if (fractions := known & (values != np.floor(values))).any():
            row = int(np.argmax(fractions))
            warnings.warn(
                f"{name} holds {values[row]:g} at row {row}, column {column}, which counts as {int(values[row])}: "
                f"{_ADVICE}",
                stacklevel=2,
            )
        if not known.any():
            return CategoricalColumn("", np.full(len(values), -1), [])
        values = np.where(known, np.minimum(values, MAX_COLUMNS, dtype=np.float64), -1).astype(np.int64)
    if values.dtype.kind == "u":  # which could not say −1
        values = np.minimum(values, np.uint64(MAX_COLUMNS)).astype(np.int64)
    return CategoricalColumn("numbers", values, [])
