from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

Vector: TypeAlias = NDArray[np.float64]

class LabelWeightRows:
    n_labels: int
    n_full: int
    size: int
    n_intercepts: int

    def __init__(
        self,
        full: CSRView,
        n_full: int,
        listed: CSRView,
        starts: NDArray[np.int64],
        labels: NDArray[np.int32],
        n_labels: int,
        n_intercepts: int,
    ) -> None: ...

def scores(at: LabelWeightRows, start: int, stop: int, p: Vector, S: Vector) -> None: ...
def curve(at: LabelWeightRows, start: int, stop: int, w: Vector, Q: Vector, p: Vector, out: Vector) -> None: ...
