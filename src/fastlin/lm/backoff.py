"""A back-off model: sorted tries with a probability and a back-off weight for each n-gram, and what is asked of them.

Whatever is estimated as p(w|h) for known n-grams and a weight for each history is one: smoothed counts, a
maximum-entropy model of n-gram features, a file in ARPA's format.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.lm import backoff as engine
from fastlin.lm.vocabulary import BEGIN, WordVocabulary
from fastlin.runtime.made_once import FieldsOnly, made_once

CODES = 256  # of one byte
StateNodes = tuple[int, ...]
S = TypeVar("S", bound=StateNodes)
NO_LENGTHS = np.empty(0, np.int32)


class CodedLogarithms(Sequence[NDArray[np.float32]]):
    """Logarithms by order, of which some are one of 256 values for each n-gram: what is asked for is widened.

    Parameters
    ----------
    values : list of ndarray of float32
        Of each order, the logarithms themselves or 256 of them.
    codes : list of (ndarray of uint8 or None)
        Which of them each n-gram has.
    """

    def __init__(self, values: list[NDArray[np.float32]], codes: list[NDArray[np.uint8] | None]) -> None:
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, n: int) -> NDArray[np.float32]: ...
    @overload
    def __getitem__(self, n: slice) -> list[NDArray[np.float32]]: ...
    def __getitem__(self, n: int | slice) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        if isinstance(n, slice):
            return [self[place] for place in range(*n.indices(len(self)))]
        codes = self.codes[n]
        return self.values[n] if codes is None else self.values[n][codes]

    @property
    def sizes(self) -> list[int]:
        """How many there are of each order."""
        return [len(v) if c is None else len(c) for v, c in zip(self.values, self.codes, strict=True)]


@dataclass(frozen=True)
class BackoffModel(FieldsOnly):
    """Arrays by order, unigrams first; the layout is that of `engine/lm/ngram_counts.pyx` and never changes.

    Attributes
    ----------
    vocabulary : WordVocabulary
        The words: unigram w is word w.
    words : list of ndarray of int32
        The last word of each n-gram; of unigrams empty.
    starts : list of ndarray of int32
        starts[n][h]: where the children of the history h, an n-gram of one order less, begin; of unigrams empty.
    suffix : list of ndarray of int32
        The n-gram without its first word, one order down; −1: pruning took it. Of unigrams empty.
    log_prob : list of ndarray of float32, or CodedLogarithms
        ln p of the last word after the others.
    backoff : list of ndarray of float32
        ln of the history's back-off weight; there is none for the highest order.
    """

    vocabulary: WordVocabulary
    words: list[NDArray[np.int32]]
    starts: list[NDArray[np.int32]]
    suffix: list[NDArray[np.int32]]
    log_prob: Sequence[NDArray[np.float32]]
    backoff: list[NDArray[np.float32]]

    @property
    def order(self) -> int:
        return len(self.log_prob)

    @property
    def n_words(self) -> int:
        """How many words, the marks among them."""
        return len(self.log_prob[0])

    @property
    def n_grams(self) -> list[int]:
        return self.log_prob.sizes if isinstance(self.log_prob, CodedLogarithms) else [len(p) for p in self.log_prob]

    @made_once
    def queries(self) -> engine.BackoffQueries:
        arrays, seed = (self.starts, self.words), secrets.randbits(64)
        if isinstance(self.log_prob, CodedLogarithms):  # who wants a small model wants no tables either
            logarithms = self.log_prob
            return engine.BackoffQueries(*arrays, logarithms.values, self.backoff, seed, 0, logarithms.codes)
        return engine.BackoffQueries(*arrays, list(self.log_prob), self.backoff, seed)

    @made_once
    def mark(self) -> int:
        """A number that tells models apart whose words or n-grams are others: states begin with it."""
        return hash((self.vocabulary.checksum, *self.n_grams))

    def histories(self, n: int) -> NDArray[np.int32]:
        """Of every n-gram the number of its first n − 1 words; n counts from 0, bigrams are 1."""
        return np.repeat(np.arange(len(self.starts[n]) - 1, dtype=np.int32), np.diff(self.starts[n]))

    def rows(self, n: int) -> NDArray[np.int32]:
        """The words of every n-gram, [N, n + 1]; n counts from 0."""
        rows = np.empty((self.n_grams[n], n + 1), np.int32)
        nodes = np.arange(self.n_grams[n], dtype=np.int32)
        for k in range(n, 0, -1):
            rows[:, k] = self.words[k][nodes]
            nodes = self.histories(k)[nodes]
        rows[:, 0] = nodes
        return rows

    def check(self) -> None:
        """ValueError unless every array is well formed: what no kernel looks at again."""
        sizes = self.n_grams
        lengths = {len(self.words), len(self.starts), len(self.suffix), self.order, len(self.backoff) + 1}
        if len(lengths) != 1 or sizes[0] != len(self.vocabulary) or sizes[0] < 3:
            raise ValueError(
                "the arrays of a model must be as many as its orders, and its unigrams the words of its vocabulary"
            )
        for log_prob in self.log_prob.values if isinstance(self.log_prob, CodedLogarithms) else self.log_prob:
            if not (log_prob <= 0).all():
                raise ValueError("log_prob must be at most 0 and no NaN")
        for backoff, size in zip(self.backoff, sizes, strict=False):
            if len(backoff) != size or not (backoff < np.inf).all():
                raise ValueError(
                    "backoff must be a number below infinity for each n-gram of all orders but the highest"
                )
        for n in range(1, self.order):
            if len(self.words[n]) != sizes[n] or not engine.prove(
                self.starts[n], self.words[n], self.suffix[n], sizes[n - 1], sizes[0]
            ):
                raise ValueError(f"{n + 1}-grams must be sorted by history and word, and end in n-grams that are there")

    def start(self) -> StateNodes:
        """The state where a sentence begins."""
        return (BEGIN,) if self.order > 1 else ()

    def score(self, tokens: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """ln p of every token, and the length of the n-gram it was found in; 0 where a sentence begins."""
        lengths = np.empty(len(tokens), np.int32)
        return self._scored(tokens, lengths), lengths

    def token_log_prob(self, tokens: NDArray[np.int32]) -> NDArray[np.float64]:
        """ln p of every token; 0 where a sentence begins."""
        return self._scored(tokens, NO_LENGTHS)

    def _scored(self, tokens: NDArray[np.int32], lengths: NDArray[np.int32]) -> NDArray[np.float64]:
        log_prob, room = np.empty(len(tokens)), self.order + engine.SCRATCH
        self.queries.score(tokens, log_prob, lengths, np.empty(room, np.int32), np.empty(room, np.float32))
        return log_prob

    def advance(self, state: StateNodes, word: int) -> tuple[float, StateNodes]:
        """(ln p of a word after a state, the state after it)."""
        return self.queries.advance(state, word)

    def advance_many(
        self, states: list[Any], mark: int, kind: type[S], words: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], list[S]]:
        """`advance` of states of a kind, whose first number is a mark; each has a word of its own."""
        log_prob = np.empty(len(words))
        return log_prob, self.queries.advance_many(states, mark, kind, words, log_prob)

    def next_word(self, state: StateNodes) -> NDArray[np.float32]:
        """ln p of every word but begin, in the order of their numbers."""
        log_prob = np.empty(self.n_words - 1, np.float32)
        self.queries.next_word(state, True, log_prob)
        return log_prob

    def next_probabilities(self, state: StateNodes) -> NDArray[np.float32]:
        """p of every word but begin."""
        p = np.empty(self.n_words - 1, np.float32)
        self.queries.next_word(state, False, p)
        return p

    def state_after(self, words: Sequence[int], begin: bool) -> StateNodes:
        """The state after some words, at the beginning of a sentence or somewhere within one."""
        state = self.start() if begin else ()
        for word in words:
            state = self.queries.advance(state, word)[1]
        return state

    def only(self, keep: Sequence[NDArray[np.bool_] | None]) -> "BackoffModel":
        """Without the n-grams that are not to be kept (None: all of an order are); histories must be kept."""
        words, starts, suffix = self.words[:1], self.starts[:1], self.suffix[:1]
        log_prob, backoff = list(self.log_prob[:1]), self.backoff[:1]
        shorter = np.arange(self.n_words, dtype=np.int32)
        kept_histories = np.ones(self.n_words, np.bool_)
        for n in range(1, self.order):
            mask = keep[n]
            kept = np.ones(len(self.words[n]), np.bool_) if mask is None else mask
            below = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32)
            starts.append(below[self.starts[n][np.append(np.flatnonzero(kept_histories), len(kept_histories))]])
            words.append(self.words[n][kept])
            old = self.suffix[n][kept]
            suffix.append(np.where(old >= 0, shorter[old], -1).astype(np.int32))
            log_prob.append(self.log_prob[n][kept])
            if n < self.order - 1:
                backoff.append(self.backoff[n][kept])
            shorter, kept_histories = np.where(kept, below[:-1], -1).astype(np.int32), kept
        return BackoffModel(self.vocabulary, words, starts, suffix, log_prob, backoff)
