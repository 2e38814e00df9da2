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
def normalise_some(
    histories: NDArray[np.int32],
    theta: NDArray[np.float64],
    starts: NDArray[np.int32],
    suffix: NDArray[np.int32],
    shorter: NDArray[np.float64],
    shorter_starts: NDArray[np.int32],
    history_suffix: NDArray[np.int32],
    shorter_sums: NDArray[np.float64],
    scores: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None: ...

class OrderScores:
    def __init__(
        self,
        starts: NDArray[np.int32],
        scores: NDArray[np.float64],
        sums: NDArray[np.float64],
        slopes: NDArray[np.float64],
        changes: NDArray[np.float64],
    ) -> None: ...

def normalise_along(
    order: OrderScores,
    below_order: OrderScores,
    suffix: NDArray[np.int32],
    history_suffix: NDArray[np.int32],
    direction: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
def share(
    seen: NDArray[np.float64], sums: NDArray[np.float64], a: NDArray[np.float64], first: int, last: int
) -> float: ...
def share_along(
    seen: NDArray[np.float64],
    sums: NDArray[np.float64],
    changes: NDArray[np.float64],
    a: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
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
    extra: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
def expect_along(
    order: OrderScores,
    a: NDArray[np.float64],
    changed: NDArray[np.float64],
    inverse_starts: NDArray[np.int32],
    inverse: NDArray[np.int32],
    longer: NDArray[np.float64],
    longer_changed: NDArray[np.float64],
    expected_changed: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
def differ_some(
    histories: NDArray[np.int32],
    shares: NDArray[np.float64],
    starts: NDArray[np.int32],
    suffix: NDArray[np.int32],
    scores: NDArray[np.float64],
    own: NDArray[np.float64],
    a: NDArray[np.float64],
    longer: NDArray[np.float64],
    shorter: NDArray[np.float64],
    gradient: NDArray[np.float64],
) -> None: ...
def share_some(
    histories: NDArray[np.int32],
    shares: NDArray[np.float64],
    seen: NDArray[np.float64],
    sums: NDArray[np.float64],
    history_suffix: NDArray[np.int32],
    a: NDArray[np.float64],
    shorter: NDArray[np.float64],
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
