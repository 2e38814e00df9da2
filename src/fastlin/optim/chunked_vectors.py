"""Vectors as long as the model, in pieces of bounded work that threads share.

The pieces are the same for every number of threads, and sums add up in their order: so are the bits.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.runtime import parallel

CHUNK_SIZE = 1 << 16  # numbers: few enough that threads end together

Vector = NDArray[Any]


class ChunkedVectors:
    """The pieces of vectors of one size."""

    def __init__(self, size: int, workers: parallel.WorkerPool) -> None:
        self.workers = workers
        self.bounds = [(start, min(start + CHUNK_SIZE, size)) for start in range(0, size, CHUNK_SIZE)]

    def map(self, work: Callable[[slice], Any]) -> list[Any]:
        """work(piece) of every piece, in their order."""
        return self.workers.map(lambda start, stop: work(slice(start, stop)), self.bounds)

    def dot(self, a: Vector, b: Vector) -> float:
        """Σ a b."""
        return float(sum(self.map(lambda part: vector_ops.dot(a[part], b[part]))))

    def largest(self, a: Vector) -> float:
        """max |a|; NaN where there is one."""
        return float(np.max(self.map(lambda part: vector_ops.max_abs(a[part])), initial=0.0))

    def copy(self, source: Vector, target: Vector) -> None:
        self.map(lambda part: np.copyto(target[part], source[part]))
