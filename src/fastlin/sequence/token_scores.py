"""Scores of tokens, from weights that users may set."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin import validation
from fastlin.engine.core import observed_weights, passes
from fastlin.sequence.tokens import Tokens

LARGEST = 1e100  # of a weight that users set


def as_table(name: str, table: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An attribute that users may set, as the kernels take it."""
    array = np.require(np.asarray(table), np.float64, ["C", "A"])
    if array.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {array.shape}")
    if not (array <= LARGEST).all():
        raise ValueError(f"{name} holds NaN, or more than {LARGEST:g}; −∞ is what forbids")
    return array


def as_sparse(name: str, weights: Any, shape: tuple[int, int]) -> sp.csr_array:
    """Sparse weights that users may set, in any format: proved, for kernels go where indices lead."""
    if weights.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {weights.shape}")
    if 0 in shape:
        return sp.csr_array(shape)
    return validation.as_rows(weights, dtype=np.dtype(np.float64), name=name).matrix()


def dense_scores(tokens: Tokens, weights: NDArray[Any], start: int, stop: int) -> NDArray[np.float64]:
    """Scores of the tokens start to stop, [stop − start, K], with C-contiguous weights [V, K]."""
    rows, K = tokens.rows, weights.shape[1]
    _check_width(weights, tokens)
    scores = np.empty((stop - start, K))
    block = slice(rows.indptr[start], rows.indptr[stop])
    nothing, spare = np.zeros(K), np.empty(K, weights.dtype)
    passes.forward(rows.indptr, rows.indices[block], rows.values[block], start, stop, weights, nothing, spare, scores)
    return _numbers(scores)


def sparse_scores(tokens: Tokens, weights: Any, start: int, stop: int) -> NDArray[np.float64]:
    """Scores of the tokens start to stop, [stop − start, K], with a CSR of weights [V, K]."""
    rows, K = tokens.rows, weights.shape[1]
    _check_width(weights, tokens)
    found, block = np.empty((stop - start, K)), slice(rows.indptr[start], rows.indptr[stop])
    starts, labels = weights.indptr.astype(np.int64, copy=False), weights.indices.astype(np.int32, copy=False)
    observed_weights.forward(
        rows.indptr, rows.indices[block], rows.values[block], start, stop, starts, labels, weights.data, np.zeros(K),
        found,
    )  # fmt: skip
    return _numbers(found)


def edge_scores(tokens: Tokens, weights: Any, n_labels: int, start: int, stop: int) -> NDArray[np.float64]:
    """Scores [stop − start, K, K] of transitions into tokens, with a CSR of weights [V, K · K]."""
    return sparse_scores(tokens, weights, start, stop).reshape(-1, n_labels, n_labels)


def _check_width(weights: Any, tokens: Tokens) -> None:
    if weights.shape[0] != tokens.rows.n_columns:
        raise ValueError(f"weights of {weights.shape[0]} features do not fit tokens of {tokens.rows.n_columns}")


def _numbers(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores, if they are numbers."""
    if not scores.max(initial=-np.inf) <= LARGEST**2:
        raise ValueError("scores of tokens are no numbers: coef_ holds NaN or infinity, or weights overflow")
    return scores
