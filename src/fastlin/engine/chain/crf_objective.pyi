from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chain.hybrid_weights import TokenWeights
from fastlin.engine.chain.token_labels import TokenLabels
from fastlin.engine.core.csr_view import CSRView

Floats: TypeAlias = NDArray[np.float64]
Starts: TypeAlias = NDArray[np.int64]
Padded: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, float]

def evaluate(
    tokens: CSRView,
    sequences: Starts,
    first: int,
    last: int,
    weights: TokenWeights,
    padded: Padded,
    labels: TokenLabels,
    R: NDArray[Any],
    counts: Floats,
    edges: Floats,
) -> float: ...
