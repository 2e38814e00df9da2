from typing import Self

import numpy as np
from numpy.typing import NDArray

AS_GIVEN: int
DISTINCT: int
SUMMED: int

def affixes(
    arena: NDArray[np.uint8], offsets: NDArray[np.int64], n: int, at_end: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
def fill_stream(
    starts: NDArray[np.int64],
    first: int,
    last: int,
    numbers: NDArray[np.int32],
    table: NDArray[np.int32] | None,
    strange: NDArray[np.int32],
    before: NDArray[np.int32],
    behind: NDArray[np.int32],
    stream: NDArray[np.int32],
) -> None: ...
def match_spans(
    numbers: NDArray[np.int32], starts: NDArray[np.int64], tree: PairNumbering, ends: NDArray[np.uint8]
) -> NDArray[np.int32]: ...

class PairNumbering:
    def __new__(cls, seed: int) -> Self: ...
    def __len__(self) -> int: ...
    def number(
        self, left: NDArray[np.int32], right: NDArray[np.int32], learn: bool, numbers: NDArray[np.int32]
    ) -> None: ...
    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...

def fill_pairs(
    numberings: list[PairNumbering], pairs_of: NDArray[np.int32], streams: NDArray[np.int32], n: int
) -> None: ...

class RowBuilder:
    def __new__(cls, order: int) -> Self: ...
    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]: ...

class ColumnNumbering:
    def __new__(cls, n_families: int) -> Self: ...
    def __len__(self) -> int: ...
    def widen(self, sizes: NDArray[np.int64]) -> None: ...
    def emit(
        self,
        streams: NDArray[np.int32],
        templates: NDArray[np.int32],
        conditions: NDArray[np.int32],
        starts: NDArray[np.int64],
        first: int,
        last: int,
        before: int,
        behind: int,
        learn: bool,
        known: int,
        rows: RowBuilder,
        ends: NDArray[np.int64],
    ) -> None: ...
    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
    def restore(self, family: NDArray[np.int32], number: NDArray[np.int32], sizes: NDArray[np.int64]) -> None: ...
