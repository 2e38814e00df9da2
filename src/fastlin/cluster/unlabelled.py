"""What EM learns from without labels: the rows of a weight above zero, laid out in parts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.cluster.merged import Merged, lay_out
from fastlin.data import Corpus
from fastlin.linear.base import Whole
from fastlin.linear.counts import Prior
from fastlin.optim.inferences import Labels
from fastlin.validation import Rows


class Unlabelled:
    """The rows of a corpus, or of a matrix with weights; what labels they have is not looked at."""

    def __init__(self, source: Corpus | Whole) -> None:
        self.source = source
        self.kept: NDArray[np.int64] | None = None  # the rows of a weight above zero; None: all
        if source.weighted:
            there = np.concatenate([segment.weights > 0 for segment in source.segments()])
            self.kept = None if there.all() else np.flatnonzero(there)

    @property
    def n_features(self) -> int:
        return self.source.shape[1]

    def lay_out(self, width: int, prior: Prior) -> Merged:
        """The rows in parts, for so many components."""
        if self.kept is not None and not len(self.kept):
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from")

        def unlabelled() -> Iterator[tuple[Rows, Labels]]:
            for rows, weights in self.pieces():
                yield rows, Labels(np.full(len(rows), -1, np.int32), weights, width)

        scratch = None if self.source.n_segments == 1 else self.source.scratch()
        return lay_out(unlabelled, self.n_features, scratch, None, prior)

    def pieces(self) -> Iterator[tuple[Rows, NDArray[np.float64]]]:
        """Rows and weights of each segment; no weights stand for ones."""
        for segment in self.source.segments():
            rows, weights = segment.rows, segment.weights
            validation.check_values(rows, dtype=np.dtype(np.float64), nonnegative=True, start=segment.start)
            if len(weights) and not weights.all():
                kept = np.flatnonzero(weights)
                rows, weights = rows.take(kept), weights[kept]
            if len(rows):
                yield rows, weights
