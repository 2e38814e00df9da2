from typing import Any

import numpy as np
from numpy.typing import NDArray

NONE: int
L1: int
L2: int

def tfidf_weights(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[Any],
    start: int,
    stop: int,
    idf: NDArray[np.float64],
    levels: NDArray[np.float64],
    norm: int,
    out: NDArray[Any],
) -> None: ...
def document_frequencies(indices: NDArray[np.int32], rows: NDArray[np.int64]) -> None: ...
