from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView

def transpose(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    start: int,
    stop: int,
    cursor: NDArray[np.int64],
    places: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None: ...

class ConjunctionMatches:
    def __init__(
        self, indices: NDArray[np.int32], places: NDArray[np.int64], ends: NDArray[np.int64], skip: int
    ) -> None: ...

class TailCounts:
    def __init__(
        self,
        counts: NDArray[np.int32],
        bits: NDArray[np.uint64],
        summary: NDArray[np.uint64],
        groups: NDArray[np.uint64],
        cutoff: int,
    ) -> None: ...

class NodeChildren:
    def __init__(self, starts: NDArray[np.int64], columns: NDArray[np.int32], table: NDArray[np.int32]) -> None: ...

class HashedConjunctions:
    def __init__(
        self,
        skip: int,
        depth: int,
        groups: NDArray[np.uint64],
        n_buckets: int,
        signs: bool,
        sums: NDArray[Any],
        bits: NDArray[np.uint64],
        summary: NDArray[np.uint64],
    ) -> None: ...

def learn(
    counter: TailCounts,
    matches: ConjunctionMatches,
    bounds: NDArray[np.int64],
    node: int,
    start: int,
    stop: int,
    one: NDArray[np.uint64],
    two: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    columns: NDArray[np.int32],
) -> tuple[int, int]: ...
def extend(
    matches: ConjunctionMatches,
    children: NodeChildren,
    values: NDArray[Any],
    nodes: NDArray[Any],
    products: NDArray[Any],
    order: NDArray[np.int64],
    found: NDArray[np.int64],
    slots: NDArray[np.int64],
    new_places: NDArray[np.int64],
    out: tuple[NDArray[Any], NDArray[Any]],
) -> None: ...
def scatter(
    task: HashedConjunctions,
    data: CSRView,
    row: int,
    start: int,
    stop: int,
    sizes: NDArray[np.int64],
    buckets: NDArray[np.int32],
    out: NDArray[Any],
) -> tuple[int, int]: ...
