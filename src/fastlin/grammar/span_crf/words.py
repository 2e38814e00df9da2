"""What features say of a word: itself or what it looks like, its usual tag, its ends, its shape, each as a number."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.sequence.hmm.unknown_words import UnknownWordModel, by_signature, shape

Numbers = NDArray[np.uint64]
N_ENDS = 4  # lengths of ends
PAD = 2  # marks before the first word, and after the last
CACHED = 1 << 16  # words


class WordNumbers(NamedTuple):
    """64 bits of each thing that features say of a word."""

    form: int  # itself, or its signature if it is rare
    tag: int  # the one that it has most often
    signature: int
    shape: int
    sign: int  # a capital, a small letter, a digit, or its first sign
    ends: tuple[int, ...]  # of 1, 2, … letters


class WordColumns(NamedTuple):
    """The same of the words of a sentence, between marks."""

    form: Numbers
    tag: Numbers
    signature: Numbers
    shape: Numbers
    sign: Numbers
    ends: tuple[Numbers, ...]


class TreebankWords:
    """The words of a treebank, and their tags.

    Parameters
    ----------
    counts : {word: {tag: count}}
        Tags are places among `tags`.
    tags : sequence of str or None
        Their labels; None: a word among constituents.
    rare_count : int
        Words no more frequent are what they look like.
    known_count : int
        Words that are more frequent have no tags but those that they were seen with.
    """

    def __init__(
        self,
        counts: Mapping[str, Mapping[int, float]],
        tags: Sequence[str | None],
        rare_count: int,
        known_count: int,
    ) -> None:
        self.counts, self.tags, self.rare_count, self.known_count = counts, tags, rare_count, known_count
        table = np.zeros((len(counts), len(tags)))
        for row, of_word in enumerate(counts.values()):
            table[row, list(of_word)] = list(of_word.values())
        totals = table.sum(axis=1)
        self._totals = dict(zip(counts, totals.tolist(), strict=True))
        self._guess = UnknownWordModel("suffix", counts, table)
        named = np.array([tag is not None for tag in tags], bool)
        often = totals > known_count
        seen = table[~often if not often.all() else often].sum(axis=0) > 0
        self._open = set(np.flatnonzero(seen & named).tolist())
        self._describe = lru_cache(CACHED)(self._numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return TreebankWords, (self.counts, self.tags, self.rare_count, self.known_count)

    def tags_of(self, word: str) -> list[int]:
        """The tags that a word may have."""
        seen = self.counts.get(word, {})
        return sorted(seen if self._totals.get(word, 0.0) > self.known_count else self._open.union(seen))

    def columns(self, words: Iterable[str]) -> WordColumns:
        """What features say of the words of a sentence."""
        found = [*_BEGIN, *map(self._describe, words), *_END]
        *single, ends = zip(*found, strict=True)
        form, tag, signature, shapes, sign = (np.array(values, np.uint64) for values in single)
        of_ends = tuple(np.array(values, np.uint64) for values in zip(*ends, strict=True))
        return WordColumns(form, tag, signature, shapes, sign, of_ends)

    def _numbers(self, word: str) -> WordNumbers:
        signature = by_signature(word)[-1]
        is_rare = self._totals.get(word, 0.0) <= self.rare_count
        seen = self.counts.get(word, {})
        tag = int(np.argmax(self._guess([word])[0])) if is_rare else max(seen, key=seen.__getitem__)
        return WordNumbers(
            hashed("like", signature) if is_rare else hashed("word", word),
            hashed("tag", self.tags[tag] or ""),
            hashed("like", signature),
            hashed("shape", shape(word)),
            hashed("sign", _sign(word)),
            tuple(hashed("end", word[-length:]) for length in range(1, N_ENDS + 1)),
        )


def hashed(kind: str, text: str) -> int:
    """64 bits of a string of some kind."""
    found = blake2b(f"{kind} {text}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(found.digest(), "little")


def _mark(name: str) -> WordNumbers:
    value = hashed("mark", name)
    return WordNumbers(value, value, value, value, value, (value,) * N_ENDS)


_BEGIN, _END = [_mark("begin")] * PAD, [_mark("end")] * PAD


def _sign(word: str) -> str:
    first = word[0]
    return "A" if first.isupper() else "a" if first.isalpha() else "0" if first.isdigit() else first
