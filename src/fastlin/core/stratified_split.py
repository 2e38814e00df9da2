"""The stratified split: rows to learn from, and rows to validate on with every label in its proportion."""

import numpy as np
from numpy.typing import NDArray


def stratified_split(
    codes: NDArray[np.int32], fraction: float, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
