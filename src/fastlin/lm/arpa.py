"""Language models in ARPA's format, as KenLM, SRILM and variKN read and write them."""

import contextlib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data.readers import sources
from fastlin.data.svmlight_writer import created
from fastlin.engine.lm import arpa as engine
from fastlin.engine.text.string_numbering import ROOM_BEHIND, StringNumbering
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.counts import MOST
from fastlin.lm.vocabulary import BEGIN, MARKS, UNKNOWN, UNKNOWN_NAME, WordVocabulary, marks

LN_10 = float(np.log(10))
ZERO = np.float32(-99 * LN_10)  # SRILM's p = 0
MISSING_UNKNOWN = np.float32(-100 * LN_10)  # KenLM's p of an unknown word, where a file has none
BUFFER = 1 << 20
TOGETHER = 1 << 20  # histories between two looks at Ctrl-C
SPACE = "▁"  # stands for a space among the characters of a model of characters
BLANKS = re.compile("[\t\n\v\f\r ]")
COUNT = re.compile(rb"ngram\s+(\d{1,18})\s*=\s*(\d{1,18})\s*$")
SECTION = re.compile(rb"\\(\d{1,18})-grams:\s*$")
FAULTS = {
    engine.NO_NUMBER: "a logarithm is no number",
    engine.FEW_WORDS: "there are fewer words than the order has",
    engine.MORE: "something follows the back-off weight",
    engine.ABOVE_ONE: "a probability above 1",
    engine.UNBOUNDED: "a back-off weight without bound",
    engine.LONG_WORD: "a word is longer than 2 GB",
}


class ArpaError(ValueError):
    """A file is not one of ARPA's format: `path`, `line` and what is wrong.

    Parameters
    ----------
    path : str
        The file.
    line : int
        Its line, from 1 on.
    what : str
        What is wrong.
    """

    def __init__(self, path: str, line: int, what: str) -> None:
        super().__init__(f"{path}:{line}: {what}")
        self.path, self.line = path, line


# --- writing -------------------------------------------------------------------------------------------------------


def write(model: BackoffModel, path: Any, *, characters: bool = False) -> None:
    """Write a model, compressed as the name says; the file appears whole or not at all."""
    arena, offsets = _writable(model.vocabulary, characters)
    with contextlib.ExitStack() as stack:
        out = path if hasattr(path, "write") else stack.enter_context(created(path))
        out.write(_header(model))
        longest = int(np.diff(offsets).max()) + 1
        for n in range(model.order):
            out.write(f"\n\\{n + 1}-grams:\n".encode())
            for chunk in _lines(model, n, arena, offsets, 128 + (n + 1) * longest):
                out.write(chunk)
        out.write(b"\n\\end\\\n")


def _header(model: BackoffModel) -> bytes:
    counts = "".join(f"ngram {n + 1}={count}\n" for n, count in enumerate(model.n_grams))
    return f"\\data\\\n{counts}".encode()


def _lines(
    model: BackoffModel, n: int, arena: NDArray[np.uint8], offsets: NDArray[np.int64], longest: int
) -> Iterator[bytes]:
    buffer, path = np.empty(max(BUFFER, 4 * longest), np.uint8), np.zeros(n + 1, np.int64)
    nothing = np.empty(0, np.float32)
    backoff = model.backoff[n] if n < model.order - 1 else nothing
    starts, words = model.starts[: n + 1], model.words[: n + 1]
    first, total = 0, len(model.log_prob[n])
    while first < total:
        first, used = engine.write(
            starts, words, model.log_prob[n], backoff, arena, offsets, first, path, buffer, longest
        )
        yield buffer[:used].tobytes()


