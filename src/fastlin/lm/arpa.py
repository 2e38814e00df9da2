"""Language models in ARPA's format, as KenLM, SRILM and variKN read and write them."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.data import sources
from fastlin.data.dump import created
from fastlin.engine import arpa as engine
from fastlin.engine.ngram_words import ROOM_BEHIND, WordTable
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.vocabulary import BEGIN, MARKS, UNKNOWN, UNKNOWN_NAME, WordVocabulary, marks

LN_10 = float(np.log(10))
ZERO = np.float32(-99 * LN_10)  # SRILM's p = 0
MISSING_UNKNOWN = np.float32(-100 * LN_10)  # KenLM's p of an unknown word, where a file has none
ROUNDING = 1e-6  # a logarithm above 0 by this much is one of p = 1
BUFFER = 1 << 20
SPACE = "▁"  # stands for a space among the characters of a model of characters
BLANKS = re.compile("[\t\n\v\f\r ]")
COUNT = re.compile(rb"ngram\s+(\d{1,18})\s*=\s*(\d{1,18})\s*$")
SECTION = re.compile(rb"\\(\d{1,18})-grams:\s*$")
FAULTS = {
    engine.NO_NUMBER: "a logarithm is no number",
    engine.FEW_WORDS: "there are fewer words than the order has",
    engine.MORE: "something follows the back-off weight",
}


class ArpaError(ValueError):
    """A file is not one of ARPA's format: `path`, `line` and what is wrong."""

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
class _Section:
    """The n-grams of an order as they stand in the file."""

    rows: NDArray[np.int32]
    log_prob: NDArray[np.float32]
    backoff: NDArray[np.float32]
    line: int  # behind it


@dataclass
class _Arpa:
    """The parts of a file that have been read so far."""

    path: str
    table: WordTable
    counts: list[int] = field(default_factory=list)
    sections: list[_Section] = field(default_factory=list)
    pending: list[_Section] = field(default_factory=list)
    order: int = -1  # of the section that is being read; −1: before the first, 0: the counts
    ended: bool = False


def read(source: Any, *, unk: str | None = None, characters: bool = False) -> tuple[BackoffModel, str]:
    """A model and its unknown word's name: as given, else <unk>, or <UNK> if only that is there."""
    files = sources.files(source)
    if len(files) != 1:
        raise ValueError(f"{len(files)} files; a model is one")
    arpa = _Arpa(files[0].name, WordVocabulary.of(marks(unk)).new_table())
    line = 1
    for piece in sources.pieces(files[0]):
        _read_piece(arpa, piece.text, piece.line)
        line = piece.line + piece.text.count(b"\n")
        if arpa.ended:
            break
    if not arpa.ended:
        raise ArpaError(arpa.path, line, "the file ends before \\end\\")
    return _model(arpa, unk, characters)


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
    n = arpa.order
    most = (stop - start) // (2 * n + 2) + 1
    begins, lengths = np.empty(most * n, np.int64), np.empty(most * n, np.int32)
    log_prob, backoff = np.empty(most, np.float32), np.empty(most, np.float32)
    m, used, lines, fault = engine.parse(text, start, stop, n, begins, lengths, log_prob, backoff)
    if fault:
        raise ArpaError(arpa.path, line + lines, FAULTS[fault])
    if n == 1:
        _check_encoding(arpa.path, text[start : start + used].tobytes(), line)
    numbers = np.empty(m * n, np.int32)
    arpa.table.look_up_at(text, begins, lengths, n == 1, numbers)
    section = _Section(numbers.reshape(m, n), log_prob[:m].copy(), backoff[:m].copy(), line + lines)
    for wrong, what in (
        (numbers.reshape(m, n).min(1, initial=MARKS) < 0, "a word that is not among the unigrams"),
        (~(section.log_prob <= ROUNDING), "a probability above 1"),
        (~(section.backoff < np.inf), "a back-off weight without bound"),
    ):
        if wrong.any():
            place = _line_of(text, start, int(np.flatnonzero(wrong)[0]))
            raise ArpaError(arpa.path, line + place, what)
    arpa.pending.append(section)
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
    n, found = arpa.order, arpa.pending
    rows = np.concatenate([np.empty((0, n), np.int32), *(each.rows for each in found)])
    nothing = np.empty(0, np.float32)
    log_prob = np.concatenate([nothing, *(each.log_prob for each in found)])
    backoff = np.concatenate([nothing, *(each.backoff for each in found)])
    if len(rows) != arpa.counts[n - 1]:
        raise ArpaError(arpa.path, line, f"{len(rows)} {n}-grams stand above, of {arpa.counts[n - 1]} counted")
    if n > 1 and (rows[:, 1:] == BEGIN).any():
        raise ArpaError(arpa.path, line, f"<s> follows a word in the {n}-grams above")
    log_prob = np.where(log_prob == -np.inf, ZERO, np.minimum(log_prob, 0)).astype(np.float32)
    arpa.sections.append(_Section(rows, log_prob, np.maximum(backoff, ZERO), line))
    arpa.pending, arpa.order = [], n


