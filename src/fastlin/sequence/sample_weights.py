"""Weights of sequences: how much each counts in a fit, and which are left out."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.sequence.label_lists import as_lists
from fastlin.sequence.tokens import is_matrix
from fastlin.validation import as_lengths, as_weights

Floats = NDArray[np.float64]
NO_WEIGHTS: Floats = np.empty(0)  # all are 1


def weigh_sequences(X: Any, y: Any, lengths: Any, sample_weight: Any) -> tuple[Any, Any, Any, Floats]:
    """X, y and lengths without the sequences whose weight is 0, and the weights of the others.

    What is left out is not looked at: neither its labels nor its features are known to the model.
    """
    if sample_weight is None:
        return X, y, lengths, NO_WEIGHTS
    X, y = as_lists(X), as_lists(y)
    if is_matrix(X):
        if lengths is None:
            return X, y, lengths, NO_WEIGHTS  # is refused
        sizes = np.diff(as_lengths(lengths, X.shape[0]))
    elif isinstance(X, str | bytes | Mapping) or not hasattr(X, "__iter__"):
        return X, y, lengths, NO_WEIGHTS  # is refused, too
    else:
        X = [list(sequence) if isinstance(sequence, Iterator) else sequence for sequence in X]
        sizes = np.fromiter((len(sequence) if hasattr(sequence, "__len__") else 0 for sequence in X), np.int64, len(X))
    weights = as_weights(sample_weight, len(sizes), unit="sequence")
    assert weights is not None, "they are given"
    kept = weights > 0
    if len(kept) and not kept.any():
        raise ValueError("sample_weight is 0 for all sequences: there is nothing to learn from")
    if not kept.all():
        y = _labels_of(y, kept, sizes)
        if is_matrix(X):
            rows = np.flatnonzero(np.repeat(kept, sizes))
            X = X.iloc[rows] if hasattr(X, "iloc") else (X.tocsr() if sp.issparse(X) else X)[rows]
            lengths = sizes[kept]
        else:
            X = [sequence for sequence, stays in zip(X, kept.tolist(), strict=True) if stays]
        weights = weights[kept]
    return X, y, lengths, NO_WEIGHTS if (weights == 1).all() else weights


def token_weights(sample_weight: Any, starts: NDArray[np.int64]) -> Floats | None:
    """The weight of each token: that of its sequence."""
    weights = as_weights(sample_weight, len(starts) - 1, unit="sequence")
    return None if weights is None else np.repeat(weights, np.diff(starts))


def _labels_of(y: Any, kept: NDArray[np.bool_], sizes: NDArray[np.int64]) -> Any:
    """The labels of some of the sequences, of lists or of one vector."""
    if y is None or isinstance(y, str | bytes | Mapping | set | frozenset) or not hasattr(y, "__iter__"):
        return y  # is refused where labels must be given
    parts = y if isinstance(y, np.ndarray) and y.ndim == 1 else list(y)
    if len(parts) not in (len(kept), int(sizes.sum())):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {len(kept)} sequences, "
            f"y has {len(parts)}"
        )
    stays = kept if len(parts) == len(kept) else np.repeat(kept, sizes)
    if isinstance(parts, np.ndarray):
        return parts[stays]
    return [part for part, stay in zip(parts, stays.tolist(), strict=True) if stay]
