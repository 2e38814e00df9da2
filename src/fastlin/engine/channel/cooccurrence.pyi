import numpy as np
from numpy.typing import NDArray

class Cooccurrences:
    n_places: int

    def __init__(
        self,
        source: NDArray[np.int32],
        source_starts: NDArray[np.int64],
        observed: NDArray[np.int32],
        observed_starts: NDArray[np.int64],
        n_source: int,
        n_observed: int,
    ) -> None: ...
    def work(self) -> NDArray[np.int64]: ...
    def distinct(self, first: int, last: int, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> int: ...
    def bind(self, entries: NDArray[np.int32], alpha: float, mass: float) -> None: ...
    def number(self, first: int, last: int, starts: NDArray[np.int64], words: NDArray[np.int32]) -> None: ...
    def expect(
        self,
        first: int,
        last: int,
        t: NDArray[np.float64],
        alignment: NDArray[np.float64],
        tables: NDArray[np.int64],
        inverse: NDArray[np.float64],
        expected: NDArray[np.float64],
        origin: int,
    ) -> float: ...
    def maximise(
        self,
        first: int,
        last: int,
        starts: NDArray[np.int64],
        words: NDArray[np.int32],
        t: NDArray[np.float64],
        rest: NDArray[np.float64],
        alignment: NDArray[np.float64],
        tables: NDArray[np.int64],
        inverse: NDArray[np.float64],
    ) -> None: ...
