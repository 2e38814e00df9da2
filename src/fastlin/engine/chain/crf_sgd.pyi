from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Starts: TypeAlias = NDArray[np.int64]
Labels: TypeAlias = NDArray[np.int32]

def sgd_epoch(
    indptr: Starts,
    indices: Labels,
    values: NDArray[Any],
    sequences: Starts,
    y: Labels,
    order: Starts,
    batch_size: int,
    starts: Starts,
    D: int,
    single: int,
    labels: Labels,
    K: int,
    rows: int,
    w: Floats,
    has_weight: Floats,
    scale: Floats,
    squares: Floats,
    sums: Floats,
    touched: Starts,
    t: int,
    adagrad: bool,
    eta0: float,
    l1: float,
    l2: float,
) -> float: ...
def catch_up_all(
    starts: Starts,
    D: int,
    labels: Labels,
    K: int,
    w: Floats,
    squares: Floats,
    touched: Starts,
    t: int,
    eta0: float,
    l1: float,
    l2: float,
) -> None: ...
