from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

DICTS: int
PAIRS: int
STRINGS: int

def look_up(
    samples: Iterable[Any],
    separator: str,
    vocabulary: dict[Any, int] | None,
    width: int,
    filling: bool,
    kind: Callable[[Any], Any],
    floating: bool,
    sort: bool,
) -> tuple[list[Any], int, Any]: ...
def renumber(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    places: NDArray[np.int32],
    sort: bool,
) -> bool: ...
def hashed(
    samples: Iterable[Any], kind: int, n_features: int, signed: bool, sums: bool
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64], bool]: ...
def hash_of(text: bytes, seed: int) -> int: ...
