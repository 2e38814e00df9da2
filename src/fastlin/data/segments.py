"""Segments: consecutive rows of a corpus whose work is bounded."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.validation import CSRRows


class Segment(NamedTuple):
    """Consecutive rows of a corpus, and what belongs to them.

    Attributes
    ----------
    start : int
        The number of the first row.
    rows : CSRRows
        Its rows, as the arrays of a CSR.
    codes : array of int32 of shape (n_rows,), or (0,)
        The place of each row's label among the corpus's classes; empty without labels.
    weights : array of shape (n_rows,), or (0,)
        Empty for all ones.
    """

    start: int
    rows: CSRRows
    codes: NDArray[np.int32]
    weights: NDArray[np.float64]


def segment_bounds(indptr: NDArray[np.int64], limit: int, starts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Where segments start, and the number of rows: a rule of the rows alone, however they are stored.

    A segment has as many rows as fit into `limit` non-zeros, a row counting for one more than it has, but at least
    one row. Groups stay whole: `starts` says where each begins, and where the last ends, and they stand for rows then.
    """
    work = indptr + np.arange(len(indptr))
    work = work if starts is None else work[starts]
    bounds = [0]
    while bounds[-1] < len(work) - 1:
        stop = int(np.searchsorted(work, work[bounds[-1]] + limit, side="right")) - 1
        bounds.append(max(stop, bounds[-1] + 1))
    return np.array(bounds) if starts is None else starts[bounds]


def group_starts(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the groups start, and the number of rows: consecutive rows with the same number are one."""
    changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    return np.concatenate([[0], changes, [len(groups)]]) if len(groups) else np.zeros(1, np.int64)
