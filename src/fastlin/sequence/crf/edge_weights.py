"""Weights of edges: what a token's features say of its label and the label before, together.

A CRF with them has θ_{a,i,j} for the features a that were chosen: K times as many as weights of labels. The
scores of edges, [n_tokens, K, K], are in memory for a segment of the sequences at a time.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import observed_weights
from fastlin.optim.design import Design, observed_pairs
from fastlin.runtime import parallel
from fastlin.sequence.partial_labels import LabelCodes
from fastlin.sequence.tokens import Tokens
from fastlin.validation import CSRRows

Floats = NDArray[np.float64]
MAX_EDGE_SCORES = 1 << 22  # scores of edges in memory


@dataclass(frozen=True)
class EdgeBlock:
    """The sequences first … last − 1, and the features of their edges, if there are any."""

    first: int
    last: int
    design: Design | None


class Edges:
    """Weights of (feature, label before, label) triples of some columns of X.

    The features of a sequence's first token have no edge, and are left out.
    """

    def __init__(
        self, tokens: Tokens, known: LabelCodes, K: int, columns: NDArray[np.int64], cutoff: int | None
    ) -> None:
        rows = _without(tokens.rows.columns(columns), tokens.starts[:-1][np.diff(tokens.starts) > 0])
        everything = np.arange(len(columns))
        self.n_labels, self.columns = K, columns
        self._whole = Design.of(rows, everything)
        if cutoff is None:
            self.starts = np.arange(len(columns) + 1, dtype=np.int64) * (K * K)
            self.labels = np.tile(np.arange(K * K, dtype=np.int32), len(columns))
        else:
            of_tokens, places = known.said(tokens.starts, 2, cutoff)
            seen = Design.of(rows.take(of_tokens), everything)
            self.starts, self.labels = observed_pairs(
                seen, places.astype(np.int32), K * K, np.full(len(columns), cutoff)
            )
        self.blocks = [
            EdgeBlock(first, last, Design.of(rows.between(*tokens.starts[[first, last]].tolist()), everything))
            for first, last in parallel.split_by_length(tokens.starts, max(1, MAX_EDGE_SCORES // (K * K)))
        ]

    @property
    def n_weights(self) -> int:
        return len(self.labels)

    @property
    def largest(self) -> float:
        """max |x|."""
        return self._whole.largest

    def squares(self, weights: Floats | None) -> Floats:
        """Σ x² of every column, weighted by tokens."""
        design = self._whole
        squares, some = np.zeros(design.n_features), np.diff(design.column_indptr) > 0
        if some.any():
            values = np.square(design.column_values.astype(np.float64))
            values = values if weights is None else values * weights[design.column_rows]
            squares[some] = np.add.reduceat(values, design.column_indptr[:-1][some])
        return squares

    def scores(self, block: EdgeBlock, theta: Floats, workers: parallel.WorkerPool) -> Floats:
        """[n_tokens, K, K] of a segment."""
        design, K = block.design, self.n_labels
        assert design is not None
        scores, bias = np.empty((design.n_rows, K * K)), np.zeros(K * K)

        def work(start: int, stop: int) -> None:
            given = design.rows(start, stop)
            observed_weights.forward(*given, start, stop, self.starts, self.labels, theta, bias, scores[start:stop])

        workers.map(work, parallel.split_by_work(design.indptr + np.arange(design.n_rows + 1), K * K))
        return scores.reshape(-1, K, K)

    def backward(
        self, block: EdgeBlock, residual: Floats, gradient: Floats, workers: parallel.WorkerPool, more: bool
    ) -> None:
        """Xᵀ R of a segment's residuals; `more`: added to the gradient."""
        design, flat = block.design, residual.reshape(-1, self.n_labels**2)
        assert design is not None

        def work(low: int, high: int) -> None:
            given, span = design.columns(low, high, design.column_values), slice(self.starts[low], self.starts[high])
            observed_weights.backward(*given, low, high, self.starts, self.labels, flat, gradient[span], more)

        workers.map(
            work, parallel.split_by_work(design.column_indptr + np.arange(design.n_features + 1), self.n_labels)
        )


def _without(rows: CSRRows, empty: NDArray[np.int64]) -> CSRRows:
    """The rows, of which some become empty."""
    sizes = np.diff(rows.indptr)
    sizes[empty] = 0
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    kept = np.arange(indptr[-1]) + np.repeat(rows.indptr[:-1] - indptr[:-1], sizes)
    return replace(rows, indptr=indptr, indices=rows.indices[kept], values=rows.values[kept])
