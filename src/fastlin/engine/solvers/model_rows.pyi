from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

Vector: TypeAlias = NDArray[np.float64]

def select(
    rows: CSRView,
    places: NDArray[np.int32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float32] | NDArray[np.float64],
) -> None: ...

class WeightRows:
    size: int
    n_intercepts: int

    def __init__(self, rows: CSRView, size: int, n_intercepts: int) -> None: ...

def scores(at: WeightRows, start: int, stop: int, p: Vector, S: Vector) -> None: ...
def curve_binary(at: WeightRows, start: int, stop: int, h: Vector, p: Vector, out: Vector) -> None: ...
