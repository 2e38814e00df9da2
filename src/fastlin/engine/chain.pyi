from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH: int

Floats = NDArray[np.float64]
Starts = NDArray[np.int64]
Labels = NDArray[np.int32]

def marginals(
    start: Floats,
    A: Floats,
    M: Floats,
    MT: Floats,
    end: Floats,
    shift: float,
    scores: Floats,
    edges: Floats,
    offsets: Floats,
    starts: Starts,
    first: int,
    last: int,
    p: Floats,
    log_z: Floats,
    first_labels: Floats,
    counts: Floats,
    last_states: Floats,
) -> None: ...
def best(
    start: Floats,
    A: Floats,
    M: Floats,
    MT: Floats,
    end: Floats,
    shift: float,
    scores: Floats,
    edges: Floats,
    offsets: Floats,
    starts: Starts,
    first: int,
    last: int,
    y: Labels,
    values: Floats,
) -> None: ...
def several(
    start: Floats,
    A: Floats,
    M: Floats,
    MT: Floats,
    end: Floats,
    shift: float,
    scores: Floats,
    edges: Floats,
    offsets: Floats,
    paths: NDArray[Any],
    values: Floats,
) -> int: ...
def values(
    start: Floats,
    A: Floats,
    M: Floats,
    MT: Floats,
    end: Floats,
    shift: float,
    scores: Floats,
    edges: Floats,
    offsets: Floats,
    starts: Starts,
    first: int,
    last: int,
    y: Labels,
    found: Floats,
) -> None: ...
