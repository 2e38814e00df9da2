import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

class WeightPlaces:
    n_rows: int
    n_labels: int
    size: int

    def __init__(
        self,
        columns: CSRView,
        features: NDArray[np.int32],
        labels: NDArray[np.int32],
        n_rows: int,
        n_labels: int,
    ) -> None: ...

class Penalties:
    def __init__(
        self,
        l1: NDArray[np.float64],
        ridge: NDArray[np.float64],
        shift: NDArray[np.float64],
        curvature: NDArray[np.float64],
    ) -> None: ...

def dots(at: WeightPlaces, start: int, stop: int, R: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
def moments(
    at: WeightPlaces,
    start: int,
    stop: int,
    H: NDArray[np.float64],
    R: NDArray[np.float64],
    squares: NDArray[np.float64],
    cross: NDArray[np.float64],
    slopes: NDArray[np.float64],
) -> None: ...
def add(at: WeightPlaces, start: int, stop: int, steps: NDArray[np.float64], S: NDArray[np.float64]) -> None: ...
def descend_binary(
    at: WeightPlaces,
    start: int,
    stop: int,
    of: Penalties,
    h: NDArray[np.float64],
    cross: NDArray[np.float64],
    total: float,
    v: NDArray[np.float64],
    z: NDArray[np.float64],
    bias: NDArray[np.float64],
) -> tuple[int, float]: ...
def descend_gram(
    of: Penalties, gram: NDArray[np.float64], slopes: NDArray[np.float64], z: NDArray[np.float64]
) -> tuple[int, float]: ...
def descend_softmax(
    at: WeightPlaces,
    start: int,
    stop: int,
    of: Penalties,
    w: NDArray[np.float64],
    VP: NDArray[np.float64],
    s: NDArray[np.float64],
    z: NDArray[np.float64],
) -> tuple[int, float]: ...
