import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

def add_scatter(
    rows: CSRView,
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    centroids: NDArray[np.float64],
    scatter: NDArray[np.float64],
    present: NDArray[np.float64],
) -> None: ...
def manhattan_distances(
    rows: CSRView, centroids: NDArray[np.float64], norms: NDArray[np.float64], distances: NDArray[np.float64]
) -> None: ...
