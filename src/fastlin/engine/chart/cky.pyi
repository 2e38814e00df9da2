import numpy as np
from numpy.typing import NDArray

class ViterbiParser:
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
    ) -> None: ...
    def fill(
        self,
        tag_start: NDArray[np.int64],
        tag_symbol: NDArray[np.int32],
        tag_score: NDArray[np.float64],
        span_scores: NDArray[np.float64],
    ) -> None: ...
    def score(self, symbol: int, i: int, j: int) -> float: ...
    def edges(self, parent: int, i: int, j: int) -> list[tuple[int, int, int, float]]: ...
    def best(self, symbol: int) -> tuple[list[int], list[int]]: ...