def _model(arpa: _Arpa, unk: str | None, characters: bool) -> tuple[BackoffModel, str]:
    names = WordVocabulary.of_table(arpa.table).names
    unigrams = arpa.sections[0]
    numbers = np.arange(len(names), dtype=np.int32)
    if unk is None and not (unigrams.rows == UNKNOWN).any() and "<UNK>" in names:
        unk, old = "<UNK>", names.index("<UNK>")
        names = [*names[:UNKNOWN], unk, *names[MARKS:old], *names[old + 1 :]]
        numbers[old + 1 :] -= 1
        numbers[old] = UNKNOWN
    if characters:
        names = [" " if name == SPACE else name for name in names]
    for section in arpa.sections:
        section.rows = numbers[section.rows]
    vocabulary = WordVocabulary.of(names)
    try:
        return _built(arpa, vocabulary), unk or UNKNOWN_NAME
    except _LostHistoryError:
        _add_lost_histories(arpa)
        return _built(arpa, vocabulary), unk or UNKNOWN_NAME


class _LostHistoryError(Exception):
    """The first words of an n-gram are none themselves."""


def _add_lost_histories(arpa: _Arpa) -> None:
    """Histories that pruning took, as n-grams whose p, NaN for now, is what backing off says."""
    for n in range(len(arpa.sections) - 1, 1, -1):
        shorter, rows = arpa.sections[n - 1], arpa.sections[n].rows[:, :-1]
        histories = np.unique(rows, axis=0) if len(rows) else rows
        known = set(map(bytes, np.ascontiguousarray(shorter.rows)))
        lost = [row for row in histories if bytes(np.ascontiguousarray(row)) not in known]
        if lost:
            m = len(lost)
            shorter.rows = np.concatenate([shorter.rows, np.array(lost, np.int32)])
            shorter.log_prob = np.concatenate([shorter.log_prob, np.full(m, np.nan, np.float32)])
            shorter.backoff = np.concatenate([shorter.backoff, np.zeros(m, np.float32)])


def _built(arpa: _Arpa, vocabulary: WordVocabulary) -> BackoffModel:
    """Sorted tries of n-grams that stand in whatever order."""
    nothing = np.empty(0, np.int32)
    log_prob, backoff = _unigrams(arpa, len(vocabulary))
    model = BackoffModel(vocabulary, [nothing], [nothing], [nothing], [log_prob], [])
    for section in arpa.sections[1:]:
        model, backoff = _with_order(model, backoff, section, arpa.path)
    model.check()
    return model


def _unigrams(arpa: _Arpa, n_words: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    section = arpa.sections[0]
    words = section.rows[:, 0]
    if len(np.unique(words)) != len(words):
        raise ArpaError(arpa.path, section.line, "a word stands twice among the unigrams above")
    log_prob, backoff = np.full(n_words, ZERO, np.float32), np.zeros(n_words, np.float32)
    log_prob[UNKNOWN] = MISSING_UNKNOWN
    log_prob[words], backoff[words] = section.log_prob, section.backoff
    log_prob[BEGIN] = -np.inf
    return log_prob, backoff


def _with_order(
    model: BackoffModel, backoff: NDArray[np.float32], section: _Section, path: str
) -> tuple[BackoffModel, NDArray[np.float32]]:
    """A model of one order more, whose highest had these back-off weights; and those of the new one."""
    histories = _located(model, section.rows[:, :-1])
    if histories.min(initial=0) < 0:
        raise _LostHistoryError
    keys = histories.astype(np.int64) << 32 | section.rows[:, -1]
    if not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        keys, histories = keys[order], histories[order]
        section = _Section(section.rows[order], section.log_prob[order], section.backoff[order], section.line)
        if (keys[1:] == keys[:-1]).any():
            raise ArpaError(path, section.line, f"one of the {model.order + 1}-grams above stands there twice")
    for place in np.flatnonzero(np.isnan(section.log_prob)).tolist():
        words = section.rows[place].tolist()
        shorter = model.queries.advance(model.state_after(words[1:-1], False), words[-1])[0]
        section.log_prob[place] = min(shorter + float(backoff[histories[place]]), 0.0)
    longer = BackoffModel(
        model.vocabulary,
        [*model.words, np.ascontiguousarray(section.rows[:, -1])],
        [*model.starts, np.searchsorted(histories, np.arange(model.n_grams[-1] + 1)).astype(np.int32)],
        [*model.suffix, _located(model, section.rows[:, 1:])],
        [*model.log_prob, section.log_prob],
        [*model.backoff, backoff],
    )
    return longer, section.backoff


def _located(model: BackoffModel, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    nodes = np.empty(len(rows), np.int32)
    model.queries.locate(np.ascontiguousarray(rows), nodes)
    return nodes
