from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

Vector: TypeAlias = NDArray[np.float64]

class BinarySolver:
    n_places: int
    n_layouts: int
    total: float
    bias: float
    def __init__(
        self,
        view: CSRView,
        features: NDArray[np.int32],
        h: Vector,
        r: Vector,
        has_intercept: bool,
        intercept_ridge: float,
        single: bool,
        allocate: Callable[[str, int, Any], NDArray[Any]],
    ) -> None: ...
    def prepare(self) -> tuple[Vector, Vector, Vector, Vector]: ...
    def set_penalties(
        self, z: Vector, l1: Vector, ridge: Vector, shift: Vector, curvature: Vector, bias: float
    ) -> None: ...
    def solve(self, limit: int, max_limit: int) -> int: ...
