"""Model M (Chen 2009): a maximum-entropy model of the next word's class, and one of the word within its class.

    p(w | h) = p(c(w) | h, classes of h) · p(w | h, c(w))

Both are log-linear with Gaussian priors. The word half is the hierarchy of `MaxentLM` with a normaliser for each
history and class; the class half has weights for class n-grams and for n-grams of words with a class at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine import class_softmax as kernels
from fastlin.engine import vectors
from fastlin.lm.backoff import BackoffModel, StateNodes
from fastlin.lm.maxent_fit import LogLinearFit
from fastlin.lm.maxent_objective import Links, NgramObjective, Order, orders_of, weights_of
from fastlin.lm.ngram import NgramState
from fastlin.lm.vocabulary import BEGIN, END, UNKNOWN, Vocabulary
from fastlin.optim.pieces import Pieces
from fastlin.optim.problem import Prior
from fastlin.run import Workers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
WIDTH = 8  # classes are padded to multiples of it, with scores of −∞
IMPOSSIBLE = -1e300
BEGIN_CLASS = 0  # that of the mark that begins a sentence, which never follows


# --- the word half ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WordHalf:
    """The n-grams of a back-off model, those of a history by the class of their words: each class is a history.

    Lists by order. `places` are the n-grams of the model in this order, `keys` history · K + class of each group,
    sorted.
    """

    orders: list[Order]
    places: list[Integers]
    keys: list[Integers]


def by_class(model: BackoffModel, raw: Sequence[Integers], classes: NDArray[np.int32]) -> WordHalf:
    """The layout of the word half."""
    K = int(classes.max()) + 1
    starts: list[Links] = []
    suffixes: list[Links] = []
    history_suffixes: list[Links] = []
    observed: list[Integers] = []
    followed: list[Integers] = []
    places: list[Integers] = []
    keys: list[Integers] = []
    position: list[Links] = []
    for n in range(model.order):
        words = model.words[n] if n else np.arange(model.n_words)
        histories = model.histories(n).astype(np.int64) if n else np.zeros(model.n_words, np.int64)
        group = histories * K + classes[words]
        place = np.argsort(group, kind="stable")
        known, first, sizes = np.unique(group[place], return_index=True, return_counts=True)
        if n == 0:  # classes without a word, too, so that the number of a group is that of its class
            sizes = np.bincount(classes, minlength=K)
            known, first = np.arange(K), np.cumsum(sizes) - sizes
        counts = raw[n][place]
        sums = np.add.reduceat(np.append(counts, 0), np.minimum(first, len(counts)))
        sums[sizes == 0] = 0
        starts.append(np.append(first, len(counts)).astype(np.int32))
        observed.append(counts)
        followed.append(sums)
        inverse = np.empty(len(place), np.int32)
        inverse[place] = np.arange(len(place), dtype=np.int32)
        if n:
            suffixes.append(position[-1][model.suffix[n][place]])
            shorter = model.suffix[n - 1][known // K].astype(np.int64) if n > 1 else np.zeros(len(known), np.int64)
            history_suffixes.append(np.searchsorted(keys[-1], shorter * K + known % K).astype(np.int32))
        else:
            suffixes.append(np.zeros(len(place), np.int32))
            history_suffixes.append(np.empty(0, np.int32))
        position.append(inverse)
        places.append(place)
        keys.append(known)
    followed[0][classes[BEGIN]] = 0
    return WordHalf(orders_of(starts, suffixes, history_suffixes, observed, followed), places, keys)


# --- the class half --------------------------------------------------------------------------------------------------


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


class ClassObjective:
    """f of the class half: θ has weights of classes, of class bigrams and trigrams, of words, and of word bigrams."""

    pairs = 8
    has_curvature = True

    def __init__(
        self, contexts: Contexts, features: list[ClassFeatures], variances: Sequence[float], K: int, workers: Workers
    ) -> None:
        self.contexts, self.features, self.workers, self.n_classes = contexts, features, workers, K
        sizes = [len(part.classes) for part in features]
        self.bounds = np.cumsum([0, *sizes]).tolist()
        self.size = self.n_weights = self.bounds[-1]
        self.prior = Prior(np.repeat(1 / np.asarray(variances), sizes), np.zeros(self.size))
        self.observed = np.concatenate([part.observed for part in features])
        self.pieces = Pieces(self.size, workers)
        self.passes, self._value = 0, np.inf
        self._width = -(-K // WIDTH) * WIDTH
        last = contexts.last[contexts.rows[contexts.word_starts[:-1]]]
        bounds = _runs(last)[1]  # words of one class share rows with no others
        self._jobs = list(pairwise(bounds.tolist()))
        self._expected = np.empty(self.size)

    @property
    def inner_type(self) -> Any:
        """The type of the vectors that only shape a step."""
        return np.float32

    def split(self, vector: Floats) -> list[Floats]:
        """The part of each kind of weight."""
        return [vector[start:stop] for start, stop in pairwise(self.bounds)]

    def distance(self, theta: Floats, steepest: Floats) -> float:  # noqa: ARG002 - other objectives scale by it
        """½ Σ σ² g², which bounds f(θ) − min f, in parts of f(θ)."""
        return float(0.5 * (steepest / self.prior.precision) @ steepest / self._value)

    def table(self, theta: Floats) -> Floats:
        """What the weights of classes alone give each history of classes, [rows, K], padded."""
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
        self._value = loss - vectors.dot(theta, self.observed) + 0.5 * vectors.dot(theta, pull)
        return float(self._value)

    def diagonal(self) -> Floats:
        """The metric of L-BFGS, 1/σ² and the larger of observed and expected counts at the θ of the last value."""
        return self.prior.precision + np.maximum(self.observed, self._expected)


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


# --- both halves -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelM:
    """What was learnt, to be asked for probabilities.

    By n-grams of a back-off model's layout: their scores s, and the groups of `WordHalf` with their log Z; by the rows
    of `Contexts` the scores of classes, and weights of words and of contexts as CSRs. A state is the last words.
    """

    vocabulary: Vocabulary
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
        state = (BEGIN, *words) if begin else tuple(words)
        return state[-(self.order - 1) :] or (UNKNOWN,)

    def advance(self, state: StateNodes, word: int) -> tuple[float, StateNodes]:
        """(ln p of a word after a state, the state after it)."""
        previous = np.array([state[-2] if len(state) > 1 else -1])
        found = self._log_proba(previous, np.array([state[-1]]), np.array([word]))
        return float(found[0]), (*state, word)[-(self.order - 1) :]

    def score(self, tokens: NDArray[np.int32]) -> tuple[Floats, NDArray[np.int32]]:
        """ln p of every token, 0 where a sentence begins; lengths of n-grams are not known of it: 0."""
        log_prob = np.zeros(len(tokens))
        place = np.flatnonzero(tokens != BEGIN)
        last, words = tokens[place - 1].astype(np.int64), tokens[place].astype(np.int64)
        before = np.where(last == BEGIN, -1, tokens[np.maximum(place - 2, 0)])
        for start in range(0, len(place), BLOCK):
            some = slice(start, start + BLOCK)
            log_prob[place[some]] = self._log_proba(before[some], last[some], words[some])
        return log_prob, np.zeros(len(tokens), np.int32)

    def next_word(self, state: StateNodes) -> NDArray[np.float32]:
        """ln p of every word but begin, in the order of their numbers."""
        n = len(self.classes)
        before = np.array([state[-2] if len(state) > 1 else -1])
        every = np.arange(BEGIN + 1, n)
        within = self._word_log_proba(np.repeat(before, n - 1), np.full(n - 1, state[-1]), every)
        return (within + self._class_log_proba(before, np.array([state[-1]]))[0, self.classes[1:]]).astype(np.float32)

    def _log_proba(self, before: Integers, last: Integers, words: Integers) -> Floats:
        """ln p of words after the last, and the one before it (−1: none)."""
        pairs, context = np.unique(np.stack([before, last], axis=1), axis=0, return_inverse=True)
        of_classes = self._class_log_proba(pairs[:, 0], pairs[:, 1])
        found = of_classes[context.reshape(-1), self.classes[words]]
        return found + self._word_log_proba(before, last, words)

    def _bigram(self, before: Integers, last: Integers) -> Integers:
        """The number of a bigram; −1: it was not seen."""
        return _find(self.gram_keys[1], np.where(before >= 0, before * len(self.classes) + last, -1))

    def _word_log_proba(self, before: Integers, last: Integers, words: Integers) -> Floats:
        """ln p(w | h, c(w))."""
        V, K, classes = len(self.classes), self.n_classes, self.classes[words].astype(np.int64)
        score, log_z = self.scores[0][words], self.log_z[0][classes]
        history = last
        for n in range(1, self.order):
            if n == 2:
                history = self._bigram(before, last)
            group = _find(self.group_keys[n], np.where(history >= 0, history * K + classes, -1))
            gram = _find(self.gram_keys[n], np.where(history >= 0, history * V + words, -1))
            _replace(log_z, self.log_z[n], group)
            _replace(score, self.scores[n], gram)
        return score - log_z

    def _class_log_proba(self, before: Integers, last: Integers) -> Floats:
        """ln p(c | h) of every class, [contexts, K]."""
        K = self.n_classes
        of_last = self.classes[last].astype(np.int64)
        of_before = np.where((before >= 0) & (self.order > 2), self.classes[before], -1)
        row = _find(self.row_keys, of_last * (K + 1) + of_before + 1)
        scores = self.last_rows[of_last]
        _replace(scores, self.rows, row)
        _add(scores, last, self.word_weights)
        if self.order > 2:
            begins = len(self.gram_keys[1])
            _add(scores, np.where(last == BEGIN, begins, self._bigram(before, last)), self.pair_weights)
        scores -= scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


BLOCK = 1 << 14  # tokens: the scores of their classes are held at once


def _find(keys: Integers, wanted: Integers) -> Integers:
    """Where each is among sorted keys; −1: nowhere."""
    if not len(keys):
        return np.full(len(wanted), -1)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)


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


class JointObjective:
    """f of both halves: a sum, each with weights of its own."""

    pairs = 8
    has_curvature = False  # of two halves that are not alike

    def __init__(self, halves: Sequence[ClassObjective | NgramObjective], workers: Workers) -> None:
        self.halves = halves
        self.bounds = np.cumsum([0, *(half.size for half in halves)]).tolist()
        self.size = self.n_weights = self.bounds[-1]
        precisions, means = ([getattr(half.prior, name) for half in halves] for name in ("precision", "mean"))
        self.prior = Prior(np.concatenate(precisions), np.concatenate(means))
        self.pieces = Pieces(self.size, workers)
        self.passes, self._value = 0, np.inf

    @property
    def inner_type(self) -> Any:
        """The type of the vectors that only shape a step."""
        return np.float32

    def split(self, vector: Floats) -> list[Floats]:
        """The part of each half."""
        return [vector[start:stop] for start, stop in pairwise(self.bounds)]

    def distance(self, theta: Floats, steepest: Floats) -> float:  # noqa: ARG002 - other objectives scale by it
        """½ Σ σ² g², which bounds f(θ) − min f, in parts of f(θ)."""
        return float(0.5 * (steepest / self.prior.precision) @ steepest / self._value)

    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient."""
        self.passes += 1
        parts = zip(self.halves, self.split(theta), self.split(gradient), strict=True)
        self._value = sum(half.value(own, slopes) for half, own, slopes in parts)
        return self._value

    def diagonal(self) -> Floats:
        """The metric of L-BFGS."""
        return np.concatenate([half.diagonal() for half in self.halves])


