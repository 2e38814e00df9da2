"""Sentences as sequences of numbers: from lists, strings, files, and whatever `fastlin.data.read` reads texts from."""

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data.blocks import Documents
from fastlin.data.errors import ReadError
from fastlin.data.reader import BY_SUFFIX, Reader, read
from fastlin.data.readers import sources
from fastlin.engine.text.string_numbering import ROOM_BEHIND, StringNumbering
from fastlin.lm.vocabulary import BEGIN, END, MARKS, UNKNOWN, WordVocabulary, look_up
from fastlin.runtime.parallel import WorkerPool
from fastlin.text import token_strings
from fastlin.validation.parameter_kinds import ABSENT, JOBS, STRINGS, TEXT, Integer, OneOf, ParameterTable

Tokens = NDArray[np.int32]
UNITS, DIRECTIONS, MARKUPS = ("word", "character"), ("forward", "backward"), ("raise", "keep")
SENTENCES: ParameterTable = {
    "min_count": Integer(at_least=1), "vocabulary": STRINGS | ABSENT, "unk": TEXT | ABSENT, "unit": OneOf(*UNITS),
    "markup": OneOf(*MARKUPS), "n_jobs": JOBS,
}  # fmt: skip
BATCH = 1 << 14  # sentences of Python objects that become numbers together
LINE_BREAKS = str.maketrans("\r\n", "  ")
BLANKS = re.compile("[\t\n\v\f\r ]+")


