from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chain.token_labels import TokenLabels
from fastlin.engine.core.csr_view import CSRView

Floats: TypeAlias = NDArray[np.float64]

class OnlineTagger:
    def __init__(
        self,
        rule: Any,
        counters: NDArray[Any],
        starts: NDArray[np.int64],
        single: int,
        labels: NDArray[np.int32],
        weights: tuple[Floats, Floats, Floats, Floats],
        sums: tuple[Floats, Floats, Floats, Floats],
        seen: tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]],
    ) -> None: ...

def run(
    tagger: OnlineTagger,
    tokens: CSRView,
    sequences: NDArray[np.int64],
    labels: TokenLabels,
    largest: float,
    order: NDArray[np.int64],
    position: int,
    budget: int,
    changes: tuple[tuple[object, str, Any], ...] = (),
) -> tuple[int, bool]: ...
