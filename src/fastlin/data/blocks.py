"""Blocks of rows or of documents: the results of reading."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Block(NamedTuple):
    """Consecutive rows of a file.

    Attributes
    ----------
    X : csr_array
        As wide as the largest index so far, or as was asked for.
    y : array or None
        Their labels.
    weights : array of float64 or None
        Their weights.
    groups : array of int64 or None
        What "qid:" says.
    path : str
        The file.
    line : int
        The number of the line, or in a table the row, that the block begins with.
    """

    X: Any
    y: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    groups: NDArray[np.int64] | None
    path: str
    line: int


class Documents(NamedTuple):
    """Consecutive documents of a file.

    Attributes
    ----------
    texts : list of str, or of dict
        The documents; dicts from the name of a feature to its value where a file holds features.
    labels : list of str, or of float, or None
        Their labels; numbers where these were asked for.
    weights : array of float64 or None
        Their weights.
    path : str
        The file.
    line : int
        The number of the line, or in a table the row, that the block begins with.
    columns : dict or None
        The columns that were asked for by `keep=`: from each one's name or number to its values.
    """

    texts: list[Any]
    labels: list[Any] | None
    weights: NDArray[np.float64] | None
    path: str
    line: int
    columns: dict[Any, list[Any]] | None = None
