"""The fit of a maximum-entropy model with skip-grams: its objective, and the model of its weights."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.engine.lm.maxent_hierarchy import exponentials
from fastlin.engine.lm.skip_grams import HistoryScores
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.maxent_fit import MaxentFit
from fastlin.lm.maxent_objective import LARGEST_SCORE, NgramObjective, Order, PenalisedObjective
from fastlin.lm.ngram import NgramState
from fastlin.lm.skip_grams import BLOCK, MOST_ROWS, CountedContexts, OrderedContexts, Pairs, SkipGramModel, truncated
from fastlin.optim.log_linear_problem import WeightPrior
from fastlin.runtime.parallel import WorkerPool

Floats = NDArray[np.float64]
OF_BIGRAMS = 0.25  # skip-grams' share of their σ²


class NgramsBesidePairs(NgramObjective):
    """The n-grams of a model with skip-grams: contexts with normalisers of their own add to its sums.

    Only events without a history, which unseen words have, are its own.
    """

    def __init__(self, orders: list[Order], variances: Floats, mean: Floats, workers: WorkerPool) -> None:
        own = [orders[0], *(replace(order, seen=np.zeros(order.n_histories)) for order in orders[1:])]
        super().__init__(own, variances, mean, workers)
        self.extra = [np.zeros(len(order.observed)) for order in orders]

    def _more_expected(self, n: int) -> Floats:
        """What skip-grams make of the expected counts of an order's n-grams."""
        return self.extra[n]

    def begin(self, theta: Floats) -> float:
        """Have e^s and Z of the n-grams alone; returns what unseen words add to f."""
        for extra in self.extra:
            extra[:] = 0
        return self._normalise(self.split(theta))

    def scores(self, model: BackoffModel, n_rows: int) -> HistoryScores:
        """Scores after each history of a model of the same n-grams."""
        sums = [np.ascontiguousarray(each[:, 0]) for each in self._sums]
        return HistoryScores(model.starts, model.words, model.suffix, self._scores, sums, n_rows)

    @property
    def masses_of_histories(self) -> list[Floats]:
        """n/Z of each history, to which contexts add."""
        return self._a


class SkipGramObjective(PenalisedObjective):
    """f of a maximum-entropy model of n-grams and skip-grams: θ has those of each order, then the latter's."""

    def __init__(
        self,
        ngrams: NgramsBesidePairs,
        layout: BackoffModel,
        contexts: OrderedContexts,
        counts: Floats,
        pairs: Pairs,
        observed: Floats,
        variance: float,
    ) -> None:
        precision = np.append(ngrams.prior.precision, np.full(len(observed), 1 / variance))
        mean = np.append(ngrams.mean, np.zeros(len(observed)))
        sizes = [stop - start for start, stop in zip(ngrams.bounds, ngrams.bounds[1:], strict=False)]
        super().__init__([*sizes, len(observed)], WeightPrior(precision, mean), ngrams.workers)
        self.ngrams, self._layout, self._contexts, self._counts = ngrams, layout, contexts, counts
        self._pairs, self._observed = pairs, observed
        self._expected, self._factors = np.zeros(len(observed)), np.ones(len(observed))

    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient; ∞ where an e^s would be no normal number."""
        self.passes += 1
        *_, weights = self.split(theta)
        of_ngrams = theta[: self.ngrams.size]
        largest = [vector_ops.max_abs(part) for part in self.split(theta)]
        if not sum(largest) + (self._pairs.n_distances - 1) * largest[-1] <= LARGEST_SCORE:
            return np.inf
        loss = self.ngrams.begin(of_ngrams) + self._visit_contexts(weights)
        loss += self.ngrams.complete(of_ngrams, gradient[: self.ngrams.size])
        pull = self.prior.precision[-1:] * weights
        gradient[self.ngrams.size :] = self._expected - self._observed + pull
        loss += 0.5 * vector_ops.dot(pull, weights) - vector_ops.dot(weights, self._observed)
        self._value = loss if np.isfinite(loss) else np.inf
        return float(self._value)

    def _visit_contexts(self, weights: Floats) -> float:
        """Add the expected counts of all contexts; returns Σ n log Z."""
        self._expected[:] = 0
        exponentials(weights, self._factors, 0, len(weights))
        contexts, pairs = self._contexts, self._pairs
        scores = self.ngrams.scores(self._layout, len(pairs.starts) - 1)
        z, loss = np.empty(len(contexts.lengths)), 0.0
        for first in range(0, len(z), BLOCK):
            loss += scores.normalise(
                contexts.lengths, contexts.histories, contexts.rows, pairs.starts, pairs.words, self._factors,
                self._counts, z, self.ngrams.masses_of_histories, self.ngrams.extra, self._expected, first,
                min(first + BLOCK, len(z)),
            )  # fmt: skip
        scores.finish(pairs.starts, pairs.words, self._factors, self.ngrams.extra[0], self._expected)
        return loss

    def diagonal(self) -> Floats:
        """The metric of L-BFGS, 1/σ² and the larger of observed and expected counts at the θ of the last value."""
        of_pairs = self.prior.precision[self.ngrams.size :] + np.maximum(self._observed, self._expected)
        return np.append(self.ngrams.diagonal(), of_pairs)

    def model(self, theta: Floats, like: BackoffModel) -> SkipGramModel:
        """The model of the same n-grams and skip-grams with these weights."""
        ngrams = self.ngrams.model(theta[: self.ngrams.size], like)
        return SkipGramModel(ngrams, self._pairs, theta[self.ngrams.size :].copy())


class SkipGramFit(MaxentFit):
    """The fit of n-grams and skip-grams, from Kneser and Ney's weights, and none for the latter."""

    def __init__(self, counts: NgramState, order: int, n_skips: int, variances: Floats, workers: WorkerPool) -> None:
        shorter = replace(counts, counts=truncated(counts.counts, order))
        super().__init__(shorter, variances, workers)
        if self.start.n_words * n_skips > MOST_ROWS:
            raise ValueError(f"skip_grams times words must be at most {MOST_ROWS}: give fewer, or raise min_count")
        found = CountedContexts.of(counts.known[1])
        least = counts.smoothing.cutoff(1)
        self._pairs, self._observed = found.pairs(self.start.n_words, n_skips, least)
        self._contexts = OrderedContexts.of(found.words, self._pairs, self.start)
        self._seen = found.counts[self._contexts.places].astype(np.float64)
        self.theta = np.append(self.theta, np.zeros(len(self._observed)))
        self.set_variances(variances)
        self.mean = self.objective.prior.mean

    def set_variances(self, variances: Floats) -> None:
        """Go on with other σ²."""
        self._variances = variances
        n_weights = len(self.theta) - len(self._observed)
        ngrams = NgramsBesidePairs(self.orders, variances, self.mean[:n_weights], self.workers)
        variance = OF_BIGRAMS * float(variances[1])
        self.objective = SkipGramObjective(
            ngrams, self.start, self._contexts, self._seen, self._pairs, self._observed, variance
        )
