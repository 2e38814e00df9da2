"""Skip-grams: weights of pairs of words with others between them, beside the n-grams of a maximum-entropy model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.lm.skip_grams import HistoryScores
from fastlin.lm.backoff import BackoffModel, StateNodes
from fastlin.lm.contexts import contexts_before, find, last_words
from fastlin.lm.counts import NgramCounts
from fastlin.lm.vocabulary import BEGIN, WordVocabulary
from fastlin.lm.word_model import prove_state
from fastlin.runtime.made_once import made_once

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Links = NDArray[np.int32]
BLOCK = 1 << 14  # contexts between two looks at Ctrl-C
MOST_ROWS = 2**31 - 2  # words times distances
NO_VALUES = np.empty(0)


@dataclass(frozen=True)
class Pairs:
    """The skip-grams of a model: pairs of a row and a word, as a CSR; a row is a distance and the word that far before.

    Those with k + 1 words between are the rows from k · V on. Words of a row rise.
    """

    n_words: int
    n_distances: int
    starts: Integers
    words: Links

    @classmethod
    def of(cls, keys: Integers, n_words: int, n_distances: int) -> "Pairs":
        """Of sorted keys, row · V + word."""
        starts = np.searchsorted(keys, np.arange(n_distances * n_words + 1) * n_words)
        return cls(n_words, n_distances, starts, (keys % n_words).astype(np.int32))

    @made_once
    def keys(self) -> Integers:
        rows = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return rows * self.n_words + self.words

    def triples(self) -> list[tuple[int, int, int]]:
        """How many words between, the word before and the word of each pair."""
        rows = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        columns = rows // self.n_words + 1, rows % self.n_words, self.words
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def rows(self, contexts: Integers) -> Links:
        """The row of each distance, for contexts of the words before, the last one last; −1: there is no word."""
        found = np.full((len(contexts), self.n_distances), -1, np.int32)
        for k in range(min(self.n_distances, contexts.shape[1] - 1)):
            words = contexts[:, -k - 2]
            found[:, k] = np.where(words >= 0, k * self.n_words + words, -1)
        return found

    def find(self, rows: Links, words: Integers) -> list[Integers]:
        """The number of the pair of each distance; −1: it has no weight."""
        every = [np.where(row >= 0, row.astype(np.int64) * self.n_words + words, -1) for row in rows.T]
        return [find(self.keys, wanted) for wanted in every]


@dataclass(frozen=True)
class OrderedContexts:
    """Contexts in the order of `HistoryScores`: their histories, how long and which, and their rows of `Pairs`."""

    lengths: Links
    histories: Links
    rows: Links
    places: Integers  # where they came from

    @classmethod
    def of(cls, words: Integers, pairs: Pairs, model: BackoffModel) -> "OrderedContexts":
        """Of the words before, the last one last; −1: there is none."""
        places = np.lexsort(words.T)
        lengths, histories = longest_known(words[places], model)
        return cls(lengths, histories, pairs.rows(words[places]), places)


def longest_known(words: Integers, model: BackoffModel) -> tuple[Links, Links]:
    """The longest history of each context that a model knows: how many words, and its number."""
    n_words = model.n_words
    lengths, histories = np.zeros(len(words), np.int32), np.zeros(len(words), np.int32)
    for n in range(1, min(model.order - 1, words.shape[1]) + 1):
        history = words[:, -n].astype(np.int64)
        for k in range(1, n):
            history = find(_keys(model, k), np.where(history >= 0, history * n_words + words[:, k - n], -1))
        known = history >= 0
        lengths[known], histories[known] = n, history[known]
    return lengths, histories


def _keys(model: BackoffModel, n: int) -> Integers:
    return model.histories(n).astype(np.int64) * model.n_words + model.words[n]


def unnormalised(model: BackoffModel) -> tuple[list[Floats], list[Floats]]:
    """Numbers in proportion to p after each history, the same for all words that back off, and their sums."""
    scores, sums = [np.exp(model.log_prob[0].astype(np.float64))], [np.ones(1)]
    scores[0][BEGIN] = 0
    for n in range(1, model.order):
        suffix = model.suffix[n - 1] if n > 1 else np.zeros(model.n_words, np.int32)
        sums.append(sums[-1][suffix] * np.exp(-model.backoff[n - 1].astype(np.float64)))
        scores.append(np.exp(model.log_prob[n].astype(np.float64)) * np.repeat(sums[n], np.diff(model.starts[n])))
    return scores, sums


@dataclass(frozen=True)
class SkipGramModel:
    """The probabilities p(w | c) = p(w | h) e^{Σ φ}/R(c): of n-grams, of skip-grams, and what they sum to.

    A state is the last words.
    """

    ngrams: BackoffModel
    pairs: Pairs
    weights: Floats

    @property
    def vocabulary(self) -> WordVocabulary:
        return self.ngrams.vocabulary

    @property
    def order(self) -> int:
        return max(self.ngrams.order, self.pairs.n_distances + 2)

    @made_once
    def scores(self) -> tuple[list[Floats], list[Floats]]:
        return unnormalised(self.ngrams)

    @made_once
    def factors(self) -> Floats:
        return np.exp(self.weights)

    def start(self) -> StateNodes:
        """The state where a sentence begins."""
        return (BEGIN,)

    def state_after(self, words: Sequence[int], begin: bool) -> StateNodes:
        """The state after some words, at the beginning of a sentence or somewhere within one."""
        return last_words(words, begin, self.order - 1)

    def advance(self, state: StateNodes, word: int) -> tuple[float, StateNodes]:
        """(ln p of a word after a state, the state after it)."""
        prove_state(state, 1, self.order - 1, len(self.vocabulary))
        log_prob = self.ngrams.advance(self._ngram_state(state), word)[0]
        context = np.array([state])
        added = sum(float(self.weights[place[0]]) for place in self._found(context, np.array([word])) if place[0] >= 0)
        return log_prob + added - float(np.log(self._sums(context)[0])), (*state, word)[-(self.order - 1) :]

    def score(self, tokens: NDArray[np.int32]) -> tuple[Floats, NDArray[np.int32]]:
        """ln p of every token, and the length of the n-gram it was found in; 0 where a sentence begins."""
        log_prob, lengths = self.ngrams.score(tokens)
        place = np.flatnonzero(tokens != BEGIN)
        for start in range(0, len(place), BLOCK):
            some = place[start : start + BLOCK]
            contexts = contexts_before(tokens, some, self.order - 1)
            known, inverse = np.unique(contexts, axis=0, return_inverse=True)
            log_prob[some] -= np.log(self._sums(known))[inverse.reshape(-1)]
            for found in self._found(contexts, tokens[some].astype(np.int64)):
                log_prob[some[found >= 0]] += self.weights[found[found >= 0]]
        return log_prob, lengths

    def next_word(self, state: StateNodes) -> NDArray[np.float32]:
        """ln p of every word but begin, in the order of their numbers."""
        prove_state(state, 1, self.order - 1, len(self.vocabulary))
        log_prob = self.ngrams.next_word(self._ngram_state(state)).astype(np.float64)
        for row in self.pairs.rows(np.array([state]))[0]:
            if row >= 0:
                some = slice(*self.pairs.starts[row : row + 2].tolist())
                log_prob[self.pairs.words[some] - 1] += self.weights[some]
        highest = log_prob.max()
        found: NDArray[np.float32] = (log_prob - highest - np.log(np.exp(log_prob - highest).sum())).astype(np.float32)
        return found

    def _ngram_state(self, state: StateNodes) -> StateNodes:
        begin = state[0] == BEGIN
        return self.ngrams.state_after(state[begin:], begin)

    def _found(self, contexts: Integers, words: Integers) -> list[Integers]:
        return self.pairs.find(self.pairs.rows(contexts), words)

    def _sums(self, contexts: Integers) -> Floats:
        """R(c) of contexts."""
        ngrams, found = self.ngrams, OrderedContexts.of(contexts, self.pairs, self.ngrams)
        scores, sums = self.scores
        z, result = np.empty(len(contexts)), np.empty(len(contexts))
        HistoryScores(ngrams.starts, ngrams.words, ngrams.suffix, scores, sums, len(self.pairs.starts) - 1).normalise(
            found.lengths, found.histories, found.rows, self.pairs.starts, self.pairs.words, self.factors, NO_VALUES, z,
            [], [], NO_VALUES, 0, len(z),
        )  # fmt: skip
        result[found.places] = z
        return result


@dataclass(frozen=True)
class CountedContexts:
    """All contexts of a text: the words before, how often each was seen; and what followed, with its count."""

    words: Integers
    counts: Floats
    events: tuple[Integers, Integers, Integers]  # the context, the word, how often

    @classmethod
    def of(cls, table: NgramCounts) -> "CountedContexts":
        """Of the n-grams of the highest order, and those that begin a sentence."""
        rows: list[Integers] = []
        contexts: list[Integers] = []
        words: list[Integers] = []
        counts: list[Integers] = []
        size, longest = 0, table.order - 1
        for n in range(1, table.order):
            children = np.diff(table.starts[n])
            nodes = np.flatnonzero(children if n == longest else children[: table.n_begin[n - 1]])
            first, sizes = table.starts[n][nodes].astype(np.int64), children[nodes].astype(np.int64)
            places = np.arange(sizes.sum()) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
            rows.append(_rows(table, n, nodes, longest))
            contexts.append(np.repeat(np.arange(size, size + len(nodes)), sizes))
            words.append(table.words[n][places].astype(np.int64))
            counts.append(table.counts[n][places])
            size += len(nodes)
        of, times = np.concatenate(contexts), np.concatenate(counts)
        seen = np.bincount(of, times, minlength=size).astype(np.float64)
        return cls(np.concatenate(rows), seen, (of, np.concatenate(words), times))

    def pairs(self, n_words: int, n_distances: int, least: int) -> tuple[Pairs, Floats]:
        """The skip-grams that were seen so often at least, and how often."""
        of, words, times = self.events
        rows = Pairs(n_words, n_distances, np.empty(0, np.int64), np.empty(0, np.int32)).rows(self.words)[of]
        keys = [rows[:, k].astype(np.int64) * n_words + words for k in range(n_distances)]
        known = np.concatenate([rows[:, k] >= 0 for k in range(n_distances)])
        found, inverse = np.unique(np.concatenate(keys)[known], return_inverse=True)
        observed = np.bincount(inverse, np.tile(times, n_distances)[known], minlength=len(found))
        kept = observed >= least
        return Pairs.of(found[kept], n_words, n_distances), observed[kept].astype(np.float64)


def _rows(table: NgramCounts, n: int, nodes: Integers, width: int) -> Integers:
    """The words of n-grams of n words, −1 before them up to a width."""
    rows = np.full((len(nodes), width), -1, np.int64)
    for k in range(n - 1, 0, -1):
        rows[:, width - n + k] = table.words[k][nodes]
        nodes = table.histories(k)[nodes].astype(np.int64)
    rows[:, width - n] = nodes
    return rows


def truncated(table: NgramCounts, order: int) -> NgramCounts:
    """The counts of n-grams up to an order."""
    return replace(
        table, words=table.words[:order], starts=table.starts[:order], suffix=table.suffix[:order],
        counts=table.counts[:order],
    )  # fmt: skip
