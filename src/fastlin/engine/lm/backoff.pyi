from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_State = TypeVar("_State", bound=tuple[int, ...])
SCRATCH: int
TABLES_ROOM: int

class BackoffQueries:
    n_tables: int

    def __init__(
        self,
        starts: list[NDArray[np.int32]],
        words: list[NDArray[np.int32]],
        log_prob: list[NDArray[np.float32]],
        backoff: list[NDArray[np.float32]],
        seed: int,
        room: int = ...,
        codes: list[NDArray[np.uint8] | None] | None = ...,
    ) -> None: ...
    def score(
        self,
        tokens: NDArray[np.int32],
        log_prob: NDArray[np.float64],
        lengths: NDArray[np.int32],
        nodes: NDArray[np.int32],
        weights: NDArray[np.float32],
    ) -> None: ...
    def advance(self, state: tuple[int, ...], word: int) -> tuple[float, tuple[int, ...]]: ...
    def advance_many(
        self,
        states: list[Any],
        mark: int,
        kind: type[_State],
        words: NDArray[np.int32],
        log_prob: NDArray[np.float64],
    ) -> list[_State]: ...
    def log_prob_of(self, rows: NDArray[np.int32], log_prob: NDArray[np.float64]) -> None: ...
    def next_word(self, state: tuple[int, ...], logarithms: bool, answer: NDArray[np.float32]) -> None: ...

def prove(
    starts: NDArray[np.int32], words: NDArray[np.int32], suffix: NDArray[np.int32], n_histories: int, n_words: int
) -> bool: ...
