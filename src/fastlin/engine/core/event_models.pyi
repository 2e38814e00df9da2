import numpy as np
from numpy.typing import NDArray

def complement_counts(counts: NDArray[np.float64], complement: NDArray[np.float64]) -> None: ...
def occurrence_logs(
    counts: NDArray[np.float64],
    rows: NDArray[np.float64],
    pseudo: NDArray[np.float64],
    logs: NDArray[np.float64],
    odds: NDArray[np.float64],
    absent: NDArray[np.float64],
) -> bool: ...
