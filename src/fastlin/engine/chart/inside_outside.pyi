import numpy as np
from numpy.typing import NDArray

class InsideOutside:
    def __init__(
        self,
        pair_start: NDArray[np.int64],
        pair_right: NDArray[np.int32],
        rule_start: NDArray[np.int64],
        parent: NDArray[np.int32],
        weight: NDArray[np.float64],
        chain_start: NDArray[np.int64],
        chain_parent: NDArray[np.int32],
        chain_weight: NDArray[np.float64],
        label: NDArray[np.int32],
        closed: bool,
    ) -> None: ...
    def inside(
        self,
        tag_start: NDArray[np.int64],
        tag_symbol: NDArray[np.int32],
        tag_score: NDArray[np.float64],
        span_scores: NDArray[np.float64],
        start: NDArray[np.float64],
    ) -> float: ...
    def outside(
        self,
        weight: float,
        rule_counts: NDArray[np.float64],
        chain_counts: NDArray[np.float64],
        tag_counts: NDArray[np.float64],
        span_counts: NDArray[np.float64],
    ) -> None: ...