def _writable(vocabulary: WordVocabulary, characters: bool) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The words as they stand in a file; ValueError: one cannot stand there."""
    names = vocabulary.names
    if characters and " " in names:
        if SPACE in names:
            raise ValueError(f"{SPACE!r} stands for a space in an ARPA file, and is a character of this model")
        names = [SPACE if name == " " else name for name in names]
        vocabulary = WordVocabulary.of(names)
    bad = next((name for name in names if not name or "\0" in name or BLANKS.search(name)), None)
    if bad is not None:
        raise ValueError(f"the word {bad!r:.60} cannot stand in an ARPA file: it is empty or holds white space or NUL")
    return vocabulary.arena, vocabulary.offsets


# --- reading -------------------------------------------------------------------------------------------------------


@dataclass
class _Part:
    """Some n-grams of an order as they stand in the file; what p is NaN is as backing off has it."""

    rows: NDArray[np.int32]
    log_prob: NDArray[np.float32]
    backoff: NDArray[np.float32]

    def histories(self, model: BackoffModel) -> NDArray[np.int32]:
        """The numbers of all words but the last; −1: the model does not have them."""
        found = np.empty(len(self.rows), np.int32)
        engine.find_histories(model.starts, model.words, model.n_words, self.rows, found)
        return found


@dataclass
class _Section:
    """The n-grams of an order."""

    parts: list[_Part]
    line: int  # behind it

    @property
    def size(self) -> int:
        return sum(len(part.rows) for part in self.parts)


@dataclass
class _Rooms:
    """Memory for the lines of a piece, which the next one uses again."""

    begins: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    lengths: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    log_prob: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    backoff: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))

    def reserve(self, n_lines: int, n: int) -> None:
        if len(self.begins) < n_lines * n:
            self.begins, self.lengths = np.empty(n_lines * n, np.int64), np.empty(n_lines * n, np.int32)
        if len(self.log_prob) < n_lines:
            self.log_prob, self.backoff = np.empty(n_lines, np.float32), np.empty(n_lines, np.float32)


@dataclass
class _Arpa:
    """The parts of a file that have been read so far."""

    path: str
    table: StringNumbering
    counts: list[int] = field(default_factory=list)
    sections: list[_Section] = field(default_factory=list)
    pending: list[_Part] = field(default_factory=list)
    order: int = -1  # of the section that is being read; −1: before the first, 0: the counts
    ended: bool = False
    rooms: _Rooms = field(default_factory=_Rooms)


def read(source: Any, *, unk: str | None = None, characters: bool = False) -> tuple[BackoffModel, str]:
    """A model and its unknown word's name: as given, else <unk>, or <UNK> if only that is there."""
    files = sources.files(source)
    if len(files) != 1:
        raise ValueError(f"{len(files)} files; a model is one")
    arpa = _Arpa(files[0].name, WordVocabulary.of(marks(unk)).new_table())
    piece = sources.LineBlock(b"", arpa.path, 1)
    for piece in sources.line_blocks(files[0]):
        _read_piece(arpa, piece.text, piece.line)
        if arpa.ended:
            return _model(arpa, unk, characters)
    raise ArpaError(arpa.path, piece.line + piece.text.count(b"\n"), "the file ends before \\end\\")


def _read_piece(arpa: _Arpa, text: bytes, line: int) -> None:
    text = text if text.endswith(b"\n") else text + b"\n"
    padded = np.frombuffer(text + bytes(ROOM_BEHIND), np.uint8)
    position = 0
    while position < len(text) and not arpa.ended:
        if arpa.order > 0:
            used, lines = _read_n_grams(arpa, padded, position, len(text), line)
            position, line = position + used, line + lines
        if position < len(text):
            stop = text.index(b"\n", position) + 1
            _read_heading(arpa, text[position:stop].strip(), line)
            position, line = stop, line + 1


