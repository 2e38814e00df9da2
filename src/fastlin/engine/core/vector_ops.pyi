from typing import Any

import numpy as np
from numpy.typing import NDArray

def dot(a: NDArray[Any], b: NDArray[Any]) -> float: ...
def sum_rows(rows: NDArray[Any], sums: NDArray[np.float64]) -> None: ...
def max_abs(a: NDArray[np.float64]) -> float: ...
def pseudo_gradient(
    theta: NDArray[np.float64],
    gradient: NDArray[np.float64],
    l1: NDArray[np.float64],
    steepest: NDArray[np.float64],
) -> None: ...
def fenchel_young_gap(
    weights: NDArray[np.float64],
    slopes: NDArray[np.float64],
    share: float,
    l1: NDArray[np.float64],
    l2: NDArray[np.float64],
) -> float: ...
def l1_norm(a: NDArray[np.float64]) -> float: ...
def prior_penalty(
    theta: NDArray[np.float64],
    mean: NDArray[np.float64],
    precision: NDArray[np.float64],
    width: int,
    gradient: NDArray[np.float64],
) -> float: ...
def prior_line_derivatives(
    theta: NDArray[np.float64],
    mean: NDArray[np.float64],
    precision: NDArray[np.float64],
    width: int,
    d: NDArray[np.float64],
) -> tuple[float, float]: ...
def cg_curvature(
    product: NDArray[np.float64],
    p: NDArray[Any],
    precision: NDArray[np.float64],
    width: int,
    Hp: NDArray[Any],
) -> float: ...
def cg_update(
    alpha: float,
    p: NDArray[Any],
    Hp: NDArray[Any],
    inverse: NDArray[Any],
    s: NDArray[Any],
    r: NDArray[Any],
) -> float: ...
def cg_direction(beta: float, r: NDArray[Any], inverse: NDArray[Any], p: NDArray[Any]) -> None: ...
def lbfgs_products(
    B: NDArray[Any],
    start: int,
    end: int,
    rows: NDArray[np.int64],
    some: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None: ...
def lbfgs_combine(
    B: NDArray[Any],
    start: int,
    end: int,
    c: NDArray[np.float64],
    scale: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
