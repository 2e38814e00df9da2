"""The fit of Model M: the objectives of its halves side by side, and the model of their weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.lm.backoff import BackoffModel
from fastlin.lm.class_objective import (
    BEGIN_CLASS,
    IMPOSSIBLE,
    ClassFeatures,
    ClassObjective,
    class_features,
    contexts_of,
)
from fastlin.lm.maxent_fit import LogLinearFit
from fastlin.lm.maxent_objective import Links, NgramObjective, Order, PenalisedObjective, orders_of, weights_of
from fastlin.lm.model_m import ModelM
from fastlin.lm.ngram import NgramState
from fastlin.lm.vocabulary import BEGIN
from fastlin.optim.problem import Prior
from fastlin.runtime.parallel import WorkerPool

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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


class JointObjective(PenalisedObjective):
    """f of both halves: a sum, each with weights of its own."""

    has_curvature = False  # of two halves that are not alike

    def __init__(self, halves: Sequence[ClassObjective | NgramObjective], workers: WorkerPool) -> None:
        priors = [half.prior for half in halves]
        precision, mean = (np.concatenate([getattr(each, name) for each in priors]) for name in ("precision", "mean"))
        super().__init__([half.size for half in halves], Prior(precision, mean), workers)
        self.halves = halves

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

    def __init__(self, counts: NgramState, classes: NDArray[np.int32], variances: Floats, workers: WorkerPool) -> None:
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
    """Invert places, of which −1 is none."""
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
