"""A corpus as the data of online epochs: segments in random order, and the rows of each in random order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.dataset import Dataset
from fastlin.data.scratch import ScratchArray
from fastlin.optim.epochs import TrainingRows, Visit
from fastlin.optim.training_state import TrainingState
from fastlin.validation import CSRRows, check_values


@dataclass(frozen=True)
class CorpusStream:
    """The rows of a corpus, one segment in memory at a time.

    With sampling "order" they come as they are stored. A segment that is all there is draws what the same rows in
    memory draw.
    """

    corpus: Dataset
    label_positions: NDArray[np.int32]  # of the corpus's labels among the model's
    factors: NDArray[np.float64]  # weights of the corpus's labels; of length 0 for ones
    row_ids: NDArray[np.int64] | None  # the rows to learn from, in order; None for all
    sampling: str
    generator: np.random.Generator
    dtype: np.dtype[Any]  # of the weights
    batch_size: int
    training: TrainingState  # goes on from there
    in_memory: ClassVar[bool] = False
    labelled: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.corpus) if self.row_ids is None else len(self.row_ids)

    def n_weighted(self) -> int:
        members = slice(None) if self.row_ids is None else self.row_ids
        counts = np.ones(len(self.corpus), bool)[members]
        if self.corpus.weighted:
            counts &= self.corpus.weights()[members] > 0
        if len(self.factors):
            counts &= self.factors[self.corpus.codes()[members]] > 0
        return int(np.count_nonzero(counts))

    def segment_rows(self, index: int) -> TrainingRows:
        """One segment."""
        segment, start = self.corpus.segment(index), int(self.corpus.bounds[index])
        rows = check_values(segment.rows, dtype=self.dtype, start=start).astype(self.dtype)
        weights, members = segment.weights, np.arange(len(segment.rows))
        if len(self.factors):
            factors = self.factors[segment.codes]
            weights = factors * weights if len(weights) else factors
        if self.row_ids is not None:
            first, last = np.searchsorted(self.row_ids, self.corpus.bounds[index : index + 2])
            members = self.row_ids[first:last] - start
        return TrainingRows(
            rows, self.label_positions[segment.codes], weights, members, self.sampling, self.generator, start=start
        )

    def parts(self) -> Iterator[TrainingRows]:
        return (self.segment_rows(index) for index in range(self.corpus.n_segments))

    def residuals(self, width: int) -> list[ScratchArray]:
        scratch = self.corpus.scratch()
        return [scratch.zeros((int(size) if width else 0, width)) for size in np.diff(self.corpus.bounds)]

    def visit(self, residuals: list[ScratchArray], visit: Visit) -> None:
        """A mini-batch that a segment's end would cut goes on with the first rows of the next segment."""
        n, training = self.corpus.n_segments, self.training
        if not len(training.segment_order):
            training.segment_order = self.generator.permutation(n) if self.sampling != "order" else np.arange(n)
        rest = self._restore_batch(training.carried_rows, residuals)
        for index in training.segment_order[training.n_segments_done :]:
            rest = self._visit_segment(index, residuals[index], rest, visit)
            training.n_segments_done, training.carried_rows = training.n_segments_done + 1, rest.row_numbers()
            training.maybe_save()
        if rest.pieces:
            rest.visit(visit)
        training.end_epoch()

    def _visit_segment(self, index: int, held: ScratchArray, rest: "PartialBatch", visit: Visit) -> "PartialBatch":
        """Learn from a segment, as far as its rows and the rest of the last one fill mini-batches; what is left."""
        part = self.segment_rows(index)
        order = part.order() if len(part) else part.row_ids
        if rest.pieces:
            cut = _end_of_weighted(part, order, self.batch_size - rest.n_weighted)
            rest = rest.with_piece(part, order[:cut], held)
            order = order[cut:]
            if rest.n_weighted < self.batch_size:
                return rest
            rest.visit(visit)
        cut = _end_of_batches(part, order, self.batch_size)
        if cut:
            with held.map() as residual:
                visit(part, order[:cut], residual)
        rest = PartialBatch([], 0)
        return rest.with_piece(part, order[cut:], held) if cut < len(order) else rest

    def _restore_batch(self, carried: NDArray[np.int64], residuals: list[ScratchArray]) -> "PartialBatch":
        """The rest whose rows have these numbers."""
        rest, segments = PartialBatch([], 0), np.searchsorted(self.corpus.bounds, carried, side="right") - 1
        for rows in np.split(carried, np.flatnonzero(np.diff(segments)) + 1) if len(carried) else []:
            index = int(np.searchsorted(self.corpus.bounds, rows[0], side="right")) - 1
            rest = rest.with_piece(self.segment_rows(index), rows - self.corpus.bounds[index], residuals[index])
        return rest


