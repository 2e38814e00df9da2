from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chain.token_labels import TokenLabels
from fastlin.engine.core.csr_view import CSRView

Floats: TypeAlias = NDArray[np.float64]
Starts: TypeAlias = NDArray[np.int64]
Labels: TypeAlias = NDArray[np.int32]

class CRFWeights:
    def __init__(
        self,
        starts: Starts,
        n_tabled: int,
        single: int,
        labels: Labels,
        K: int,
        rows: int,
        w: Floats,
        has_weight: Floats,
        scale: Floats,
        adagrad: tuple[Floats, Floats, Starts],
    ) -> None: ...

def sgd_epoch(
    weights: CRFWeights,
    tokens: CSRView,
    sequences: Starts,
    labels: TokenLabels,
    order: Starts,
    batch_size: int,
    t: int,
    eta0: float,
    l1: float,
    l2: float,
) -> float: ...
def catch_up_all(state: CRFWeights, t: int, eta0: float, l1: float, l2: float) -> None: ...
