from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Starts = NDArray[np.int64]
Labels = NDArray[np.int32]

def evaluate(
    indptr: Starts,
    indices: Labels,
    values: NDArray[Any],
    sequences: Starts,
    first: int,
    last: int,
    table: NDArray[Any],
    starts: Starts,
    single: int,
    labels: Labels,
    theta: Floats,
    start: Floats,
    A: Floats,
    M: Floats,
    MT: Floats,
    end: Floats,
    shift: float,
    y: Labels,
    R: NDArray[Any],
    counts: Floats,
    edges: Floats,
) -> float: ...
