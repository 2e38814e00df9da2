"""What a batch learner learns from: the rows of a weight above zero, with their labels, laid out in parts."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.sparse_estimator import InMemoryDataset, RowsOrCorpus
from fastlin.data import Corpus, Segment
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.partitions import Partitions
from fastlin.validation import CSRRows


class TrainingSample:
    """Rows, labels and weights × class weights of a source, of which those of weight 0 are left out."""

    def __init__(self, source: Corpus | InMemoryDataset, class_weight: Any = None, nonnegative: bool = False) -> None:
        self.source, self._nonnegative = source, nonnegative
        self._columns: NDArray[np.int64] | None = None  # the features; None: all
        self._factors = validation.class_factors(class_weight, source.classes, source.codes(), True, source.weights())
        self._kept = self._of_weight()  # None: all
        if self._kept is not None and not len(self._kept):
            raise ValueError("the weight of every row is zero (sample_weight × class_weight): nothing to learn")
        codes = source.codes() if self._kept is None else source.codes()[self._kept]
        present = np.bincount(codes, minlength=len(source.classes)) > 0
        self.classes, self._places = source.classes[present], (np.cumsum(present) - 1).astype(np.int32)
        if len(self.classes) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(self.classes)} class")

    def codes(self) -> NDArray[np.int32]:
        """The place of each row's label among the classes."""
        codes = self.source.codes() if self._kept is None else self.source.codes()[self._kept]
        return self._places[codes]

    def members(self) -> NDArray[np.int64]:
        """The numbers of the rows in the source."""
        return np.arange(len(self.source)) if self._kept is None else self._kept

    def row_weights(self, members: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """The weights that the source gives some of the rows, without those of their labels; None: ones."""
        return self.source.weights()[self.members()[members]] if self.source.weighted else None

    def take(self, members: NDArray[np.int64]) -> RowsOrCorpus:
        """Some of the rows."""
        rows = members if self._kept is None else self._kept[members]
        return self.source.rows.take(rows) if isinstance(self.source, InMemoryDataset) else self.source.subset(rows)

    def fold(self, members: NDArray[np.int64]) -> "TrainingSample":
        """Some of the rows, which have all labels, to learn from."""
        rows = members if self._kept is None else self._kept[members]
        present = np.unique(self.source.codes()[rows])
        if len(present) < len(self.classes):
            raise ValueError("a fold lacks a label: use fewer folds, or a stratified splitter")
        some = copy.copy(self)
        some._kept, whole = None, self.source
        if isinstance(whole, InMemoryDataset):
            weights = whole.weights()[rows] if whole.weighted else whole.weights()
            some.source = InMemoryDataset(whole.rows.take(rows), whole.classes, whole.labels[rows], weights)
        else:
            some.source, some._places = whole.subset(rows), self._places[present]  # it knows only labels that it has
            some._factors = None if self._factors is None else self._factors[present]
        return some

    def restricted(self, columns: NDArray[np.int64]) -> "TrainingSample":
        """The same rows with some of the features only."""
        some = copy.copy(self)
        some._columns = columns
        return some

    @property
    def n_features(self) -> int:
        return self.source.shape[1] if self._columns is None else len(self._columns)

    @property
    def readable(self) -> RowsOrCorpus:
        """The rows, all of them."""
        return self.source.rows if isinstance(self.source, InMemoryDataset) else self.source

    def lay_out(self, width: int) -> Partitions:
        """The rows in parts, for weights of so many columns."""

        def labelled() -> Iterator[tuple[CSRRows, MultinomialLikelihood]]:
            return ((rows, MultinomialLikelihood(codes, weights, width)) for rows, codes, weights in self.pieces())

        if isinstance(self.source, InMemoryDataset) or self.source.n_segments == 1:
            ((rows, labels),) = labelled()
            return Partitions.single(Design.of(rows), labels)
        return Partitions.from_segments(labelled, self.n_features, self.source.scratch())

    def pieces(self) -> Iterator[tuple[CSRRows, NDArray[np.int32], NDArray[np.float64]]]:
        """Rows, codes and weights of each segment."""
        for segment in self.source.segments():
            rows = validation.check_values(segment.rows, nonnegative=self._nonnegative, start=segment.start)
            codes, weights = segment.codes, self._weights(segment)
            rows = rows if self._columns is None else rows.columns(self._columns)
            if len(self.classes) < len(self.source.classes):
                codes = self._places[codes]
            if len(weights) and not weights.all():
                kept = np.flatnonzero(weights)
                rows, codes, weights = rows.take(kept), codes[kept], weights[kept]
            if len(codes):
                yield rows, codes, weights

    def _of_weight(self) -> NDArray[np.int64] | None:
        """The rows whose weight is not zero; None where all are."""
        if self._factors is None and not self.source.weighted:
            return None
        kept = np.concatenate([self._weights(segment) > 0 for segment in self.source.segments()])
        return None if kept.all() else np.flatnonzero(kept)

    def _weights(self, segment: Segment) -> NDArray[np.float64]:
        """The weights of a segment's rows; of length 0 for all ones."""
        if self._factors is None:
            return segment.weights
        own = self._factors[segment.codes]
        return own * segment.weights if len(segment.weights) else own
