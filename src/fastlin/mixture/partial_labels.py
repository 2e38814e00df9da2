"""Documents of which some have labels: which are counted once, and which have to be inferred again and again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import ClassCounts, SmoothingPrior
from fastlin.core.dataset import Codes, DatasetView, Floats, LabelledBlock, Mask
from fastlin.data.scratch import ScratchSpace
from fastlin.mixture.merged_columns import MergedPartitions, lay_out
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.validation import CSRRows


@dataclass(frozen=True)
class PartlyLabelledDocuments:
    """The rows of X, of which some have labels, and those of X_unlabeled, of which none has.

    Masks of labels have one place for each and, last, one for none, so that the code −1 finds its own.
    """

    classes: NDArray[Any]
    views: list[DatasetView]

    @property
    def n_columns(self) -> int:
        return self.views[0].n_features

    @property
    def n_rows(self) -> int:
        return sum(len(view.dataset) for view in self.views)

    @property
    def codes(self) -> Codes:
        """Of the rows of X."""
        return self.views[0].codes()

    def label_weights(self) -> Floats:
        """The weight of all rows of each label."""
        view = self.views[0]
        there = view.has_label()
        own = view.dataset.weights()[there] if view.dataset.weighted else None
        return np.bincount(view.codes()[there], own, minlength=len(self.classes)).astype(np.float64)

    def without(self, rows: NDArray[np.int64]) -> "PartlyLabelledDocuments":
        """All but some of the rows of X."""
        return replace(self, views=[self.views[0].without(rows), *self.views[1:]])

    def among(self, classes: NDArray[Any], places: Codes) -> "PartlyLabelledDocuments":
        """The same among more labels, where each of these labels has its place."""
        return PartlyLabelledDocuments(classes, [view.among(classes, places) for view in self.views])

    def blocks(self, of_labels: Mask) -> Iterator[LabelledBlock]:
        """The rows of some labels, or of none, segment by segment."""
        for view in self.views_of(of_labels):
            for block in view.blocks():
                chosen = block.take(of_labels[block.codes])
                if len(chosen.codes):
                    yield chosen

    def views_of(self, of_labels: Mask) -> list[DatasetView]:
        """Those that have rows of some labels, or of none."""
        return [view for view in self.views if of_labels[view.codes()].any()]

    def count(
        self, of_labels: Mask, families: NDArray[np.int64], counts: ClassCounts, n_jobs: int | None, keep: bool
    ) -> None:
        """Count the rows of labels that have one component, as MultinomialNB does; `keep` as in `Counts.add`."""
        for rows, codes, weights in self.blocks(of_labels):
            counts.add(rows, families[codes].astype(np.int32), weights, n_jobs, keep)

    def to_infer(self, of_labels: Mask, unlabeled_weight: float) -> Iterator[LabelledBlock]:
        """Rows of a weight above zero, which where they have no label is multiplied by λ."""
        for block in self.blocks(of_labels):
            weights, unlabelled = block.weights, block.codes < 0
            if unlabeled_weight != 1 and unlabelled.any():
                weights = np.where(unlabelled, float(unlabeled_weight), 1.0) * (weights if len(weights) else 1.0)
            block = block._replace(weights=weights)
            block = block.take(weights > 0) if len(weights) else block
            if len(block.codes):
                yield block

    def lay_out(
        self, of_labels: Mask, unlabeled_weight: float, width: int, known: ClassCounts | None, prior: SmoothingPrior
    ) -> MergedPartitions:
        """The rows to infer in parts, with the features that they or what is known have."""

        def segments() -> Iterator[tuple[CSRRows, MultinomialLikelihood]]:
            for rows, codes, weights in self.to_infer(of_labels, unlabeled_weight):
                yield rows, MultinomialLikelihood(codes, weights, width)

        if sum(view.dataset.n_segments for view in self.views_of(of_labels)) > 1:
            parts = lay_out(segments, self.n_columns, self._scratch(), known, prior)
            if len(parts):
                return parts
        nothing = CSRRows(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), self.n_columns, False, False, 0.0)
        some = next(segments(), (nothing, MultinomialLikelihood(np.empty(0, np.int32), np.empty(0), width)))
        return lay_out(lambda: [some], self.n_columns, None, known, prior)

    def _scratch(self) -> ScratchSpace:
        """In a file, if any of the rows are."""
        datasets = [view.dataset for view in self.views]
        return next((data for data in datasets if data.stored), datasets[0]).scratch()
