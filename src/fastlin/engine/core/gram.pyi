import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

def add_weighted_gram(
    rows: CSRView, start: int, stop: int, weights: NDArray[np.float64], H: NDArray[np.float64], write_out: bool
) -> None: ...
def add_gram_diagonal(rows: CSRView, weights: NDArray[np.float64], sums: NDArray[np.float64]) -> None: ...
def solve_gram(
    rows: CSRView,
    weights: NDArray[np.float64],
    ridge: NDArray[np.float64],
    diagonal: NDArray[np.float64],
    gradient: NDArray[np.float64],
    n_columns: int,
    tolerance: float,
    limit: int,
    step: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> int: ...
