"""Conjunctions of columns as the kernels know them: which were learnt, and what rows have of them.

Everything is done in pieces of bounded work, so that Ctrl-C acts between them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.core.transformer import assemble
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.text import conjunctions as kernels
from fastlin.runtime import parallel
from fastlin.validation import MAX_COLUMNS, CSRRows

NO_GROUPS = np.empty(0, np.uint64)
NO_PLACES = np.empty(0, np.int64)
MAX_SUMMED_BUCKETS = 1 << 24  # buckets that products are added up in; of more, a row's products are listed and sorted


def offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of so many sizes begins, and where the last ends."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def compact(rows: CSRRows, rank: NDArray[np.int32], width: int) -> CSRRows:
    """The rows with column rank[j] in the place of j; without zeros, and without columns of rank −1."""
    indices, values = rank[rows.indices[: rows.nnz]], rows.values[: rows.nnz]
    kept = (indices >= 0) & (values != 0)
    if not kept.all():
        lengths = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
        return CSRRows(lengths, indices[kept], values[kept], width, rows.negative, False, rows.largest)
    return CSRRows(rows.indptr, indices, values, width, rows.negative, False, rows.largest)


@dataclass(frozen=True)
class Matches:
    """Conjunctions in rows: where the last column stands, where its row ends, which conjunction, its value."""

    level: int
    places: NDArray[np.int64]
    ends: NDArray[np.int64]
    nodes: NDArray[Any]
    values: NDArray[Any]

    @classmethod
    def of(cls, rows: CSRRows, index: type) -> Self:
        """Level 1: the columns of the rows themselves."""
        ends = np.repeat(rows.indptr[1:], np.diff(rows.indptr))
        return cls(1, np.arange(rows.nnz), ends, rows.indices.astype(index, copy=False), rows.values)

    @classmethod
    def by_column(cls, rows: CSRRows, bounds: NDArray[np.int64]) -> Self:
        """The same, column by column, between bounds."""
        places, ends = np.empty((2, rows.nnz), np.int64)
        cursor = bounds[:-1].copy()
        for start, stop in parallel.row_blocks(rows, 1):
            kernels.transpose(rows.indptr, rows.indices, start, stop, cursor, places, ends)
        nodes = np.repeat(np.arange(rows.n_columns, dtype=np.int32), np.diff(bounds))
        return cls(1, places, ends, nodes, rows.values)  # what they come to is not asked for

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, which: Any) -> "Matches":
        return Matches(self.level, self.places[which], self.ends[which], self.nodes[which], self.values[which])

    def pieces(self, width: int = 1) -> Iterator[tuple[int, int]]:
        """Matches whose tails × width come to a fixed amount of work."""
        return parallel.split_by_work(offsets(self.ends - self.places), width)


@dataclass(frozen=True)
class ConjunctionTree:
    """The conjunctions learnt: level by level, where the children of each start, and the column that each child adds.

    A child is its parent and one more column: level 2 are pairs, level 3 triples.
    """

    starts: list[NDArray[np.int64]]
    columns: list[NDArray[np.int32]]
    skip: int

    @classmethod
    def learn(cls, rows: CSRRows, depth: int, powers: bool, cutoff: int, groups: NDArray[np.uint64]) -> Self:
        """Those of at least `cutoff` rows, of compact ones; with `powers`, a column may be there more than once."""
        tree = cls([], [], 0 if powers else 1)
        counter = ChildCounter(rows, tree.skip, cutoff, groups)
        bounds = offsets(np.bincount(rows.indices, minlength=rows.n_columns))
        matches = Matches.by_column(rows, bounds)
        tree._add([counter.children(matches, bounds, groups, NO_GROUPS)])
        if depth == 3:
            tree._add(list(tree._grandchildren(rows, counter, matches, bounds, groups)))
        return tree

    @property
    def index(self) -> type:
        """The type that counts the conjunctions of any level."""
        return np.int32 if max(map(len, self.columns)) <= MAX_COLUMNS else np.int64

    def find(self, rows: CSRRows) -> list[sp.csr_array]:
        """Products in compact rows: a matrix for each level."""
        matches, table, matrices = Matches.of(rows, self.index), np.zeros(rows.n_columns, np.int32), []
        for level, columns in enumerate(self.columns, start=2):
            indptr = offsets(self._walk(rows, matches, level, table, None))[rows.indptr]
            made = np.empty(indptr[-1], self.index), np.empty(indptr[-1], rows.values.dtype)
            self._walk(rows, matches, level, table, made)
            matrices.append(assemble(made[1], made[0], indptr, len(columns)))
        return matrices

    def members(self, level: int) -> NDArray[np.int64]:
        """The columns of each conjunction of a level, [n, level]."""
        found = np.arange(len(self.starts[0]) - 1)[:, None]
        for above in range(level - 1):
            found = np.column_stack([np.repeat(found, np.diff(self.starts[above]), axis=0), self.columns[above]])
        return found

    def _add(self, parts: list[tuple[NDArray[np.int64], NDArray[np.int32]]]) -> None:
        sizes, columns = [NO_PLACES], [np.empty(0, np.int32)]
        for some_sizes, some_columns in parts:
            sizes.append(some_sizes)
            columns.append(some_columns)
        self.starts.append(offsets(np.concatenate(sizes)))
        self.columns.append(np.concatenate(columns))

    def _grandchildren(
        self,
        rows: CSRRows,
        counter: "ChildCounter",
        matches: Matches,
        bounds: NDArray[np.int64],
        groups: NDArray[np.uint64],
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """The triples that extend pairs, for some first columns after the other."""
        table = np.zeros(rows.n_columns, np.int32)
        matches = replace(matches, nodes=matches.nodes.astype(self.index, copy=False))
        for first, last in parallel.split_by_work(offsets(matches.ends - matches.places)[bounds], 4):
            mine = matches[bounds[first] : bounds[last]]
            parts = [self._children(rows, mine[a:b], table)[0] for a, b in mine.pieces(4)]
            low, high = self.starts[0][first], self.starts[0][last]
            nodes = np.concatenate([NO_PLACES, *(part.nodes for part in parts)]) - low
            order = np.argsort(nodes, kind="stable")
            places = np.concatenate([NO_PLACES, *(part.places for part in parts)])[order]
            ends = np.concatenate([NO_PLACES, *(part.ends for part in parts)])[order]
            one = two = NO_GROUPS
            if len(groups):
                one = np.repeat(groups[first:last], np.diff(self.starts[0][first : last + 1]))
                two = groups[self.columns[0][low:high]]
            tails = offsets(np.bincount(nodes, minlength=high - low))
            yield counter.children(Matches(2, places, ends, nodes, nodes), tails, one, two)

    def _walk(
        self,
        rows: CSRRows,
        matches: Matches,
        level: int,
        table: NDArray[np.int32],
        out: tuple[NDArray[Any], NDArray[Any]] | None,
    ) -> NDArray[np.int64]:
        """How many conjunctions of a level each match grows into; `out`, if given, gets their nodes and values."""
        grown, done = np.zeros(len(matches), np.int64), 0
        for a, b in matches.pieces(1 if level == matches.level + 1 else 4):
            part, rest = matches[a:b], None if out is None else (out[0][done:], out[1][done:])
            if level > matches.level + 1:
                children, found = self._children(rows, part, table)
                grown[a:b] = np.diff(offsets(self._walk(rows, children, level, table, rest))[offsets(found)])
            else:
                grown[a:b] = self._extend(rows, part, table, NO_PLACES, NO_PLACES, None)
                if rest is not None:
                    self._extend(rows, part, table, offsets(grown[a:b]), NO_PLACES, rest)
            done += int(grown[a:b].sum())
        return grown

    def _children(self, rows: CSRRows, matches: Matches, table: NDArray[np.int32]) -> tuple[Matches, NDArray[np.int64]]:
        """The children of some matches, and how many each match has."""
        found = self._extend(rows, matches, table, NO_PLACES, NO_PLACES, None)
        slots = offsets(found)
        places, nodes = np.empty(slots[-1], np.int64), np.empty(slots[-1], self.index)
        values = np.empty(slots[-1], rows.values.dtype)
        self._extend(rows, matches, table, slots, places, (nodes, values))
        return Matches(matches.level + 1, places, np.repeat(matches.ends, found), nodes, values), found

    def _extend(
        self,
        rows: CSRRows,
        matches: Matches,
        table: NDArray[np.int32],
        slots: NDArray[np.int64],
        places: NDArray[np.int64],
        out: tuple[NDArray[Any], NDArray[Any]] | None,
    ) -> NDArray[np.int64]:
        """Count the children of matches or, with `slots` to put them, write them."""
        found = np.zeros(len(matches), np.int64)
        order = np.argsort(matches.nodes) if matches.level == 1 else np.arange(len(matches))
        out = out or (np.empty(0, self.index), np.empty(0, rows.values.dtype))
        level = matches.level - 1
        kernels.extend(
            kernels.ConjunctionMatches(rows.indices, matches.places, matches.ends, self.skip),
            kernels.NodeChildren(self.starts[level], self.columns[level], table),
            rows.values, matches.nodes, matches.values, order, found, slots, places, out,
        )  # fmt: skip
        return found


class ChildCounter:
    """Counts the columns in the tails of matches, and keeps those seen often enough."""

    def __init__(self, rows: CSRRows, skip: int, cutoff: int, groups: NDArray[np.uint64]) -> None:
        self.rows, self.skip = rows, skip
        self.counts = kernels.TailCounts(np.zeros(rows.n_columns, np.int32), *_bitset(rows.n_columns), groups, cutoff)

    def children(
        self, matches: Matches, bounds: NDArray[np.int64], one: NDArray[np.uint64], two: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """How many children the nodes have whose hits lie between `bounds`, and the columns of all."""
        sizes, node = np.zeros(len(bounds) - 1, np.int64), 0
        columns = [np.empty(0, np.int32)]
        bound = kernels.ConjunctionMatches(self.rows.indices, matches.places, matches.ends, self.skip)
        for start, stop in matches.pieces():
            work = int((matches.ends[start:stop] - matches.places[start:stop]).sum())
            out = np.empty(work + self.rows.n_columns, np.int32)
            node, n = kernels.learn(self.counts, bound, bounds, node, start, stop, one, two, sizes, out)
            columns.append(out[:n].copy())
        return sizes, np.concatenate(columns)


@dataclass(frozen=True)
class ConjunctionHashing:
    """Conjunctions that are not learnt: each is added to the bucket that its columns hash to.

    Pairs and triples share the buckets. Columns of no group must not be in the rows.
    """

    depth: int
    powers: bool
    groups: NDArray[np.uint64]
    n_buckets: int
    signs: bool

    def find(self, rows: CSRRows) -> sp.csr_array:
        """The buckets of rows."""
        tails = np.repeat(rows.indptr[1:], np.diff(rows.indptr)) - np.arange(rows.nnz)
        work = offsets(tails ** (self.depth - 1))
        sizes, dtype = np.zeros(len(rows), np.int64), rows.values.dtype
        nothing = np.empty(0, np.int32), np.empty(0, dtype)
        listed = self.n_buckets > MAX_SUMMED_BUCKETS
        n_sums = 0 if listed else self.n_buckets
        task = kernels.HashedConjunctions(
            0 if self.powers else 1, self.depth, self.groups, self.n_buckets, self.signs, np.zeros(n_sums, dtype),
            *_bitset(n_sums),
        )  # fmt: skip
        view = CSRView(rows.indptr, rows.indices, rows.values)

        def scatter(indices: NDArray[np.int32], values: NDArray[Any]) -> None:
            sizes[:] = row = done = 0
            for start, stop in parallel.split_by_work(work, 1):
                row, n = kernels.scatter(task, view, row, start, stop, sizes, indices[done:], values[done:])
                done += n

        scatter(*nothing)
        indptr = offsets(sizes)
        indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], dtype)
        if indptr[-1]:
            scatter(indices, values)
        matrix = assemble(values, indices, indptr, self.n_buckets)
        if listed:
            matrix.sum_duplicates()
        return matrix


def _bitset(size: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """A bit for each of so many places, and one for each word of these."""
    words = -(-size // 64)
    return np.zeros(words, np.uint64), np.zeros(-(-words // 64), np.uint64)
