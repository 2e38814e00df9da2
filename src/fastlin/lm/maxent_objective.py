"""The objective of a maximum-entropy n-gram model, and the work of its evaluations.

    f(θ) = Σ_events −log p(w | h) + Σ (θ − μ)²/2σ²,     ∂f = expected − observed counts + (θ − μ)/σ²

Weights lie an order at a time, without that of the mark that begins a sentence, which is never predicted. The sums over
events are sums over histories and n-grams, Σ_h C(h) log Z(h) − Σ θ · observed: `engine/lm/maxent_hierarchy.pyx`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import vector_ops
from fastlin.engine.lm import maxent_hierarchy as kernels
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.vocabulary import BEGIN, END
from fastlin.optim.chunked_vectors import ChunkedVectors
from fastlin.optim.log_linear_problem import WeightPrior
from fastlin.runtime import parallel
from fastlin.runtime.made_once import made_once

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Links = NDArray[np.int32]
NO_LINKS = np.empty(0, np.int32)
NO_MEAN = np.empty(0)
WEIGHTS_OF_A_JOB = 1 << 15
LARGEST_SCORE = 700.0  # e^s is a normal number up to here


@dataclass(frozen=True)
class Inverse:
    """The inverse of links: what leads to i are members[starts[i]] … members[starts[i + 1] − 1], in order."""

    starts: Links
    members: Links

    @classmethod
    def of(cls, links: Links, size: int) -> "Inverse":
        members = np.argsort(links, kind="stable").astype(np.int32)
        return cls(np.searchsorted(links[members], np.arange(size + 1)).astype(np.int32), members)


NONE_LONGER = Inverse(NO_LINKS, NO_LINKS)


@dataclass(frozen=True)
class Order:
    """The n-grams of one order: the children of histories, side by side.

    Among unigrams, whose `suffix` and `history_suffix` nobody reads, the mark that begins a sentence is the first. The
    inverse links are those of one order up; there are none for the longest n-grams.
    """

    starts: Links
    suffix: Links
    history_suffix: Links
    longer: Inverse  # n-grams whose suffix each is
    longer_histories: Inverse  # histories whose suffix each history is
    observed: Floats
    seen: Floats  # how often each history was the longest known one
    jobs: list[tuple[int, int]]  # histories, cut where their children are many

    @property
    def n_histories(self) -> int:
        return len(self.starts) - 1


def lay_out(model: BackoffModel, raw: list[NDArray[np.int64]]) -> list[Order]:
    """The orders of a model's n-grams, which were seen so often in all."""
    last_words = [np.arange(model.n_words, dtype=np.int32), *model.words[1:]]
    starts = [np.array([0, model.n_words], np.int32), *model.starts[1:]]
    suffixes = [np.zeros(model.n_words, np.int32), *model.suffix[1:]]
    followed = [np.where(words == END, 0, counts) for words, counts in zip(last_words, raw, strict=True)][:-1]
    n_events = np.array([raw[0][BEGIN + 1 :].sum()])
    return orders_of(starts, suffixes, [NO_LINKS, *suffixes[:-1]], raw, [n_events, *followed])


def orders_of(
    starts: list[Links],
    suffixes: list[Links],
    history_suffixes: list[Links],
    observed: list[NDArray[np.int64]],
    followed: list[NDArray[np.int64]],
) -> list[Order]:
    """Orders from links, from how often each n-gram was seen, and how often each history had a word after it."""
    orders: list[Order] = []
    for n, counts in enumerate(observed):
        n_histories = len(starts[n]) - 1
        longer = longer_histories = NONE_LONGER
        seen = followed[n].astype(np.float64)
        if n + 1 < len(observed):
            longer = Inverse.of(suffixes[n + 1], len(counts))
            same = n > 0 and history_suffixes[n + 1] is suffixes[n]
            longer_histories = orders[-1].longer if same else Inverse.of(history_suffixes[n + 1], n_histories)
            seen -= np.bincount(history_suffixes[n + 1], followed[n + 1], minlength=n_histories)
        wanted = counts.astype(np.float64)
        wanted[: n == 0] = 0  # of the mark that begins a sentence
        jobs = list(parallel.split_by_length(starts[n].astype(np.int64), WEIGHTS_OF_A_JOB))
        orders.append(Order(starts[n], suffixes[n], history_suffixes[n], longer, longer_histories, wanted, seen, jobs))
    return orders


