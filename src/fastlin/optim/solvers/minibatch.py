"""Stochastic gradients over mini-batches of the events of an objective: averaged SGD, and Adagrad.

Rates, averages and stopping are those of `optim/solvers/sgd.py`, whose epochs go over rows; here what is sampled are
units of events that an evaluation takes together, cut where they hold more than a batch, in a random order. A weight
that many events of a batch share has a rate that is less by how many they are, so that no sum of them goes too far.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.log_linear_problem import Objective
from fastlin.optim.solvers.sgd import BURN_IN, GROUP_RATE_TIMES_SQUARED_NORM, BestWeights

BATCHES = 64  # of an epoch, about

Vector = NDArray[np.float64]


class SampledObjective(Objective, Protocol):
    """What stochastic solvers ask of a problem."""

    n_active: int  # features of a candidate, at most
    masses: Vector  # the events of each unit

    def sample(self, theta: Vector, units: NDArray[np.int64], shares: Vector, gradient: Vector) -> None:
        """The gradient of −Σ log p over shares of the events of some units, written over zeros."""

    def largest_counts(self, parts: NDArray[np.int64]) -> Vector:
        """How often each feature is seen in one of the parts of a unit, at most, each being cut into so many."""


class MinibatchSampler:
    """The mini-batches of an objective's events, and the metric of their steps."""

    def __init__(self, problem: SampledObjective) -> None:
        self.problem, self.n_events = problem, float(problem.masses.sum())
        self._most = self.n_events / BATCHES
        self._parts = np.maximum(1, np.ceil(problem.masses / self._most)).astype(np.int64)
        self._parts[problem.masses == 0] = 0
        of_batch = problem.diagonal() / BATCHES
        self.metric = np.maximum(1.0, of_batch + problem.largest_counts(np.maximum(1, self._parts)))
        self.gradient = np.zeros(problem.size)

    def epoch(self, generator: np.random.Generator, theta: Vector, step: Callable[[Vector, float], None]) -> None:
        """Call `step(gradient, events)` for every batch, in a random order: θ moves, its prior included."""
        problem, prior = self.problem, self.problem.prior
        units = np.repeat(np.arange(len(self._parts)), self._parts)
        units = units[generator.permutation(len(units))]
        masses = (problem.masses / np.maximum(1, self._parts))[units]
        place = np.minimum((np.cumsum(masses) / self._most).astype(np.int64), BATCHES)
        for batch in np.split(units, np.flatnonzero(np.diff(place)) + 1):
            some, times = np.unique(batch, return_counts=True)
            shares = times / self._parts[some]
            events = float(shares @ problem.masses[some])
            self.gradient[:] = 0
            problem.sample(theta, some, shares, self.gradient)
            pull = theta - prior.mean if len(prior.mean) else theta.copy()
            pull *= prior.precision * (events / self.n_events)
            self.gradient += pull
            step(self.gradient, events)


def averaged_sgd(
    problem: SampledObjective, theta: Vector, monitor: ConvergenceMonitor, generator: np.random.Generator
) -> None:
    """SGD with η₀/(1 + η₀λt), whose weights are averaged over the second half of the epochs."""
    first = int(BURN_IN * monitor.max_iter)
    strength = float(problem.prior.precision.min())

    def start(batches: MinibatchSampler) -> Any:
        return SteepSteps(batches, GROUP_RATE_TIMES_SQUARED_NORM / problem.n_active, strength / batches.n_events, first)

    _run("sgd", problem, theta, monitor, generator, start)


def adagrad(
    problem: SampledObjective, theta: Vector, monitor: ConvergenceMonitor, generator: np.random.Generator
) -> None:
    """Adagrad with η₀ = 1."""
    _run("adagrad", problem, theta, monitor, generator, AdaptiveSteps)


