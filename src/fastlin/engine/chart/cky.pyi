import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart.chart_rules import ChartRules, SpanConstraints

class ViterbiParser:
    n_pruned: int
    def __init__(self, rules: ChartRules, merit: NDArray[np.float64] = ..., beam: float = ...) -> None: ...
    def fill(
        self,
        tag_start: NDArray[np.int64],
        tag_symbol: NDArray[np.int32],
        tag_score: NDArray[np.float64],
        span_scores: NDArray[np.float64],
        constraints: SpanConstraints | None = None,
    ) -> None: ...
    def score(self, symbol: int, i: int, j: int) -> float: ...
    def edges(self, parent: int, i: int, j: int) -> list[tuple[int, int, int, float]]: ...
    def best(self, symbol: int) -> tuple[list[int], list[int]]: ...
