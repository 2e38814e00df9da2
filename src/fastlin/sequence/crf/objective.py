"""The objective of a CRF (Lafferty, McCallum & Pereira 2001), and the work of its passes.

    f(θ) = Σ −w log p(y | x) + c2 ‖θ‖²,    ∂f = expected − observed counts + 2 c2 θ     (c1 is the solver's business)

with the weights w of sequences, by which counts are multiplied.

Of a sequence whose labels are known in part, p(y | x) is the sum over all y that they allow, and what is expected of
these counts as observed: the marginal likelihood, which is not convex.

θ has four parts: weights of (feature, label) pairs, of pairs of labels, for order 2 of triples of labels, and of edges,
(feature, label before, label) triples. Observed ones only, or all.

Forward goes sequence by sequence and leaves the residuals R, [n_tokens, K]; backward, Xᵀ R, is a gather over columns,
so that each weight has one writer, and the bits do not depend on the number of threads.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chain import crf_objective
from fastlin.engine.chain.hybrid_weights import TokenWeights
from fastlin.engine.core import observed_weights, passes, vector_ops
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.optim.chunked_vectors import ChunkedVectors
from fastlin.optim.design import Design
from fastlin.optim.log_linear_problem import FLOAT32_SAFE, WeightPrior
from fastlin.runtime import parallel
from fastlin.sequence.chain import NO_SCORES, Chain
from fastlin.sequence.crf.edge_weights import EdgeBlock, Edges
from fastlin.sequence.partial_labels import LabelCodes
from fastlin.sequence.tokens import Tokens
from fastlin.sequence.transition_weights import TransitionWeights, chain_of
from fastlin.sequence.weight_layout import HybridLayout

Floats = NDArray[np.float64]
MISS_COST = 8  # multiply–adds that a feature with few labels takes as long as: it waits for memory
Cuts = list[tuple[int, int]]


class CRFObjective:
    """f of a CRF."""

    has_curvature = False
    pairs = 6  # ten take 24 evaluations, not 26, to 1e-4 of the optimum of CoNLL-2000, and a sixth more time for each

    def __init__(
        self, design: Design, layout: HybridLayout, transition_weights: TransitionWeights, edges: Edges | None,
        tokens: Tokens, labels: LabelCodes, c1: float, c2: float, workers: parallel.WorkerPool,
    ) -> None:  # fmt: skip
        self.design, self.layout, self.transition_weights, self.edges = design, layout, transition_weights, edges
        self.starts, self.labels, self.c2, self.workers = tokens.starts, labels, c2, workers
        self.token_labels = labels.bind()
        parts = [layout.n_weights, transition_weights.n_weights, 0 if edges is None else edges.n_weights]
        self.bounds = np.cumsum([0, *parts]).tolist()
        self.size = self.n_weights = self.bounds[-1]
        self.prior = WeightPrior(np.full(1, 2 * c2), np.empty(0), c1)
        self.pieces = ChunkedVectors(self.size, workers)
        self.residual = aligned_zeros((tokens.n_tokens, layout.n_labels))
        tabled = layout.n_tabled
        self.column_cuts = [
            (low + first, high + first)
            for first, last, width in ((0, tabled, layout.n_labels), (tabled, design.n_features, MISS_COST))
            for low, high in parallel.split_by_work(
                design.column_indptr[first : last + 1] - design.column_indptr[first], width
            )
        ]
        self.blocks = [EdgeBlock(0, len(tokens), None)] if edges is None else edges.blocks
        self.row_cuts = [self._row_cuts(block) for block in self.blocks]
        if tokens.binary:  # ones for the longest piece of work stand for all values
            rows = [self.starts[list(cut)] for cuts in self.row_cuts for cut in cuts]
            pieces = [(design.indptr, cut) for cut in rows] + [(design.column_indptr, cut) for cut in self.column_cuts]
            most = max((int(indptr[stop] - indptr[start]) for indptr, (start, stop) in pieces), default=0)
            ones = np.ones(most, np.float32)
            self.design = replace(design, values=ones, column_values=ones)
        self.expected = np.zeros(transition_weights.n_weights)  # transitions, at the last θ
        self.passes = 0

    def split(self, theta: Floats) -> list[Floats]:
        """θ as weights of features, of transitions, of edges."""
        return [theta[start:stop] for start, stop in pairwise(self.bounds)]

    @property
    def inner_type(self) -> Any:
        """The type of the vectors that only shape a step."""
        largest = self.design.largest if self.edges is None else max(self.design.largest, self.edges.largest)
        return np.float32 if 1 / FLOAT32_SAFE < largest < FLOAT32_SAFE and 2 * self.c2 < FLOAT32_SAFE else np.float64

    def distance(self, theta: Floats, steepest: Floats) -> float:
        """‖∂f‖ / max(1, ‖θ‖)."""
        norms = [np.sqrt(self.pieces.dot(vector, vector)) for vector in (steepest, theta)]
        return float(norms[0] / max(1.0, norms[1]))

    def diagonal(self) -> Floats:
        """The metric of L-BFGS: roots of the diagonal of the Hessian, as if labels were independent, at the last θ.

        On CoNLL-2000 it takes 109 evaluations from 0 to 1e-4 of the optimum with the roots, 134 without a metric, and
        205 with the diagonal itself: curvatures change on the way. The residuals of θ are used up.
        """
        design, values, shares = self.design, self.design.column_values, self.residual
        known, weights = self.labels.complete, self.labels.token_weights(self.starts)
        codes, diagonal = self.labels.codes, np.empty(self.size)
        filled = np.diff(self.starts) > 0
        n_pairs: float = len(codes) - int(np.count_nonzero(filled))
        if weights is not None:
            n_pairs = float(weights.sum() - self.labels.weights[filled].sum())
        of_features, of_transitions, of_edges = self.split(diagonal)

        def variances(start: int, stop: int) -> None:
            some, own = shares[start:stop], codes[start:stop]
            if weights is not None:
                some /= weights[start:stop, np.newaxis]
            if known:
                some[np.arange(stop - start), own] += 1
            else:  # of labels that are not known, what is expected less what is so of the paths that are allowed
                np.abs(some, out=some, where=(own < 0)[:, np.newaxis])
                some[np.flatnonzero(own >= 0), own[own >= 0]] += 1
            some *= 1 - some
            if weights is not None:
                some *= weights[start:stop, np.newaxis]

        self.workers.map(
            variances, parallel.split_by_work(design.indptr + np.arange(design.n_rows + 1), self.layout.n_labels)
        )
        self._backward(of_features, np.square(values))
        of_transitions[:] = self.expected * (1 - self.expected / max(1.0, n_pairs))
        if self.edges is not None:
            likely = float(self.layout.n_labels) ** -2
            of_edges[:] = np.repeat(self.edges.squares(weights), np.diff(self.edges.starts)) * likely * (1 - likely)
        np.maximum(diagonal, 0, out=diagonal)
        return np.sqrt(diagonal + 2 * self.c2)

    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient."""
        self.passes += 1
        of_features, of_transitions, of_edges = self.split(theta)
        slopes = self.split(gradient)
        chain = chain_of(*self.transition_weights.tables(of_transitions))
        table, few = self.layout.table(of_features), of_features[len(self.layout.places) :]
        loss, counts = 0.0, np.zeros(chain.transitions.shape)
        for block, cuts in zip(self.blocks, self.row_cuts, strict=True):
            scores = NO_SCORES if self.edges is None else self.edges.scores(block, of_edges, self.workers)
            for part, found in self._forward(block, cuts, chain, table, few, scores):
                loss += part
                counts += found
            if self.edges is not None:
                self.edges.backward(block, scores, slopes[2], self.workers, more=block.first > 0)
        self._backward(slopes[0], self.design.column_values)
        self.expected = self.transition_weights.counts(counts)
        np.subtract(self.expected, self.transition_weights.seen, out=slopes[1])
        penalties = self.pieces.map(lambda part: self._penalise(theta[part], gradient[part]))
        return loss + float(sum(penalties)) if np.isfinite(loss) else np.inf

    def _penalise(self, theta: Floats, gradient: Floats) -> float:
        gradient += 2 * self.c2 * theta
        return self.c2 * vector_ops.dot(theta, theta)

    def _forward(
        self, block: EdgeBlock, cuts: Cuts, chain: Chain, table: Floats, few: Floats, edges: Floats
    ) -> Iterator[tuple[float, Floats]]:
        """The loss and the expected transitions of the sequences, whose residuals are left behind."""
        design, layout = self.design, self.layout
        first_token = int(self.starts[block.first])
        weights = TokenWeights(table, *layout.few, few, layout.n_labels)

        def work(first: int, last: int) -> tuple[float, Floats]:
            tokens = slice(int(self.starts[first]), int(self.starts[last]))
            indptr, indices, values = design.rows(tokens.start, tokens.stop)
            values = values if len(values) == len(indices) else design.values[: len(indices)]
            counts = np.zeros(chain.padded[1].shape)
            some = edges[tokens.start - first_token : tokens.stop - first_token]
            loss = crf_objective.evaluate(
                CSRView(indptr, indices, values, tokens.start, tokens.stop), self.starts, first, last, weights,
                chain.padded, self.token_labels, self.residual[tokens], counts, some,
            )  # fmt: skip
            return loss, chain.unpad(counts)

        yield from self.workers.map(work, cuts)

    def _row_cuts(self, block: EdgeBlock) -> Cuts:
        """Its sequences in pieces of bounded work."""
        K, sequences = self.layout.n_labels, self.starts[block.first : block.last + 1]
        work = K ** (self.transition_weights.order + 1) * sequences + K * self.design.indptr[sequences]
        return [
            (block.first + first, block.first + last)
            for first, last in parallel.split_by_work((work - work[0]) // 2, 1)
        ]

    def _backward(self, gradient: Floats, values: NDArray[Any]) -> None:
        """Xᵀ R of the weights of features, with these values for the columns' own."""
        design, layout, K = self.design, self.layout, self.layout.n_labels
        nothing = np.zeros(K)

        def work(low: int, high: int) -> None:
            indptr, rows, some = design.columns(low, high, values)
            some = some if len(some) == len(rows) else values[: len(rows)]
            first, last = layout.starts[low], layout.starts[high]
            if low >= layout.n_tabled:
                observed_weights.backward(
                    indptr, rows, some, low, high, layout.starts, layout.labels, self.residual, gradient[first:last]
                )
                return
            sums = np.empty((high - low, K))
            passes.forward(indptr, rows, some, low, high, self.residual, nothing, np.empty(K), sums)
            np.take(sums.reshape(-1), layout.places[first:last] - low * K, out=gradient[first:last])

        self.workers.map(work, self.column_cuts)
