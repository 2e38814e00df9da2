"""Terms numbered in the order of their first appearance, and rows of counts of them.

`NativeVocabulary` are strings and n-grams that the engine finds by itself, `DictVocabulary` whatever a user's analyzer
returns. Both learn from blocks of documents, or count the terms they know.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text import vectorizer
from fastlin.engine.text import vocabulary_order as engine_columns
from fastlin.runtime.parallel import WorkerPool
from fastlin.text.analyzer import TokenizerSpec
from fastlin.text.token_strings import encoded

SPACE_CODE = 32
BLOCKS_PER_THREAD = 16  # blocks for each thread between two looks at a stream of documents


class CountChunk(NamedTuple):
    """Rows of counts, one behind the other."""

    lengths: NDArray[np.int64]
    numbers: NDArray[np.int32]  # terms, or columns where these were asked for
    room: NDArray[np.int64]  # its first half holds the counts, int32, until they become what is asked for

    @property
    def counts(self) -> NDArray[np.int32]:
        return self.room.view(np.int32)[: len(self.numbers)]

    def pieces(self, n: int) -> Iterator["CountSlice"]:
        """Split the rows into n pieces of about as many entries."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        borders = np.searchsorted(ends, [len(self.numbers) * i // n for i in range(n)]).tolist()
        for start, stop in pairwise([*borders, len(self.lengths)]):
            part = slice(ends[start], ends[stop])
            yield CountSlice(self.lengths[start:stop], self.numbers[part], self.counts[part])


class CountSlice(NamedTuple):
    """Some rows of a chunk, as views."""

    lengths: NDArray[np.int64]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int32]


Take = Callable[[CountChunk], None]
Counts = NDArray[np.int64]


def add_up(totals: NDArray[Any], numbers: NDArray[np.int32], counts: NDArray[np.int32] | None = None) -> None:
    """totals[number] += its count, or one; what a chunk costs does not depend on how many numbers there are."""
    if 4 * len(numbers) < len(totals):
        np.add.at(totals, numbers, 1 if counts is None else counts)
    else:
        totals += np.bincount(numbers, counts, len(totals)).astype(totals.dtype, copy=False)


class GrowingCounts:
    """How often each number occurs in chunks; they may bring ever larger numbers."""

    def __init__(self) -> None:
        self._room = np.zeros(1 << 10, np.int64)

    def add(self, numbers: NDArray[np.int32], counts: NDArray[np.int32] | None = None) -> None:
        self._grow(int(numbers.max(initial=-1)) + 1)
        add_up(self._room, numbers, counts)

    def of(self, n: int) -> Counts:
        """The totals of the first n numbers."""
        self._grow(n)
        return self._room[:n]

    def _grow(self, n: int) -> None:
        if n > len(self._room):
            more = max(n, 2 * len(self._room)) - len(self._room)
            self._room = np.concatenate([self._room, np.zeros(more, np.int64)])


class TermVocabulary(Protocol):
    """The terms of a vectoriser, by number: what it asks of them, wherever they lie."""

    def __len__(self) -> int: ...
    def copy(self) -> "TermVocabulary": ...
    def add(self, terms: list[Any]) -> NDArray[np.int32]: ...
    def learn(
        self, blocks: Iterable[list[Any]], n_jobs: int | None, take: Take | None
    ) -> tuple[list[CountChunk], Counts]: ...
    def count(
        self, blocks: Iterable[list[Any]], columns: NDArray[np.int32], n_jobs: int | None
    ) -> list[CountChunk]: ...
    def order(self, wanted: NDArray[np.bool_], first: int) -> NDArray[np.int32]: ...
    def names(self, numbers: NDArray[np.int32]) -> NDArray[np.object_]: ...
    def subset(self, wanted: NDArray[np.bool_]) -> tuple["TermVocabulary", NDArray[np.int64]]: ...


def new_seed() -> int:
    """A random seed, so that nobody can choose texts whose words collide in a table."""
    return int.from_bytes(os.urandom(8), "little")


def rounds(blocks: Iterable[Any], workers: WorkerPool) -> Iterator[list[Any]]:
    """The blocks, so many at a time that all threads have work; documents are read ahead no further."""
    stream = iter(blocks)
    while ahead := list(islice(stream, BLOCKS_PER_THREAD * workers.threads)):
        yield ahead


