"""The class half of Model M: weights of class n-grams, and of n-grams of words with a class at the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.engine.lm import class_softmax as kernels
from fastlin.engine.lm.maxent_hierarchy import exponentials
from fastlin.lm.contexts import find
from fastlin.lm.counts import NgramCounts
from fastlin.lm.maxent_objective import LARGEST_SCORE, LogLinearObjective
from fastlin.lm.vocabulary import BEGIN, END
from fastlin.optim.log_linear_problem import WeightPrior
from fastlin.runtime.made_once import made_once
from fastlin.runtime.parallel import WorkerPool

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
WIDTH = 8  # classes are padded to multiples of it, with scores of −∞
IMPOSSIBLE = -1e300
NO_SLOPES = np.empty(0)
DISCOUNT = 0.5  # of the counts that a fit begins with


@dataclass(frozen=True)
class ClassFeatures:
    """Pairs of a history and a class, sorted; each has a weight. `histories` are what they are of."""

    n_histories: int
    starts: Integers
    classes: NDArray[np.int32]
    observed: Floats

    @classmethod
    def of(
        cls, histories: Integers, classes: Integers, counts: NDArray[Any], n_histories: int, K: int, least: int = 1
    ) -> "ClassFeatures":
        """The pairs that are there, seen so often at least."""
        keys, inverse = np.unique(histories * K + classes, return_inverse=True)
        observed = np.bincount(inverse, counts, minlength=len(keys)).astype(np.float64)
        kept = observed >= least
        keys, observed = keys[kept], observed[kept]
        starts = np.searchsorted(keys, np.arange(n_histories + 1) * K)
        return cls(n_histories, starts, (keys % K).astype(np.int32), observed)

    def dense(self, theta: Floats, K: int) -> Floats:
        """The weights as [histories, K], 0 where there is none."""
        table = np.zeros((self.n_histories, K))
        table[self.rows, self.classes] = theta
        return table

    def places(self, histories: Integers, classes: Integers, K: int) -> Integers:
        """The numbers of some pairs; −1: there is no such pair."""
        return find(self.rows * K + self.classes, histories * K + classes)

    @property
    def rows(self) -> Integers:
        """The history of each pair."""
        return np.repeat(np.arange(self.n_histories), np.diff(self.starts))


@dataclass(frozen=True)
class Contexts:
    """The histories that a class follows, by the class of the last word, the last word, and the class before.

    Contexts that have the last word and both classes in common are a group: those of the word u, in the order of
    `words`, begin at word_groups[u], the contexts of the group g at group_contexts[g]. `rows[g]` is its history of
    classes, `last[r]` the last class of such a history, or of the one that begins a sentence, `counts` how often each
    context was seen.
    """

    words: Integers
    word_groups: Integers
    group_contexts: Integers
    rows: NDArray[np.int32]
    counts: Floats
    pairs: Integers  # classes of the two last words of each row, as before · K + last; −1: there is but one
    last: Integers
    places: Integers  # of bigrams, and of the mark that begins a sentence, which is the last, among the contexts

    @property
    def groups(self) -> Integers:
        """The group of each context."""
        return np.repeat(np.arange(len(self.rows)), np.diff(self.group_contexts))

    @property
    def group_words(self) -> Integers:
        """The place of each group's last word."""
        return np.repeat(np.arange(len(self.words)), np.diff(self.word_groups))


