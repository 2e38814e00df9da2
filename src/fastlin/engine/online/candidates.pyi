import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.online.lazy_weights import LazyWeights

class GroupEpoch:
    def __init__(
        self,
        rows: CSRView,
        largest: float,
        starts: NDArray[np.int64],
        gold: NDArray[np.int64],
        weights: NDArray[np.float64],
        order: NDArray[np.int64],
        residual: NDArray[np.float64],
    ) -> None: ...

def run(task: GroupEpoch, weights: LazyWeights, position: int, budget: int) -> tuple[int, int]: ...
def coordinate_epoch(
    rows: CSRView,
    starts: NDArray[np.int64],
    gold: NDArray[np.int64],
    order: NDArray[np.int64],
    position: int,
    budget: int,
    alpha: NDArray[np.float64],
    theta: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> tuple[int, float]: ...
