import numpy as np
from numpy.typing import NDArray

READ: int
NO_NUMBER: int
FEW_WORDS: int
MORE: int
ABOVE_ONE: int
UNBOUNDED: int
LONG_WORD: int

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
def find_histories(
    starts: list[NDArray[np.int32]],
    words: list[NDArray[np.int32]],
    n_words: int,
    rows: NDArray[np.int32],
    histories: NDArray[np.int32],
) -> int: ...
def find_suffixes(
    suffix: NDArray[np.int32],
    starts: NDArray[np.int32],
    words: NDArray[np.int32],
    histories: NDArray[np.int32],
    rows: NDArray[np.int32],
    suffixes: NDArray[np.int32],
) -> None: ...
def count_children(histories: NDArray[np.int32], starts: NDArray[np.int32]) -> None: ...
def put_children(
    histories: NDArray[np.int32],
    rows: NDArray[np.int32],
    suffixes: NDArray[np.int32],
    log_prob: NDArray[np.float32],
    backoff: NDArray[np.float32],
    places: NDArray[np.int32],
    entries: NDArray[np.int32],
) -> None: ...
def sort_children(starts: NDArray[np.int32], entries: NDArray[np.int32], first: int, stop: int) -> bool: ...
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
