from typing import Any

import numpy as np
from numpy.typing import NDArray

EXTRA_TERMS: int
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
def iis_update(
    indptr: NDArray[np.int64],
    rows: NDArray[np.int32],
    values: NDArray[Any],
    low: int,
    high: int,
    starts: NDArray[np.int64],
    labels: NDArray[np.int32],
    p: NDArray[np.float64],
    level: NDArray[np.int32],
    levels: NDArray[np.float64],
    observed: NDArray[np.float64],
    precision: NDArray[np.float64],
    width: int,
    theta: NDArray[np.float64],
    delta: NDArray[np.float64],
    terms: NDArray[np.float64],
    places: NDArray[np.int32],
) -> None: ...
def add_iis_sums(
    indptr: NDArray[np.int64],
    rows: NDArray[np.int32],
    values: NDArray[Any],
    low: int,
    high: int,
    starts: NDArray[np.int64],
    labels: NDArray[np.int32],
    p: NDArray[np.float64],
    sums: NDArray[np.float64],
    delta: NDArray[np.float64],
    equations: NDArray[np.float64],
    first: bool,
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
