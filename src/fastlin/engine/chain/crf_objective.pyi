from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Starts: TypeAlias = NDArray[np.int64]
Labels: TypeAlias = NDArray[np.int32]
Padded: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, float]

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
