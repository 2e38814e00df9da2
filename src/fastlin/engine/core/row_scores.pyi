import numpy as np
from numpy.typing import NDArray

def losses(
    loss: int,
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
    epsilon: float,
    values: NDArray[np.float64],
    gradients: NDArray[np.float64],
) -> None: ...
def residual_losses(
    loss: int,
    residuals: NDArray[np.float64],
    epsilon: float,
    values: NDArray[np.float64],
    slopes: NDArray[np.float64],
) -> None: ...
def softmax(scores: NDArray[np.float64], logarithmic: bool) -> None: ...
def binary_masses(
    scores: NDArray[np.float64], weights: NDArray[np.float64], shift: float
) -> tuple[float, float, float]: ...
def binary_mixture(
    scores: NDArray[np.float64],
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    shift: float,
    kept: float,
    first_rest: float,
    second_rest: float,
    residual: NDArray[np.float64],
) -> float: ...
def sigmoid_proba(scores: NDArray[np.float64], probabilities: NDArray[np.float64], logarithmic: bool) -> None: ...
def argmax(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> None: ...
def smoothed_totals(counts: NDArray[np.float64], prior: NDArray[np.float64], total: NDArray[np.float64]) -> None: ...
def smoothed_log_proba(
    counts: NDArray[np.float64],
    prior: NDArray[np.float64],
    log_totals: NDArray[np.float64],
    logs: NDArray[np.float64],
) -> bool: ...
