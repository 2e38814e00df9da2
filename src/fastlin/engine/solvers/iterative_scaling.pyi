import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

EQUATION_SIZE: int

def gis_update(
    expected: NDArray[np.float64],
    observed: NDArray[np.float64],
    C: float,
    precision: NDArray[np.float64],
    width: int,
    theta: NDArray[np.float64],
    delta: NDArray[np.float64],
) -> None: ...

class TermColumns:
    def __init__(
        self, columns: CSRView, starts: NDArray[np.int64], labels: NDArray[np.int32], p: NDArray[np.float64]
    ) -> None: ...

def iis_update(
    data: TermColumns,
    level: NDArray[np.int32],
    levels: NDArray[np.float64],
    observed: NDArray[np.float64],
    precision: NDArray[np.float64],
    width: int,
    theta: NDArray[np.float64],
    delta: NDArray[np.float64],
    low: int,
    high: int,
) -> None: ...
def add_iis_sums(
    data: TermColumns,
    sums: NDArray[np.float64],
    delta: NDArray[np.float64],
    equations: NDArray[np.float64],
    first: bool,
    low: int,
    high: int,
) -> None: ...
def iis_step(
    observed: NDArray[np.float64],
    precision: NDArray[np.float64],
    width: int,
    theta: NDArray[np.float64],
    start: int,
    stop: int,
    delta: NDArray[np.float64],
    equations: NDArray[np.float64],
) -> int: ...
