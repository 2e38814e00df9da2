from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bigrams: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]  # indptr, words, counts

class ClassBigrams:
    def __init__(
        self,
        followers: Bigrams,
        predecessors: Bigrams,
        table: NDArray[np.float64],
        classes: NDArray[np.int32],
        reserved: NDArray[np.uint8],
    ) -> None: ...
    def objective(self) -> float: ...
    def exchange(self, words: NDArray[np.int32]) -> tuple[int, float]: ...
