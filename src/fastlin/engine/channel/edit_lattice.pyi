import numpy as np
from numpy.typing import NDArray

LARGEST_LATTICE: int

class EncodedWords:
    alphabet: NDArray[np.int32]

    def __init__(self, numbers: NDArray[np.int32], starts: NDArray[np.int64], alphabet: NDArray[np.int32]) -> None: ...
    def __len__(self) -> int: ...

class EditLattice:
    def __init__(
        self, keys: NDArray[np.int64], p: NDArray[np.float64], rates: NDArray[np.float64], n_characters: int
    ) -> None: ...
    def probabilities(
        self,
        kind: int,
        first: NDArray[np.int32],
        second: NDArray[np.int32],
        outcome: NDArray[np.int32],
        p: NDArray[np.float64],
    ) -> None: ...
    def score(
        self,
        x: EncodedWords,
        x_which: NDArray[np.int32],
        y: EncodedWords,
        y_which: NDArray[np.int32],
        log_prob: NDArray[np.float64],
    ) -> None: ...
    def expect(
        self,
        x: EncodedWords,
        y: EncodedWords,
        which: NDArray[np.int32],
        weights: NDArray[np.float64],
        counts: NDArray[np.float64],
    ) -> float: ...
    def align(self, x: EncodedWords, y: EncodedWords, steps: NDArray[np.int8]) -> tuple[float, int]: ...
