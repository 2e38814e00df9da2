import numpy as np
from numpy.typing import NDArray

ROOM_BEHIND: int

class WordTable:
    def __init__(self, seed: int) -> None: ...
    def __len__(self) -> int: ...
    def look_up(
        self, arena: NDArray[np.uint8], offsets: NDArray[np.int64], learn: bool, numbers: NDArray[np.int32]
    ) -> None: ...
    def look_up_at(
        self,
        text: NDArray[np.uint8],
        begins: NDArray[np.int64],
        lengths: NDArray[np.int32],
        learn: bool,
        numbers: NDArray[np.int32],
    ) -> None: ...
    def split(
        self, text: NDArray[np.uint8], n: int, learn: bool, keep: bool, tokens: NDArray[np.int32]
    ) -> tuple[int, int, int]: ...
    def strings(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
