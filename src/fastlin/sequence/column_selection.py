"""Features that a parameter names: all, those whose names begin so, or columns by number."""

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_columns(chosen: Any, names: list[str] | None, n_columns: int, parameter: str) -> NDArray[np.int64]:
    """The columns that are meant, ascending.

    Parameters
    ----------
    chosen : "all", str, list of str, or list of int
        All; those whose names have this prefix, or one of these; or numbers of columns.
    names : list of str or None
        Of the columns; None where X is a matrix.
    n_columns : int
    parameter : str
        What messages call `chosen`.
    """
    if isinstance(chosen, str) and chosen == "all":
        return np.arange(n_columns)
    if isinstance(chosen, bytes) or not isinstance(chosen, Iterable):
        raise TypeError(f"{parameter} must be 'all', prefixes of names or columns, got {chosen!r:.60}")
    items = [chosen] if isinstance(chosen, str) else list(chosen)
    if all(isinstance(item, str) for item in items):
        if names is None:
            raise ValueError(f"{parameter}={chosen!r:.60} names features, but X is a matrix: give numbers of columns")
        prefixes = tuple(items)
        columns = [column for column, name in enumerate(names) if name.startswith(prefixes)]
        if items and not columns:
            example = f": they are like {names[0]!r:.60}" if names else ""
            raise ValueError(f"{parameter}={chosen!r:.60}: no feature has a name that begins so{example}")
        return np.array(columns, np.int64)
    for item in items:
        if isinstance(item, bool | np.bool_) or not isinstance(item, numbers.Integral):
            raise TypeError(f"{parameter} must hold prefixes of names or columns, got {item!r:.60}")
        if not 0 <= int(item) < n_columns:
            raise ValueError(f"{parameter} holds the column {item}; there are {n_columns}")
    return np.unique(np.array(items, np.int64))
