import numpy as np
from numpy.typing import NDArray

LONGEST: int
MOST_EDITS: int

class DeletesIndex:
    n_words: int
    max_edits: int
    prefix_length: int
    nbytes: int

    def __init__(
        self,
        letters: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        max_edits: int,
        prefix_length: int,
        seed: int,
    ) -> None: ...
    def neighbours(
        self, letters: NDArray[np.uint32], offsets: NDArray[np.int64], max_edits: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8]]: ...