def _read_heading(arpa: _Arpa, text: bytes, line: int) -> None:
    """A line that is no n-gram."""
    if arpa.order < 0:
        if text == b"\\data\\":
            arpa.order = 0
        return
    if not text:
        return
    if found := COUNT.match(text):
        if arpa.order or int(found[1]) != len(arpa.counts) + 1:
            raise ArpaError(arpa.path, line, "the counts of n-grams do not stand in order at the beginning")
        arpa.counts.append(int(found[2]))
        return
    found = SECTION.match(text)
    if arpa.order > 0:
        _end_section(arpa, line)
    if text == b"\\end\\":
        if len(arpa.sections) != len(arpa.counts) or not arpa.counts:
            raise ArpaError(arpa.path, line, f"{len(arpa.sections)} orders of n-grams, of {len(arpa.counts)} counted")
        arpa.ended = True
    elif found is None or int(found[1]) != len(arpa.sections) + 1 or len(arpa.sections) == len(arpa.counts):
        raise ArpaError(arpa.path, line, f"{text.decode('utf-8', 'replace'):.60} cannot stand here")
    else:
        arpa.order = int(found[1])


def _read_n_grams(arpa: _Arpa, text: NDArray[np.uint8], start: int, stop: int, line: int) -> tuple[int, int]:
    """(bytes, lines) that were n-grams."""
    n, rooms = arpa.order, arpa.rooms
    rooms.reserve((stop - start) // (2 * n + 2) + 1, n)
    m, used, lines, fault = engine.parse(
        text, start, stop, n, rooms.begins, rooms.lengths, rooms.log_prob, rooms.backoff
    )
    if n == 1:
        _check_encoding(arpa.path, text[start : start + used].tobytes(), line)
    numbers = arpa.table.number_slices(text, rooms.begins[: m * n], rooms.lengths[: m * n], n == 1)
    rows = numbers.reshape(m, n)
    if numbers.min(initial=0) < 0:
        place = _line_of(text, start, int(np.flatnonzero(rows.min(axis=1) < 0)[0]))
        raise ArpaError(arpa.path, line + place, "a word that is not among the unigrams")
    if fault:
        raise ArpaError(arpa.path, line + lines, FAULTS[fault])
    arpa.pending.append(_Part(rows, rooms.log_prob[:m].copy(), rooms.backoff[:m].copy()))
    return used, lines


def _check_encoding(path: str, text: bytes, line: int) -> None:
    """Words are learnt as UTF-8; surrogates, which Python's strings may hold, are written, too."""
    try:
        text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        at = line + text.count(b"\n", 0, error.start)
        raise ArpaError(path, at, f"the text is not in UTF-8: {error.reason}") from None


def _line_of(text: NDArray[np.uint8], start: int, n: int) -> int:
    """The line of the n-th n-gram from `start` on: lines that are not blank are n-grams."""
    lines = text[start:].tobytes().split(b"\n")
    return [place for place, line in enumerate(lines) if line.strip()][n]


def _end_section(arpa: _Arpa, line: int) -> None:
    n, section = arpa.order, _Section(arpa.pending, line)
    if section.size != arpa.counts[n - 1]:
        raise ArpaError(arpa.path, line, f"{section.size} {n}-grams stand above, of {arpa.counts[n - 1]} counted")
    if section.size > MOST:
        raise ArpaError(arpa.path, line, f"more than {MOST} {n}-grams stand above")
    if n > 1 and any((part.rows[:, 1:] == BEGIN).any() for part in section.parts):
        raise ArpaError(arpa.path, line, f"<s> follows a word in the {n}-grams above")
    arpa.sections.append(section)
    arpa.pending, arpa.order = [], n


def _model(arpa: _Arpa, unk: str | None, characters: bool) -> tuple[BackoffModel, str]:
    names = WordVocabulary.of_table(arpa.table).names
    if unk is None and "<UNK>" in names and not any((part.rows == UNKNOWN).any() for part in arpa.sections[0].parts):
        unk, old = "<UNK>", names.index("<UNK>")
        names = [*names[:UNKNOWN], unk, *names[MARKS:old], *names[old + 1 :]]
        numbers = np.arange(len(names) + 1, dtype=np.int32)
        numbers[old + 1 :] -= 1
        numbers[old] = UNKNOWN
        for part in itertools.chain.from_iterable(section.parts for section in arpa.sections):
            part.rows = numbers[part.rows]
    if characters:
        names = [" " if name == SPACE else name for name in names]
    return _built(arpa, WordVocabulary.of(names)), unk or UNKNOWN_NAME


def _built(arpa: _Arpa, vocabulary: WordVocabulary) -> BackoffModel:
    """Sorted tries of n-grams that stand in whatever order; histories that are none themselves become some."""
    nothing = np.empty(0, np.int32)
    log_prob, backoff = _unigrams(arpa, len(vocabulary))
    models = [(BackoffModel(vocabulary, [nothing], [nothing], [nothing], [log_prob], []), backoff)]
    while len(models) < len(arpa.sections):
        section = arpa.sections[len(models)]
        histories = [part.histories(models[-1][0]) for part in section.parts]
        lost = [part.rows[found < 0, :-1] for part, found in zip(section.parts, histories, strict=True)]
        if any(len(rows) for rows in lost):
            arpa.sections[len(models) - 1].parts.append(_backing_off(np.unique(np.concatenate(lost), axis=0)))
            models.pop()
        else:
            models.append(_with_order(*models[-1], section, histories, arpa.path))
    model = models[-1][0]
    model.check()
    return model


def _backing_off(rows: NDArray[np.int32]) -> _Part:
    """N-grams that pruning took, though others begin with them."""
    return _Part(rows, np.full(len(rows), np.nan, np.float32), np.zeros(len(rows), np.float32))


def _unigrams(arpa: _Arpa, n_words: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    section = arpa.sections[0]
    words = np.concatenate([np.empty(0, np.int32), *(part.rows[:, 0] for part in section.parts)])
    if len(np.unique(words)) != len(words):
        raise ArpaError(arpa.path, section.line, "a word stands twice among the unigrams above")
    log_prob, backoff = np.full(n_words, ZERO, np.float32), np.zeros(n_words, np.float32)
    log_prob[UNKNOWN] = MISSING_UNKNOWN
    for part in section.parts:
        log_prob[part.rows[:, 0]], backoff[part.rows[:, 0]] = part.log_prob, part.backoff
    log_prob[BEGIN] = -np.inf
    return log_prob, backoff


def _with_order(
    model: BackoffModel, backoff: NDArray[np.float32], section: _Section, histories: list[NDArray[np.int32]], path: str
) -> tuple[BackoffModel, NDArray[np.float32]]:
    """A model of one order more, whose highest had these back-off weights; and those of the new one."""
    starts = np.zeros(model.n_grams[-1] + 1, np.int32)
    for found in histories:
        engine.count_children(found, starts)
    np.cumsum(starts, out=starts)
    entries, places = np.empty((section.size, 4), np.int32), starts[:-1].copy()
    for part, found in zip(section.parts, histories, strict=True):
        log_prob = part.log_prob
        if np.isnan(log_prob).any():
            shorter = np.empty(len(found))
            model.queries.log_prob_of(np.ascontiguousarray(part.rows[:, 1:]), shorter)
            log_prob = np.minimum(shorter + backoff[found], 0).astype(np.float32)
        engine.put_children(found, part.rows, _suffixes(model, part, found), log_prob, part.backoff, places, entries)
    for first in range(0, len(places), TOGETHER):
        if not engine.sort_children(starts, entries, first, min(first + TOGETHER, len(places))):
            raise ArpaError(path, section.line, f"one of the {model.order + 1}-grams above stands there twice")
    words, suffixes, logarithms, new = (np.ascontiguousarray(column) for column in entries.T)
    longer = BackoffModel(
        model.vocabulary,
        [*model.words, words],
        [*model.starts, starts],
        [*model.suffix, suffixes],
        [*model.log_prob, logarithms.view(np.float32)],
        [*model.backoff, backoff],
    )
    return longer, new.view(np.float32)


def _suffixes(model: BackoffModel, part: _Part, histories: NDArray[np.int32]) -> NDArray[np.int32]:
    """The numbers of all words but the first; −1: the model does not have them."""
    if model.order == 1:
        return np.ascontiguousarray(part.rows[:, 1])
    found = np.empty(len(part.rows), np.int32)
    engine.find_suffixes(model.suffix[-1], model.starts[-1], model.words[-1], histories, part.rows, found)
    return found
