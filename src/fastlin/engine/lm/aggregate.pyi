import numpy as np
from numpy.typing import NDArray

def expect(
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float64],
    start: int,
    stop: int,
    class_given: NDArray[np.float64],
    word_given: NDArray[np.float64],
    class_sums: NDArray[np.float64],
    word_sums: NDArray[np.float64],
) -> float: ...
def mixture_log_proba(
    histories: NDArray[np.int32],
    words: NDArray[np.int32],
    class_given: NDArray[np.float64],
    word_given: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None: ...
