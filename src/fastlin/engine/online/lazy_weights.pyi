from typing import Any

import numpy as np
from numpy.typing import NDArray

class LazyWeights:
    def __init__(
        self,
        rule: NDArray[np.void],
        counters: NDArray[np.void],
        past: NDArray[np.void],
        W: NDArray[Any],  # float32 or float64
        bias: NDArray[np.float64],
        per_weight: tuple[NDArray[np.float64], ...],
        per_feature: tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]],
        learn: bool,
    ) -> None: ...
    def catch_up_all(self) -> None: ...
    def current(self, features: NDArray[np.int64], start: int, out: NDArray[Any]) -> None: ...
