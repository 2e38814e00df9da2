"""Which weights a model has, and how a vector of them meets a block of rows or of columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.engine.core import observed_weights, passes
from fastlin.optim.design import Design, observed_pairs
from fastlin.optim.partitions import Partition, Partitions
from fastlin.runtime import parallel

Vector = NDArray[Any]
MAX_CACHED_WEIGHTS = 1 << 17  # weights of one column that the second-level cache holds: nothing to prefetch


@dataclass(frozen=True)
class DenseWeights:
    """Every label's weight of every feature, [V, K]."""

    n_features: int
    width: int

    @property
    def weights_per_feature(self) -> int:
        return self.width

    @property
    def n_weights(self) -> int:
        return self.n_features * self.width

    def slice_of(self, low: int, high: int) -> slice:
        """The weights of the features [low, high)."""
        return slice(low * self.width, high * self.width)

    def expand(self, of_features: NDArray[Any]) -> NDArray[Any]:
        """One value a feature, as one for each entry of a prior."""
        return of_features

    def forward(
        self, design: Design, weights: Vector, bias: NDArray[np.float64], start: int, stop: int
    ) -> NDArray[np.float64]:
        """The scores of a block of rows."""
        indptr, indices, values = design.rows(start, stop)
        if self.width == 1 and len(weights) <= MAX_CACHED_WEIGHTS:
            scores = np.empty((stop - start, 1))
            passes.column_dots(indptr, indices, values, start, stop, weights, scores[:, 0])
            scores += bias
            return scores
        scores, spare = np.empty((stop - start, self.width)), np.empty(self.width, weights.dtype)
        passes.forward(indptr, indices, values, start, stop, weights.reshape(-1, self.width), bias, spare, scores)
        return scores

    def backward(
        self,
        design: Design,
        values: NDArray[Any],
        residual: Vector,
        low: int,
        high: int,
        out: NDArray[np.float64],
        more: bool = False,
    ) -> None:
        """Xᵀ residual for the features [low, high), with `values` for the columns' own; `more`: added to `out`."""
        indptr, rows, values = design.columns(low, high, values)
        if self.width == 1:
            passes.column_dots(indptr, rows, values, low, high, residual[:, 0], out, more)
            return
        spare = np.empty(self.width, residual.dtype)
        nothing = np.zeros(self.width)
        sums = out.reshape(-1, self.width)
        passes.forward(indptr, rows, values, low, high, residual, nothing, spare, sums, more)

    def to_matrix(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights as [V, K]."""
        return weights.reshape(-1, self.width)

    def from_matrix(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights that are in a [V, K]."""
        return matrix.reshape(-1)

    def locate(self, some: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The features and the columns of some of the weights."""
        features, columns = np.divmod(some, self.width)
        return features.astype(np.int32), columns.astype(np.int32)

    def feature_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where each feature's weights begin, and the column of each."""
        n = self.n_features
        return np.arange(n + 1) * self.width, np.tile(np.arange(self.width, dtype=np.int32), n)


@dataclass(frozen=True)
class ObservedWeights:
    """The weights of the (feature, label) pairs that enough rows have; starts[j] is feature j's first."""

    n_features: int
    width: int
    starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    weights_per_feature: int = 1

    @classmethod
    def observed(cls, parts: Partitions, n_labels: int, cutoff: NDArray[np.int64]) -> "ObservedWeights":
        """The pairs seen in at least cutoff[j] rows."""
        data = parallel.WorkerPool(1).passes(parts)
        if len(parts) == 1:
            return cls(parts.n_features, n_labels, *data.at(0, _observed_pairs, n_labels, cutoff))
        counts = data.sum(_count_pairs, n_labels)
        counts.sort_indices()
        counts.data[counts.data < np.repeat(cutoff, np.diff(counts.indptr))] = 0
        counts.eliminate_zeros()
        return cls(parts.n_features, n_labels, counts.indptr.astype(np.int64), counts.indices.astype(np.int32))

    @property
    def n_weights(self) -> int:
        return len(self.labels)

    def slice_of(self, low: int, high: int) -> slice:
        return slice(int(self.starts[low]), int(self.starts[high]))

    def expand(self, of_features: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(of_features, np.diff(self.starts))

    def forward(
        self, design: Design, weights: Vector, bias: NDArray[np.float64], start: int, stop: int
    ) -> NDArray[np.float64]:
        indptr, indices, values = design.rows(start, stop)
        scores = np.empty((stop - start, self.width))
        observed_weights.forward(indptr, indices, values, start, stop, self.starts, self.labels, weights, bias, scores)
        return scores

    def backward(
        self,
        design: Design,
        values: NDArray[Any],
        residual: Vector,
        low: int,
        high: int,
        out: NDArray[np.float64],
        more: bool = False,
    ) -> None:
        indptr, rows, values = design.columns(low, high, values)
        sums = np.empty(len(out)) if more else out
        observed_weights.backward(indptr, rows, values, low, high, self.starts, self.labels, residual, sums)
        if more:
            out += sums

    def to_matrix(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        matrix = np.zeros((self.n_features, self.width))
        matrix[self._features(), self.labels] = weights
        return matrix

    def from_matrix(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return matrix[self._features(), self.labels]

    def locate(self, some: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        features = np.searchsorted(self.starts, some, side="right") - 1
        return features.astype(np.int32), self.labels[some]

    def feature_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        return self.starts, self.labels

    def _features(self) -> NDArray[np.int64]:
        """The feature of each pair."""
        return np.repeat(np.arange(self.n_features), np.diff(self.starts))


def _observed_pairs(
    part: Partition, n_labels: int, cutoff: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Of the only part, for every feature the labels that enough rows have."""
    return observed_pairs(part.design, part.labels.codes, n_labels, cutoff)


def _count_pairs(part: Partition, n_labels: int) -> sp.csr_array:
    """How many rows of a part have each pair, [V, K]."""
    design = part.design
    ones, n = np.ones(max(design.nnz, design.n_rows), np.int32), design.n_rows
    columns = sp.csr_array((ones[: design.nnz], design.column_rows, design.column_indptr), (design.n_features, n))
    found = columns @ sp.csr_array((ones[:n], part.labels.codes, np.arange(n + 1)), (n, n_labels))
    return found.astype(np.int64)


# Weight q belongs to a feature of the design; `span` says which are whose; `step` weights share an entry of a prior.
WeightLayout = DenseWeights | ObservedWeights
