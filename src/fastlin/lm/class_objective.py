"""The class half of Model M: weights of class n-grams, and of n-grams of words with a class at the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.engine.lm import class_softmax as kernels
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.maxent_objective import PenalisedObjective
from fastlin.lm.vocabulary import BEGIN, END
from fastlin.optim.problem import Prior
from fastlin.runtime.parallel import WorkerPool

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
WIDTH = 8  # classes are padded to multiples of it, with scores of −∞
IMPOSSIBLE = -1e300
BEGIN_CLASS = 0  # that of the mark that begins a sentence, which never follows


@dataclass(frozen=True)
class ClassFeatures:
    """Pairs of a history and a class, sorted; each has a weight. `histories` are what they are of."""

    n_histories: int
    starts: Integers
    classes: NDArray[np.int32]
    observed: Floats

    @classmethod
    def of(cls, histories: Integers, classes: Integers, counts: Integers, n_histories: int, K: int) -> "ClassFeatures":
        keys, inverse = np.unique(histories * K + classes, return_inverse=True)
        observed = np.bincount(inverse, counts, minlength=len(keys)).astype(np.float64)
        starts = np.searchsorted(keys, np.arange(n_histories + 1) * K)
        return cls(n_histories, starts, (keys % K).astype(np.int32), observed)

    def dense(self, theta: Floats, K: int) -> Floats:
        """The weights as [histories, K], 0 where there is none."""
        table = np.zeros((self.n_histories, K))
        table[self.rows, self.classes] = theta
        return table

    @property
    def rows(self) -> Integers:
        """The history of each pair."""
        return np.repeat(np.arange(self.n_histories), np.diff(self.starts))


@dataclass(frozen=True)
class Contexts:
    """The histories that a class follows, by the class of the last word and then by the last word.

    `rows[i]` is the history of classes of context i, `last[r]` the last class of such a history, or of the one that
    begins a sentence, `counts` how often each context was seen; the contexts of the word u, in the order of `words`,
    begin at word_starts[u].
    """

    words: Integers
    word_starts: Integers
    rows: NDArray[np.int32]
    counts: Floats
    pairs: Integers  # classes of the two last words of each row, as before · K + last; −1: there is but one
    last: Integers
    places: Integers  # of bigrams, and of the mark that begins a sentence, which is the last, among the contexts


def contexts_of(model: BackoffModel, raw: Sequence[Integers], classes: NDArray[np.int32], order: int) -> Contexts:
    """The contexts that a model of this order, 2 or 3, has."""
    K = int(classes.max()) + 1
    if order == 2:
        last_words = np.arange(model.n_words)
        before, counts = np.full(model.n_words, -1), np.where(last_words == END, 0, raw[0])
    else:
        last_words = np.append(model.words[1], BEGIN).astype(np.int64)
        before = np.append(classes[model.histories(1)], -1)
        counts = np.append(np.where(model.words[1] == END, 0, raw[1]), raw[0][BEGIN])
    last = classes[last_words].astype(np.int64)
    chosen = np.lexsort((last_words, last))
    chosen = chosen[counts[chosen] > 0]
    places = np.full(len(counts), -1)
    places[chosen] = np.arange(len(chosen))
    words, word_starts = _runs(last_words[chosen])
    pairs, rows = np.unique((last * (K + 1) + before + 1)[chosen], return_inverse=True)
    before_last = pairs % (K + 1) - 1
    of_rows = np.where(before_last < 0, -1, before_last * K + pairs // (K + 1))
    return Contexts(
        words, word_starts, rows.astype(np.int32), counts[chosen].astype(np.float64), of_rows, pairs // (K + 1), places
    )


def _runs(values: Integers) -> tuple[Integers, Integers]:
    """The values of runs of equal ones, and where each begins, and the end."""
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.empty(0, np.int64)
    return values[first], np.append(first, len(values))


def class_features(
    model: BackoffModel, raw: Sequence[Integers], classes: NDArray[np.int32], contexts: Contexts, order: int
) -> list[ClassFeatures]:
    """The pairs that were seen: of no history, one class, two classes, one word, and two words."""
    K = int(classes.max()) + 1
    last = model.order - 1 if model.order == order else order - 1
    place = contexts.places[model.histories(last)]
    following, counts = classes[model.words[last]].astype(np.int64), raw[last]
    if order == 3:  # what follows the mark that begins a sentence
        first = model.words[1][: int(model.starts[1][BEGIN + 1])]
        place = np.append(place, np.full(len(first), contexts.places[-1]))
        following = np.append(following, classes[first])
        counts = np.append(counts, raw[1][: len(first)])
    rows = contexts.rows[place].astype(np.int64)
    word_of = np.repeat(np.arange(len(contexts.words)), np.diff(contexts.word_starts))
    every = np.ones(len(place), bool)
    parts = [
        (np.zeros(len(place), np.int64), 1, every),
        (contexts.last[rows], K, every),
        (rows, len(contexts.pairs), contexts.pairs[rows] >= 0),
        (word_of[place], len(contexts.words), every),
        (place, len(contexts.rows), every & (order == 3)),
    ]
    return [ClassFeatures.of(h[some], following[some], counts[some], n, K) for h, n, some in parts]


class ClassObjective(PenalisedObjective):
    """f of the class half: θ has weights of classes, of class bigrams and trigrams, of words, and of word bigrams."""

    def __init__(
        self, contexts: Contexts, features: list[ClassFeatures], variances: Sequence[float], K: int, workers: WorkerPool
    ) -> None:
        sizes = [len(part.classes) for part in features]
        super().__init__(sizes, Prior(np.repeat(1 / np.asarray(variances), sizes), np.zeros(sum(sizes))), workers)
        self.contexts, self.features, self.n_classes = contexts, features, K
        self.observed = np.concatenate([part.observed for part in features])
        self._width = -(-K // WIDTH) * WIDTH
        last = contexts.last[contexts.rows[contexts.word_starts[:-1]]]
        bounds = _runs(last)[1]  # words of one class share rows with no others
        self._jobs = list(pairwise(bounds.tolist()))
        self._expected = np.empty(self.size)

    def table(self, theta: Floats) -> Floats:
        """The scores of each history of classes by the weights of classes alone, [rows, K], padded."""
        unigrams, bigrams, trigrams = self.split(theta)[:3]
        K, of_rows = self.n_classes, self.contexts.pairs
        table = np.full((len(of_rows), self._width), IMPOSSIBLE)
        table[:, :K] = self.features[1].dense(bigrams, K)[self.contexts.last] + self.features[0].dense(unigrams, K)
        table[self.features[2].rows, self.features[2].classes] += trigrams
        table[:, BEGIN_CLASS] = IMPOSSIBLE
        return table

    def start(self) -> Floats:
        """Weights to begin with: those of class bigrams' relative frequencies, and zeros."""
        theta = np.zeros(self.size)
        unigrams, bigrams = self.split(theta)[:2]
        first, second = self.features[:2]
        unigrams[:] = np.log(first.observed / first.observed.sum())
        totals = np.bincount(second.rows, second.observed, minlength=second.n_histories)
        among_all = np.zeros(self.n_classes)
        among_all[first.classes] = unigrams
        bigrams[:] = np.log(second.observed / totals[second.rows]) - among_all[second.classes]
        return theta

    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient."""
        self.passes += 1
        table, of_words, of_contexts = self.table(theta), *self.split(theta)[3:]
        words, pairs = self.features[3], self.features[4]
        expected_table = np.zeros(table.shape)
        slopes = self.split(self._expected)

        def work(first: int, last: int) -> float:
            begin, end = (int(self.contexts.word_starts[u]) for u in (first, last))
            own, owned = slice(*words.starts[[first, last]]), slice(*pairs.starts[[begin, end]])
            return kernels.expect(
                self.contexts.word_starts[first : last + 1], self.contexts.rows[begin:end],
                self.contexts.counts[begin:end], table,
                (words.starts[first : last + 1] - words.starts[first], words.classes[own], of_words[own]),
                (pairs.starts[begin : end + 1] - pairs.starts[begin], pairs.classes[owned], of_contexts[owned]),
                expected_table, slopes[3][own], slopes[4][owned], np.empty((3, self._width)),
            )  # fmt: skip

        loss = sum(self.workers.map(work, self._jobs))
        known, first = _runs(self.contexts.last)
        by_last = np.zeros((self.n_classes, self._width))
        by_last[known] = np.add.reduceat(expected_table, first[:-1])
        slopes[0][:] = by_last.sum(axis=0)[self.features[0].classes]
        slopes[1][:] = by_last[self.features[1].rows, self.features[1].classes]
        slopes[2][:] = expected_table[self.features[2].rows, self.features[2].classes]
        pull = theta * self.prior.precision
        np.subtract(self._expected, self.observed, out=gradient)
        gradient += pull
        self._value = loss - vector_ops.dot(theta, self.observed) + 0.5 * vector_ops.dot(theta, pull)
        return float(self._value)

    def diagonal(self) -> Floats:
        """The metric of L-BFGS, 1/σ² and the larger of observed and expected counts at the θ of the last value."""
        return self.prior.precision + np.maximum(self.observed, self._expected)
