from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

LABEL_PADDING: int

Floats: TypeAlias = NDArray[np.float64]
Starts: TypeAlias = NDArray[np.int64]
Labels: TypeAlias = NDArray[np.int32]
Padded: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, float]

class ChainCounts:
    def __init__(self, first_labels: Floats, transitions: Floats, last_states: Floats) -> None: ...

def marginals(
    padded: Padded,
    scores: Floats,
    edges: Floats,
    offsets: Floats,
    starts: Starts,
    first: int,
    last: int,
    p: Floats,
    log_z: Floats,
    expected: ChainCounts,
) -> None: ...
def best_paths(
    padded: Padded,
    scores: Floats,
    edges: Floats,
    offsets: Floats,
    starts: Starts,
    first: int,
    last: int,
    y: Labels,
    values: Floats,
) -> None: ...
def nbest_paths(
    padded: Padded,
    scores: Floats,
    edges: Floats,
    offsets: Floats,
    paths: NDArray[Any],
    values: Floats,
) -> int: ...
def path_scores(
    padded: Padded,
    scores: Floats,
    edges: Floats,
    offsets: Floats,
    starts: Starts,
    first: int,
    last: int,
    y: Labels,
    found: Floats,
) -> None: ...