def read_rows(
    idle: list[Any],
    spec: TokenizerSpec,
    read: Callable[[Any, list[str]], None],
    blocks: Iterable[list[str]],
    n_jobs: int | None,
) -> list[CountChunk]:
    """The rows of all blocks: `read` appends those of a block to a reader."""
    stream = iter(blocks)
    first = list(islice(stream, 2))
    blocks = chain(first, stream)
    with WorkerPool(n_jobs) as workers:
        if len(first) < 2 or workers.threads == 1:
            with borrowed_reader(idle, spec, workers) as mine:
                for block in blocks:
                    read(mine, block)
                return [CountChunk(*mine.take())]

        def work(ahead: list[list[str]], place: int) -> CountChunk:
            with borrowed_reader(idle, spec, workers) as mine:
                read(mine, ahead[place])
                return CountChunk(*mine.take())

        chunks = []
        for ahead in rounds(blocks, workers):
            chunks += workers.map(work, [(ahead, place) for place in range(len(ahead))])
        return chunks


class ThreadVocabulary:
    """The vocabulary of one of several threads, and which nodes its nodes are in that of all."""

    def __init__(self, terms: "NativeVocabulary", workers: WorkerPool, first: bool) -> None:
        self.reader = terms.spec.reader()
        self.reader.watch_stop_flag(workers.stop)
        self.vocabulary = terms.vocabulary if first else vectorizer.NgramVocabulary(new_seed())
        self.nodes = np.arange(terms.ignored, dtype=np.int32)
        if not first:
            self.vocabulary.absorb(terms.vocabulary, 0, terms.ignored, self.nodes, None)

    def read(self, blocks: list[list[str]], ignored: int) -> CountChunk:
        for block in blocks:
            self.reader.count(block, self.vocabulary, True, ignored, None)
        return CountChunk(*self.reader.take())

    def merge_into(self, vocabulary: Any) -> None:
        """Add the nodes that are new since the last time to the vocabulary of all, in their order."""
        known, n = len(self.nodes), len(self.vocabulary)
        self.nodes = np.concatenate([self.nodes, np.empty(n - known, np.int32)])
        vocabulary.absorb(self.vocabulary, known, n, self.nodes, None)


