"""Features of words and of spans, named by 64 bits, and the columns of those that have weights.

A span has the features of its first word and of its last, which all spans there share, and its own; what it is made of
is told by sums of powers, so that the names of a span take as long as those of a word, whatever its length.
"""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.span_crf.words import PAD, Numbers, WordColumns

Columns = NDArray[np.int32]
T = TypeVar("T")
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
BASE = np.uint64(0xD6E8FEB86659FD93)  # of the sums of powers
INVERSE = np.uint64(pow(int(BASE), -1, 1 << 64))
HALF = np.uint64(32)
NONE = -1  # the column of what has no weight
LENGTHS = np.array([1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 31])  # the least of each bucket
KINDS = "tags", "left", "right", "joint"
TEMPLATES = 64  # of a kind, at most


class FeaturesByKind(NamedTuple, Generic[T]):
    """What there is of each kind: names, or columns."""

    tags: T  # [n, …] of words under their tags
    left: T  # [n, …] of the spans that begin at a word
    right: T  # [n, …] of the spans that end with it
    joint: T  # [n(n + 1) / 2, …] of spans


class Numbering:
    """Columns of names that are known, which rise."""

    def __init__(self, known: Numbers) -> None:
        self.known = known

    def __len__(self) -> int:
        return len(self.known)

    def __call__(self, names: Numbers) -> Columns:
        """The column of each name; −1: it is not known."""
        if not len(self.known):
            return np.full(names.shape, NONE, np.int32)
        places = np.minimum(np.searchsorted(self.known, names), len(self.known) - 1)
        return np.where(self.known[places] == names, places, NONE).astype(np.int32)


def span_bounds(n_words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first word and the last of each span, in the order of charts."""
    last = np.repeat(np.arange(n_words), np.arange(1, n_words + 1))
    return np.arange(len(last)) - last * (last + 1) // 2, last


def names_of(words: WordColumns) -> FeaturesByKind[Numbers]:
    """The names of all features of a sentence."""
    n_words = len(words.form) - 2 * PAD
    return FeaturesByKind(
        _names("tags", _of_tags(words, n_words)),
        _names("left", _of_ends(words, n_words, -1)),
        _names("right", _of_ends(words, n_words, 1)),
        _names("joint", _of_spans(words, n_words)),
    )


def _of_tags(words: WordColumns, n_words: int) -> list[tuple[Numbers, ...]]:
    def at(column: Numbers, shift: int = 0) -> Numbers:
        return column[PAD + shift : PAD + shift + n_words]

    w, t = words.form, words.tag
    return [
        (at(w),), (at(words.signature),), *((at(end),) for end in words.ends), (at(words.shape),),
        (at(w, -1),), (at(w, 1),), (at(w, -1), at(w)), (at(w), at(w, 1)),
        (at(t, -1),), (at(t, 1),), (at(t, -1), at(t)), (at(t), at(t, 1)), (at(t, -1), at(t), at(t, 1)),
        (at(t, -2), at(t, -1)), (at(t, 1), at(t, 2)),
    ]  # fmt: skip


def _of_ends(words: WordColumns, n_words: int, side: int) -> list[tuple[Numbers, ...]]:
    """Of the spans that end at each word; `side` is −1 for the left end, 1 for the right."""

    def at(column: Numbers, out: int = 0) -> Numbers:
        first = PAD + side * out
        return column[first : first + n_words]

    w, t = words.form, words.tag
    return [
        (at(w),), (at(w, 1),), (at(w), at(w, 1)), (at(w), at(w, -1)), (at(words.ends[2]),),
        (at(t),), (at(t, 1),), (at(t), at(t, 1)), (at(t), at(t, -1)), (at(t, 1), at(t, 2)),
        (at(t, -1), at(t), at(t, 1)), (at(w, 1), at(t)), (at(t, 1), at(w)),
    ]  # fmt: skip


def _of_spans(words: WordColumns, n_words: int) -> list[tuple[Numbers, ...]]:
    i, j = span_bounds(n_words)
    size = np.searchsorted(LENGTHS, j - i + 1, side="right").astype(np.uint64)
    i, j = i + PAD, j + PAD
    w, t, shape, tags = words.form, words.tag, _of_all(words.sign, i, j), _of_all(words.tag, i, j)
    return [
        (size,), (shape,), (tags,), (t[i - 1], shape, t[j + 1]), (t[i - 1], tags, t[j + 1]),
        (t[i], t[j]), (t[i - 1], t[j + 1]), (t[i - 1], t[i], t[j]), (t[i], t[j], t[j + 1]),
        (t[i - 1], t[i], t[j], t[j + 1]), (w[i], w[j]), (w[i - 1], w[j + 1]),
        *((size, column[place]) for column in (t, w) for place in (i, j, i - 1, j + 1)),
    ]  # fmt: skip


def _of_all(column: Numbers, first: NDArray[np.int64], last: NDArray[np.int64]) -> Numbers:
    """64 bits of what all words of a span are: Σ_k x_k B^(k − first), a difference of two sums of powers."""
    powers, inverses = (np.cumprod(np.full(len(column), base, np.uint64), dtype=np.uint64) for base in (BASE, INVERSE))
    sums = np.zeros(len(column) + 1, np.uint64)
    np.cumsum(column * powers, out=sums[1:])
    found: Numbers = (sums[last + 1] - sums[first]) * inverses[first]
    return found


def _names(kind: str, templates: list[tuple[Numbers, ...]]) -> Numbers:
    """64 bits of each template and its parts, [rows, templates]."""
    first = KINDS.index(kind) * TEMPLATES
    found = np.empty((len(templates[0][0]), len(templates)), np.uint64)
    for number, parts in enumerate(templates):
        name = np.full(len(found), first + number, np.uint64)
        for part in parts:
            name = (name ^ part) * ODD
            name ^= name >> HALF
        found[:, number] = name
    return found