def contexts_of(table: NgramCounts, classes: NDArray[np.int32], order: int) -> Contexts:
    """The contexts that a model of this order, 2 or 3, has."""
    K = int(classes.max()) + 1
    if order == 2:
        last_words = np.arange(table.n_words)
        before, counts = np.full(table.n_words, -1), np.where(last_words == END, 0, table.counts[0])
    else:
        last_words = np.append(table.words[1], BEGIN).astype(np.int64)
        before = np.append(classes[table.histories(1)], -1)
        counts = np.append(np.where(table.words[1] == END, 0, table.counts[1]), table.counts[0][BEGIN])
    last = classes[last_words].astype(np.int64)
    chosen = np.lexsort((before, last_words, last))
    chosen = chosen[counts[chosen] > 0]
    places = np.full(len(counts), -1)
    places[chosen] = np.arange(len(chosen))
    groups, group_contexts = _runs(last_words[chosen] * (K + 1) + before[chosen] + 1)
    words, word_groups = _runs(groups // (K + 1))
    pairs, rows = np.unique((last * (K + 1) + before + 1)[chosen][group_contexts[:-1]], return_inverse=True)
    before_last = pairs % (K + 1) - 1
    of_rows = np.where(before_last < 0, -1, before_last * K + pairs // (K + 1))
    return Contexts(
        words, word_groups, group_contexts, rows.astype(np.int32), counts[chosen].astype(np.float64), of_rows,
        pairs // (K + 1), places,
    )  # fmt: skip


def _runs(values: Integers) -> tuple[Integers, Integers]:
    """The values of runs of equal ones, and where each begins, and the end."""
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.empty(0, np.int64)
    return values[first], np.append(first, len(values))


@dataclass(frozen=True)
class ClassEvents:
    """Contexts with a class that followed, and how often; what the features of both are, by kind."""

    contexts: Integers
    classes: Integers
    counts: Integers
    n_classes: int

    @classmethod
    def of(cls, table: NgramCounts, classes: NDArray[np.int32], contexts: Contexts, order: int) -> "ClassEvents":
        place = contexts.places[table.histories(order - 1)]
        following, counts = classes[table.words[order - 1]].astype(np.int64), table.counts[order - 1]
        if order == 3:  # what follows the mark that begins a sentence
            first = table.words[1][: int(table.starts[1][BEGIN + 1])]
            place = np.append(place, np.full(len(first), contexts.places[-1]))
            following = np.append(following, classes[first])
            counts = np.append(counts, table.counts[1][: len(first)])
        return cls(place, following, counts, int(classes.max()) + 1)

    def histories(self, contexts: Contexts, order: int) -> list[tuple[Integers, int]]:
        """Of every event no history, one class, two classes (−1: one), one word, two words (−1); how many there are."""
        groups = contexts.groups[self.contexts]
        rows = contexts.rows[groups].astype(np.int64)
        return [
            (np.zeros(len(rows), np.int64), 1),
            (contexts.last[rows], self.n_classes),
            (np.where(contexts.pairs[rows] >= 0, rows, -1), len(contexts.pairs)),
            (contexts.group_words[groups], len(contexts.words)),
            (self.contexts if order == 3 else np.full(len(rows), -1), len(contexts.counts)),
        ]

    def features(self, contexts: Contexts, order: int, cutoffs: Sequence[int]) -> list[ClassFeatures]:
        """The pairs that were seen as often as `cutoffs` say, of each kind of history."""
        found = []
        for (histories, n), least in zip(self.histories(contexts, order), cutoffs, strict=True):
            some = histories >= 0
            pairs = histories[some], self.classes[some], self.counts[some]
            found.append(ClassFeatures.of(*pairs, n, self.n_classes, least))
        return found


class ClassObjective(LogLinearObjective):
    """f of the class half: θ has weights of classes, of class bigrams and trigrams, of words, and of word bigrams.

    `possible` says of each class whether a word of it may follow.
    """

    def __init__(
        self,
        contexts: Contexts,
        events: ClassEvents,
        features: list[ClassFeatures],
        variances: Sequence[float],
        possible: NDArray[np.bool_],
        workers: WorkerPool,
    ) -> None:
        sizes = [len(part.classes) for part in features]
        super().__init__(sizes, WeightPrior(np.repeat(1 / np.asarray(variances), sizes), np.zeros(sum(sizes))), workers)
        self.contexts, self.events, self.features, self.n_classes = contexts, events, features, len(possible)
        self.observed = np.concatenate([part.observed for part in features])
        self.n_active, self.masses = len(features), contexts.counts
        self._width = -(-self.n_classes // WIDTH) * WIDTH
        self._never = np.flatnonzero(~possible)
        last = contexts.last[contexts.rows[contexts.word_groups[:-1]]]
        bounds = _runs(last)[1]  # words of one class share rows with no others
        self._jobs = list(pairwise(bounds.tolist()))
        self._expected = np.empty(self.size)
        self._factors = np.ones(self.size)  # e^θ

    def table(self, theta: Floats) -> Floats:
        """The scores of each history of classes by the weights of classes alone, [rows, K], padded."""
        table = np.full((len(self.contexts.pairs), self._width), IMPOSSIBLE)
        table[:, : self.n_classes] = self.last_rows(theta)[self.contexts.last]
        table[self.features[2].rows, self.features[2].classes] += self.split(theta)[2]
        return table

    def last_rows(self, theta: Floats) -> Floats:
        """The scores after each class, [K, K], where the two classes before were not seen."""
        unigrams, bigrams = self.split(theta)[:2]
        rows = self.features[1].dense(bigrams, self.n_classes) + self.features[0].dense(unigrams, self.n_classes)
        rows[:, self._never] = IMPOSSIBLE
        return rows

    def start(self) -> Floats:
        """Weights to begin with: the geometric mean of two back-off models, by the classes and by the words before.

        Either shortens its history, two words, to two classes or to one word, then to one class, then to nothing; both
        discount absolutely. A shorter history is found among the events of the longer.
        """
        theta = np.zeros(self.size)
        parts = self.split(theta)
        for chain in ((0, 1, 2, 4), (0, 1, 3, 4)):
            of_events = np.zeros(len(self.events.counts))  # ln p, given the longest history so far
            for kind in chain:
                features, found = self.features[kind], self._event_features[kind]
                lower, known = np.zeros(len(features.classes)), found >= 0
                lower[found[known]] = of_events[known]
                log_prob, weights = _discounted(features, lower)
                of_events[known] = log_prob[found[known]]
                parts[kind] += 0.5 * weights
        return theta

    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient; ∞ where an e^s would be no normal number."""
        self.passes += 1
        if not sum(vector_ops.max_abs(part) for part in self.split(theta)) <= LARGEST_SCORE:
            return np.inf
        loss = self._expect(theta, self.contexts.counts, self._expected)
        pull = theta * self.prior.precision
        np.subtract(self._expected, self.observed, out=gradient)
        gradient += pull
        self._value = loss - vector_ops.dot(theta, self.observed) + 0.5 * vector_ops.dot(theta, pull)
        return float(self._value)

    def _expect(self, theta: Floats, counts: Floats, expected: Floats) -> float:
        """Expected counts where contexts were seen so often; returns Σ n log Σ e^s."""
        self._table = self.table(theta)
        self._tops = self._table.max(axis=1)
        self._table -= self._tops[:, np.newaxis]
        flat = self._table.reshape(-1)
        exponentials(flat, flat, 0, len(flat))
        exponentials(theta, self._factors, 0, self.size)
        sums, parts, contexts = np.zeros(self._table.shape), self.split(expected), self._groups(counts)
        of_words, of_contexts = (self._class_factors(kind, NO_SLOPES) for kind in (3, 4))

        def work(first: int, last: int) -> float:
            return kernels.expect(
                contexts, self._table, self._tops, of_words, of_contexts, sums, parts[3], parts[4], first, last
            )

        loss = sum(self.workers.map(work, self._jobs))
        self._share_out(sums, parts)
        return float(loss)

    def _groups(self, counts: Floats) -> kernels.ContextGroups:
        """The contexts, seen so often."""
        return kernels.ContextGroups(
            self.contexts.word_groups, self.contexts.group_contexts, self.contexts.rows, counts
        )

    def _class_factors(self, kind: int, slopes: Floats) -> kernels.ClassFactors:
        features = self.features[kind]
        return kernels.ClassFactors(features.starts, features.classes, self.split(self._factors)[kind], slopes)

    def _share_out(self, sums: Floats, parts: list[Floats]) -> None:
        """What each weight of classes alone has of the sums over each history of classes."""
        known, first = _runs(self.contexts.last)
        by_last = np.zeros((self.n_classes, self._width))
        by_last[known] = np.add.reduceat(sums, first[:-1])
        parts[0][:] = by_last.sum(axis=0)[self.features[0].classes]
        parts[1][:] = by_last[self.features[1].rows, self.features[1].classes]
        parts[2][:] = sums[self.features[2].rows, self.features[2].classes]

    def diagonal(self) -> Floats:
        """The metric of L-BFGS, 1/σ² and the larger of observed and expected counts at the θ of the last value."""
        return self.prior.precision + np.maximum(self.observed, self._expected)

    def bend(self, direction: Floats, changed: Floats) -> None:
        """Add the derivative of the expected counts along a direction."""
        along, found, contexts = self.split(direction), np.empty(self.size), self._groups(self.contexts.counts)
        table, parts = self.table(direction), self.split(found)
        sums = np.zeros(table.shape)
        of_words, of_contexts = (self._class_factors(kind, along[kind]) for kind in (3, 4))

        def work(first: int, last: int) -> None:
            kernels.expect_along(
                contexts, self._table, table, of_words, of_contexts, sums, parts[3], parts[4], first, last
            )

        self.workers.map(work, self._jobs)
        self._share_out(sums, parts)
        changed += found

    # --- some of the events ------------------------------------------------------------------------------------------

    @made_once
    def _event_features(self) -> list[Integers]:
        """The feature of each kind that every event has; −1: none."""
        order = 3 if len(self.features[4].classes) else 2
        return [
            part.places(histories, self.events.classes, self.n_classes)
            for part, (histories, _) in zip(self.features, self.events.histories(self.contexts, order), strict=True)
        ]

    def sample(self, theta: Floats, units: Integers, shares: Floats, gradient: Floats) -> None:
        """The gradient of −Σ log p over shares of the events of some contexts, written over zeros."""
        of_contexts = np.zeros(len(self.contexts.counts))
        of_contexts[units] = shares
        self._expect(theta, of_contexts * self.contexts.counts, gradient)
        times = of_contexts[self.events.contexts] * self.events.counts
        some = np.flatnonzero(times)
        for part, features in zip(self.split(gradient), self._event_features, strict=True):
            of_some = features[some]
            known = of_some >= 0
            part -= np.bincount(of_some[known], times[some][known], minlength=len(part))

    def largest_counts(self, parts: Integers) -> Floats:
        """How often each feature is seen in one of the parts of a context's events, at most."""
        counts, found = self.events.counts / parts[self.events.contexts], np.zeros(self.size)
        for part, features in zip(self.split(found), self._event_features, strict=True):
            known = features >= 0
            np.maximum.at(part, features[known], counts[known])
        return found


def _discounted(features: ClassFeatures, lower: Floats) -> tuple[Floats, Floats]:
    """ln p of each pair by absolute discounting of ½, given that after the shorter history, and the weights of it."""
    rows, sizes = features.rows, np.diff(features.starts)
    totals = np.bincount(rows, features.observed, minlength=features.n_histories)
    left = DISCOUNT * sizes / np.maximum(totals, 1)
    log_prob = np.log((features.observed - DISCOUNT) / totals[rows] + left[rows] * np.exp(lower))
    return log_prob, log_prob - lower - np.log(left[rows])