class ModelMFit(LogLinearFit):
    """The fit of Model M: the words from Kneser and Ney's weights, the classes from those of class bigrams."""

    def __init__(self, counts: NgramState, classes: NDArray[np.int32], variances: Floats, workers: Workers) -> None:
        super().__init__(counts, workers)
        self._classes, self._K = classes, int(classes.max()) + 1
        self._words = by_class(self.start, self.raw, classes)
        self._contexts = contexts_of(self.start, self.raw, classes, self.start.order)
        self._features = class_features(self.start, self.raw, classes, self._contexts, self.start.order)
        weights = [theta[place] for theta, place in zip(weights_of(self.start), self._words.places, strict=True)]
        of_words = np.concatenate([weights[0][BEGIN + 1 :], *weights[1:]])
        self._no_mean = np.zeros(len(of_words))
        self.set_variances(variances)
        self.theta = np.concatenate([self.objective.halves[0].start(), of_words])
        self.mean = np.zeros(len(self.theta))

    def set_variances(self, variances: Floats) -> None:
        """Go on with other σ²."""
        self._variances = variances
        of_classes = [variances[0], variances[1], variances[-1], variances[1], variances[-1]]
        classes = ClassObjective(self._contexts, self._features, of_classes, self._K, self.workers)
        words = NgramObjective(self._words.orders, variances, self._no_mean, self.workers)
        self.objective = JointObjective([classes, words], self.workers)

    def model(self) -> ModelM:
        """The model of the present weights."""
        start, K, (of_classes, of_words) = self.start, self._K, self.objective.halves
        theta_of_classes, theta_of_words = self.objective.split(self.theta)
        scores, log_z = [], []
        for n, (grouped, sums) in enumerate(zip(*of_words.normalised(theta_of_words), strict=True)):
            own = np.empty(len(grouped))
            with np.errstate(divide="ignore"):
                own[self._words.places[n]] = np.log(grouped)
                log_z.append(np.log(sums))
            scores.append(own)
        parts = of_classes.split(theta_of_classes)
        gram_keys = [np.empty(0, np.int64)]
        gram_keys += [
            start.histories(n).astype(np.int64) * start.n_words + start.words[n] for n in range(1, start.order)
        ]
        last_rows = self._features[1].dense(parts[1], K) + self._features[0].dense(parts[0], K)
        last_rows[:, BEGIN_CLASS] = IMPOSSIBLE
        contexts = self._contexts
        row_keys = contexts.last * (K + 1) + np.where(contexts.pairs >= 0, contexts.pairs // K, -1) + 1
        return ModelM(
            start.vocabulary, start.order, self._classes, gram_keys, scores, self._words.keys, log_z, row_keys,
            of_classes.table(theta_of_classes)[:, :K], last_rows,
            _spread(contexts.words, start.n_words, self._features[3], parts[3]),
            _spread(_inverse(contexts.places), len(contexts.places), self._features[4], parts[4]),
        )  # fmt: skip


def _inverse(places: Integers) -> Integers:
    """What is at each place."""
    inverse = np.empty(int(places.max()) + 1, np.int64)
    inverse[places[places >= 0]] = np.flatnonzero(places >= 0)
    return inverse


def _spread(
    of: Integers, size: int, features: ClassFeatures, theta: Floats
) -> tuple[Integers, NDArray[np.int32], Floats]:
    """The weights of histories, which are `of`, as a CSR over so many."""
    sizes = np.zeros(size, np.int64)
    sizes[of] = np.diff(features.starts)
    order = np.argsort(of[features.rows], kind="stable")
    return np.concatenate([[0], np.cumsum(sizes)]), features.classes[order], theta[order]