class BatchPiece(NamedTuple):
    """Some rows of a segment."""

    data: TrainingRows  # a copy of each row
    order: NDArray[np.int64]  # among the copies
    rows: NDArray[np.int64]  # where they lie in the segment
    residual: ScratchArray  # of the segment

    def residuals(self) -> NDArray[np.float64]:
        with self.residual.map() as residual:
            return residual[self.rows[: len(residual)]]

    def store_residuals(self, residuals: NDArray[np.float64]) -> None:
        with self.residual.map() as residual:
            residual[self.rows[: len(residual)]] = residuals


class PartialBatch(NamedTuple):
    """The beginning of a mini-batch, from one segment or several."""

    pieces: list[BatchPiece]
    n_weighted: int  # rows with a weight

    def row_numbers(self) -> NDArray[np.int64]:
        """The rows' numbers in the corpus, in order."""
        numbers = [piece.data.start + piece.rows[piece.order] for piece in self.pieces]
        return np.concatenate([np.empty(0, np.int64), *numbers])

    def with_piece(self, part: TrainingRows, order: NDArray[np.int64], residual: ScratchArray) -> "PartialBatch":
        rows, places = np.unique(order, return_inverse=True)  # sampling may draw a row twice
        return PartialBatch(
            [*self.pieces, BatchPiece(part.take(rows), places, rows, residual)],
            self.n_weighted + _count_weighted(part, order),
        )

    def visit(self, visit: Visit) -> None:
        """One step on all of them; their residuals go back to their segments."""
        starts = np.cumsum([0] + [len(piece.rows) for piece in self.pieces])
        order = np.concatenate([start + piece.order for start, piece in zip(starts, self.pieces, strict=False)])
        residual = np.concatenate([piece.residuals() for piece in self.pieces])
        try:
            visit(_concatenate([piece.data for piece in self.pieces]), order, residual)
        finally:
            for start, piece in zip(starts, self.pieces, strict=False):
                piece.store_residuals(residual[start : start + len(piece.rows)])


def _count_weighted(part: TrainingRows, order: NDArray[np.int64]) -> int:
    """How many of the rows have a weight."""
    return int(np.count_nonzero(part.weights[order])) if len(part.weights) else len(order)


def _end_of_weighted(part: TrainingRows, order: NDArray[np.int64], wanted: int) -> int:
    """Where the first so many rows with a weight end."""
    if not len(part.weights):
        return min(wanted, len(order))
    counted = np.flatnonzero(part.weights[order])
    return int(counted[wanted - 1]) + 1 if wanted <= len(counted) else len(order)


def _end_of_batches(part: TrainingRows, order: NDArray[np.int64], batch_size: int) -> int:
    """Where the last whole mini-batch ends."""
    whole = _count_weighted(part, order) // batch_size * batch_size
    return len(order) if batch_size == 1 else _end_of_weighted(part, order, whole) if whole else 0


def _concatenate(parts: list[TrainingRows]) -> TrainingRows:
    """The rows of several parts as one."""
    first = parts[0]
    sizes = np.concatenate([np.diff(part.rows.indptr) for part in parts])
    rows = CSRRows(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([part.rows.indices for part in parts]),
        np.concatenate([part.rows.values for part in parts]),
        first.rows.n_columns,
        any(part.rows.negative for part in parts),
        any(part.rows.zeros for part in parts),
        max(part.rows.largest for part in parts),
    )
    labels, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("labels", "weights"))
    return TrainingRows(rows, labels, weights, first.row_ids, first.sampling, first.generator)
