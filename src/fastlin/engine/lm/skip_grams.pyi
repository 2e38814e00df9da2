from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float64]

class HistoryScores:
    def __init__(
        self,
        starts: list[Integers],
        words: list[Integers],
        suffix: list[Integers],
        scores: list[Floats],
        sums: list[Floats],
        n_rows: int,
    ) -> None: ...
    def normalise(
        self,
        lengths: Integers,
        histories: Integers,
        rows: Integers,
        row_starts: NDArray[np.int64],
        row_words: Integers,
        row_factors: Floats,
        counts: Floats,
        z: Floats,
        a: list[Floats],
        extra: list[Floats],
        expected: Floats,
        first: int,
        last: int,
    ) -> float: ...
    def finish(
        self, starts: NDArray[np.int64], words: Integers, factors: Floats, of_unigrams: Floats, expected: Floats
    ) -> None: ...
