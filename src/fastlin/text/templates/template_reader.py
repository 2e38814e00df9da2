"""Features of one sentence by templates: each word is looked at once, and what templates see in it is kept."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text import templates as kernel
from fastlin.text.templates.compiler import CONSTANT, StreamSource
from fastlin.text.templates.dsl import ENDS
from fastlin.text.templates.seen_features import TemplateIndex
from fastlin.text.templates.word_forms import form_of, has_flag

MAX_KEPT_WORDS = 1 << 14  # words of a column of which is known what templates see
MAX_KEPT_LENGTH = 64  # tokens of sentences whose empty streams are kept

Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]


class TemplateReader:
    """The features of one sentence at a time, those that an index knows; any number of threads may read.

    Gazetteers look at more than a word: `reads` says whether there are none.
    """

    def __init__(self, index: TemplateIndex) -> None:
        self._index, program = index, index.program
        self._program = program
        self._order = kernel.DISTINCT if program.distinct else kernel.SUMMED
        self._columns = [
            (column, [place for place, source in enumerate(program.sources) if source.column == column])
            for column in program.columns
        ]
        self._kept: dict[int, dict[str, bytes]] = {column: {} for column in program.columns}
        self._empty: dict[int, NDArray[np.int32]] = {}
        first = program.constant + 1
        self._pairs = np.array(
            [
                (pair.left, pair.right, pair.distance, pair.space - first, len(program.sources) + place)
                for place, pair in enumerate(program.pairs)
            ],
            np.int32,
        ).reshape(-1, 5)

    def __len__(self) -> int:
        """The number of features."""
        return len(self._index)

    @staticmethod
    def reads(index: TemplateIndex) -> bool:
        """Whether this is a way to read by an index."""
        return all(source.function != "within" for source in index.program.sources)

    def read(self, sentence: list[Any]) -> Rows | None:
        """(indptr, indices, values; None: all are 1) of its tokens; None: some token is none."""
        index, program, n = self._index, self._program, len(sentence)
        stop = program.before + n
        with index.reading():
            streams = self._streams_of(n)
            for column, places in self._columns:
                kept, rows = self._kept[column], []
                for token in sentence:
                    word = _word(token, column)
                    if word is None:
                        return None
                    rows.append(kept.get(word) or self._look_at(column, places, word))
                found = np.frombuffer(b"".join(rows), np.int32).reshape(n, len(places))
                streams[places, program.before : stop] = found.T
            kernel.fill_pairs(index.pairs, self._pairs, streams, stop + program.behind)
            builder, indptr = kernel.RowBuilder(self._order), np.zeros(n + 1, np.int64)
            index.columns.emit(
                streams, program.rows, program.conditions, np.array([0, n]), 0, 1, program.before, program.behind,
                False, len(index), builder, indptr[1:],
            )  # fmt: skip
        return indptr, *builder.arrays()

    def _streams_of(self, n: int) -> NDArray[np.int32]:
        """Streams with all that does not depend on words."""
        found = self._empty.get(n)
        if found is None:
            found = self._empty_streams(n)
            if n <= MAX_KEPT_LENGTH:
                self._empty[n] = found
        return found.copy()

    def _empty_streams(self, n: int) -> NDArray[np.int32]:
        program = self._program
        start, stop = program.before, program.before + n
        shape = len(program.sources) + len(program.pairs), stop + program.behind + 1
        streams = np.full(shape, -1, np.int32)
        for source, stream in zip(program.sources, streams, strict=False):
            before, behind = self._index.around(source)
            stream[:start], stream[stop : stop + program.behind] = before, behind
            if source == CONSTANT or source.function in ENDS:
                stream[start:stop] = 0
            if source.function in ENDS and n:
                stream[start if source.function == "first" else stop - 1] = 1
        return streams

    def _look_at(self, column: int, places: list[int], word: str) -> bytes:
        """What the sources of a column make of a word; kept."""
        index, kept = self._index, self._kept[column]
        number = index.words[column].find(word.encode("utf-8", "surrogatepass"))
        known = 0 <= number < index.n_words(column)
        values = [self._value(self._program.sources[place], word, number if known else -1) for place in places]
        if len(kept) >= MAX_KEPT_WORDS:
            kept.clear()
        found = kept[word] = np.array(values, np.int32).tobytes()
        return found

    def _value(self, source: StreamSource, word: str, number: int) -> int:
        """What a source makes of a word with this number; −1: it is not known."""
        index = self._index
        if source.function == "rare":
            count = int(index.counts[source.column][number]) if number >= 0 else 0
            return int(count < source.argument)
        table = index.table_of(source)
        if table is None:
            return number
        if number >= 0:
            return int(table[number])
        if source.is_flag:
            return int(has_flag(word, source.function))
        form = form_of(word, source.function, source.argument, source.folded)
        if form is None:
            return -1
        strings = index.strings[self._program.space_of[source]]
        return int(strings.find(form.encode("utf-8", "surrogatepass")))


def _word(token: Any, column: int) -> str | None:
    """What stands in a column of a token."""
    kind = type(token)
    if kind is str:
        return token if column == 0 else None
    if (kind is tuple or kind is list) and column < len(token) and type(token[column]) is str:
        word: str = token[column]
        return word
    return None
