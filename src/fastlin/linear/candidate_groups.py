"""Rows in groups as a learner of choices reads them: in one piece, or segment by segment of a corpus."""

import numpy as np

from fastlin.core.dataset import Dataset, Groups
from fastlin.optim.candidates import GroupedRows
from fastlin.optim.likelihoods import ConditionalLogitLikelihood
from fastlin.validation import CSRRows


def grouped_rows(data: Dataset, groups: Groups) -> GroupedRows:
    """The groups of a weight above zero, in the segments of the rows, which do not cut groups."""
    bounds = np.searchsorted(groups.starts, data.bounds)

    def piece(index: int) -> tuple[CSRRows, ConditionalLogitLikelihood]:
        segment, first, last = data.segment(index), bounds[index], bounds[index + 1]
        starts, weights = groups.starts[first : last + 1] - segment.start, groups.weights[first:last]
        return _of_weight(segment.rows, ConditionalLogitLikelihood(starts, groups.right[first:last], weights))

    found = [piece(0)] if data.rows is not None else None  # a copy, if some groups have no weight
    sizes = [len((piece(index) if found is None else found[index])[0]) for index in range(data.n_segments)]
    kept = np.flatnonzero(sizes)
    if not len(kept):
        which = "the weight of every group is zero" if found is None else "sample_weight is zero for every group"
        raise ValueError(f"{which}: nothing to learn from")
    return GroupedRows(
        (lambda place: piece(kept[place])) if found is None else found.__getitem__,
        [sizes[index] for index in kept],
        data.n_features,
        data.dtype,
        data.scratch(),
    )


def _of_weight(rows: CSRRows, groups: ConditionalLogitLikelihood) -> tuple[CSRRows, ConditionalLogitLikelihood]:
    """Without the groups of weight 0."""
    kept = groups.weights > 0
    if kept.all():  # also where all weights are one
        return rows, groups
    sizes = np.diff(groups.starts)
    starts = np.concatenate([[0], np.cumsum(sizes[kept])])
    rows = rows.take(np.flatnonzero(np.repeat(kept, sizes)))
    return rows, ConditionalLogitLikelihood(starts, groups.gold[kept], groups.weights[kept])