class NativeVocabulary:
    """Words, n-grams of words or of characters, in a vocabulary of the engine."""

    def __init__(self, spec: TokenizerSpec, stop_words: frozenset[str]) -> None:
        self.spec = spec
        self.stop_words = stop_words
        self.vocabulary = vectorizer.NgramVocabulary(new_seed())
        self.ignored = len(self.vocabulary.add_strings(*encoded(sorted(stop_words))))
        self._idle: list[Any] = []

    def __len__(self) -> int:
        return len(self.vocabulary)

    def copy(self) -> "NativeVocabulary":
        """Copy the terms, to learn more with: those that are read, maybe by other threads, do not change."""
        return self._with(self.vocabulary.copy())

    def _with(self, vocabulary: Any) -> "NativeVocabulary":
        other = NativeVocabulary.__new__(NativeVocabulary)
        other.spec, other.stop_words, other.ignored = self.spec, self.stop_words, self.ignored
        other.vocabulary, other._idle = vocabulary, []
        return other

    def add(self, terms: list[str]) -> NDArray[np.int32]:
        """The numbers of terms that the analysis could give; −1 for the others: no document has them."""
        try:
            bytes_and_offsets = encoded(terms)
        except TypeError:
            bytes_and_offsets = encoded([term if isinstance(term, str) else "" for term in terms])
        if self.spec.unit != vectorizer.WORDS:
            return self.vocabulary.add_strings(*bytes_and_offsets)
        low, high = self.spec.ngrams
        numbers = self.vocabulary.add_terms(
            *bytes_and_offsets, 1 if self.spec.prefixes or self.spec.suffixes else low, high
        )
        return np.where(numbers < self.ignored, -1, numbers).astype(np.int32)

    def learn(
        self, blocks: Iterable[list[str]], n_jobs: int | None, take: Take | None
    ) -> tuple[list[CountChunk], Counts]:
        """Count the features of documents, new ones added; in a row in the order of their numbers.

        Also how many of the documents had each. `take` gets the rows soon after they are read: none are kept then.
        """
        with WorkerPool(n_jobs) as workers:
            if workers.threads > 1:
                return self._learn_in_threads(blocks, workers, take)
            own = self.spec.reader()
            for block in blocks:
                own.count(block, self.vocabulary, True, self.ignored, None)
                if take is not None:
                    take(CountChunk(*own.take()))
            chunks = [CountChunk(*own.take())] if take is None else []
            return chunks, own.rows(len(self)).astype(np.int64)

    def _learn_in_threads(
        self, blocks: Iterable[list[str]], workers: WorkerPool, take: Take | None
    ) -> tuple[list[CountChunk], Counts]:
        """In each round every thread reads its share of the documents, the first into the vocabulary itself.

        The others' nodes follow in the order of the documents, and their rows get the numbers they have there: those
        that one thread alone would have given.
        """
        shares = [ThreadVocabulary(self, workers, first) for first in (True, *[False] * (workers.threads - 1))]
        chunks: list[CountChunk] = []

        def renumber(nodes: NDArray[np.int32], piece: CountSlice) -> None:
            with borrowed_reader(self._idle, self.spec, workers) as mine:
                mine.renumber(piece.lengths, piece.numbers, piece.counts, nodes, len(self))

        for ahead in rounds(blocks, workers):
            borders = [len(ahead) * i // len(shares) for i in range(len(shares) + 1)]
            parts = [ahead[start:stop] for start, stop in pairwise(borders)]
            found = workers.map(lambda share, part: share.read(part, self.ignored), zip(shares, parts, strict=True))
            for share in shares[1:]:
                share.merge_into(self.vocabulary)
            pieces = zip(shares[1:], found[1:], strict=True)
            workers.map(
                renumber, [(share.nodes, piece) for share, chunk in pieces for piece in chunk.pieces(len(shares))]
            )
            for chunk in found:
                (take or chunks.append)(chunk)
        rows = shares[0].reader.rows(len(self)).astype(np.int64)
        for share in shares[1:]:
            rows[share.nodes] += share.reader.rows(len(share.nodes))
        return chunks, rows

    def count(self, blocks: Iterable[list[str]], columns: NDArray[np.int32], n_jobs: int | None) -> list[CountChunk]:
        """The columns of the documents' features, in order."""

        def read(mine: Any, block: list[str]) -> None:
            mine.count(block, self.vocabulary, False, self.ignored, columns)

        return read_rows(self._idle, self.spec, read, blocks, n_jobs)

    def order(self, wanted: NDArray[np.bool_], first: int) -> NDArray[np.int32]:
        """The place of each wanted term in the order of the names, counted from `first`; −1 for the others."""
        prefix, last, arena, offsets = self.vocabulary.arrays()
        if (prefix >= 0).any() and len(arena) and arena.min() <= SPACE_CODE:  # "a\1" comes before "a b"
            return _by_name(self, wanted, first)
        ranks, columns = np.empty(len(offsets) - 1, np.int32), np.empty(len(prefix), np.int32)
        engine_columns.rank_strings(arena, offsets, ranks)
        engine_columns.number_columns(prefix, last, ranks, wanted.view(np.uint8), first, columns)
        return columns

    def names(self, numbers: NDArray[np.int32]) -> NDArray[np.object_]:
        return self.vocabulary.names(numbers)

    def subset(self, wanted: NDArray[np.bool_]) -> tuple["NativeVocabulary", NDArray[np.int64]]:
        """The wanted terms alone, in their order, with what they are made of; and where each comes from."""
        prefix, last, _, _ = self.vocabulary.arrays()
        needed = wanted.copy()
        needed[: self.ignored] = True
        pairs = np.flatnonzero(prefix >= 0)
        while True:
            parts = pairs[needed[pairs]]
            if needed[prefix[parts]].all() and needed[last[parts]].all():
                break
            needed[prefix[parts]] = needed[last[parts]] = True
        kept = self._with(vectorizer.NgramVocabulary(new_seed()))
        kept.vocabulary.absorb(self.vocabulary, 0, len(self), np.empty(len(self) + 1, np.int32), needed.view(np.uint8))
        return kept, np.flatnonzero(needed)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("vocabulary", "_idle")}
        return kept | {"arrays": self.vocabulary.arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        prefix, last, arena, offsets = state.pop("arrays")
        self.__dict__.update(state, _idle=[], vocabulary=vectorizer.NgramVocabulary(new_seed()))
        self.vocabulary.restore(prefix, last, np.append(arena, np.zeros(64, np.uint8)), offsets)


@contextmanager
def borrowed_reader(idle: list[Any], spec: TokenizerSpec, workers: WorkerPool) -> Iterator[Any]:
    """Lend one of the idle readers, or a new one; it is put back afterwards. `list` methods are atomic."""
    try:
        reader = idle.pop()
    except IndexError:
        reader = spec.reader()
    reader.watch_stop_flag(workers.stop)
    yield reader
    idle.append(reader)  # not after a failure: it may hold rows


class DictVocabulary:
    """Any hashable values, in a dict. A document is what an analyzer made of it: its features, however often."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self._known: tuple[NDArray[np.int32], dict[Any, int]] | None = None  # the last columns, and the terms in them

    def __len__(self) -> int:
        return len(self.numbers)

    def copy(self) -> "DictVocabulary":
        other = DictVocabulary()
        other.numbers = dict(self.numbers)
        return other

    def add(self, terms: list[Any]) -> NDArray[np.int32]:
        return np.array([self.numbers.setdefault(term, len(self.numbers)) for term in terms], np.int32)

    def learn(
        self,
        blocks: Iterable[list[Any]],
        n_jobs: int | None,  # noqa: ARG002 - Python holds the GIL
        take: Take | None,
    ) -> tuple[list[CountChunk], Counts]:
        numbers, rows = self.numbers, GrowingCounts()
        chunks: list[CountChunk] = []
        for block in blocks:
            chunk = self._counted(block, lambda term: numbers.setdefault(term, len(numbers)))
            rows.add(chunk.numbers)
            (take or chunks.append)(chunk)
        return chunks, rows.of(len(numbers))

    def count(self, blocks: Iterable[list[Any]], columns: NDArray[np.int32], n_jobs: int | None) -> list[CountChunk]:  # noqa: ARG002
        known = self._known  # once: other threads may replace it
        if known is None or known[0] is not columns:
            listed = columns.tolist()
            known = columns, {term: listed[number] for term, number in self.numbers.items() if listed[number] >= 0}
            self._known = known
        return [self._counted(block, known[1].get) for block in blocks]

    def _counted(self, block: list[Any], number_of: Callable[[Any], int | None]) -> CountChunk:
        lengths, numbers, counts = np.empty(len(block), np.int64), [], []
        for i, document in enumerate(block):
            row: dict[int, int] = {}
            for term in document:
                number = number_of(term)
                if number is not None:
                    row[number] = row.get(number, 0) + 1
            lengths[i] = len(row)
            numbers += sorted(row)
            counts += [row[number] for number in sorted(row)]
        room = np.empty(len(counts), np.int64)
        room.view(np.int32)[: len(counts)] = counts
        return CountChunk(lengths, np.array(numbers, np.int32), room)

    def order(self, wanted: NDArray[np.bool_], first: int) -> NDArray[np.int32]:
        return _by_name(self, wanted, first)

    def names(self, numbers: NDArray[np.int32]) -> NDArray[np.object_]:
        terms = list(self.numbers)
        names = np.empty(len(numbers), object)
        for i, number in enumerate(numbers):
            names[i] = terms[number]
        return names

    def subset(self, wanted: NDArray[np.bool_]) -> tuple["DictVocabulary", NDArray[np.int64]]:
        sources = np.flatnonzero(wanted)
        kept = DictVocabulary()
        kept.add(list(self.names(sources.astype(np.int32))))
        return kept, sources


def _by_name(terms: TermVocabulary, wanted: NDArray[np.bool_], first: int) -> NDArray[np.int32]:
    """Do what `order` does, by writing the names and sorting them."""
    numbers = np.flatnonzero(wanted).astype(np.int32)
    names = terms.names(numbers)
    columns = np.full(len(wanted), -1, np.int32)
    for column, i in enumerate(sorted(range(len(names)), key=names.__getitem__), first):
        columns[numbers[i]] = column
    return columns
