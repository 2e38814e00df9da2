"""The fit of Model M: the objectives of its halves side by side, and the model of their weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.lm.backoff import BackoffModel
from fastlin.lm.class_objective import ClassEvents, ClassFeatures, ClassObjective, contexts_of
from fastlin.lm.contexts import find
from fastlin.lm.counts import NgramCounts
from fastlin.lm.maxent_fit import LogLinearFit
from fastlin.lm.maxent_objective import Links, LogLinearObjective, NgramObjective, Order, orders_of, weights_of
from fastlin.lm.model_m import ModelM
from fastlin.lm.ngram import NgramState
from fastlin.lm.vocabulary import BEGIN
from fastlin.optim.log_linear_problem import WeightPrior
from fastlin.runtime.parallel import WorkerPool

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SHRUNK_CLASSES, SHRUNK_WORDS = 0.4, 0.6  # what a fit begins with of back-off models' weights, which know no prior
MOST_CLASSES = 2  # that the class half looks back


@dataclass(frozen=True)
class WordHalf:
    """The n-grams of a back-off model, those of a history by the class of their words: each class is a history.

    Lists by order. `places` are the n-grams of the model in this order, `keys` history · K + class of each group,
    sorted.
    """

    orders: list[Order]
    places: list[Integers]
    keys: list[Integers]


def by_class(
    model: BackoffModel,
    raw: Sequence[Integers],
    table: NgramCounts,
    kept: Sequence[Integers],
    classes: NDArray[np.int32],
) -> WordHalf:
    """The layout of the word half; `kept` are the numbers in the model of all n-grams that were counted."""
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
        starts.append(np.append(first, len(place)).astype(np.int32))
        observed.append(raw[n][place])
        followed.append(_followed(table, n, kept, classes, known, K))
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
    return WordHalf(orders_of(starts, suffixes, history_suffixes, observed, followed), places, keys)


def _followed(
    table: NgramCounts, n: int, kept: Sequence[Integers], classes: NDArray[np.int32], known: Integers, K: int
) -> Integers:
    """How often a word of each group's class came after its history, with n-grams that have no weight."""
    if n == 0:
        keys, counts = classes[BEGIN + 1 :].astype(np.int64), table.counts[0][BEGIN + 1 :]
    else:
        histories = kept[n - 1][table.histories(n)]
        keys = np.where(histories >= 0, histories * K + classes[table.words[n]], -1)
        counts = table.counts[n]
    place = find(known, keys)
    found: Integers = np.bincount(place[place >= 0], counts[place >= 0], minlength=len(known)).astype(np.int64)
    return found


