from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

class SvmRows:
    def __init__(
        self,
        rows: CSRView,
        labels: NDArray[np.int32],
        C: NDArray[np.float64],
        own_C: NDArray[np.float64],
        norms: NDArray[np.float64],
        targets: NDArray[np.float64],
    ) -> None: ...

class RowDuals:
    def __init__(
        self,
        alpha: NDArray[np.float64],
        gaps: NDArray[np.float64],
        skip: NDArray[np.int32],
        wait: NDArray[np.int32],
    ) -> None: ...

class BlockWeights:
    def __init__(
        self,
        task: NDArray[np.void],
        W: NDArray[np.float64],
        bias: NDArray[np.float64],
        limits: NDArray[np.float64],
        members: NDArray[np.uint8],
        factors: NDArray[np.float64],
    ) -> None: ...

def coordinate_epoch(
    weights: BlockWeights,
    rows: SvmRows,
    duals: RowDuals,
    order: NDArray[np.int64],
    position: int,
    budget: int,
) -> int: ...
def due_rows(skip: NDArray[np.int32], order: NDArray[np.int64]) -> int: ...
def objective_and_gap(
    weights: BlockWeights,
    scores: NDArray[np.float64],
    start: int,
    rows: SvmRows,
    alpha: NDArray[np.float64],
    gaps: NDArray[np.float64],
    skip: NDArray[np.int32],
) -> None: ...
def squared_norms(indptr: NDArray[np.int64], values: NDArray[Any], norms: NDArray[np.float64]) -> None: ...
def squared_frobenius_norm(W: NDArray[np.float64]) -> float: ...
