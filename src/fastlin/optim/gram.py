"""Hessians of few columns: weighted Gram matrices of rows, what they cost, and steps by Cholesky's decomposition."""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.core.gram import add_weighted_gram

Floats = NDArray[np.float64]
MAX_DENSE_WEIGHTS = 512  # of a Hessian that is written out
BLOCK_PAIRS = 1 << 25  # products between two looks at Ctrl-C: a few milliseconds
WRITTEN_OUT_SPEED = 8.0  # products of rows written out in the time of one by its place
FACTORING_SPEED = 20.0  # and of Cholesky's decomposition


class GramRows:
    """Sparse rows of few columns, as weighted Gram matrices of them are added up."""

    def __init__(
        self, indptr: NDArray[np.int64], indices: NDArray[np.int32], values: NDArray[Any], n_columns: int
    ) -> None:
        self.n_columns, self.view = n_columns, CSRView(indptr, indices, values)
        squares = np.square(np.diff(indptr), dtype=np.float64)
        self.n_pairs = 0.5 * float(squares.sum())
        whole = 0.5 * len(squares) * float(n_columns) ** 2
        self.write_out = whole < WRITTEN_OUT_SPEED * self.n_pairs
        self.cost = whole / WRITTEN_OUT_SPEED if self.write_out else self.n_pairs
        longest = max(1.0, float(n_columns) ** 2 if self.write_out else float(squares.max(initial=0)))
        self.rows_per_block = max(1, int(BLOCK_PAIRS / longest))

    def add(self, weights: Floats, H: Floats) -> None:
        """H += Σ w x xᵀ, each pair of columns in one of its two places."""
        n = len(weights)
        for start in range(0, n, self.rows_per_block):
            stop = min(start + self.rows_per_block, n)
            add_weighted_gram(self.view, start, stop, weights, H, self.write_out)


def mirror(H: Floats) -> None:
    """Turn sums of which each is in one of its two places into a symmetric matrix."""
    diagonal = H.diagonal().copy()
    H += H.T.copy()
    H[np.diag_indices(len(H))] = diagonal


def factoring_cost(size: int) -> float:
    """Cholesky's decomposition, in products of a pair by their places."""
    return size**3 / 3 / FACTORING_SPEED


class Factor:
    """H = L Lᵀ, scaled to a diagonal of ones."""

    def __init__(self, triangle: Floats, scale: Floats) -> None:
        self.triangle, self.scale = triangle, scale

    def solve(self, right: Floats) -> Floats | None:
        """H⁻¹ right, of a vector or columns; None where it is beyond the range of numbers."""
        solution, _ = scipy.linalg.lapack.dpotrs(self.triangle, (right.T / self.scale).T, lower=True)
        found: Floats = (solution.T / self.scale).T
        return found if np.isfinite(found).all() else None


def factorise(H: Floats) -> Factor | None:
    """Cholesky's decomposition of H; None where H, scaled to a diagonal of ones, is not positive to rounding."""
    scale = np.sqrt(H.diagonal())
    if not (scale > 0).all() or not np.isfinite(scale).all():
        return None
    triangle, fault = scipy.linalg.lapack.dpotrf(H / scale / scale[:, np.newaxis], lower=True, overwrite_a=True)
    return None if fault else Factor(triangle, scale)


def solve_positive(H: Floats, right: Floats) -> Floats | None:
    """H⁻¹ right, of a vector or columns; None where H is not positive to rounding."""
    factor = factorise(H)
    return None if factor is None else factor.solve(right)
