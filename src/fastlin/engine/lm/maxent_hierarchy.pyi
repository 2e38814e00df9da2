import numpy as np
from numpy.typing import NDArray

def exponentials(theta: NDArray[np.float64], scores: NDArray[np.float64], first: int, last: int) -> None: ...
def normalise(
    starts: NDArray[np.int32],
    suffix: NDArray[np.int32],
    shorter: NDArray[np.float64],
    shorter_starts: NDArray[np.int32],
    history_suffix: NDArray[np.int32],
    shorter_sums: NDArray[np.float64],
    scores: NDArray[np.float64],
    sums: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
def share(
    seen: NDArray[np.float64], sums: NDArray[np.float64], a: NDArray[np.float64], first: int, last: int
) -> float: ...
def add_longer(
    inverse_starts: NDArray[np.int32],
    inverse: NDArray[np.int32],
    longer: NDArray[np.float64],
    a: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
def expect(
    starts: NDArray[np.int32],
    scores: NDArray[np.float64],
    a: NDArray[np.float64],
    inverse_starts: NDArray[np.int32],
    inverse: NDArray[np.int32],
    longer: NDArray[np.float64],
    expected: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
def penalised_slopes(
    expected: NDArray[np.float64],
    observed: NDArray[np.float64],
    theta: NDArray[np.float64],
    mean: NDArray[np.float64],
    precision: float,
    gradient: NDArray[np.float64],
    first: int,
    last: int,
) -> float: ...
