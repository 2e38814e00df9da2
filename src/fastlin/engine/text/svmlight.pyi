import numpy as np
from numpy.typing import NDArray

VALID: int
LABEL: int
LABELS: int
WEIGHT: int
GROUP: int
GROUPLESS: int
INDEX: int
RANGE: int
ORDER: int
VALUE: int
FINITE: int
ANY: int
UNKNOWN: int
NONE: int
ALL: int

def count_lines(text: bytes) -> int: ...
def powers_of_ten() -> NDArray[np.uint64]: ...

class GrowingBuffer:
    def __buffer__(self, flags: int, /) -> memoryview: ...

class SvmlightParser:
    grouping: int

    def __init__(
        self,
        table: NDArray[np.uint64],
        lowest: int,
        highest: int,
        grouping: int,
        weighted: bool,
        multilabel: bool,
    ) -> None: ...
    def read(self, text: bytes, start: int) -> tuple[int, int]: ...
    def take(
        self,
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int32],
        NDArray[np.float64],
        NDArray[np.int64],
    ]: ...
