"""Which weights a model of sequences has, laid out for passes over its tokens.

A feature that was seen with many labels has a row of a dense table, [D, K], and one with few has weights of these
labels only. On CoNLL-2000 seven features in a hundred are of the first kind, and three entries in four are theirs.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastlin.optim.design import Design, observed_pairs
from fastlin.sequence.partial_labels import LabelCodes
from fastlin.sequence.tokens import Tokens
from fastlin.validation import CSRRows

MAX_UNTABLED_LABELS = 2  # labels that a feature may have without a row of the table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HybridLayout:
    """Weights of (feature, label) pairs: starts[j] is the first of feature j, and labels has the label of each.

    Features are numbered as by a design, and the first `n_tabled` have rows of the table; `places` says where in it
    their weights are. Those from `single` on have one label each.
    """

    n_labels: int
    n_tabled: int
    single: int
    starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    places: NDArray[np.int64]

    @property
    def n_weights(self) -> int:
        return len(self.labels)

    def table(self, theta: Floats) -> Floats:
        """The weights of the first features, [D, K]; zeros for pairs that have none."""
        table = np.zeros((self.n_tabled, self.n_labels))
        table.reshape(-1)[self.places] = theta[: len(self.places)]
        return table

    @property
    def few(self) -> tuple[NDArray[np.int64], int, NDArray[np.int32]]:
        """Where the weights of every feature begin, which have one, and the labels of those behind the table."""
        return self.starts, self.single, self.labels[len(self.places) :]


def lay_out(
    tokens: Tokens, known: LabelCodes, n_labels: int, observed: bool, cutoff: NDArray[np.int64]
) -> tuple[Design, HybridLayout]:
    """The features that have weights: pairs seen in at least `cutoff[j]` tokens, or with every label.

    A token has been seen with its label or, where a set is known, with each label of this; or with none. One of a
    sequence of weight w counts as ⌊w⌋ tokens, as one at least.
    """
    said, codes, most = tokens.rows, known.codes, int(cutoff.max(initial=1))
    if (observed and not known.complete) or (most > 1 and len(known.weights)):
        of_tokens, places = (known if observed else known.any_label()).said(tokens.starts, 1, most)
        said, codes = said.take(of_tokens), places.astype(np.int32)
    features, starts, labels = _pairs_of(Design.of(said), codes, n_labels, observed, cutoff)
    sizes = np.diff(starts)
    few = MAX_UNTABLED_LABELS if observed else 0
    kinds = [np.flatnonzero(chosen) for chosen in (sizes > few, (sizes > 1) & (sizes <= few), (sizes == 1) & (few > 0))]
    order, n_tabled = np.concatenate(kinds), len(kinds[0])
    ordered = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)
    labels = labels[np.arange(ordered[-1]) + np.repeat(starts[order] - ordered[:-1], sizes[order])]
    rows = np.repeat(np.arange(n_tabled), sizes[order[:n_tabled]])
    places = rows * n_labels + labels[: int(ordered[n_tabled])]
    design = _design_of(tokens.rows, features[order])
    return design, HybridLayout(n_labels, n_tabled, n_tabled + len(kinds[1]), ordered, labels, places)


def _pairs_of(
    design: Design, codes: NDArray[np.int32], n_labels: int, observed: bool, cutoff: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Features, where the pairs of each begin, and the labels of these."""
    features = design.features
    if observed:
        return features, *observed_pairs(design, codes, n_labels, cutoff[features])
    kept = features[np.diff(design.column_indptr) >= cutoff[features]]
    starts = np.arange(len(kept) + 1, dtype=np.int64) * n_labels
    return kept, starts, np.tile(np.arange(n_labels, dtype=np.int32), len(kept))


def _design_of(rows: CSRRows, features: NDArray[np.int64]) -> Design:
    """Some of the features in this order, which is that of every row, too."""
    columns = np.sort(features)
    if np.array_equal(columns, np.flatnonzero(np.bincount(rows.indices[: rows.nnz], minlength=rows.n_columns))):
        return Design.of(rows, features).in_order()
    kept = Design.of(rows.columns(columns), np.searchsorted(columns, features)).in_order()
    return replace(kept, features=features)
