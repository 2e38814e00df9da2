import numpy as np
from numpy.typing import NDArray

from fastlin.engine.lm.backoff import BackoffQueries

MOST_BEAM: int

class Lattice:
    def __init__(self, starts: NDArray[np.int64], numbers: NDArray[np.int32], channel: NDArray[np.float64]) -> None: ...
    def decode(
        self,
        queries: BackoffQueries,
        sentences: NDArray[np.int64],
        tokens: NDArray[np.int32],
        weight: float,
        floor: float,
        beam: int,
        chosen: NDArray[np.int32],
    ) -> None: ...
