from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class ChainTable:
    def __init__(self, start: NDArray[np.int64], parent: NDArray[np.int32], weight: NDArray[np.float64]) -> None: ...

class ChartRules:
    n_symbols: int
    n_pairs: int
    n_rules: int
    n_labels: int
    chains: ChainTable
    def __init__(
        self,
        pair_start: NDArray[np.int64],
        pair_right: NDArray[np.int32],
        rule_start: NDArray[np.int64],
        parent: NDArray[np.int32],
        weight: NDArray[np.float64],
        chains: ChainTable,
        label: NDArray[np.int32],
    ) -> None: ...

class SpanConstraints:
    tables: list[ChainTable]
    n_chains: int
    def __init__(self, states: NDArray[np.int32], tables: Sequence[ChainTable] = ()) -> None: ...
