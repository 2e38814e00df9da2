import numpy as np
from numpy.typing import NDArray

READ: int
NO_NUMBER: int
FEW_WORDS: int
MORE: int

def parse(
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n: int,
    begins: NDArray[np.int64],
    lengths: NDArray[np.int32],
    log_prob: NDArray[np.float32],
    backoff: NDArray[np.float32],
) -> tuple[int, int, int, int]: ...
def write(
    starts: list[NDArray[np.int32]],
    words: list[NDArray[np.int32]],
    log_prob: NDArray[np.float32],
    backoff: NDArray[np.float32],
    arena: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    first: int,
    path: NDArray[np.int64],
    out: NDArray[np.uint8],
    longest: int,
) -> tuple[int, int]: ...
