import numpy as np
from numpy.typing import NDArray

def collect(
    histories: NDArray[np.int32], words: NDArray[np.int32], first: int, last: int, positions: NDArray[np.int32]
) -> int: ...
def sort_pairs(
    histories: NDArray[np.int32],
    words: NDArray[np.int32],
    positions: NDArray[np.int32],
    first: int,
    ends: NDArray[np.int32],
    pairs: NDArray[np.uint64],
) -> int: ...
def number(
    ends: NDArray[np.int32],
    pairs: NDArray[np.uint64],
    first: int,
    first_number: int,
    weights: NDArray[np.int64],
    suffixes: NDArray[np.int32],
    numbers: NDArray[np.int32],
    words: NDArray[np.int32],
    starts: NDArray[np.int32],
    suffix: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None: ...
def merge(
    from_a: NDArray[np.int32],
    starts_a: NDArray[np.int32],
    words_a: NDArray[np.int32],
    counts_a: NDArray[np.int64],
    suffix_a: NDArray[np.int32],
    shorter_a: NDArray[np.int32],
    from_b: NDArray[np.int32],
    starts_b: NDArray[np.int32],
    words_b: NDArray[np.int32],
    counts_b: NDArray[np.int64],
    suffix_b: NDArray[np.int32],
    shorter_b: NDArray[np.int32],
    starts: NDArray[np.int32],
    words: NDArray[np.int32],
    counts: NDArray[np.int64],
    suffix: NDArray[np.int32],
    map_a: NDArray[np.int32],
    map_b: NDArray[np.int32],
    into_a: NDArray[np.int32],
    into_b: NDArray[np.int32],
) -> int: ...
