import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.online.lazy_weights import LazyWeights

class RowTargets:
    def __init__(
        self,
        labels: NDArray[np.int32],
        targets: NDArray[np.float64],
        rank: NDArray[np.int32],
        members: NDArray[np.uint8],
        factors: NDArray[np.float64],
        losses: NDArray[np.float64] | None = None,
        stopped: NDArray[np.uint8] | None = None,
    ) -> None: ...

class OnlineEpoch:
    def __init__(
        self,
        rows: CSRView,
        largest: float,
        targets: RowTargets,
        weights: NDArray[np.float64],
        order: NDArray[np.int64],
        residual: NDArray[np.float64],
        batch_size: int,
        width: int,
    ) -> None: ...

def run(task: OnlineEpoch, weights: LazyWeights, position: int, budget: int) -> tuple[int, int]: ...
def learning_rate(rule: NDArray[np.void], t: int) -> float: ...
