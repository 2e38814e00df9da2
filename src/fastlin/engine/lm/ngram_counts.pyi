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

class TrieOrder:
    def __init__(
        self,
        words: NDArray[np.int32],
        starts: NDArray[np.int32],
        suffix: NDArray[np.int32],
        counts: NDArray[np.int64],
    ) -> None: ...

class MergedTrie:
    def __init__(
        self,
        words: NDArray[np.int32],
        starts: NDArray[np.int32],
        suffix: NDArray[np.int32],
        counts: NDArray[np.int64],
        histories: NDArray[np.int32],
        shorter: NDArray[np.int32],
        becomes: NDArray[np.int32],
        own: NDArray[np.int32],
    ) -> None: ...

def number(
    order: TrieOrder,
    ends: NDArray[np.int32],
    pairs: NDArray[np.uint64],
    first: int,
    first_number: int,
    weights: NDArray[np.int64],
    suffixes: NDArray[np.int32],
    numbers: NDArray[np.int32],
) -> None: ...
def merge(a_side: MergedTrie, b_side: MergedTrie, order: TrieOrder) -> int: ...
