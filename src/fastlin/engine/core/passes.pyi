from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

def forward(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],  # float32 or float64
    start: int,
    stop: int,
    W: NDArray[Any],  # float32 or float64
    bias: NDArray[np.float64],
    raw: NDArray[Any],  # of the type of W
    scores: NDArray[np.float64],
    more: bool = False,
) -> None: ...
def column_dots(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    start: int,
    stop: int,
    r: NDArray[Any],
    out: NDArray[np.float64],
    more: bool = False,
) -> None: ...
def backward(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    start: int,
    stop: int,
    R: NDArray[np.float64],
    low: int,
    high: int,
    G: NDArray[np.float64],
) -> None: ...
def normal_product(
    rows: CSRView,
    start: int,
    stop: int,
    weights: NDArray[np.float64],
    shift: float,
    pairs: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None: ...
def class_counts(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float32] | NDArray[np.float64],
    start: int,
    stop: int,
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    low: int,
    high: int,
    C: NDArray[np.float64],
) -> None: ...
def leave_one_out_scores(
    rows: CSRView,
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    C: NDArray[np.float64],
    totals: NDArray[np.float64],
    prior: NDArray[np.float64],
    measure: NDArray[np.float64],
    own: NDArray[np.float64],
) -> None: ...