def weights_of(model: BackoffModel) -> list[Floats]:
    """θ of each order at which the log-linear model is a given back-off model: log Z(h) = log Z(h′) − log backoff(h).

    Those of unigrams are of mean 0; what has no probability, begin among it, has a weight whose e^θ is next to nothing.
    """
    scores = model.log_prob[0].astype(np.float64)
    possible = np.isfinite(scores)
    scores -= scores[possible].mean()
    scores[~possible] = -LARGEST_SCORE / 2
    log_z = np.zeros(1)
    theta = [scores]
    for n in range(1, model.order):
        suffix = model.suffix[n - 1] if n > 1 else np.zeros(model.n_words, np.int32)
        log_z = (log_z if n > 1 else _log_sum(scores[possible]))[suffix] - model.backoff[n - 1]
        longer = model.log_prob[n] + log_z[model.histories(n)]
        theta.append(longer - scores[model.suffix[n]])
        scores = longer
    return theta


def _log_sum(scores: Floats) -> Floats:
    """log Σ e^s, as the only one of an array."""
    top = scores.max()
    return np.array([top + np.log(np.exp(scores - top).sum())])


class PenalisedObjective(ABC):
    """f of a log-linear model with a Gaussian prior, for the solvers of `optim`; θ is one vector of several parts."""

    pairs = 8
    has_curvature = True

    def __init__(self, sizes: Sequence[int], prior: WeightPrior, workers: parallel.WorkerPool) -> None:
        self.bounds: list[int] = np.cumsum([0, *sizes]).tolist()
        self.size = self.n_weights = self.bounds[-1]
        self.prior, self.workers = prior, workers
        self.pieces = ChunkedVectors(self.size, workers)
        self.passes, self._value = 0, np.inf

    @property
    def inner_type(self) -> Any:
        """The type of the vectors that only shape a step."""
        return np.float32

    def split(self, vector: Floats) -> list[Floats]:
        """The parts of a vector of as many numbers as weights."""
        return [vector[start:stop] for start, stop in pairwise(self.bounds)]

    def distance(self, theta: Floats, steepest: Floats) -> float:  # noqa: ARG002 - other objectives scale by it
        """½ Σ σ² g², which bounds f(θ) − min f, in parts of f(θ)."""
        return float(0.5 * (steepest / self.prior.precision) @ steepest / self._value)

    @abstractmethod
    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient; ∞ where an e^s would be no normal number."""

    @abstractmethod
    def diagonal(self) -> Floats:
        """The metric of L-BFGS: 1/σ² and the larger of observed and expected counts, at the θ of the last value."""


class LogLinearObjective(PenalisedObjective):
    """f with products with its Hessian, and gradients of some of the events.

    All features are indicators. Stochastic solvers take the events in units: the `masses` say how many each has.
    """

    max_abs_value = 1.0
    n_active: int  # features of an event's word, at most
    masses: Floats

    def largest_values(self) -> Floats:
        """max |x| of each feature."""
        return np.ones(self.size)

    def product(self, p: NDArray[Any], Hp: NDArray[Any]) -> float:
        """Hp = ∇²f p where the value was last taken; returns pᵀHp."""
        self.passes += 1
        direction = p.astype(np.float64, copy=False)
        changed = self.prior.precision * direction
        self.bend(direction, changed)
        Hp[:] = changed
        return vector_ops.dot(direction, changed)

    @abstractmethod
    def bend(self, direction: Floats, changed: Floats) -> None:
        """Add the derivative of the expected counts along a direction, where the value was last taken."""

    @abstractmethod
    def sample(self, theta: Floats, units: Integers, shares: Floats, gradient: Floats) -> None:
        """The gradient of −Σ log p over shares of the events of some units, written over zeros."""

    @abstractmethod
    def largest_counts(self, parts: Integers) -> Floats:
        """How often each feature is seen in one of the parts of a unit, at most, each being cut into so many."""


class NgramObjective(LogLinearObjective):
    """f of a maximum-entropy n-gram model.

    `variances` are σ² of each order and `mean` μ of each weight; θ is one vector, `split` into the orders' weights.
    """

    def __init__(self, orders: list[Order], variances: Floats, mean: Floats, workers: parallel.WorkerPool) -> None:
        sizes = [len(order.observed) for order in orders]
        n_weights = [sizes[0] - 1, *sizes[1:]]
        self.precisions = 1 / variances
        super().__init__(n_weights, WeightPrior(np.repeat(self.precisions, n_weights), mean), workers)
        self.orders, self.mean = orders, mean
        self._scores = [np.zeros(size) for size in sizes]
        self._sums = [np.ones((order.n_histories, 2)) for order in orders]
        self._a = [np.empty(order.n_histories) for order in orders]
        self._expected = [np.zeros((size, 2)) for size in sizes]
        self.n_active = len(orders)

    @made_once
    def _own(self) -> list[Floats]:
        """How many events have each n-gram for the longest that is a feature."""
        own = [order.observed.copy() for order in self.orders]
        for n in range(1, len(own)):
            own[n - 1] -= np.bincount(self.orders[n].suffix, self.orders[n].observed, minlength=len(own[n - 1]))
        return own

    @made_once
    def masses(self) -> Floats:
        """The events of each history, those of one order behind those of another."""
        masses = []
        for order, own in zip(self.orders, self._own, strict=True):
            found = np.add.reduceat(np.append(own, 0.0), order.starts[:-1])
            found[np.diff(order.starts) == 0] = 0
            masses.append(np.maximum(order.seen, found))
        return np.concatenate(masses)

    @made_once
    def _sampling(self) -> tuple[list[Floats], list[Floats]]:
        """Sums that `sample` keeps at 0: A of histories, and what n-grams get from longer ones."""
        return [np.zeros(order.n_histories) for order in self.orders], [
            np.zeros((len(order.observed), 2)) for order in self.orders
        ]

    def distance(self, theta: Floats, steepest: Floats) -> float:  # noqa: ARG002 - other objectives scale by it
        """½ Σ σ² g², which bounds f(θ) − min f, in parts of f(θ)."""
        bound = sum(
            0.5 / precision * vector_ops.dot(slope, slope)
            for precision, slope in zip(self.precisions, self.split(steepest), strict=True)
        )
        return float(bound / self._value)

    def value(self, theta: Floats, gradient: Floats) -> float:
        """f(θ), and its gradient; ∞ where an e^s would be no normal number."""
        self.passes += 1
        weights = self.split(theta)
        if not sum(vector_ops.max_abs(part) for part in weights) <= LARGEST_SCORE:
            return np.inf
        loss = self._normalise(weights) + self.complete(theta, gradient)
        self._value = loss if np.isfinite(loss) else np.inf
        return self._value

    def complete(self, theta: Floats, gradient: Floats) -> float:
        """The gradient, once histories are normalised; returns Σ ½ (θ − μ)²/σ² − θ · observed."""
        weights, slopes = self.split(theta), self.split(gradient)
        self._share_upwards(self._a)
        return sum(
            self._gather(n, weights[n], slopes[n], self._more_expected(n)) for n in reversed(range(len(self.orders)))
        )

    def diagonal(self) -> Floats:
        """The metric of L-BFGS, 1/σ² and the larger of observed and expected counts at the θ of the last value."""
        parts = [
            np.maximum(order.observed, expected[:, 0])[n == 0 :]
            for n, (order, expected) in enumerate(zip(self.orders, self._expected, strict=True))
        ]
        return self.prior.precision + np.concatenate(parts)

    def bend(self, direction: Floats, changed: Floats) -> None:
        """Add the derivative of the expected counts along a direction: those of all the sums of `value`."""
        along, orders = self.split(direction), self.orders
        sizes = [len(order.observed) for order in orders]
        slopes = [np.append(0.0, along[0]), *(np.empty(size) for size in sizes[1:])]
        changes = [np.zeros((orders[0].n_histories, 2)), *(np.empty((order.n_histories, 2)) for order in orders[1:])]
        changes[0][:, 0] = np.add.reduceat(self._scores[0] * slopes[0], orders[0].starts[:-1])
        starts = [order.starts for order in orders]
        of_orders = [
            kernels.OrderScores(*arrays)
            for arrays in zip(starts, self._scores, self._sums, slopes, changes, strict=True)
        ]
        changed_a = [np.empty(order.n_histories) for order in orders]
        kernels.share_along(orders[0].seen, self._sums[0], changes[0], changed_a[0], 0, orders[0].n_histories)
        for n in range(1, len(orders)):
            work = partial(self._bend_forward, n, along[n], of_orders, changes[n], changed_a[n])
            self.workers.map(work, orders[n].jobs)
        self._share_upwards(changed_a)
        longer = np.empty((0, 2))
        for n in reversed(range(len(orders))):
            found = np.empty((sizes[n], 2))
            self.workers.map(partial(self._bend_back, n, of_orders[n], changed_a[n], longer, found), orders[n].jobs)
            self.split(changed)[n][:] += found[n == 0 :, 0]
            longer = found

    def _bend_forward(
        self, n: int, direction: Floats, of_orders: list[kernels.OrderScores], changes: Floats, a: Floats, *job: int
    ) -> None:
        order = self.orders[n]
        kernels.normalise_along(of_orders[n], of_orders[n - 1], order.suffix, order.history_suffix, direction, *job)
        kernels.share_along(order.seen, self._sums[n], changes, a, *job)

    def _bend_back(
        self, n: int, of_order: kernels.OrderScores, changed: Floats, longer: Floats, found: Floats, *job: int
    ) -> None:
        links = self.orders[n].longer
        kernels.expect_along(
            of_order, self._a[n], changed, links.starts, links.members,
            self._expected[n + 1] if len(links.members) else longer, longer, found, *job,
        )  # fmt: skip

    def sample(self, theta: Floats, units: Integers, shares: Floats, gradient: Floats) -> None:
        """The gradient of −Σ log p over shares of the events of some histories, written over zeros.

        Only they, the histories that end them, and their children are looked at.
        """
        weights, slopes, own, (a, gathered) = self.split(theta), self.split(gradient), self._own, self._sampling
        ends = np.cumsum([order.n_histories for order in self.orders])
        chosen = np.split(units, np.searchsorted(units, ends[:-1]))
        parts = np.split(shares, np.searchsorted(units, ends[:-1]))
        histories: list[Links] = []
        of_histories: list[Floats] = []
        for n in reversed(range(len(self.orders))):
            own_events = some = chosen[n] - (ends[n] - self.orders[n].n_histories)
            if histories:
                some = np.union1d(some, self.orders[n + 1].history_suffix[histories[0]])
            share = np.zeros(len(some))
            share[np.searchsorted(some, own_events)] = parts[n]
            histories.insert(0, some.astype(np.int32))
            of_histories.insert(0, share)
        self._normalise_unigrams(weights[0])
        for n in range(1, len(self.orders)):
            order = self.orders[n]
            kernels.normalise_some(
                histories[n], weights[n], order.starts, order.suffix, self._scores[n - 1], self.orders[n - 1].starts,
                order.history_suffix, self._sums[n - 1], self._scores[n], self._sums[n],
            )  # fmt: skip
        for n in reversed(range(len(self.orders))):
            order, first = self.orders[n], n == 0
            kernels.share_some(
                histories[n], of_histories[n], order.seen, self._sums[n], NO_LINKS if first else order.history_suffix,
                a[n], NO_MEAN if first else a[n - 1],
            )  # fmt: skip
            found = np.zeros(len(order.observed)) if first else slopes[n]
            kernels.differ_some(
                histories[n], of_histories[n], order.starts, NO_LINKS if first else order.suffix, self._scores[n],
                own[n], a[n], gathered[n], gathered[n] if first else gathered[n - 1], found,
            )  # fmt: skip
        slopes[0][:] = found[1:]

    def largest_counts(self, parts: Integers) -> Floats:
        """How often each n-gram is seen in one of the parts of a history's events, at most."""
        ends = np.cumsum([order.n_histories for order in self.orders])
        found: list[Floats] = []
        for n in reversed(range(len(self.orders))):
            order = self.orders[n]
            of_histories = parts[ends[n] - order.n_histories : ends[n]]
            counts = self._own[n] / np.repeat(of_histories, np.diff(order.starts))
            if found:
                np.maximum.at(counts, self.orders[n + 1].suffix, found[0])
            found.insert(0, counts)
        return np.concatenate([found[0][BEGIN + 1 :], *found[1:]])

    def expected(self) -> Floats:
        """The expected counts at the θ of the last value."""
        return np.concatenate([expected[n == 0 :, 0] for n, expected in enumerate(self._expected)])

    def model(self, theta: Floats, like: BackoffModel) -> BackoffModel:
        """The back-off model of the same n-grams with these weights: p = e^s/Z(h), and backoff(h) = Z(h′)/Z(h)."""
        all_scores, all_sums = self.normalised(theta)
        log_prob, backoff = [], []
        for n, order in enumerate(self.orders):
            z = np.repeat(all_sums[n], np.diff(order.starts))
            with np.errstate(divide="ignore"):
                found = np.log(all_scores[n] / z)
            if n == 0:
                found[~np.isfinite(like.log_prob[0])] = -np.inf
            else:
                shorter = all_sums[n - 1][order.history_suffix]
                backoff.append(np.log(shorter / all_sums[n]).astype(np.float32))
            log_prob.append(np.minimum(found, 0).astype(np.float32))
        return replace(like, log_prob=log_prob, backoff=backoff)

    def normalised(self, theta: Floats) -> tuple[list[Floats], list[Floats]]:
        """e^s of the n-grams, and Z of the histories, by order."""
        self._normalise(self.split(theta))
        self._share_upwards(self._a)  # which products with the Hessian read
        return self._scores, [sums[:, 0] for sums in self._sums]

    def _normalise(self, weights: list[Floats]) -> float:
        """e^s, Z and C/Z; returns Σ C log Z."""
        self._normalise_unigrams(weights[0])
        shortest = self.orders[0]
        loss = kernels.share(shortest.seen, self._sums[0], self._a[0], 0, shortest.n_histories)
        for n in range(1, len(self.orders)):
            order, shorter = self.orders[n], self.orders[n - 1]
            theta, scores, sums = weights[n], self._scores[n], self._sums[n]

            def work(first: int, last: int) -> float:
                kernels.exponentials(theta, scores, int(order.starts[first]), int(order.starts[last]))  # noqa: B023
                kernels.normalise(
                    order.starts, order.suffix, self._scores[n - 1], shorter.starts, order.history_suffix,  # noqa: B023
                    self._sums[n - 1], scores, sums, first, last,  # noqa: B023
                )  # fmt: skip
                return kernels.share(order.seen, sums, self._a[n], first, last)  # noqa: B023

            loss += sum(self.workers.map(work, order.jobs))
        return loss

    def _normalise_unigrams(self, weights: Floats) -> None:
        kernels.exponentials(weights, self._scores[0][1:], 0, len(weights))
        self._sums[0][:, 0] = np.add.reduceat(self._scores[0], self.orders[0].starts[:-1])
        self._sums[0][:, 1] = 0.0  # every word is a child

    def _share_upwards(self, a: list[Floats]) -> None:
        """A of every history: its own C/Z, and those of the histories whose suffix it is."""
        for n in reversed(range(len(self.orders) - 1)):
            links = self.orders[n].longer_histories
            longer, own = a[n + 1], a[n]

            def work(first: int, last: int) -> None:
                kernels.add_longer(links.starts, links.members, longer, own, first, last)  # noqa: B023

            cuts = [*range(0, len(own), WEIGHTS_OF_A_JOB), len(own)]
            self.workers.map(work, pairwise(cuts))

    def _more_expected(self, n: int) -> Floats:  # noqa: ARG002 - n-grams are all there is
        """What other features make of the expected counts of an order's n-grams."""
        return NO_MEAN

    def _gather(self, n: int, theta: Floats, gradient: Floats, extra: Floats) -> float:
        """The expected counts and the gradient of an order; returns what the order adds to f."""
        order, expected, first_weight = self.orders[n], self._expected[n], int(n == 0)
        longer = self._expected[n + 1] if len(order.longer.members) else np.empty((0, 2))
        observed = order.observed[first_weight:]
        mean = self.split(self.mean)[n] if len(self.mean) else NO_MEAN

        def work(first: int, last: int) -> float:
            kernels.expect(
                order.starts, self._scores[n], self._a[n], order.longer.starts, order.longer.members, longer, expected,
                extra, first, last,
            )  # fmt: skip
            low, high = max(0, int(order.starts[first]) - first_weight), int(order.starts[last]) - first_weight
            return kernels.penalised_slopes(
                expected[first_weight:], observed, theta, mean, self.precisions[n], gradient, low, high
            )

        return float(sum(self.workers.map(work, order.jobs)))
