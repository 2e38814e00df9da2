import numpy as np
from numpy.typing import NDArray

from fastlin.engine.channel.deletes_index import DeletesIndex
from fastlin.engine.channel.edit_rules import EditRules

MOST: int

class Corrections:
    def __init__(
        self,
        index: DeletesIndex,
        rules: EditRules,
        log_prior: NDArray[np.float32],
        prior_weight: float,
        log_right: float,
        log_wrong: float,
    ) -> None: ...
    def best(
        self, letters: NDArray[np.uint32], offsets: NDArray[np.int64], edits: int, edits_of_known: int, n_best: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int8], NDArray[np.float64]]: ...
