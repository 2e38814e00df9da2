import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart.chart_rules import ChartRules, SpanConstraints

class InsideOutside:
    n_pruned: int
    def __init__(
        self, rules: ChartRules, closed: bool, merit: NDArray[np.float64] = ..., beam: float = ...
    ) -> None: ...
    def inside(
        self,
        tag_start: NDArray[np.int64],
        tag_symbol: NDArray[np.int32],
        tag_score: NDArray[np.float64],
        span_scores: NDArray[np.float64],
        start: NDArray[np.float64],
        constraints: SpanConstraints | None = None,
    ) -> float: ...
    def outside(
        self,
        weight: float,
        rule_counts: NDArray[np.float64],
        chain_counts: NDArray[np.float64],
        tag_counts: NDArray[np.float64],
        span_counts: NDArray[np.float64],
    ) -> None: ...
    def count_roots(self, weight: float, root_counts: NDArray[np.float64]) -> None: ...
