"""The stratified split: rows to learn from, and rows to validate on with every label in its proportion."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from fastlin.validation import whole_number

Split = tuple[NDArray[np.int64], NDArray[np.int64]]


def peer_split(random_state: Any, again: bool) -> Callable[[NDArray[np.int32], float, np.random.Generator], Split]:
    """The split of rows that scikit-learn's learners hold out for the same `random_state`, as `stratified_split`.

    Made before anything is drawn from `random_state`. It is drawn from the generator instead where there is no number,
    and no RandomState, to begin with, or only a RandomState although the split has to be made again; and where a label
    has too few rows for scikit-learn, the split is the other one.
    """
    known = isinstance(random_state, np.random.RandomState) and not again
    drawn = random_state is None or isinstance(random_state, np.random.RandomState | np.random.Generator)
    seed = copy.deepcopy(random_state) if known else None if drawn else whole_number("random_state", random_state, 0)

    def split(codes: NDArray[np.int32], fraction: float, generator: np.random.Generator) -> Split:
        n, counts = len(codes), np.bincount(codes)
        labels, size = np.count_nonzero(counts), int(np.ceil(len(codes) * fraction))
        if counts[counts > 0].min() < 2 or not labels <= size <= n - labels:
            return stratified_split(codes, fraction, generator)
        kind = StratifiedShuffleSplit if labels > 1 else ShuffleSplit
        state = int(generator.integers(2**31)) if seed is None else seed
        members, held = next(kind(test_size=fraction, random_state=state).split(np.zeros((n, 1)), codes))
        return np.sort(members), np.sort(held)

    return split


def stratified_split(codes: NDArray[np.int32], fraction: float, generator: np.random.Generator) -> Split:
    """Split off a fraction of the rows, stratified by label; returns (rows to learn from, rows to validate on)."""
    n = len(codes)
    size = int(np.ceil(n * fraction))
    if size >= n or len(np.unique(codes)) > n - size:
        raise ValueError(f"validation_fraction={fraction} leaves too few of {n} rows to learn from")
    by_label = generator.permutation(n)
    by_label = by_label[np.argsort(codes[by_label], kind="stable")]
    held = np.zeros(n, bool)
    held[by_label[np.arange(size) * n // size]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
