"""The rows of a quadratic model of K labels, which products with its curvature read one after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import label_rows as kernels
from fastlin.optim.design import Design
from fastlin.optim.model_rows import select_features
from fastlin.runtime import parallel

Vector = NDArray[np.float64]
BLOCK_WORK = 4 * parallel.BLOCK_WORK  # each block adds up a model, and vectors are fast
FULL_SHARE = 0.1  # of the labels: a feature with so many weights has numbers for all, which vectors are faster with


class LabelRows:
    """Rows for products with vectors of some weights, of features and labels, with the intercepts behind them."""

    def __init__(
        self,
        design: Design,
        dtype: Any,
        features: NDArray[np.int32],
        labels: NDArray[np.int32],
        n_labels: int,
        n_intercepts: int,
        workers: parallel.WorkerPool,
    ) -> None:
        self.workers, self.shape = workers, (n_labels, design.n_rows)
        found, places, counts = np.unique(features, return_inverse=True, return_counts=True)
        is_full = counts >= FULL_SHARE * n_labels
        number = np.where(is_full, np.cumsum(is_full), np.cumsum(~is_full)) - 1  # of a feature, among those like it
        starts = np.append(0, np.cumsum(counts[~is_full]))
        listed = np.flatnonzero(~is_full[places])
        listed = listed[np.argsort(number[places[listed]], kind="stable")]  # weights of a feature are neighbours
        n_full = int(is_full.sum())
        slots = number[places] * n_labels + labels
        slots[listed] = n_full * n_labels + np.arange(len(listed))
        full, some = (select_features(design, features, dtype) for features in (found[is_full], found[~is_full]))
        self.bound = kernels.LabelWeightRows(
            CSRView(*full), n_full, CSRView(*some), starts, labels[listed], n_labels, n_intercepts
        )
        self.size = self.bound.size + n_intercepts
        self.slots = np.append(slots, self.bound.size + np.arange(n_intercepts))
        width = -(-len(listed) // max(1, len(starts) - 1))
        self.blocks = list(parallel.split_by_length(n_labels * full[0] + width * some[0], BLOCK_WORK))

    def _spread(self, steps: Vector) -> Vector:
        spread = np.zeros(self.size)
        spread[self.slots] = steps
        return spread

    def scores(self, steps: Vector) -> Vector:
        """What steps of the weights and intercepts change the scores by, [K, n]."""
        out, spread = np.zeros(self.shape), self._spread(steps)
        self.workers.map(lambda start, stop: kernels.scores(self.bound, start, stop, spread, out), self.blocks)
        return out

    def curve(self, weights: Vector, probabilities: Vector, steps: Vector) -> Vector:
        """The model's curvature times steps of the weights and intercepts, for these."""
        spread = self._spread(steps)

        def work(start: int, stop: int) -> Vector:
            out = np.zeros(self.size)
            kernels.curve(self.bound, start, stop, weights, probabilities, spread, out)
            return out

        found = sum(self.workers.map(work, self.blocks))
        return found[self.slots]
