import numpy as np
from numpy.typing import NDArray

def continuations(suffix: NDArray[np.int32], first: int, last: int, counts: NDArray[np.int64]) -> None: ...
def counts_of_counts(counts: NDArray[np.int64], first: int, last: int, n_of: NDArray[np.int64]) -> None: ...

class DiscountRule:
    def __init__(
        self, taken: NDArray[np.float64], cutoff: int, weight: float, weight_a_type: float, leave: bool
    ) -> None: ...

def discount(
    rule: DiscountRule,
    starts: NDArray[np.int32],
    counts: NDArray[np.int64],
    raw: NDArray[np.int64],
    q: NDArray[np.float64],
    left: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
def interpolate(
    starts: NDArray[np.int32],
    suffix: NDArray[np.int32],
    left: NDArray[np.float64],
    shorter: NDArray[np.float64],
    p: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
def backoff_weights(
    starts: NDArray[np.int32],
    suffix: NDArray[np.int32],
    shorter: NDArray[np.float64],
    p: NDArray[np.float64],
    left: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
def round_codes(
    starts: NDArray[np.int32], p: NDArray[np.float64], centres: NDArray[np.float64], codes: NDArray[np.uint8]
) -> bool: ...
