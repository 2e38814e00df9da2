from typing import Any

import numpy as np
from numpy.typing import NDArray

def dot(a: NDArray[Any], b: NDArray[Any]) -> float: ...
def largest(a: NDArray[np.float64]) -> float: ...
def penalise(
    theta: NDArray[np.float64],
    mean: NDArray[np.float64],
    precision: NDArray[np.float64],
    width: int,
    gradient: NDArray[np.float64],
) -> float: ...
def pull(
    theta: NDArray[np.float64],
    mean: NDArray[np.float64],
    precision: NDArray[np.float64],
    width: int,
    d: NDArray[np.float64],
) -> tuple[float, float]: ...
def add_prior(
    product: NDArray[np.float64],
    p: NDArray[Any],
    precision: NDArray[np.float64],
    width: int,
    Hp: NDArray[Any],
) -> float: ...
def advance(
    alpha: float,
    p: NDArray[Any],
    Hp: NDArray[Any],
    inverse: NDArray[Any],
    s: NDArray[Any],
    r: NDArray[Any],
) -> float: ...
def redirect(beta: float, r: NDArray[Any], inverse: NDArray[Any], p: NDArray[Any]) -> None: ...
def products(
    B: NDArray[Any],
    start: int,
    end: int,
    rows: NDArray[np.int64],
    some: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None: ...
def combine(
    B: NDArray[Any],
    start: int,
    end: int,
    c: NDArray[np.float64],
    scale: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
