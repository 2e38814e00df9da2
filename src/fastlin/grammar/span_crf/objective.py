"""The objective of a SpanCRF, for L-BFGS.

f(θ) = Σ −log p(tree | words) + c2 ‖θ‖²,     ∂f = expected − observed counts + 2 c2 θ
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.grammar.span_crf.training import TrainingTrees, add_slopes, own_weights
from fastlin.optim.chunked_vectors import ChunkedVectors
from fastlin.optim.log_linear_problem import WeightPrior
from fastlin.runtime.parallel import WorkerPool

Floats = NDArray[np.float64]
WAVE = 16  # sentences whose derivatives are in memory
NO_CURVATURE = 1e-100  # what is less would make steps of more than any line search goes back


class SpanObjective:
    """f, as L-BFGS asks for it."""

    pairs = 10
    has_curvature = False

    def __init__(self, trees: TrainingTrees, c2: float, workers: WorkerPool) -> None:
        self.trees, self.c2, self.workers = trees, c2, workers
        self.size = self.n_weights = trees.shapes.size
        self.prior = WeightPrior(np.empty(0), np.empty(0))
        self.pieces = ChunkedVectors(self.size, workers)
        self.passes = 0

    @property
    def inner_type(self) -> Any:
        """The type of the vectors that only shape a step."""
        return np.float32 if 2 * self.c2 < 1e6 else np.float64

    def distance(self, theta: Floats, steepest: Floats) -> float:
        """‖∂f‖ / max(1, ‖θ‖)."""
        norms = [np.sqrt(self.pieces.dot(vector, vector)) for vector in (steepest, theta)]
        return float(norms[0] / max(1.0, norms[1]))

    def diagonal(self) -> Floats:
        """The metric: roots of what curvatures are where all that was seen is as likely as not; 0: nobody knows."""
        curvature = 0.25 * self.trees.observed() + 2 * self.c2
        curvature[curvature < NO_CURVATURE] = 0.0
        return np.sqrt(curvature)

    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient; ∞ where e^s would be no number."""
        self.passes += 1
        weights, slopes, loss = self.trees.shapes.split(theta), self.trees.shapes.split(gradient), 0.0
        gradient[:] = 0
        for first in range(0, len(self.trees), WAVE):
            some = range(first, min(first + WAVE, len(self.trees)))
            work, look_up = self.trees.log_loss, lambda sentence: own_weights(weights, sentence)
            for sentence, residual in self.trees.residuals(some, work, look_up, self.workers):
                if residual.loss == np.inf:
                    return np.inf
                loss += residual.loss
                add_slopes(slopes, sentence, residual.slopes, 1.0)
        gradient += 2 * self.c2 * theta
        return loss + self.c2 * vector_ops.dot(theta, theta)
