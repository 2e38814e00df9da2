"""Stochastic solvers of the CRF: a step for every mini-batch of sequences.

f / n = mean of −log p(y | x) + ½ λ₂ ‖θ‖² + λ₁ ‖θ‖₁, with λ₂ = 2 c2 / n and λ₁ = c1 / n for n sequences,
of which the empty ones do not count.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.chain import crf_sgd
from fastlin.engine.core.csr_view import CSRView
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.sequence.crf.objective import CRFObjective

CALIBRATION_SAMPLE = 1000  # sequences on which rates are tried
FIRST_RATES = {"sgd": 0.1, "adagrad": 0.3}  # the rate that is tried first
MAX_RATES = 12  # rates to try
MAX_WEIGHT = 1e100  # weight
CALL_WORK = 1 << 18  # tokens' features × labels of a call: Ctrl-C acts between calls

Floats = NDArray[np.float64]


class CRFUpdates:
    """The weights on their way, and what the steps remember of them."""

    def __init__(self, problem: CRFObjective, solver: str, batch_size: int, eta0: float) -> None:
        self.problem, self.adagrad, self.batch_size, self.eta0 = problem, solver == "adagrad", batch_size, eta0
        layout, transition_weights = problem.layout, problem.transition_weights
        K, of_table = layout.n_labels, len(layout.places)
        before = layout.n_tabled * K
        n_few = layout.n_weights - of_table
        places = [layout.places, before + np.arange(n_few), before + n_few + transition_weights.two]
        places.append(before + n_few + K * K + transition_weights.three)
        self.places = np.concatenate(places)  # of θ's weights among those of the steps
        n_links = K * K * (1 if transition_weights.order == 1 else K + 1)
        self.w = np.zeros(before + n_few + n_links)
        self.has_weight = np.zeros(n_links)
        self.has_weight[self.places[layout.n_weights :] - before - n_few] = 1
        n = len(self.w) if self.adagrad else 0
        self.squares, self.sums = np.zeros(n), np.zeros(n)
        self.touched = np.zeros(problem.design.n_features, np.int64)
        self.scale, self.t = np.ones(1), 0
        design, rows = problem.design, 1 if transition_weights.order == 1 else K + 1
        self._tokens = CSRView(design.indptr, design.indices, design.values)
        self._weights = crf_sgd.CRFWeights(
            layout.starts, layout.n_tabled, layout.single, layout.labels, K, rows, self.w, self.has_weight, self.scale,
            (self.squares, self.sums, self.touched),
        )  # fmt: skip
        self.filled = np.flatnonzero(np.diff(problem.starts))
        n_sequences = max(1, len(self.filled))
        self.l1, self.l2 = problem.prior.l1 / n_sequences, 2 * problem.c2 / n_sequences
        self._cost = np.diff(problem.design.indptr[problem.starts]) + K * np.diff(problem.starts)

    @property
    def shrinks(self) -> bool:
        """Whether a step of SGD leaves something of every weight."""
        return self.adagrad or self.eta0 * self.l2 < 1

    def epoch(self, order: NDArray[np.int64]) -> float:
        """Learn from sequences in an order; returns Σ −log p(y | x), each before its step."""
        loss = 0.0
        for some in self._calls(order):
            loss += crf_sgd.sgd_epoch(
                self._weights, self._tokens, self.problem.starts, self.problem.token_labels, some, self.batch_size,
                self.t, self.eta0, self.l1, self.l2,
            )  # fmt: skip
            self.t += -(-len(some) // self.batch_size)
            if not np.isfinite(loss):
                break
        return loss

    def _calls(self, order: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Whole batches of bounded work."""
        work = np.cumsum(self._cost[order])
        start = 0
        while start < len(order):
            stop = int(np.searchsorted(work, (work[start - 1] if start else 0) + CALL_WORK, side="right"))
            batches = max(1, (stop - start) // self.batch_size)
            yield order[start : start + batches * self.batch_size]
            start += batches * self.batch_size

    def state(self) -> State:
        """What steps remember between two epochs, when no weight owes anything."""
        return {"w": self.w, "squares": self.squares, "scale": self.scale, "steps": self.t}

    def restore(self, saved: CheckpointReader) -> None:
        """Become what `state` said."""
        for name in ("w", "squares", "scale"):
            saved.read_into(name, getattr(self, name))
        if (self.squares < 0).any():
            saved.reject("squares")
        if not 0 < self.eta0 < np.inf:
            saved.reject("rate")
        self.t = saved.integer("steps", 0)
        self.touched[:] = self.t

    def theta(self, theta: Floats) -> Floats:
        """The weights as the problem has them."""
        if self.adagrad:
            crf_sgd.catch_up_all(self._weights, self.t, self.eta0, self.l1, self.l2)
        np.multiply(self.w[self.places], self.scale[0], out=theta)
        return theta


def minimise(
    problem: CRFObjective,
    theta: Floats,
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,
    solver: str,
    batch_size: int,
    eta0: float | None,
) -> None:
    """Move θ towards the minimum, an epoch at a time."""
    saved, before = monitor.resume(solver), np.inf
    if saved is not None:
        rate, before = saved.number("rate"), saved.number("before")
    else:
        rate = _calibrate_rate(problem, solver, batch_size, generator) if eta0 is None else eta0
    steps = CRFUpdates(problem, solver, batch_size, rate)
    n = len(steps.filled)
    if not steps.shrinks:
        limit = n / (2 * problem.c2)
        raise ValueError(f"eta0={rate:g} is too large for c2={problem.c2:g} and {n} sequences: n / (2 c2) is {limit:g}")
    monitor.nonmonotone = True
    if saved is not None:
        steps.restore(saved)
        saved.restore_generator("random", generator)
    monitor.register_state(
        solver, problem, lambda: steps.state() | {"rate": rate, "before": before, "random": generator}, logged=False
    )
    while True:
        monitor.maybe_save()
        loss = steps.epoch(steps.filled[generator.permutation(n)])
        steps.theta(theta)
        if not (np.isfinite(loss) and np.abs(theta).max(initial=0.0) < MAX_WEIGHT):
            raise ValueError(f"eta0={rate:g} carried the weights out of the numbers: give a smaller one")
        monitor.iterations += 1
        penalty = problem.c2 * float(theta @ theta) + problem.prior.l1 * float(np.abs(theta).sum())
        change, before = abs(before - loss) / max(1, n), loss
        if monitor.log_distance(change, progressive_objective=loss + penalty, eta0=rate):
            return


def _calibrate_rate(problem: CRFObjective, solver: str, batch_size: int, generator: np.random.Generator) -> float:
    """The rate with the least loss in the second of two epochs over a sample."""
    filled = np.flatnonzero(np.diff(problem.starts))
    sample = filled[generator.permutation(len(filled))[:CALIBRATION_SAMPLE]]

    def loss(rate: float) -> float:
        steps = CRFUpdates(problem, solver, batch_size, rate)
        first = steps.epoch(sample) if steps.shrinks else np.inf
        found = steps.epoch(sample) if np.isfinite(first) else np.inf
        return found if np.isfinite(found) else np.inf

    first = FIRST_RATES[solver]
    if solver == "sgd" and problem.c2:
        first = min(first, len(filled) / (4 * problem.c2))  # half of what would take all of a weight at once
    best, least, tried = first, loss(first), 1
    for factor in (2.0, 0.5):
        rate = best * factor
        while tried < MAX_RATES and (found := loss(rate)) < least:
            best, least, rate, tried = rate, found, rate * factor, tried + 1
        if best != first:
            break
    return best
