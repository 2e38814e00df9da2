"""The learnt state of hidden Markov models."""

from dataclasses import replace

import numpy as np

from fastlin.core.class_counts import ClassCounts
from fastlin.runtime.made_once import made_once
from fastlin.runtime.shared_lock import SharedLock
from fastlin.sequence.chain import Chain
from fastlin.sequence.hmm.emissions import EmissionPrior, Emissions
from fastlin.sequence.hmm.transitions import Smoothing, Transitions
from fastlin.sequence.tokens import Attributes


class HMMState:
    """Counts, and the probabilities that they and a prior say, which are made when they are first asked for.

    More counts are added in place, in arrays that the next state takes over, while the `lock` is held for writing: what
    is made of the counts is to be made while it is held for reading and this is the estimator's state. All else is for
    any time.
    """

    def __init__(
        self,
        counts: ClassCounts,
        transitions: Transitions,
        vocabulary: EmissionPrior,
        smoothing: Smoothing,
        names: Attributes | None,
        lock: SharedLock | None = None,
    ) -> None:
        self.counts, self.transitions, self.vocabulary, self.smoothing = counts, transitions, vocabulary, smoothing
        self._names = names  # of the words that are emitted; None: features are no words
        self.lock = SharedLock() if lock is None else lock

    @made_once
    def probabilities(self) -> Transitions:
        """p of transitions."""
        return self.transitions.probabilities(self.smoothing)

    @made_once
    def chain(self) -> Chain:
        """log p of transitions."""
        return self.probabilities.chain()

    @made_once
    def emissions(self) -> Emissions:
        """log φ, of the counts."""
        words = None if self._names is None else self._names.names
        return Emissions(self.counts.features, replace(self.vocabulary, words=words))

    @made_once
    def sums(self) -> tuple[float, float]:
        """The numbers of features and of tokens that were counted."""
        return float(self.counts.features.sum()), float(self.counts.labels.sum())

    def make(self) -> None:
        """Make what is made of the counts."""
        self.sums, self.emissions  # noqa: B018 - asked for, and kept

    def copied(self) -> "HMMState":
        """A copy with counts of its own, of which nothing has been made."""
        counts = ClassCounts(np.array(self.counts.features), np.array(self.counts.labels), self.counts.prior)
        return HMMState(counts, self.transitions, self.vocabulary, self.smoothing, self._names)

    def __getstate__(self) -> dict[str, object]:
        kept = ("counts", "transitions", "vocabulary", "smoothing", "_names")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, lock=SharedLock())
