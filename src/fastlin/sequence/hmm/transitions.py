"""Transitions of a hidden Markov model: counts, and the probabilities that they and a prior say.

A history is the last label, or in order 2 the last two, of which the last but one may be K: there was none. What
follows a history is a label or the stop. Sequences without tokens are nothing to count, and start with no label.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.sequence.chain import Chain
from fastlin.sequence.sample_weights import NO_WEIGHTS
from fastlin.validation import one_of, real_number

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Smoothing:
    """What is believed of transitions before counting.

    With `weights`, λ of the history of length 0, 1 (and 2), p = Σ_m λ_m c(last m, next) / c(last m); "deleted": by
    deleted interpolation. Without: p = (c + α)/(Σ c + α·M), M the number of outcomes.
    """

    start: float  # pseudo-counts of each first label
    step: float  # and of each outcome of a history
    stop: bool  # whether the end of a sequence is an outcome
    weights: str | tuple[float, ...] | None = None


def as_weights(interpolation: Any, order: int) -> str | tuple[float, ...] | None:
    """λ, from what a user gives: None, "deleted", or a number for each length of history."""
    if interpolation is None or isinstance(interpolation, str):
        return one_of("interpolation", interpolation, [None, "deleted"])
    try:
        weights = tuple(real_number("interpolation", float(weight), at_least=0) for weight in interpolation)
    except TypeError as error:
        raise TypeError(f"interpolation must be None, 'deleted' or numbers, got {interpolation!r:.60}") from error
    if len(weights) != order + 1 or not 0 < sum(weights) < np.inf:
        raise ValueError(
            f"interpolation must hold {order + 1} numbers, not all 0, for histories of 0 to {order} labels"
        )
    return tuple(weight / sum(weights) for weight in weights)


@dataclass
class Transitions:
    """Counts of first labels [K], of labels after a history […, K], and of stops after one […]."""

    start: Floats
    steps: Floats
    ends: Floats

    @classmethod
    def none(cls, n_labels: int, order: int) -> "Transitions":
        histories = (n_labels,) if order == 1 else (n_labels + 1, n_labels)
        return cls(np.zeros(n_labels), np.zeros((*histories, n_labels)), np.zeros(histories))

    @classmethod
    def of(
        cls,
        codes: NDArray[np.int32],
        starts: NDArray[np.int64],
        n_labels: int,
        order: int,
        weights: Floats = NO_WEIGHTS,
    ) -> "Transitions":
        """Those of labelled sequences, each as often as its weight says."""
        counts = cls.none(n_labels, order)
        filled = np.diff(starts) > 0
        first, last = starts[:-1][filled], starts[1:][filled] - 1
        if not len(first):
            return counts
        history = codes.astype(np.int64)
        if order == 2:
            before = np.empty_like(history)
            before[1:], before[first] = history[:-1], n_labels
            history += before * n_labels
        goes_on = np.ones(len(codes), bool)
        goes_on[last] = False
        places = np.flatnonzero(goes_on)
        followed = history[places] * n_labels + codes[places + 1]
        once = again = None
        if len(weights):
            once, again = weights[filled], np.repeat(weights, np.diff(starts))[places]
        counts.start += np.bincount(codes[first], once, n_labels)
        counts.steps += np.bincount(followed, again, counts.steps.size).reshape(counts.steps.shape)
        counts.ends += np.bincount(history[last], once, counts.ends.size).reshape(counts.ends.shape)
        return counts

    @property
    def order(self) -> int:
        return self.ends.ndim

    def tables(self) -> tuple[Floats, Floats, Floats]:
        return self.start, self.steps, self.ends

    def chain(self) -> Chain:
        """Of probabilities: the chain whose scores are their logarithms."""
        with np.errstate(divide="ignore"):
            return Chain(*map(np.log, self.tables()))

    def add(self, start: Floats, steps: Floats, ends: Floats) -> None:
        """Count more."""
        self.start += start
        self.steps += steps
        self.ends += ends

    def under(self, places: NDArray[np.int32], n_labels: int) -> "Transitions":
        """The same counts among more labels."""
        counts = Transitions.none(n_labels, self.order)
        counts.start[places] = self.start
        before = (places,) if self.order == 1 else (np.append(places, n_labels), places)
        counts.steps[np.ix_(*before, places)] = self.steps
        counts.ends[np.ix_(*before)] = self.ends
        return counts

    # Probabilities

    def probabilities(self, smoothing: Smoothing) -> "Transitions":
        """p of first labels, of labels after a history and, where it is an outcome, of the stop after it.

        A history that was never seen, and for which there are no pseudo-counts, is followed by all that can follow,
        alike; in interpolation by what follows shorter ones.
        """
        outcomes = self._outcomes(smoothing.stop)
        if smoothing.weights is None:
            start = _smoothed(self.start, smoothing.start)
            found = _smoothed(outcomes, smoothing.step)
        else:
            start, found = self._interpolated(outcomes, smoothing)
        K = len(self.start)
        return Transitions(start, found[..., :K], found[..., K] if smoothing.stop else np.ones(self.ends.shape))

    def weights(self, smoothing: Smoothing) -> tuple[float, ...] | None:
        """λ, by deleted interpolation if it is asked for."""
        if isinstance(smoothing.weights, str):
            return deleted_interpolation(self._outcomes(smoothing.stop), self.start)
        return smoothing.weights

    def _outcomes(self, stop: bool) -> Floats:
        """Counts […, K] of what follows each history, or […, K + 1]: the stop is the last."""
        return np.concatenate([self.steps, self.ends[..., np.newaxis]], axis=-1) if stop else self.steps

    def _interpolated(self, outcomes: Floats, smoothing: Smoothing) -> tuple[Floats, Floats]:
        """Each length of history says its relative frequencies; of a history never seen only the shorter ones do."""
        K, weights = len(self.start), self.weights(smoothing)
        assert weights is not None
        levels = _levels(outcomes, self.start)
        lowest = _smoothed(levels[0], smoothing.step)
        found, mass = weights[0] * lowest, np.full(1, weights[0])
        for weight, counts in zip(weights[1:], levels[1:], strict=True):
            total = counts.sum(axis=-1, keepdims=True)
            seen = total > 0
            found = found + weight * counts / np.where(seen, total, 1.0)
            mass = mass + weight * seen
        found = np.where(mass > 0, found / np.where(mass > 0, mass, 1.0), lowest)
        first = _smoothed(levels[0][:K], smoothing.start)
        if self.start.any():
            first = weights[0] * first + (1 - weights[0]) * self.start / self.start.sum()
        return first, found


def _smoothed(counts: Floats, alpha: float) -> Floats:
    """(c + α)/Σ (c + α) of each row; uniform where that is 0/0."""
    raised = counts + alpha
    total = raised.sum(axis=-1, keepdims=True)
    return np.where(total > 0, raised / np.where(total > 0, total, 1.0), 1.0 / counts.shape[-1])


def _levels(outcomes: Floats, start: Floats) -> list[Floats]:
    """How often each outcome followed a history, by its last 0, 1, … labels; first labels have the history ()."""
    levels = [outcomes]
    while levels[0].ndim > 1:
        levels.insert(0, levels[0].sum(axis=0))
    levels[0] = levels[0] + np.pad(start, (0, outcomes.shape[-1] - len(start)))
    return levels


def deleted_interpolation(outcomes: Floats, start: Floats) -> tuple[float, ...]:
    """λ of Brants (2000), figure 1: each n-gram votes, as often as it was seen, for the length of history that says
    most of it when one of its occurrences is taken away. Votes for equals are shared."""
    levels = _levels(outcomes, start)
    says = np.zeros((len(levels), *outcomes.shape))
    for said, counts in zip(says, levels, strict=True):
        total = counts.sum(axis=-1, keepdims=True)
        said[:] = np.where(total > 1, np.maximum(counts - 1, 0) / np.where(total > 1, total - 1, 1.0), 0.0)
    best = says == says.max(axis=0)
    votes = (best * (outcomes / best.sum(axis=0))).reshape(len(levels), -1).sum(axis=1)
    total = votes.sum()
    return tuple((votes / total).tolist()) if total > 0 else (1.0, *[0.0] * (len(levels) - 1))
