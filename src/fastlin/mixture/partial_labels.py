"""Documents of which some have labels: which are counted once, and which have to be inferred again and again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.class_counts import ClassCounts, SmoothingPrior
from fastlin.core.sparse_estimator import InMemoryDataset, RowsOrCorpus
from fastlin.data import Corpus
from fastlin.data.scratch import ScratchSpace
from fastlin.mixture.merged_columns import MergedPartitions, lay_out
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.validation import CSRRows

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]  # of labels: one for each and, last, one for none, so that the code −1 finds its own


class DocumentBlock(NamedTuple):
    """Some rows, the codes of their labels (−1: none) and their weights (of length 0: ones)."""

    rows: CSRRows
    codes: Codes
    weights: Floats

    def take(self, chosen: Mask) -> "DocumentBlock":
        """Some of the rows: a copy, unless they are all."""
        if chosen.all():
            return self
        weights = self.weights[chosen] if len(self.weights) else self.weights
        return DocumentBlock(self.rows.take(np.flatnonzero(chosen)), self.codes[chosen], weights)


@dataclass(frozen=True)
class LabelledSource:
    """Rows that come in segments, and the codes of their labels."""

    name: str
    rows: Corpus | InMemoryDataset
    codes: Codes
    kept: Mask | None = None  # which of the rows count; None: all

    @property
    def labelled(self) -> Mask:
        """Which of the rows have a label, and count."""
        return self.codes >= 0 if self.kept is None else (self.codes >= 0) & self.kept

    def of_weight(self) -> Mask:
        """Which of the rows have a weight above zero."""
        return self.rows.weights() > 0 if self.rows.weighted else np.ones(len(self.codes), bool)

    def pieces(self) -> Iterator[DocumentBlock]:
        wanted: dict[str, Any] = {"dtype": np.dtype(np.float64), "name": self.name, "nonnegative": True}
        for segment in self.rows.segments():
            here = slice(segment.start, segment.start + len(segment.rows))
            rows = validation.check_values(segment.rows, start=segment.start, **wanted)
            piece = DocumentBlock(rows, self.codes[here], segment.weights)
            yield piece if self.kept is None else piece.take(self.kept[here])


@dataclass(frozen=True)
class PartlyLabelledDocuments:
    """The rows of X, of which some have labels, and those of X_unlabeled, of which none has."""

    classes: NDArray[Any]
    sources: list[LabelledSource]

    @property
    def n_columns(self) -> int:
        return self.sources[0].rows.shape[1]

    @property
    def n_rows(self) -> int:
        return sum(len(source.codes) for source in self.sources)

    @property
    def codes(self) -> Codes:
        """Of the rows of X."""
        return self.sources[0].codes

    @property
    def readable(self) -> RowsOrCorpus:
        """The rows of X."""
        rows = self.sources[0].rows
        return rows.rows if isinstance(rows, InMemoryDataset) else rows

    def label_weights(self) -> Floats:
        """The weight of all rows of each label."""
        source = self.sources[0]
        own = source.rows.weights()[source.labelled] if source.rows.weighted else None
        return np.bincount(source.codes[source.labelled], own, minlength=len(self.classes)).astype(np.float64)

    def take(self, members: NDArray[np.int64]) -> RowsOrCorpus:
        """Some of the rows of X."""
        rows = self.readable
        return rows.take(members) if isinstance(rows, CSRRows) else rows.subset(members)

    def without(self, members: NDArray[np.int64]) -> "PartlyLabelledDocuments":
        """All but some of the rows of X."""
        kept = np.ones(len(self.codes), bool)
        kept[members] = False
        return replace(self, sources=[replace(self.sources[0], kept=kept), *self.sources[1:]])

    def among(self, classes: NDArray[Any], place: NDArray[np.int32]) -> "PartlyLabelledDocuments":
        """The same among more labels, where each of these labels has its place."""
        place = np.append(place, np.int32(-1))  # of no label
        return PartlyLabelledDocuments(classes, [replace(source, codes=place[source.codes]) for source in self.sources])

    def pieces(self, of_labels: Mask) -> Iterator[DocumentBlock]:
        """The rows of some labels, or of none, segment by segment."""
        for source in self.sources_of(of_labels):
            for piece in source.pieces():
                piece = piece.take(of_labels[piece.codes])
                if len(piece.codes):
                    yield piece

    def sources_of(self, of_labels: Mask) -> list[LabelledSource]:
        """Those that have rows of some labels, or of none."""
        return [source for source in self.sources if of_labels[source.codes].any()]

    def count(
        self, of_labels: Mask, families: NDArray[np.int64], counts: ClassCounts, n_jobs: int | None, keep: bool
    ) -> None:
        """Count the rows of labels that have one component, as MultinomialNB does; `keep` as in `Counts.add`."""
        for piece in self.pieces(of_labels):
            counts.add(piece.rows, families[piece.codes].astype(np.int32), piece.weights, n_jobs, keep)

    def to_infer(self, of_labels: Mask, unlabeled_weight: float) -> Iterator[DocumentBlock]:
        """Rows of a weight above zero, which where they have no label is multiplied by λ."""
        for piece in self.pieces(of_labels):
            weights, unlabelled = piece.weights, piece.codes < 0
            if unlabeled_weight != 1 and unlabelled.any():
                weights = np.where(unlabelled, unlabeled_weight, 1.0) * (weights if len(weights) else 1.0)
            piece = piece._replace(weights=weights)
            piece = piece.take(weights > 0) if len(weights) else piece
            if len(piece.codes):
                yield piece

    def lay_out(
        self, of_labels: Mask, unlabeled_weight: float, width: int, known: ClassCounts | None, prior: SmoothingPrior
    ) -> MergedPartitions:
        """The rows to infer in parts, with the features that they or what is known have."""

        def segments() -> Iterator[tuple[CSRRows, MultinomialLikelihood]]:
            for rows, codes, weights in self.to_infer(of_labels, unlabeled_weight):
                yield rows, MultinomialLikelihood(codes, weights, width)

        if sum(source.rows.n_segments for source in self.sources_of(of_labels)) > 1:
            parts = lay_out(segments, self.n_columns, self._scratch(), known, prior)
            if len(parts):
                return parts
        nothing = CSRRows(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), self.n_columns, False, False, 0.0)
        some = next(segments(), (nothing, MultinomialLikelihood(np.empty(0, np.int32), np.empty(0), width)))
        return lay_out(lambda: [some], self.n_columns, None, known, prior)

    def _scratch(self) -> ScratchSpace:
        """In a file, if any of the rows are."""
        stored = (source.rows for source in self.sources if isinstance(source.rows, Corpus) and source.rows.path)
        return next((corpus.scratch() for corpus in stored), ScratchSpace())
