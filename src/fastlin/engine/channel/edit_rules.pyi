import numpy as np
from numpy.typing import NDArray

LONGEST: int
FIRST_MARK: int
LAST_MARK: int

class EditRules:
    n_rules: int
    width: int
    log_edit: float
    log_keep: float
    highest: float

    def __init__(
        self,
        sources: NDArray[np.uint32],
        source_offsets: NDArray[np.int64],
        observed: NDArray[np.uint32],
        observed_offsets: NDArray[np.int64],
        log_prob: NDArray[np.float32],
        log_keep: float,
        log_edit: float,
        seed: int,
    ) -> None: ...
    def word_log_probs(
        self,
        sources: NDArray[np.uint32],
        source_offsets: NDArray[np.int64],
        observed: NDArray[np.uint32],
        observed_offsets: NDArray[np.int64],
    ) -> NDArray[np.float64]: ...
