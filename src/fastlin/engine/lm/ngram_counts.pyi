import numpy as np
from numpy.typing import NDArray

def collect(
    tokens: NDArray[np.int32],
    nodes: NDArray[np.int32],
    word_bits: int,
    keys: NDArray[np.uint64],
    positions: NDArray[np.uint32],
) -> int: ...
def radix_sort(
    keys: NDArray[np.uint64],
    positions: NDArray[np.uint32],
    spare_keys: NDArray[np.uint64],
    spare_positions: NDArray[np.uint32],
    n: int,
    bits: int,
) -> bool: ...
def distinct(keys: NDArray[np.uint64], n: int) -> int: ...
def number(
    keys: NDArray[np.uint64],
    positions: NDArray[np.uint32],
    n: int,
    word_bits: int,
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
