from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Weights: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]  # starts, classes, weights

def expect(
    word_contexts: NDArray[np.int64],
    rows: NDArray[np.int32],
    counts: NDArray[np.float64],
    table: NDArray[np.float64],
    of_words: Weights,
    of_contexts: Weights,
    expected_table: NDArray[np.float64],
    expected_words: NDArray[np.float64],
    expected_contexts: NDArray[np.float64],
    room: NDArray[np.float64],
) -> float: ...
