import numpy as np
from numpy.typing import NDArray

class ClassFactors:
    def __init__(
        self,
        starts: NDArray[np.int64],
        classes: NDArray[np.int32],
        factors: NDArray[np.float64],
        slopes: NDArray[np.float64],
    ) -> None: ...

class ContextGroups:
    def __init__(
        self,
        word_groups: NDArray[np.int64],
        group_contexts: NDArray[np.int64],
        rows: NDArray[np.int32],
        counts: NDArray[np.float64],
    ) -> None: ...

def expect(
    contexts: ContextGroups,
    table: NDArray[np.float64],
    tops: NDArray[np.float64],
    of_words: ClassFactors,
    of_contexts: ClassFactors,
    expected_table: NDArray[np.float64],
    expected_words: NDArray[np.float64],
    expected_contexts: NDArray[np.float64],
    first: int,
    last: int,
) -> float: ...
def expect_along(
    contexts: ContextGroups,
    table: NDArray[np.float64],
    table_slopes: NDArray[np.float64],
    of_words: ClassFactors,
    of_contexts: ClassFactors,
    changed_table: NDArray[np.float64],
    changed_words: NDArray[np.float64],
    changed_contexts: NDArray[np.float64],
    first: int,
    last: int,
) -> None: ...