class ReadsSentences:
    """The tags of estimators that learn from sentences, as strings or lists of words."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


@dataclass(frozen=True)
class SentenceReader:
    """A reader of sentences as numbers: 0 w₁ … wₙ 1 for each, one behind the other.

    `unit`: "word", strings are split at white space, or "character". `backward`: the words of a sentence turned round.
    `keep_marks`: marks in the text are no error; that of unknown words is one, those of sentences are left out.
    """

    unit: str = "word"
    backward: bool = False
    keep_marks: bool = False

    def blocks(self, X: Any, table: StringNumbering, learn: bool, first: int = 0) -> Iterator[Tokens]:
        """Blocks of whole sentences; ValueError says what cannot be read, and where. `first` numbers the first one."""
        for block in self._forward(X, table, learn, first):
            if len(block):
                yield _reversed(block) if self.backward else block

    def words(self, sentence: str) -> list[str]:
        """The words of a string, in the order in which one reads them."""
        return list(sentence) if self.unit == "character" else [word for word in BLANKS.split(sentence) if word]

    def _forward(self, X: Any, table: StringNumbering, learn: bool, first: int = 0) -> Iterator[Tokens]:
        if isinstance(X, str | os.PathLike) or hasattr(X, "read"):
            yield from self._files(X, table, learn)
        elif isinstance(X, Reader):
            yield from self._documents(X, table, learn)
        elif isinstance(X, Mapping | bytes) or hasattr(X, "segments") or not isinstance(X, Iterable):
            raise TypeError(
                f"sentences must be a list of strings or of lists of words, a path, an open file, or what "
                f"fastlin.data.read returns, got {type(X).__name__}"
            )
        else:
            yield from self._sentences(X, table, learn, first)

    def _files(self, source: Any, table: StringNumbering, learn: bool) -> Iterator[Tokens]:
        """Files with a sentence a line; others as `fastlin.data.read` reads them."""
        for file in _existing(source):
            if BY_SUFFIX.get(file.suffix, "lines") != "lines":
                yield from self._documents(read(file.name if file.stream is None else file.stream), table, learn)
                continue
            for piece in sources.line_blocks(file):
                yield self._lines(piece.text, table, learn, piece.path, piece.line)

    def _documents(self, reader: Reader[Any], table: StringNumbering, learn: bool) -> Iterator[Tokens]:
        first = 0
        for documents in reader:
            if not isinstance(documents, Documents):
                raise TypeError("a language model reads texts; these files hold rows of numbers")
            yield self._strings(documents.texts, "\n".join(documents.texts), table, learn, first)
            first += len(documents.texts)

    def _sentences(self, X: Iterable[Any], table: StringNumbering, learn: bool, first: int) -> Iterator[Tokens]:
        rest = iter(X)
        while batch := list(itertools.islice(rest, BATCH)):
            if isinstance(batch[0], Documents):
                raise TypeError("give what fastlin.data.read returns itself, not a list of its blocks")
            if isinstance(batch[0], str) and (text := _joined(batch)) is not None:
                yield self._strings(batch, text, table, learn, first)
            else:
                yield self._lists([self._listed(sentence) for sentence in batch], table, learn, first)
            first += len(batch)

    def _listed(self, sentence: Any) -> Any:
        if not isinstance(sentence, str):
            return sentence
        return self.words(sentence)

    def _lines(self, text: bytes, table: StringNumbering, learn: bool, path: str, line: int) -> Tokens:
        """A sentence a line."""
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            at = line + text.count(b"\n", 0, error.start)
            raise ReadError(path, at, f"the text is not in UTF-8: {error.reason}") from None
        if self.unit == "character":
            lines = [bytes(one).decode("utf-8") for one in text.splitlines()]
            return self._characters(lines, table, learn)
        tokens, _, marked = _split(text, table, learn, self.keep_marks)
        if marked >= 0:
            raise ReadError(path, line + marked, _marked(text.splitlines()[marked].decode()))
        return tokens

    def _strings(self, sentences: Sequence[str], text: str, table: StringNumbering, learn: bool, first: int) -> Tokens:
        """Sentences, which `text` holds with a line for each, unless there are line breaks in them."""
        if self.unit == "character":
            return self._characters(sentences, table, learn)
        tokens, n_lines, marked = _split(_utf8(text), table, learn, self.keep_marks)
        if n_lines != len(sentences) or marked >= 0:
            text = "\n".join(str.translate(sentence, LINE_BREAKS) for sentence in sentences)
            tokens, _, marked = _split(_utf8(text), table, learn, self.keep_marks)
        if marked >= 0:
            raise ValueError(f"sentence {first + marked}: {_marked(sentences[marked])}")
        return tokens

    def _lists(self, sentences: list[Any], table: StringNumbering, learn: bool, first: int) -> Tokens:
        starts, [(arena, offsets)] = token_strings.read(sentences, [0], first)
        numbers = table.number(arena, offsets, learn)
        marked = (numbers >= 0) & (numbers < MARKS)
        numbers[numbers < 0] = UNKNOWN
        if marked.any():
            if not self.keep_marks:
                sentence = int(np.searchsorted(starts, np.flatnonzero(marked)[0], side="right")) - 1
                raise ValueError(f"sentence {first + sentence}: {_marked(repr(sentences[sentence]))}")
            numbers = np.where(marked & (numbers != UNKNOWN), -1, numbers).astype(np.int32)
        return _without_holes(_with_marks(numbers, starts))

    def _characters(self, sentences: Sequence[str], table: StringNumbering, learn: bool) -> Tokens:
        """Every character is a word."""
        lengths = np.fromiter(map(str.__len__, sentences), np.int64, len(sentences))
        points = np.frombuffer("".join(sentences).encode("utf-32-le", "surrogatepass"), np.uint32)
        known, first, inverse = np.unique(points, return_index=True, return_inverse=True)
        order = np.argsort(first)
        numbers = np.empty(len(known), np.int32)
        numbers[order] = look_up(table, [chr(point) for point in known[order].tolist()], learn)
        numbers[numbers < 0] = UNKNOWN
        return _with_marks(numbers[inverse], np.concatenate([[0], np.cumsum(lengths)]))


def blocks_learnt_by(
    workers: WorkerPool, reader: SentenceReader, X: Any, table: StringNumbering, names: Sequence[str]
) -> Iterator[Tokens]:
    """What `blocks` gives where words are learnt, a list being read by threads: `names` are the table's marks.

    Each has a part of a block and learns words into a table of its own; the table learns those of one part after the
    other, so that their numbers are those of one thread.
    """
    if workers.threads == 1 or not isinstance(X, list | tuple):
        yield from reader.blocks(X, table, True)
        return

    def read(start: int, stop: int) -> tuple[StringNumbering, list[Tokens]]:
        own = WordVocabulary.of(names).new_table()
        return own, list(reader.blocks(X[start:stop], own, True, start))

    def renumber(tokens: list[Tokens], numbers: Tokens) -> list[Tokens]:
        return [numbers[block] for block in tokens]

    for first in range(0, len(X), BATCH):
        size = min(BATCH, len(X) - first)
        cuts = [first + size * part // workers.threads for part in range(workers.threads + 1)]
        parts = workers.map(read, itertools.pairwise(cuts))
        numbers = [_learn(table, own) for own, _ in parts]
        for blocks in workers.map(renumber, [(part[1], of) for part, of in zip(parts, numbers, strict=True)]):
            yield from blocks


def _learn(table: StringNumbering, other: StringNumbering) -> Tokens:
    """The numbers that the words of another table get."""
    return table.number(*other.strings(), True)


def _existing(source: Any) -> list[sources.InputFile]:
    """The files of a source; FileNotFoundError says more where its name looks like a sentence."""
    try:
        return sources.files(source)
    except FileNotFoundError as error:
        if isinstance(source, str) and BLANKS.search(source):
            raise FileNotFoundError(f"{error}; a string is a path, and a sentence an item of a list") from None
        raise


def _joined(sentences: list[Any]) -> str | None:
    """A line for each; None: not all are strings."""
    try:
        return "\n".join(sentences)
    except TypeError:
        return None


def _utf8(text: str) -> bytes:
    return (text + "\n").encode("utf-8", "surrogatepass")


def _split(text: bytes, table: StringNumbering, learn: bool, keep: bool) -> tuple[Tokens, int, int]:
    """(tokens, how many lines, the first with a mark that must not be there or −1)."""
    padded = np.frombuffer(text + bytes(ROOM_BEHIND), np.uint8)
    tokens = np.empty(2 * len(text) + 2, np.int32)
    n, n_lines, marked = table.split(padded, len(text), learn, keep, tokens)
    return _without_holes(tokens[:n].copy()) if keep else tokens[:n].copy(), n_lines, marked


def _marked(text: str) -> str:
    return (
        f"a word is one of the marks of sentences and unknown words: {text:.200}; leave them out, "
        'or say markup="keep", which takes that of unknown words for one and ignores the others'
    )


def _with_marks(numbers: Tokens, starts: NDArray[np.int64]) -> Tokens:
    """Begin and end around every sentence."""
    n_sentences = len(starts) - 1
    tokens = np.empty(len(numbers) + 2 * n_sentences, np.int32)
    begins = starts[:-1] + 2 * np.arange(n_sentences)
    ends = starts[1:] + 2 * np.arange(n_sentences) + 1
    inside = np.ones(len(tokens), np.bool_)
    inside[begins] = inside[ends] = False
    tokens[begins], tokens[ends], tokens[inside] = BEGIN, END, numbers
    return tokens


def _without_holes(tokens: Tokens) -> Tokens:
    return tokens[tokens >= 0]


def _reversed(tokens: Tokens) -> Tokens:
    """The words of each sentence turned round, its marks in their places."""
    begins = np.flatnonzero(tokens == BEGIN)
    ends = np.append(begins[1:], len(tokens)) - 1
    place = np.arange(len(tokens))
    mirrored = np.repeat(begins + ends, ends - begins + 1) - place
    mirrored[begins], mirrored[ends] = begins, ends
    return tokens[mirrored]
