from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

class SentenceTagger:
    def __init__(
        self,
        weights: Any,
        padded: tuple[Floats, Floats, Floats, Floats, Floats, float],
        names: list[Any],
        largest: float,
        watched: list[Floats],
    ) -> None: ...
    def unchanged(self) -> bool: ...
    def score(self, indptr: Any, indices: Any, values: Any, n: int) -> bool: ...
    def scores(self) -> Floats: ...
    def replace(self, t: int, row: Floats) -> None: ...
    def decode(self) -> list[Any] | None: ...
