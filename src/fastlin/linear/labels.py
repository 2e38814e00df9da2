"""Labels: sets that grow, and rows shared out with every label in proportion."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def columns(n_labels: int) -> int:
    """Two labels share a column of weights, w = θ₁ − θ₀."""
    return 1 if n_labels <= 2 else n_labels


def union(known: NDArray[Any], seen: NDArray[Any]) -> NDArray[Any]:
    """All labels, sorted; strings and numbers do not mix."""
    textual = [isinstance(labels[0], str | bytes) for labels in (known, seen)]
    if textual[0] != textual[1]:
        raise ValueError(f"the labels so far are like {known[0]!r}, the new ones like {seen[0]!r}")
    if np.isin(seen, known).all():
        return known
    if known.dtype == object or seen.dtype == object:
        return np.array(sorted({*known.tolist(), *seen.tolist()}), dtype=object)
    return np.union1d(known, seen)


def sources(old: NDArray[Any], new: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each column under the new labels: which old column it continues (−1: none), and times what."""
    source, factor = np.full(columns(len(new)), -1), np.zeros(columns(len(new)))
    places = np.searchsorted(new, old)
    if len(old) > 2:
        source[places], factor[places] = np.arange(len(old)), 1.0
    elif len(old) == 2:
        source[places], factor[places] = 0, (-0.5, 0.5)
    return source, factor


def shares(
    codes: NDArray[np.int32], fraction: float, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from, and a fraction of the rows to validate on that has every label in its proportion."""
    n = len(codes)
    size = int(np.ceil(n * fraction))
    if size >= n or len(np.unique(codes)) > n - size:
        raise ValueError(f"validation_fraction={fraction} leaves too few of {n} rows to learn from")
    by_label = generator.permutation(n)
    by_label = by_label[np.argsort(codes[by_label], kind="stable")]
    held = np.zeros(n, bool)
    held[by_label[np.arange(size) * n // size]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
