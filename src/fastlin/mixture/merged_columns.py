"""Rows for EM, laid out so that words which no step can tell apart are one column.

More than half of the words of a corpus occur in a single document. Those of them that occur equally often there have
the same share of every component, always: one column stands for them all, and a row has their sum. On 20 Newsgroups
that halves the columns whose logarithms an iteration takes.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.core.class_counts import ClassCounts, SmoothingPrior
from fastlin.data.scratch import ScratchSpace
from fastlin.optim.design import Design, count_rows, order_by_frequency
from fastlin.optim.likelihoods import Likelihood
from fastlin.optim.partitions import Partitions, Segments
from fastlin.validation import CSRRows


class MergedColumns:
    """Columns that may stand for several features of X each: column `places[i]` for `members[i]`."""

    features: NDArray[np.int64]
    members: NDArray[np.int64]
    places: NDArray[np.int64]
    times: NDArray[np.float64]  # for how many features each column stands

    def averages(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of a table over the features of X, the mean over those for which each column stands."""
        ones, shape = np.ones(len(self.members)), (len(self.features), len(table))
        return sp.csr_array((ones, (self.places, self.members)), shape) @ table / self.times[:, np.newaxis]

    def set_members(self, seen: NDArray[np.int64], stands: NDArray[np.int64], times: NDArray[np.float64]) -> None:
        """Say which features of those that are seen stand for others, and for how many."""
        rank = np.empty(len(seen), np.int64)
        rank[self.features] = np.arange(len(self.features))
        self.members = np.flatnonzero(seen)
        self.places, self.times = rank[stands[self.members]], times[self.features]


class MergedPartitions(MergedColumns, Partitions):
    """Parts of such columns."""


def lay_out(
    segments: Segments, n_columns: int, scratch: ScratchSpace | None, known: ClassCounts | None, prior: SmoothingPrior
) -> MergedPartitions:
    """Rows to infer, beside counts that are known and under a prior. Without a scratch there is one segment."""
    seen = np.zeros(n_columns, np.int64)
    if known is not None:
        seen += known.features.any(axis=1)
    for rows, _ in segments():
        count_rows(rows, seen)
    stands, times = np.arange(n_columns), np.ones(n_columns)
    if len(prior.pseudo) == 1:  # else features differ before they are counted
        for rows, _ in segments():
            merge_columns(rows.without_zeros(), seen == 1, stands, times)
    features = order_by_frequency(np.where(stands == np.arange(n_columns), seen, 0))

    def designs() -> Iterator[tuple[Design, Likelihood]]:
        for rows, inference in segments():
            design = Design.of(sum_columns(rows.without_zeros(), stands, times), features)
            yield with_own_values(design, times[features]), inference

    if scratch is None:
        ((design, inference),) = designs()
        parts = MergedPartitions.single(design, inference)
    else:
        parts = MergedPartitions.from_designs(designs(), features, scratch)
    parts.set_members(seen, stands, times)
    return parts


def merge_columns(
    rows: CSRRows, once: NDArray[np.bool_], stands: NDArray[np.int64], times: NDArray[np.float64]
) -> None:
    """Of the features that occur once, and equally often in the same row, let the first stand for all."""
    indices = rows.indices[: rows.nnz]
    found = np.flatnonzero(once[indices])
    if not len(found):
        return
    of_rows, values = np.searchsorted(rows.indptr, found, side="right"), rows.values[found]
    order = np.lexsort((values, of_rows))
    of_rows, values, features = of_rows[order], values[order], indices[found[order]]
    starts = np.flatnonzero(np.concatenate([[True], (of_rows[1:] != of_rows[:-1]) | (values[1:] != values[:-1])]))
    sizes = np.diff(starts, append=len(features))
    stands[features] = np.repeat(features[starts], sizes)
    times[features[starts]] = sizes


def sum_columns(rows: CSRRows, stands: NDArray[np.int64], times: NDArray[np.float64]) -> CSRRows:
    """The rows with the features that stand for others, times as many, and without the others."""
    indices = rows.indices[: rows.nnz]
    kept = stands[indices] == indices
    indptr = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    indices = indices[kept]
    return replace(rows, indptr=indptr, indices=indices, values=rows.values[: rows.nnz][kept] * times[indices])


def with_own_values(design: Design, times: NDArray[np.float64]) -> Design:
    """The design with the values of single features in its columns; in float32 where they were and that is exact."""
    values = design.column_values / np.repeat(times, np.diff(design.column_indptr))
    narrow = values.astype(design.column_values.dtype)
    return replace(design, column_values=narrow if np.array_equal(narrow, values) else values)
