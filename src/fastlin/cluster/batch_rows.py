"""Rows of which batches are drawn, wherever they lie."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fastlin.cluster.kmeans_data import feature_variance
from fastlin.core.dataset import Dataset
from fastlin.validation import CSRRows


class BatchRows:
    """The segments of a dataset, opened once: those on disk are mapped, and hold no memory."""

    def __init__(self, data: Dataset) -> None:
        self.n_features, self.weights = data.n_features, data.weights()
        self._bounds, self._segments = data.bounds, [part for _, part in data.numbered_rows()]
        self._reach: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return int(self._bounds[-1])

    def parts(self) -> Iterator[tuple[int, CSRRows]]:
        """The segments, each with the number of its first row."""
        return zip(self._bounds[:-1].tolist(), self._segments, strict=True)

    def take(self, numbers: NDArray[np.int64]) -> CSRRows:
        """Some rows, by numbers that do not fall: the same bits wherever segments end."""
        cuts = np.searchsorted(numbers, self._bounds)
        taken = [
            part.take(numbers[cuts[index] : cuts[index + 1]] - start)
            for index, (start, part) in enumerate(self.parts())
            if cuts[index] < cuts[index + 1]
        ]
        return taken[0] if len(taken) == 1 else _joined(taken)

    def draw(self, generator: np.random.Generator, n: int) -> NDArray[np.int64]:
        """So many numbers of rows, in order, each row as often as its weight says."""
        draws = generator.random(n)
        if not len(self.weights):  # the rows that equal weights draw
            return np.sort((draws * len(self)).astype(np.int64))
        if self._reach is None:
            self._reach = np.cumsum(self.weights / self.weights.max())
        drawn = np.searchsorted(self._reach, draws * self._reach[-1], side="right")
        return np.sort(np.minimum(drawn, np.flatnonzero(self.weights)[-1]))

    def variance(self) -> float:
        """The mean variance of the features."""
        return feature_variance(self.parts, self.n_features)[0]


def _joined(parts: list[CSRRows]) -> CSRRows:
    """Rows one after the other."""
    offsets = np.cumsum([0, *(part.nnz for part in parts)])
    indptr = [part.indptr[1:] + offset for part, offset in zip(parts, offsets[:-1], strict=True)]
    return replace(
        parts[0],
        indptr=np.concatenate([[0], *indptr]).astype(np.int64),
        indices=np.concatenate([part.indices[: part.nnz] for part in parts]),
        values=np.concatenate([part.values[: part.nnz] for part in parts]),
    )
