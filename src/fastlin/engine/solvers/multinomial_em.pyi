import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

def posterior(
    scores: NDArray[np.float64],
    codes: NDArray[np.int32],
    weights: NDArray[np.float64],
    component_offsets: NDArray[np.int64],
    log_masses: NDArray[np.float64],
    lengths: NDArray[np.float64],
    shares: NDArray[np.float64],
    masses: NDArray[np.float64],
    words: NDArray[np.float64],
) -> float: ...
def maximise(
    columns: CSRView,
    shares: NDArray[np.float64],
    alpha: float,
    extra: NDArray[np.float64],
    log_totals: NDArray[np.float64],
    more: bool,
    counts: NDArray[np.float64],
    logs: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> None: ...
