import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

def add_weighted_gram(
    rows: CSRView, start: int, stop: int, weights: NDArray[np.float64], H: NDArray[np.float64], write_out: bool
) -> None: ...
