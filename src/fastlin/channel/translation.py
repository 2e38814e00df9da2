"""Search for the source of a whole sentence: argmax_e p(e) · p(f | e) under Model 1 or 2, words in any order.

Sources are built from their first word on. A hypothesis is a state of the language model and, for each observed word,
d_j = Σ_i a(i | j, l, m) t(f_j | e_i) so far; so p(f | e) is exact once a source is complete, with no alignment chosen.
Two hypotheses of one length with the same state and the same d have the same futures, and the better one is kept.
Model 1 knows no positions, so that one search finds the sources of all lengths; Model 2 takes one for each length.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.decoding import Decoding
from fastlin.channel.lexical_model import LexicalModel
from fastlin.channel.sentence_pairs import MOST_PLACES
from fastlin.channel.source import Source
from fastlin.channel.word_alignment import UniformAlignment
from fastlin.engine.core.interruption import look
from fastlin.lm.vocabulary import BEGIN, MARKS

Floats = NDArray[np.float64]

TO_COME = 0.1  # what a beam grants a word that nothing explains yet, of t of its best source word
UNLIKELY = 2.0  # nats below the most probable length: longer and shorter sources are not looked for
LONGEST = 4  # times the words observed: the longest source ever looked for unasked
NUMBERS_TOGETHER = 1 << 20  # of d of sources that are looked at at once
MORE_WORDS = 1000  # of the sources, the most frequent: tried where those of the observed words lead to no source
DECIMALS = 9  # of ln d, where hypotheses are equal


def _by_merit(found: "tuple[float, PartialSource]") -> float:
    return -found[0]


class PartialSource(NamedTuple):
    """The beginning of a source."""

    score: float  # source_weight · ln p(words)
    state: Any
    d: Floats
    words: tuple[int, ...]  # among the candidates


@dataclass(frozen=True)
class SourceSearch:
    """Beam search for sources; `beam` None keeps every source, and is exact."""

    model: LexicalModel
    source: Source
    beam: int | None
    n_candidates: int | None
    max_length: int | None
    source_weight: float

    def decode(self, observed: NDArray[np.int32], n_best: int) -> list[Decoding]:
        """The n best sources of an observed sentence, best first; none, if it is impossible."""
        for numbers in self._candidates(observed):
            found = self._decode_with(numbers, observed, n_best)
            if found:
                return found
        return []

    def _decode_with(self, numbers: NDArray[np.int32], observed: NDArray[np.int32], n_best: int) -> list[Decoding]:
        """The n best sources made of these words."""
        if len(numbers) * len(observed) > MOST_PLACES:
            raise ValueError(
                f"n_candidates must be less for a sentence of {len(observed)} words: {len(numbers)} source words make "
                f"more than {MOST_PLACES} places of a word beside a word"
            )
        words = [self.model.source.names[number] for number in numbers.tolist()]
        keys, t = self.source.keys(words), self.model.table.lookup(numbers, observed)
        found: list[tuple[float, int, tuple[int, ...]]] = []
        for lengths in self._searches(len(observed)):
            for score, best in self._complete(observed, lengths, keys, t, n_best):
                entry = score, -len(found), best
                (heapq.heappush if len(found) < n_best else heapq.heappushpop)(found, entry)
        backward = -1 if self.source.backward else 1
        found.sort(reverse=True)
        return [Decoding([words[c] for c in best][::backward], score) for score, _, best in found]

    def _candidates(self, observed: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
        """The source words that a source is made of, and more, should no source be made of them.

        Words that were never seen have no source words, and a language model may know none of those there are.
        """
        if self.n_candidates is None:
            yield np.arange(MARKS, len(self.model.source), dtype=np.int32)
            return
        found = [self.model.sources_of(word, self.n_candidates)[0] for word in np.unique(observed).tolist()]
        numbers = np.unique(np.concatenate([np.empty(0, np.int32), *found]))
        if len(numbers) or not len(observed):
            yield numbers
        most = min(MORE_WORDS, NUMBERS_TOGETHER // max(1, len(observed)))
        yield np.union1d(numbers, self.model.frequent_sources(max(1, most)))

    def _searches(self, m: int) -> list[list[int]]:
        """Lengths of sources without NULL; those of a list are found by one search."""
        if self.max_length is None:
            longest = LONGEST * m + 1
            log_prob = np.array([self.model.log_prob_of_length(n + self.model.null, m) for n in range(longest + 1)])
            lengths = np.flatnonzero(log_prob >= log_prob.max() - UNLIKELY).tolist()
        else:
            lengths = list(range(self.max_length + 1))
        if isinstance(self.model.alignment, UniformAlignment):
            return [lengths]
        if (lengths[-1] + self.model.null) * m > MOST_PLACES:
            raise ValueError(
                f"max_length must be less for a sentence of {m} words: {lengths[-1]} source words make more than "
                f"{MOST_PLACES} places of a word beside a word"
            )
        return [[length] for length in lengths]

    def _complete(
        self, observed: NDArray[np.int32], lengths: list[int], keys: NDArray[Any], t: Floats, n_best: int
    ) -> Iterator[tuple[float, tuple[int, ...]]]:
        """(score, words) of complete sources of these lengths that the beam comes to."""
        m, null = len(observed), int(self.model.null)
        a = self._alignment(lengths, m)
        d = np.zeros(m)
        if null:
            d += a[0] * self.model.table.lookup(np.array([BEGIN], np.int32), observed)[0]
        to_come = TO_COME * t.max(axis=0, initial=0.0) * a[-1 if len(a) > null else 0].max(initial=0.0)
        sources = [PartialSource(0.0, self.source.start(), d, ())]
        for length in range(lengths[-1] + 1):
            look()
            if length:
                row = a[min(null + length - 1, len(a) - 1)]
                sources = self._extended(sources, keys, t * row, to_come, n_best == 1)
            if not sources:
                return
            if length in lengths:
                yield from self._ended(sources, length, m)

    def _alignment(self, lengths: list[int], m: int) -> Floats:
        """a(i | j, l, m) in the order in which sources are built; 1 for every i of Model 1, for the end to divide."""
        null = int(self.model.null)
        if isinstance(self.model.alignment, UniformAlignment):
            return np.ones((null + 1, m))
        table = np.broadcast_to(self.model.alignment.table(lengths[0] + null, m), (lengths[0] + null, m))
        if self.source.backward:
            table = np.concatenate([table[:null], table[null:][::-1]])
        return table if len(table) else np.zeros((1, m))

    def _extended(
        self, sources: Sequence[PartialSource], keys: NDArray[Any], t: Floats, to_come: Floats, recombine: bool
    ) -> list[PartialSource]:
        """The best of all with one word more."""
        together = max(1, NUMBERS_TOGETHER // max(1, t.size))
        blocks = (sources[first : first + together] for first in range(0, len(sources), together))
        kept: list[PartialSource] = []
        seen: set[tuple[Any, bytes]] = set()
        for merit, one in heapq.merge(*(self._with_a_word(block, keys, t, to_come) for block in blocks), key=_by_merit):
            if merit == -np.inf or len(kept) == self.beam:
                break
            with np.errstate(divide="ignore"):
                key = one.state, np.round(np.log(one.d), DECIMALS).tobytes()
            if not (recombine and key in seen):
                seen.add(key)
                kept.append(one)
        return kept

    def _with_a_word(
        self, sources: Sequence[PartialSource], keys: NDArray[Any], t: Floats, to_come: Floats
    ) -> Iterator[tuple[float, PartialSource]]:
        """(merit, source) of these sources with each word, best first."""
        n = len(keys)
        states = [one.state for one in sources for _ in range(n)]
        log_prob, after = self.source.advance(states, np.tile(keys, len(sources)))
        scores = np.repeat([one.score for one in sources], n) + self.source_weight * log_prob
        d = (np.array([one.d for one in sources])[:, np.newaxis] + t).reshape(len(scores), t.shape[1])
        with np.errstate(divide="ignore"):
            merits = scores + np.log(d + to_come).sum(axis=1)
        for place in np.argsort(-merits, kind="stable").tolist():
            words = (*sources[place // n].words, place % n)
            yield float(merits[place]), PartialSource(float(scores[place]), after[place], d[place].copy(), words)

    def _ended(self, sources: Sequence[PartialSource], length: int, m: int) -> Iterator[tuple[float, tuple[int, ...]]]:
        """The sources as complete sources."""
        n = length + int(self.model.null)
        of_length = self.model.log_prob_of_length(n, m)
        if isinstance(self.model.alignment, UniformAlignment):
            of_length -= m * np.log(max(n, 1))
        ends = self.source.end([one.state for one in sources])
        for one, end in zip(sources, ends.tolist(), strict=True):
            with np.errstate(divide="ignore"):
                score = one.score + self.source_weight * end + of_length + float(np.log(one.d).sum())
            if score > -np.inf:
                yield float(score), one.words
