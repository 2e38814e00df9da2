"""Learners of a SpanCRF that take a step for every few sentences: Adagrad, and the averaged perceptron.

Adagrad is that of dual averages (Duchi, Hazan & Singer 2011): after t sentences, with g the derivatives of their
losses,

    θ = −η Σg / (√Σg² + η λ t),     λ = 2 c2 / n for n sentences

so that a weight which nothing touches owes nothing: what it is at t is known when it is asked for.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.grammar.span_crf.objective import SpanObjective
from fastlin.grammar.span_crf.scores import Weights, WeightShapes
from fastlin.grammar.span_crf.sentences import SentenceFeatures
from fastlin.grammar.span_crf.training import add_slopes, own_weights
from fastlin.optim.convergence_monitor import ConvergenceMonitor

Floats = NDArray[np.float64]
LEAST = 1e-10  # of a root of squares


class Steps(Protocol):
    """Weights on their way."""

    def weights(self, sentence: SentenceFeatures, /) -> Weights:
        """Those of a sentence's own columns."""

    def take(self, sentence: SentenceFeatures, slopes: Weights, /) -> None:
        """A step against the derivatives of a sentence's loss."""

    def theta(self) -> Floats:
        """What has been learnt."""

    def state(self) -> State:
        """What steps go on from."""

    def restore(self, saved: CheckpointReader, /) -> None:
        """Become what `state` said."""


class AdagradSteps:
    """Sums of derivatives, and of their squares."""

    def __init__(self, shapes: WeightShapes, eta0: float, decay: float) -> None:
        self._eta0, self._decay, self._t = eta0, decay, 0
        self._sums, self._squares = np.zeros(shapes.size), np.zeros(shapes.size)
        self._split_sums, self._split_squares = shapes.split(self._sums), shapes.split(self._squares)

    def _of(self, sums: Floats, squares: Floats) -> Floats:
        found: Floats = -self._eta0 * sums / (np.sqrt(squares) + (LEAST + self._eta0 * self._decay * self._t))
        return found

    def weights(self, sentence: SentenceFeatures) -> Weights:
        sums, squares = own_weights(self._split_sums, sentence), own_weights(self._split_squares, sentence)
        return Weights(*map(self._of, sums, squares))

    def take(self, sentence: SentenceFeatures, slopes: Weights) -> None:
        self._t += 1
        add_slopes(self._split_sums, sentence, slopes, 1.0)
        add_slopes(self._split_squares, sentence, Weights(*map(np.square, slopes)), 1.0)

    def theta(self) -> Floats:
        return self._of(self._sums, self._squares)

    def state(self) -> State:
        return {"sums": self._sums, "squares": self._squares, "steps": self._t}

    def restore(self, saved: CheckpointReader) -> None:
        for name, array in (("sums", self._sums), ("squares", self._squares)):
            saved.read_into(name, array)
        if (self._squares < 0).any():
            saved.reject("squares")
        self._t = saved.integer("steps", 0)


class PerceptronSteps:
    """θ after t sentences, and Σ_t (t − 1) Δ_t, so that the mean over all is θ less the one over t."""

    def __init__(self, shapes: WeightShapes) -> None:
        self._t = 0
        self._present, self._late = np.zeros(shapes.size), np.zeros(shapes.size)
        self._split_present, self._split_late = shapes.split(self._present), shapes.split(self._late)

    def weights(self, sentence: SentenceFeatures) -> Weights:
        return own_weights(self._split_present, sentence)

    def take(self, sentence: SentenceFeatures, slopes: Weights) -> None:
        add_slopes(self._split_present, sentence, slopes, -1.0)
        add_slopes(self._split_late, sentence, slopes, -float(self._t))
        self._t += 1

    def theta(self) -> Floats:
        return self._present - self._late / max(self._t, 1)

    def state(self) -> State:
        return {"present": self._present, "late": self._late, "steps": self._t}

    def restore(self, saved: CheckpointReader) -> None:
        for name, array in (("present", self._present), ("late", self._late)):
            saved.read_into(name, array)
        self._t = saved.integer("steps", 0)


def learn(
    problem: SpanObjective,
    theta: Floats,
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,
    solver: str,
    batch_size: int,
    eta0: float,
) -> None:
    """Move θ by steps, an epoch at a time."""
    trees, before = problem.trees, np.inf
    n, adagrad = len(trees), solver == "adagrad"
    work = trees.log_loss if adagrad else trees.perceptron_loss
    steps: Steps = AdagradSteps(trees.shapes, eta0, 2 * problem.c2 / n) if adagrad else PerceptronSteps(trees.shapes)
    saved = monitor.resume(solver)
    monitor.nonmonotone = True
    if saved is not None:
        before = saved.number("before")
        steps.restore(saved)
        saved.restore_generator("random", generator)
    monitor.register_state(solver, None, lambda: steps.state() | {"before": before, "random": generator}, logged=False)
    while not monitor.should_stop:
        monitor.maybe_save()
        order, loss, wrong = generator.permutation(n).tolist(), 0.0, 0
        for first in range(0, n, batch_size):
            some = order[first : first + batch_size]
            for sentence, residual in trees.residuals(some, work, steps.weights, problem.workers):
                if not np.isfinite(residual.loss):
                    raise ValueError(f"eta0={eta0:g} carried the weights out of the numbers: give a smaller one")
                loss += residual.loss
                wrong += residual.wrong
                steps.take(sentence, residual.slopes)
        theta[:] = steps.theta()
        monitor.iterations += 1
        change, before = abs(before - loss) / n, loss
        monitor.log_distance(change, progressive_objective=loss, **({} if adagrad else {"wrong": wrong}))
