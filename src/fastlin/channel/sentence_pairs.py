"""Pairs of sentences, a source and what was observed, as numbers of words."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text.string_numbering import StringNumbering
from fastlin.lm.sentences import SentenceReader
from fastlin.lm.vocabulary import BEGIN, END

BATCH = 1 << 14  # pairs that become numbers together
MOST_PLACES = 1 << 24  # of a word beside a word, in a pair
MOST_PLACES_OF_ALL = 1 << 31  # in all pairs that a fit holds: 8 GiB
SIDES = "source", "observed"

Numbers = NDArray[np.int32]
Starts = NDArray[np.int64]


@dataclass(frozen=True)
class SentencePairs:
    """Sources and what was observed of each: words one behind the other, and where each sentence begins.

    The sources' empty word (NULL) is the mark that begins a sentence; it stands before each of them, if there is one.
    """

    source: Numbers
    source_starts: Starts
    observed: Numbers
    observed_starts: Starts

    def __len__(self) -> int:
        return len(self.source_starts) - 1

    def __iter__(self) -> Iterator[tuple[Numbers, Numbers]]:
        for k in range(len(self)):
            source = self.source[self.source_starts[k] : self.source_starts[k + 1]]
            yield source, self.observed[self.observed_starts[k] : self.observed_starts[k + 1]]

    @property
    def source_lengths(self) -> Starts:
        """How many words each source has, with NULL."""
        return np.diff(self.source_starts)

    @property
    def observed_lengths(self) -> Starts:
        return np.diff(self.observed_starts)

    def prove_explained(self) -> None:
        """ValueError unless there is an observed word, and a source word, NULL or another, wherever there is one."""
        if not len(self.observed):
            raise ValueError("pairs must hold an observed word at least, got none")
        alone = (self.source_lengths == 0) & (self.observed_lengths > 0)
        if alone.any():
            raise ValueError(
                f"pair {int(np.argmax(alone))} has observed words and an empty source, which explains none without a "
                "NULL: leave it out, or say null=True"
            )

    def sorted_by_length(self) -> "SentencePairs":
        """The pairs in the order of their lengths, so that those of the same lengths lie together."""
        order = np.lexsort((self.observed_lengths, self.source_lengths))
        sides = (_taken(self.source, self.source_starts, order), _taken(self.observed, self.observed_starts, order))
        return SentencePairs(*sides[0], *sides[1])


def _taken(words: Numbers, starts: Starts, order: NDArray[np.intp]) -> tuple[Numbers, Starts]:
    """Sentences in another order."""
    lengths = np.diff(starts)[order]
    new_starts = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(len(words)) + np.repeat(starts[:-1][order] - new_starts[:-1], lengths)
    return words[places], new_starts


def read_pairs(
    pairs: Any, tables: tuple[StringNumbering, StringNumbering], learn: bool, null: bool, reader: SentenceReader
) -> Iterator[SentencePairs]:
    """Blocks of pairs, whose words the tables number; ValueError or TypeError says what cannot be read, and where."""
    if isinstance(pairs, str | bytes | Mapping) or not isinstance(pairs, Iterable):
        raise TypeError(f"pairs must be a list of (source, observed), got {type(pairs).__name__}")
    rest, first = iter(pairs), 0
    while batch := list(itertools.islice(rest, BATCH)):
        for place, pair in enumerate(batch, first):
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise ValueError(f"pair {place} must be (source, observed), two sentences, got {pair!r:.100}")
        sides = [
            _read_side(side, reader.blocks([pair[place] for pair in batch], tables[place], learn, first))
            for place, side in enumerate(SIDES)
        ]
        block = SentencePairs(*_without_marks(sides[0], null), *_without_marks(sides[1], False))
        _prove_lengths(block, first)
        yield block
        first += len(batch)


def _read_side(side: str, blocks: Iterator[Numbers]) -> Numbers:
    """Sentences as a language model reads them; errors say which side they are of."""
    try:
        return np.concatenate(list(blocks))
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"the {side} side of pairs: {error}") from None


def _without_marks(tokens: Numbers, null: bool) -> tuple[Numbers, Starts]:
    """The words of sentences, and where each sentence begins; with NULL before each."""
    begins = np.flatnonzero(tokens == BEGIN)
    kept = (tokens != END) & ((tokens != BEGIN) | null)
    places = np.concatenate([[0], np.cumsum(kept)])
    return tokens[kept], np.append(places[begins], places[-1])


def _prove_lengths(block: SentencePairs, first: int) -> None:
    n, m = block.source_lengths, block.observed_lengths
    long = n * m > MOST_PLACES
    if long.any():
        k = int(np.argmax(long))
        raise ValueError(f"pair {first + k} has {n[k]} × {m[k]} words: a pair may have a product of {MOST_PLACES}")


def joined(blocks: Iterable[SentencePairs]) -> SentencePairs:
    """All blocks as one; ValueError: they are more than memory is taken for."""
    found, places = [], 0
    for block in blocks:
        places += int(block.source_lengths @ block.observed_lengths)
        if places > MOST_PLACES_OF_ALL:
            raise ValueError(
                f"pairs have more than {MOST_PLACES_OF_ALL} places of a word beside a word: leave out the longest"
            )
        found.append(block)
    if not found:
        raise ValueError("pairs must hold one pair at least, got none")
    parts = [(one.source, one.observed) for one in found]
    lengths = [(one.source_lengths, one.observed_lengths) for one in found]
    sides = [
        (np.concatenate([part[side] for part in parts]),
         np.concatenate([[0], np.cumsum(np.concatenate([length[side] for length in lengths]))]))
        for side in (0, 1)
    ]  # fmt: skip
    return SentencePairs(*sides[0], *sides[1])


def read_sentences(X: Any, table: StringNumbering, reader: SentenceReader) -> Iterator[tuple[list[str], Numbers]]:
    """Observed sentences: their words as they are, and their numbers."""
    if isinstance(X, str | bytes | Mapping) or not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of sentences, got {type(X).__name__}")
    for place, sentence in enumerate(X):
        tokens = np.concatenate(list(reader.blocks([sentence], table, False, place)))
        yield reader.words(sentence) if isinstance(sentence, str) else list(sentence), tokens[1:-1]