class JointObjective(LogLinearObjective):
    """f of both halves: a sum, each with weights of its own."""

    def __init__(self, halves: Sequence[ClassObjective | NgramObjective], workers: WorkerPool) -> None:
        priors = [half.prior for half in halves]
        precision, mean = (np.concatenate([getattr(each, name) for each in priors]) for name in ("precision", "mean"))
        super().__init__([half.size for half in halves], WeightPrior(precision, mean), workers)
        self.halves = halves
        self.n_active = max(half.n_active for half in halves)
        self.cuts = np.cumsum([len(half.masses) for half in halves])[:-1]
        self.masses = np.concatenate([half.masses for half in halves])

    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient."""
        self.passes += 1
        parts = zip(self.halves, self.split(theta), self.split(gradient), strict=True)
        self._value = sum(half.value(own, slopes) for half, own, slopes in parts)
        return self._value

    def diagonal(self) -> Floats:
        """The metric of L-BFGS."""
        return np.concatenate([half.diagonal() for half in self.halves])

    def bend(self, direction: Floats, changed: Floats) -> None:
        """Add the derivative of the expected counts along a direction."""
        for half, along, own in zip(self.halves, self.split(direction), self.split(changed), strict=True):
            half.bend(along, own)

    def sample(self, theta: Floats, units: Integers, shares: Floats, gradient: Floats) -> None:
        """The gradient of −Σ log p over shares of the events of some units of both halves, written over zeros."""
        at = np.searchsorted(units, self.cuts)
        first = [0, *self.cuts]
        parts = zip(self.halves, first, np.split(units, at), np.split(shares, at), strict=True)
        for (half, start, own, times), weights, slopes in zip(
            parts, self.split(theta), self.split(gradient), strict=True
        ):
            half.sample(weights, own - start, times, slopes)

    def largest_counts(self, parts: Integers) -> Floats:
        """How often each feature is seen in one of the parts of a unit, at most."""
        halves = zip(self.halves, np.split(parts, self.cuts), strict=True)
        return np.concatenate([half.largest_counts(own) for half, own in halves])


class ModelMFit(LogLinearFit):
    """The fit of Model M: the words from Kneser and Ney's weights, the classes from those of class bigrams."""

    def __init__(self, counts: NgramState, classes: NDArray[np.int32], variances: Floats, workers: WorkerPool) -> None:
        super().__init__(counts, workers)
        self._classes, self._K = classes, int(classes.max()) + 1
        possible = np.isfinite(
            self.start.log_prob[0]
        )  # the mark that begins a sentence is not, nor a closed model's <unk>
        self._possible = np.bincount(classes[possible], minlength=self._K) > 0
        table, order = counts.known[1], min(self.start.order, MOST_CLASSES + 1)
        self._numbers = [np.where(some, np.cumsum(some) - 1, -1) for some in self.kept]
        self._words = by_class(self.start, self.raw, table, self._numbers, classes)
        self._contexts = contexts_of(table, classes, order)
        self._events = ClassEvents.of(table, classes, self._contexts, order)
        least = counts.smoothing.cutoff
        self._features = self._events.features(self._contexts, order, [1, least(1), least(2), least(1), least(2)])
        weights = [theta[place] for theta, place in zip(weights_of(self.start), self._words.places, strict=True)]
        of_words = np.concatenate([weights[0][BEGIN + 1 :], *weights[1:]])
        never = np.flatnonzero(~possible[self._words.places[0]][BEGIN + 1 :])
        self._mean_of_words = np.zeros(len(of_words))
        self._mean_of_words[never] = of_words[never]
        self.set_variances(variances)
        of_classes = self.objective.halves[0].start()
        self.theta = np.concatenate([SHRUNK_CLASSES * of_classes, SHRUNK_WORDS * of_words])
        self.theta[len(of_classes) + never] = of_words[never]
        self.mean = self.objective.prior.mean

    def set_variances(self, variances: Floats) -> None:
        """Go on with other σ²."""
        self._variances = variances
        longest = variances[: MOST_CLASSES + 1][-1]
        of_classes = [variances[0], variances[1], 0.5 * longest, 0.5 * variances[1], longest]
        classes = ClassObjective(self._contexts, self._events, self._features, of_classes, self._possible, self.workers)
        words = NgramObjective(self._words.orders, variances, self._mean_of_words, self.workers)
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
        scores[0][~np.isfinite(start.log_prob[0])] = -np.inf
        parts = of_classes.split(theta_of_classes)
        gram_keys = [np.empty(0, np.int64)]
        gram_keys += [
            start.histories(n).astype(np.int64) * start.n_words + start.words[n] for n in range(1, start.order)
        ]
        contexts = self._contexts
        row_keys = contexts.last * (K + 1) + np.where(contexts.pairs >= 0, contexts.pairs // K, -1) + 1
        return ModelM(
            start.vocabulary, start.order, self._classes, gram_keys, scores, self._words.keys, log_z, row_keys,
            of_classes.table(theta_of_classes)[:, :K], of_classes.last_rows(theta_of_classes),
            _spread(contexts.words, start.n_words, self._features[3], parts[3]),
            self._pair_weights(parts[4]),
        )  # fmt: skip

    def _pair_weights(self, theta: Floats) -> tuple[Integers, NDArray[np.int32], Floats]:
        """The weights of bigrams of the model, and of the mark that begins a sentence; of words in order 2."""
        places = self._contexts.places
        bigrams = np.flatnonzero(places >= 0)
        numbers, size = np.arange(len(places)), len(places)
        if self.start.order > 2:
            size = len(self.raw[1]) + 1
            numbers = np.append(self._numbers[1], size - 1)
        of = np.empty(len(bigrams), np.int64)
        of[places[bigrams]] = numbers[bigrams]  # −1: it has no weights
        return _spread(of, size, self._features[4], theta)


def _spread(
    of: Integers, size: int, features: ClassFeatures, theta: Floats
) -> tuple[Integers, NDArray[np.int32], Floats]:
    """The weights of histories, which are `of` (−1: without any), as a CSR over so many."""
    sizes = np.zeros(size, np.int64)
    sizes[of[of >= 0]] = np.diff(features.starts)[of >= 0]
    order = np.argsort(of[features.rows], kind="stable")
    return np.concatenate([[0], np.cumsum(sizes)]), features.classes[order], theta[order]
