from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Starts = NDArray[np.int64]
Labels = NDArray[np.int32]
Padded = tuple[Floats, Floats, Floats, Floats, Floats, float]

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
    padded: Padded,
    y: Labels,
    R: NDArray[Any],
    counts: Floats,
    edges: Floats,
) -> float: ...
