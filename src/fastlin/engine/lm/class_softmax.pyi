from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Factors: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]  # starts, classes, e^φ

def expect(
    word_groups: NDArray[np.int64],
    group_contexts: NDArray[np.int64],
    rows: NDArray[np.int32],
    counts: NDArray[np.float64],
    table: NDArray[np.float64],
    tops: NDArray[np.float64],
    of_words: Factors,
    of_contexts: Factors,
    expected_table: NDArray[np.float64],
    expected_words: NDArray[np.float64],
    expected_contexts: NDArray[np.float64],
    room: NDArray[np.float64],
    first: int,
    last: int,
) -> float: ...
def expect_along(
    word_groups: NDArray[np.int64],
    group_contexts: NDArray[np.int64],
    rows: NDArray[np.int32],
    counts: NDArray[np.float64],
    table: NDArray[np.float64],
    table_slopes: NDArray[np.float64],
    of_words: Factors,
    word_slopes: NDArray[np.float64],
    of_contexts: Factors,
    context_slopes: NDArray[np.float64],
    changed_table: NDArray[np.float64],
    changed_words: NDArray[np.float64],
    changed_contexts: NDArray[np.float64],
    room: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
