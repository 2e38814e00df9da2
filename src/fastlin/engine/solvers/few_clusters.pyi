import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

def assign_few(
    rows: CSRView,
    S: NDArray[np.float64],
    scale: NDArray[np.float64],
    shift: NDArray[np.float64],
    weights: NDArray[np.float64],
    labels: NDArray[np.int32],
    best: NDArray[np.float64],
) -> list[float]: ...
def move_rows(
    rows: CSRView,
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    owners: NDArray[np.int32],
    S: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> int: ...
def take_over_sums(
    old: NDArray[np.float64], new: NDArray[np.float64], before: NDArray[np.float64], after: NDArray[np.float64]
) -> list[list[float]]: ...
