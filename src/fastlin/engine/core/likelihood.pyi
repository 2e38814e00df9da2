from typing import Any

import numpy as np
from numpy.typing import NDArray

def softmax_loss(
    scores: NDArray[np.float64],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    residual: NDArray[np.float64],
    shares: NDArray[np.float32],
) -> float: ...
def softmax_curvature(
    u: NDArray[np.float64],
    shares: NDArray[np.float32],
    weights: NDArray[np.float64],
    curvature: NDArray[Any],
) -> None: ...
def sigmoid_loss(
    scores: NDArray[np.float64],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    residual: NDArray[np.float64],
    shares: NDArray[np.float32],
) -> float: ...
def one_vs_rest_loss(
    scores: NDArray[np.float64],
    labels: NDArray[np.int32],
    members: NDArray[np.uint8],
    weights: NDArray[np.float64],
    factors: NDArray[np.float64],
    residual: NDArray[np.float64],
    shares: NDArray[np.float32],
) -> float: ...
def sigmoid_curvature(
    u: NDArray[np.float64],
    shares: NDArray[np.float32],
    weights: NDArray[np.float64],
    curvature: NDArray[Any],
) -> None: ...
def group_loss(
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    gold: NDArray[np.int64],
    weights: NDArray[np.float64],
    residual: NDArray[np.float64],
    shares: NDArray[np.float32],
) -> float: ...
def group_curvature(
    u: NDArray[np.float64],
    starts: NDArray[np.int64],
    shares: NDArray[np.float32],
    weights: NDArray[np.float64],
    curvature: NDArray[Any],
) -> None: ...
