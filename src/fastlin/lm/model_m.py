"""Model M (Chen 2009): a maximum-entropy model of the next word's class, and one of the word within its class.

    p(w | h) = p(c(w) | h, classes of h) · p(w | h, c(w))

Both are log-linear with Gaussian priors. The word half is the hierarchy of `MaxentLM` with a normaliser for each
history and class; the class half has weights for class n-grams and for n-grams of words with a class at the end, and
knows the last two words at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.lm.backoff import StateNodes
from fastlin.lm.contexts import contexts_before, find, last_words
from fastlin.lm.vocabulary import BEGIN, WordVocabulary
from fastlin.lm.word_model import prove_state

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
BLOCK = 1 << 14  # tokens: the scores of their classes are held at once


@dataclass(frozen=True)
class ModelM:
    """The probabilities of Model M.

    By n-grams of a back-off model's layout: their scores s, and the groups of `WordHalf` with their log Z; by the rows
    of `Contexts` the scores of classes, and weights of words and of contexts as CSRs. A state is the last words.
    """

    vocabulary: WordVocabulary
    order: int
    classes: NDArray[np.int32]
    gram_keys: list[Integers]  # history · V + word, sorted; of unigrams empty
    scores: list[Floats]
    group_keys: list[Integers]  # history · K + class, sorted
    log_z: list[Floats]
    row_keys: Integers  # last class · (K + 1) + the class before + 1, sorted
    rows: Floats  # [rows, K]
    last_rows: Floats  # [K, K], where the two classes were not seen
    word_weights: tuple[Integers, NDArray[np.int32], Floats]  # of each word
    pair_weights: tuple[Integers, NDArray[np.int32], Floats]  # of each bigram, and of the one that begins a sentence

    @property
    def n_classes(self) -> int:
        return len(self.last_rows)

    def start(self) -> StateNodes:
        """The state where a sentence begins."""
        return (BEGIN,)

    def state_after(self, words: Sequence[int], begin: bool) -> StateNodes:
        """The state after some words, at the beginning of a sentence or somewhere within one."""
        return last_words(words, begin, self.order - 1)

    def advance(self, state: StateNodes, word: int) -> tuple[float, StateNodes]:
        """(ln p of a word after a state, the state after it)."""
        prove_state(state, 1, self.order - 1, len(self.vocabulary))
        found = self._log_proba(self._context(state), np.array([word]))
        return float(found[0]), (*state, word)[-(self.order - 1) :]

    def score(self, tokens: NDArray[np.int32]) -> tuple[Floats, NDArray[np.int32]]:
        """ln p of every token, 0 where a sentence begins; lengths of n-grams are not known of it: 0."""
        log_prob = np.zeros(len(tokens))
        place = np.flatnonzero(tokens != BEGIN)
        for start in range(0, len(place), BLOCK):
            some = place[start : start + BLOCK]
            contexts = contexts_before(tokens, some, self.order - 1)
            log_prob[some] = self._log_proba(contexts, tokens[some].astype(np.int64))
        return log_prob, np.zeros(len(tokens), np.int32)

    def next_word(self, state: StateNodes) -> NDArray[np.float32]:
        """ln p of every word but begin, in the order of their numbers."""
        prove_state(state, 1, self.order - 1, len(self.vocabulary))
        context, every = self._context(state), np.arange(BEGIN + 1, len(self.classes))
        of_classes = self._class_log_proba(context[:, -2:])[0, self.classes[1:]]
        return (self._word_log_proba(self._histories(context), every) + of_classes).astype(np.float32)

    def _context(self, state: StateNodes) -> Integers:
        """The last words as a row; −1: none."""
        return np.array([[-1] * (self.order - 1 - len(state)) + list(state)])

    def _log_proba(self, contexts: Integers, words: Integers) -> Floats:
        """ln p of words after the rows of words before them (−1: none)."""
        keys = contexts[:, -1] * (len(self.classes) + 1) + (contexts[:, -2] + 1 if self.order > 2 else 0)
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        found = self._class_log_proba(contexts[first, -2:])[place, self.classes[words]]
        return found + self._word_log_proba(self._histories(contexts), words)

    def _histories(self, contexts: Integers) -> list[Integers]:
        """Of every context the numbers of its last word, last two words, …; −1: they were not seen together."""
        found = []
        for n in range(1, self.order):
            history = contexts[:, -n]
            for k in range(1, n):
                keys = np.where(history >= 0, history * len(self.classes) + contexts[:, k - n], -1)
                history = find(self.gram_keys[k], keys)
            found.append(history)
        return found

    def _word_log_proba(self, histories: Sequence[Integers], words: Integers) -> Floats:
        """ln p(w | h, c(w)); the histories of all words may be the same."""
        V, K, classes = len(self.classes), self.n_classes, self.classes[words].astype(np.int64)
        score, log_z = self.scores[0][words], self.log_z[0][classes]
        for n, history in enumerate(histories, 1):
            group = find(self.group_keys[n], np.where(history >= 0, history * K + classes, -1))
            gram = find(self.gram_keys[n], np.where(history >= 0, history * V + words, -1))
            _replace(log_z, self.log_z[n], group)
            _replace(score, self.scores[n], gram)
        return score - log_z

    def _class_log_proba(self, contexts: Integers) -> Floats:
        """ln p(c | h) of every class, [contexts, K], of the last word or the last two."""
        K, last = self.n_classes, contexts[:, -1]
        before = contexts[:, 0] if self.order > 2 else np.full(len(last), -1)
        of_last = self.classes[last].astype(np.int64)
        of_before = np.where(before >= 0, self.classes[before], -1)
        row = find(self.row_keys, of_last * (K + 1) + of_before + 1)
        scores = self.last_rows[of_last]
        _replace(scores, self.rows, row)
        _add(scores, last, self.word_weights)
        if self.order > 2:
            pairs = find(self.gram_keys[1], np.where(before >= 0, before * len(self.classes) + last, -1))
            _add(scores, np.where(last == BEGIN, len(self.gram_keys[1]), pairs), self.pair_weights)
        scores -= scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def _replace(values: Floats, others: Floats, place: Integers) -> None:
    """values[i] = others[place[i]], where there is a place."""
    known = place >= 0
    values[known] = others[place[known]]


def _add(scores: Floats, of: Integers, weights: tuple[Integers, NDArray[np.int32], Floats]) -> None:
    """scores[i] += the weights of of[i]; −1: none."""
    starts, classes, values = weights
    known = np.flatnonzero(of >= 0)
    first, sizes = starts[of[known]], starts[of[known] + 1] - starts[of[known]]
    place = np.arange(sizes.sum()) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    scores[np.repeat(known, sizes), classes[place]] += values[place]