class SteepSteps:
    """SGD; the weights are the mean over the batches from the epoch `first` on, which counts from 0."""

    def __init__(self, batches: MinibatchSampler, eta0: float, strength: float, first: int) -> None:
        self.metric, self.eta0, self.strength, self.first = batches.metric, eta0, strength, first
        self.events, self.averaged = 0.0, 0
        self.total = np.zeros(len(self.metric))

    def step(self, theta: Vector, gradient: Vector, events: float, epoch: int) -> None:
        """Move θ."""
        self.events += events
        gradient /= self.metric
        gradient *= self.eta0 / (1 + self.eta0 * self.strength * self.events)
        theta -= gradient
        if epoch >= self.first:
            self.total += theta
            self.averaged += 1

    def weights(self, theta: Vector) -> Vector:
        """What is learnt, θ being where the steps stand."""
        return self.total / self.averaged if self.averaged else theta

    def state(self) -> State:
        return {"events": self.events, "averaged": self.averaged, "total": self.total, "eta0": self.eta0}

    def restore(self, saved: CheckpointReader) -> None:
        """Become what `state` said."""
        self.events, self.averaged = saved.number("events"), saved.integer("averaged", 0)
        self.eta0 = saved.number("eta0")
        saved.read_into("total", self.total)

    def begin_again(self) -> None:
        """Go on more slowly, and forget what was averaged."""
        self.eta0, self.averaged = self.eta0 / 2, 0
        self.total[:] = 0


class AdaptiveSteps:
    """Adagrad (Duchi et al. 2011): rates fall with the sum of a weight's squared gradients, which begins at 1."""

    def __init__(self, batches: MinibatchSampler) -> None:
        self.eta0, self.squares = 1.0, np.ones(len(batches.metric))

    def step(self, theta: Vector, gradient: Vector, events: float, epoch: int) -> None:  # noqa: ARG002
        """Move θ."""
        self.squares += gradient * gradient
        gradient *= self.eta0
        gradient /= np.sqrt(self.squares)
        theta -= gradient

    def weights(self, theta: Vector) -> Vector:
        """What is learnt, θ being where the steps stand."""
        return theta

    def state(self) -> State:
        return {"eta0": self.eta0, "squares": self.squares}

    def restore(self, saved: CheckpointReader) -> None:
        """Become what `state` said."""
        self.eta0 = saved.number("eta0")
        saved.read_into("squares", self.squares)

    def begin_again(self) -> None:
        """Go on more slowly."""
        self.eta0 /= 2


def _run(
    solver: str,
    problem: SampledObjective,
    theta: Vector,
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,
    make: Callable[[MinibatchSampler], Any],
) -> None:
    saved, gradient = monitor.resume(solver), np.empty(problem.size)
    value = problem.value(theta, gradient)
    batches = MinibatchSampler(problem)
    steps, lowest, at = make(batches), BestWeights(theta, value), theta.copy()
    if saved is not None:
        steps.restore(saved)
        lowest.restore(saved)
        saved.restore_generator("generator", generator)
        for name, array in (("theta", theta), ("at", at), ("metric", batches.metric)):
            saved.read_into(name, array)
        value = problem.value(theta, gradient)

    def state() -> State:
        own = {"theta": theta, "at": at, "metric": batches.metric, "generator": generator}
        return own | steps.state() | lowest.state()

    monitor.register_state(solver, problem, state)
    monitor.nonmonotone = True
    while not monitor.log_iteration(value, problem.distance(theta, gradient), theta, gradient, passes=problem.passes):
        monitor.maybe_save()
        epoch = monitor.iterations
        batches.epoch(generator, at, lambda slopes, events: steps.step(at, slopes, events, epoch))  # noqa: B023
        monitor.iterations += 1
        problem.passes += 1
        theta[:] = steps.weights(at)
        value = problem.value(theta, gradient)
        if not np.isfinite(value):  # too far: no point to go on from
            theta[:] = at[:] = lowest.theta
            steps.begin_again()
            value = problem.value(theta, gradient)
        lowest.update(theta, value)
    theta[:] = lowest.theta
