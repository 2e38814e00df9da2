"""The index that templates learn: numbers of words, strings, pairs and columns; and how templates are run."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text import templates as kernel
from fastlin.engine.text.string_numbering import StringNumbering
from fastlin.runtime import parallel
from fastlin.runtime.shared_lock import SharedLock
from fastlin.text import token_strings
from fastlin.text.templates.compiler import CONSTANT, PairStream, Program, StreamSource
from fastlin.text.templates.dsl import ENDS, WHOLE
from fastlin.text.templates.word_forms import Bytes, Gazetteer, Ints, WordForms, number_names
from fastlin.text.vocabulary import new_seed

PLACES_PER_BLOCK = 4096  # places of the streams that are made together
GAZETTEER_MARKS = ("B", "I")  # of a gazetteer's entries
NO_NUMBERS = np.empty(0, np.int32)


class GrowingArray:
    """An array of numbers that grows."""

    def __init__(self) -> None:
        self._room, self._n = NO_NUMBERS, 0

    @property
    def values(self) -> Ints:
        return self._room[: self._n]

    def append(self, values: Ints) -> None:
        n = self._n + len(values)
        if n > len(self._room):
            self._room = np.concatenate([self.values, np.empty(max(n, 2 * self._n) - self._n, np.int32)])
        self._room[self._n : n] = values
        self._n = n


class TokenFeatures(NamedTuple):
    """The features of tokens: a CSR, whose values are 1 where they are None, and where each sequence starts."""

    starts: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: Ints
    values: NDArray[np.float64] | None


class TableSizes(NamedTuple):
    """Sizes of tables that only ever grow."""

    words: list[int]
    strings: list[int]
    pairs: list[int]
    columns: int


class SharedTables:
    """The lock of tables that grow in place, and whether somebody adds to them."""

    def __init__(self) -> None:
        self.lock, self.grow = SharedLock(), False


class TemplateIndex:
    """The words, strings, pairs and columns that a program has met: the first so many of tables that only ever grow.

    It never changes. To learn is to become another, which has more of the same tables; what others have learnt since
    lies behind, and is not seen.
    """

    def __init__(self, program: Program) -> None:
        self.program, self._shared = program, SharedTables()
        self.words = {column: StringNumbering(new_seed()) for column in program.columns}
        self.strings = [self._strings_of(space) for space in range(len(program.spaces))]
        self.pairs = [kernel.PairNumbering(new_seed()) for _ in program.pair_spaces]
        self.columns = kernel.ColumnNumbering(len(program.families))
        rare = sorted({source.column for source in program.sources if source.function == "rare"})
        self._gazetteers = {
            source: Gazetteer(source.argument, program.gazetteers[source.argument], source.folded)
            for source in program.sources
            if source.function == "within"
        }
        self._tables = {source: GrowingArray() for source in program.sources if self._has_table(source)}
        self._number_markers()
        for column, words in self.words.items():
            self._extend_tables(column, words.strings())
        self.counts = {column: np.zeros(len(self.words[column]), np.int64) for column in rare}
        self._n = self._sizes()

    def __len__(self) -> int:
        return self._n.columns

    # Reading

    def read(self, X: Any) -> TokenFeatures:
        """The features of the tokens of X that are known."""
        starts, texts = token_strings.read(X, self.program.columns)
        numbers, unknown_words = self._numbers(texts)
        return self._run(starts, numbers, unknown_words, False, None)

    def learn(
        self, X: Any, order: int | None = None, frequencies: "TemplateIndex | None" = None
    ) -> tuple[TokenFeatures, "TemplateIndex"]:
        """The features of the tokens of X, all of them known to what is returned beside them.

        `frequencies`: what has counted the words, if not this.
        """
        starts, texts = token_strings.read(X, self.program.columns)
        known = self._to_learn()
        try:
            numbers, unknown_words = known._numbers(texts)
            known._learn_words(numbers, unknown_words, frequencies)
            reading = known._run(starts, numbers, {}, True, order)
            known._n = known._sizes()
        finally:
            known._shared.grow = False
        return reading, known

    def _to_learn(self) -> Self:
        """An index with tables to add to: these, if they have nothing more and nobody adds to them, or else copies."""
        with self._shared.lock.writing():
            if not self._shared.grow and self._n == self._sizes():
                known = object.__new__(type(self))
                known.__dict__ = self.__dict__.copy()
            else:
                known = self.restored(self.program, self.state())
            known._shared.grow = True
        return known

    def _numbers(self, texts: list[Bytes]) -> tuple[dict[int, Ints], dict[int, Bytes]]:
        """Of each column the numbers of its words, and those that are new."""
        with self._shared.lock.reading():
            found = [self._numbered(column, words) for column, words in zip(self.program.columns, texts, strict=True)]
        numbers = {column: those for column, (those, _) in zip(self.program.columns, found, strict=True)}
        return numbers, {column: new for column, (_, new) in zip(self.program.columns, found, strict=True)}

    def _numbered(self, column: int, words: Bytes) -> tuple[Ints, Bytes]:
        """The numbers of a column's words, and those that are new, which have the numbers behind the known ones."""
        n, (arena, offsets) = self.n_words(column), words
        starts, lengths = offsets[:-1], np.diff(offsets).astype(np.int32)
        numbers = self.words[column].number(arena, offsets, False)
        numbers[numbers >= n] = -1
        new = np.flatnonzero(numbers < 0)
        others = StringNumbering(new_seed())
        found = others.number_slices(arena, starts[new], lengths[new], True)
        numbers[new] = n + found
        return numbers, others.strings()

    def _learn_words(
        self, numbers: dict[int, Ints], unknown_words: dict[int, Bytes], frequencies: "TemplateIndex | None"
    ) -> None:
        """Learn new words, and what the program sees in them."""
        counted = {}
        for column, words in unknown_words.items():
            with self._shared.lock.writing():
                self.words[column].number(*words, True)
                self._extend_tables(column, words)
        self._n = self._sizes()
        for column, before in self.counts.items():
            if frequencies is not None:
                names = self.words[column].names(len(self.words[column]))
                those = number_names(frequencies.words[column], names, False)
                counted[column] = np.append(frequencies.counts[column], 0)[those]
            else:
                counts = np.bincount(numbers[column], minlength=len(self.words[column]))
                counts[: len(before)] += before
                counted[column] = counts
        self.counts = counted

    def _extend_tables(self, column: int, words: Bytes) -> None:
        """Continue the tables with words of a column that are new."""
        forms = WordForms(words)
        for source, table in self._tables.items():
            if source.column == column:
                table.append(self._apply(source, forms, True))

    def _apply(self, source: StreamSource, forms: WordForms, learn: bool) -> Ints:
        """Apply a source to words: their numbers or flags."""
        if source.function == "within":
            return forms.numbers("word", None, source.folded, self._gazetteers[source].words, False)
        if source.is_flag:
            return forms.flags(source.function)
        strings = self.strings[self.program.space_of[source]]
        return forms.numbers(source.function, source.argument, source.folded, strings, learn)

    def _run(
        self,
        starts: NDArray[np.int64],
        numbers: dict[int, Ints],
        unknown_words: dict[int, Bytes],
        learn: bool,
        order: int | None,
    ) -> TokenFeatures:
        program = self.program
        if order is None:
            order = kernel.DISTINCT if program.distinct else kernel.SUMMED
        lock = self._shared.lock
        with lock.reading():
            layouts = list(self._layouts(starts, numbers, unknown_words))
        places = starts + (program.before + program.behind) * np.arange(len(starts))
        rows, indptr = kernel.RowBuilder(order), np.zeros(starts[-1] + 1, np.int64)
        blocks = list(parallel.split_by_length(places, PLACES_PER_BLOCK))
        width = max((int(places[last] - places[first]) for first, last in blocks), default=0)
        streams = np.empty(
            (len(program.sources) + len(program.pairs), width + program.before + program.behind + 1), np.int32
        )
        for first, last in blocks:
            n = int(places[last] - places[first])
            for stream, layout in zip(streams, layouts, strict=False):
                kernel.fill_stream(starts, first, last, *layout, stream)
            with lock.writing() if learn else lock.reading():
                for pair, stream in zip(program.pairs, streams[len(layouts) :], strict=True):
                    self._number_pairs(pair, streams, stream[:n], learn)
                if learn:
                    self.columns.widen(self._family_sizes())
                self.columns.emit(
                    streams, program.rows, program.conditions, starts, first, last, program.before, program.behind,
                    learn, len(self), rows, indptr[1:],
                )  # fmt: skip
        return TokenFeatures(starts, indptr, *rows.arrays())

    def _number_pairs(self, pair: PairStream, streams: NDArray[np.int32], stream: Ints, learn: bool) -> None:
        n, distance = len(stream), pair.distance
        first, stop = max(0, -distance), n - max(0, distance)
        left, right = streams[pair.left, first:stop], streams[pair.right, first + distance : stop + distance]
        stream[:first] = stream[stop:] = -1
        self.pairs[pair.space - self.program.constant - 1].number(left, right, learn, stream[first:stop])

    def _layouts(
        self, starts: NDArray[np.int64], numbers: dict[int, Ints], unknown_words: dict[int, Bytes]
    ) -> Iterator[tuple[Ints, Ints | None, Ints, Ints, Ints]]:
        """For each source what `lay_out` takes: a number for each token, what numbers stand for, what is around."""
        forms = {column: WordForms(words) for column, words in unknown_words.items()}
        for source in self.program.sources:
            table, unknown_values = None, NO_NUMBERS
            if source == CONSTANT:
                tokens = np.zeros(starts[-1], np.int32)
            elif source.function in ENDS:
                tokens = np.zeros(starts[-1], np.int32)
                full = np.flatnonzero(np.diff(starts))
                tokens[starts[full] if source.function == "first" else starts[full + 1] - 1] = 1
            elif source.function == "rare":
                counts = _looked_up(numbers[source.column], self.counts[source.column], 0)
                tokens = (counts < source.argument).astype(np.int32)
            elif source in self._tables:
                tokens, table = numbers[source.column], self._table_of(source)
                if source.column in forms:
                    unknown_values = self._apply(source, forms[source.column], False)
            else:
                tokens = numbers[source.column]
                if source.column in forms:
                    tokens = np.where(tokens < self.n_words(source.column), tokens, -1)
            if source in self._gazetteers:
                tokens = self._gazetteers[source].spans(
                    _looked_up(tokens, self._table_of(source), unknown_values), starts
                )
                table, unknown_values = self._marks[source], NO_NUMBERS
            yield tokens, table, unknown_values, *self._around[source]

    # What reads one sentence asks

    def reading(self) -> Any:
        """Hold the tables, which grow in place, for as long as a `with` lasts."""
        return self._shared.lock.reading()

    def around(self, source: StreamSource) -> tuple[Ints, Ints]:
        """What a source has before sequences, and behind them."""
        return self._around[source]

    def table_of(self, source: StreamSource) -> Ints | None:
        """The values of a source for the words that are known; None: the numbers of the words themselves."""
        return self._table_of(source) if source in self._tables else None

    def n_words(self, column: int) -> int:
        """The number of a column's words that are known."""
        return self._n.words[self.program.columns.index(column)]

    # Parts

    def _table_of(self, source: StreamSource) -> Ints:
        """The values of a source for the words that are known."""
        return self._tables[source].values[: self.n_words(source.column)]

    def _strings_of(self, space: int) -> Any:
        column = self.program.own_column(space)
        return StringNumbering(new_seed()) if column is None else self.words[column]

    def _has_table(self, source: StreamSource) -> bool:
        """Whether it depends on the word alone, and is not the number of the word itself."""
        if source == CONSTANT or source.function in (*ENDS, "rare"):
            return False
        return source.is_flag or self.program.own_column(self.program.space_of[source]) is None

    def _number_markers(self) -> None:
        """Strings that no word brings: what stands around sequences, and how gazetteers are marked."""
        program = self.program
        self._around = {}
        self._marks = {}
        for source in program.sources:
            before, behind = (np.full(n, -1, np.int32) for n in (program.before, program.behind))
            if source.function == "within":
                self._marks[source] = number_names(self.strings[program.space_of[source]], GAZETTEER_MARKS, True)
            elif source.function in WHOLE and program.padding is not None:
                strings = self.strings[program.space_of[source]]
                before = number_names(strings, program.markers(False), True)
                behind = number_names(strings, program.markers(True), True)
            self._around[source] = before, behind

    def _space_sizes(self) -> list[int]:
        return [*map(len, self.strings), 1, *map(len, self.pairs)]

    def _family_sizes(self) -> NDArray[np.int64]:
        sizes = self._space_sizes()
        return np.array([sizes[family.space] for family in self.program.families], np.int64)

    # Names

    def names(self) -> list[str]:
        """The text of each feature."""
        with self._shared.lock.reading():
            families, numbers = (side[: len(self)] for side in self.columns.arrays())
            strings = [np.array(strings.names(len(strings)), object) for strings in self.strings]
            pairs = [pairs.arrays() for pairs in self.pairs]
        names = np.empty(len(families), object)
        order = np.argsort(families, kind="stable")
        bounds = np.searchsorted(families[order], range(len(self.program.families) + 1)).tolist()
        for place, (pieces, space) in enumerate(self.program.families):
            those = order[bounds[place] : bounds[place + 1]]
            texts = [pieces[0]] * len(those)
            for values, piece in zip(self._values(space, numbers[those], strings, pairs), pieces[1:], strict=True):
                texts = [text + value + piece for text, value in zip(texts, values, strict=True)]
            names[those] = texts
        return names.tolist()

    def _values(
        self, space: int, numbers: Ints, strings: list[NDArray[Any]], pairs: list[tuple[Ints, Ints]]
    ) -> list[list[str]]:
        """The strings that numbers of a space are made of: the first of all, the second of all, ..."""
        constant = self.program.constant
        if space == constant:
            return []
        if space < constant:
            return [strings[space][numbers].tolist()]
        left, right = self.program.pair_spaces[space - constant - 1]
        lefts, rights = (side[numbers] for side in pairs[space - constant - 1])
        return self._values(left, lefts, strings, pairs) + self._values(right, rights, strings, pairs)

    # State

    def _sizes(self) -> TableSizes:
        """Of the tables as they are, with what others have learnt."""
        words = [len(self.words[column]) for column in self.program.columns]
        return TableSizes(words, list(map(len, self.strings)), list(map(len, self.pairs)), len(self.columns))

    def state(self) -> dict[str, Any]:
        """All that is known."""
        with self._shared.lock.reading():
            own = [self.program.own_column(space) for space in range(len(self.strings))]
            words = zip(self.words.values(), self._n.words, strict=True)
            strings = zip(self.strings, self._n.strings, own, strict=True)
            pairs = zip(self.pairs, self._n.pairs, strict=True)
            return {
                "words": [strings.names(n) for strings, n in words],
                "strings": [strings.names(n) if column is None else [] for strings, n, column in strings],
                "pairs": [[side[:n] for side in pairs.arrays()] for pairs, n in pairs],
                "columns": [side[: len(self)] for side in self.columns.arrays()],
                "counts": list(self.counts.values()),
            }

    @classmethod
    def restored(cls, program: Program, state: dict[str, Any]) -> Self:
        """The index that had this state, if there can be such; ValueError: there cannot."""
        known = cls(program)
        markers = {column: len(words) for column, words in known.words.items()}
        for column, words in zip(program.columns, state["words"], strict=True):
            _refill(known.words[column], words)
        for space, (strings, names) in enumerate(zip(known.strings, state["strings"], strict=True)):
            if program.own_column(space) is None:
                _refill(strings, names)
        sizes = known._space_sizes()
        for column, words in zip(program.columns, state["words"], strict=True):
            known._extend_tables(column, token_strings.encoded(words[markers[column] :]))
        if known._space_sizes() != sizes:
            raise ValueError("strings must be those of the words, and no others")
        for pairs, spaces, (left, right) in zip(known.pairs, program.pair_spaces, state["pairs"], strict=True):
            _refill_pairs(pairs, left, right, [known._space_sizes()[space] for space in spaces])
        family, feature = state["columns"]
        known.columns.restore(family, feature, known._family_sizes())
        for column, counts in zip(known.counts, state["counts"], strict=True):
            if counts.dtype != np.int64 or counts.shape != (len(known.words[column]),) or (counts < 0).any():
                raise ValueError("counts must be int64 from 0 on, one for each word")
            known.counts[column] = counts
        known._n = known._sizes()
        return known

    def __getstate__(self) -> dict[str, Any]:
        return {"program": self.program.parameters, "state": self.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = TemplateIndex.restored(Program(*state["program"]), state["state"]).__dict__


def _looked_up(numbers: Ints, table: NDArray[Any], unknown_values: Ints | int) -> NDArray[Any]:
    """table[i] for each number i; beyond the table's n that of the strange, i − n, or what they all have."""
    known = numbers < len(table)
    found = np.full(len(numbers), unknown_values if isinstance(unknown_values, int) else -1, table.dtype)
    found[known] = table[numbers[known]]
    if not isinstance(unknown_values, int):
        found[~known] = unknown_values[numbers[~known] - len(table)]
    return found


def _refill(strings: Any, names: list[str]) -> None:
    """Strings with the markers only get those that they had."""
    numbers = number_names(strings, names, True)
    if not np.array_equal(numbers, np.arange(len(names))) or len(strings) != len(names):
        raise ValueError("strings must begin with the markers and all differ")


def _refill_pairs(pairs: Any, left: Ints, right: Ints, sizes: list[int]) -> None:
    for side, size in zip((left, right), sizes, strict=True):
        if side.dtype != np.int32 or side.ndim != 1 or len(side) != len(left):
            raise ValueError("pairs must be vectors of int32 of one length")
        if ((side < 0) | (side >= size)).any():
            raise ValueError(f"pairs must hold numbers from 0 to {size - 1}")
    numbers = np.empty(len(left), np.int32)
    pairs.number(left, right, True, numbers)
    if not np.array_equal(numbers, np.arange(len(left))):
        raise ValueError("pairs must all differ, one is there twice")
