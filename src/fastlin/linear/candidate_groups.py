"""What a learner of choices learns from: rows in groups, in one piece or segment by segment of a corpus."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.sparse_estimator import labels_of
from fastlin.data import Corpus
from fastlin.data.scratch import ScratchSpace
from fastlin.optim.candidates import GroupedRows
from fastlin.optim.likelihoods import ConditionalLogitLikelihood
from fastlin.validation import CSRRows


def groups_of_rows(rows: CSRRows, groups: ConditionalLogitLikelihood) -> GroupedRows:
    """Rows in memory."""
    kept = _of_weight(rows, groups)
    if not len(kept[1].gold):
        raise ValueError("sample_weight is zero for every group: nothing to learn from")
    return GroupedRows(lambda _: kept, [len(kept[0])], rows.n_columns, rows.values.dtype, ScratchSpace())


def groups_of_corpus(corpus: Corpus, dtype: Any, nonnegative: bool) -> GroupedRows:
    """The segments of a corpus, which do not cut groups."""
    starts, codes, right = group_starts(corpus), corpus.codes(), len(labels_of(corpus)) - 1
    gold = positions(corpus)
    bounds = np.searchsorted(starts, corpus.bounds)

    def piece(index: int) -> tuple[CSRRows, ConditionalLogitLikelihood]:
        segment, own = corpus.segment(index), slice(bounds[index], bounds[index + 1])
        rows = validation.check_values(segment.rows, dtype=dtype, nonnegative=nonnegative, start=segment.start)
        of_right = np.flatnonzero(codes[segment.start : segment.start + len(rows)] == right)
        weights = segment.weights[of_right] if len(segment.weights) else np.empty(0)
        return _of_weight(
            rows, ConditionalLogitLikelihood(starts[own.start : own.stop + 1] - segment.start, gold[own], weights)
        )

    sizes = [len(piece(index)[0]) for index in range(corpus.n_segments)]
    kept = np.flatnonzero(sizes)
    if not len(kept):
        raise ValueError("the weight of every group is zero: nothing to learn from")
    chosen = [sizes[index] for index in kept]
    return GroupedRows(lambda place: piece(kept[place]), chosen, corpus.shape[1], corpus.dtype, corpus.scratch())


def group_starts(corpus: Corpus) -> NDArray[np.int64]:
    """Where the groups of a corpus start, and the number of rows."""
    if corpus.groups is None:
        raise ValueError("X is a Corpus without groups: give it group_sizes when it is made")
    return np.concatenate([[0], np.cumsum(corpus.groups)])


def positions(corpus: Corpus) -> NDArray[np.int64]:
    """The place of the right row within each group: the one with the greater of the two labels."""
    starts, labels = group_starts(corpus), labels_of(corpus)
    if len(labels) > 2:
        raise ValueError(
            f"X is a Corpus with {len(labels)} labels; candidates have two, of which the greater says right"
        )
    of_right = np.flatnonzero(corpus.codes() == len(labels) - 1)
    counts = np.diff(np.searchsorted(of_right, starts))
    if (counts != 1).any():
        group = int(np.argmax(counts != 1))
        (label,) = labels[-1:].tolist()
        raise ValueError(f"{counts[group]} rows of group {group} have the label {label!r}: one is right in each group")
    return of_right - starts[:-1]


def _of_weight(rows: CSRRows, groups: ConditionalLogitLikelihood) -> tuple[CSRRows, ConditionalLogitLikelihood]:
    """Without the groups of weight 0."""
    kept = groups.weights > 0
    if kept.all():  # also where all weights are one
        return rows, groups
    sizes = np.diff(groups.starts)
    starts = np.concatenate([[0], np.cumsum(sizes[kept])])
    rows = rows.take(np.flatnonzero(np.repeat(kept, sizes)))
    return rows, ConditionalLogitLikelihood(starts, groups.gold[kept], groups.weights[kept])
