"""Weights of transitions: which pairs of labels, and triples for order 2, have one, and the chain that they make."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fastlin.sequence.chain import Chain
from fastlin.sequence.partial_labels import LabelCodes

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TransitionWeights:
    """Which transitions have a weight: pairs (i, j) and triples (h, i, j) of labels, as places in [K, K], [K, K, K]."""

    n_labels: int
    order: int
    two: NDArray[np.int64]
    three: NDArray[np.int64]
    seen: Floats = field(repr=False)  # how often each was in sequences whose labels are all known, the pairs first

    @classmethod
    def observed(
        cls, known: LabelCodes, starts: NDArray[np.int64], K: int, order: int, cutoff: int | None
    ) -> "TransitionWeights":
        """Those seen at least `cutoff` times, or possible by what is known; all, if that is None."""
        codes, complete = known.codes, known.complete
        inner = np.ones(len(codes), bool) if complete else known.in_complete(starts)
        inner[starts[:-1][np.diff(starts) > 0]] = False  # tokens that are the first of their sequence
        third = inner.copy()
        third[1:] &= inner[:-1]
        labels, weights = codes.astype(np.int64), known.token_weights(starts)
        places = [labels[:-1] * K + labels[1:]]
        places += [np.concatenate([[0], places[0][:-1]]) * K + labels[1:]] if order == 2 else []
        counts = [
            np.bincount(place[chosen[1:]], None if weights is None else weights[1:][chosen[1:]], K**length)
            for place, chosen, length in zip(places, (inner, third), (2, 3), strict=False)
        ]
        said = counts
        if not complete or weights is not None:
            most = cutoff or 1
            said = [
                np.bincount(known.said(starts, 2 + more, most)[1], minlength=len(c)) for more, c in enumerate(counts)
            ]
        kept = [np.arange(len(count)) if cutoff is None else np.flatnonzero(count >= max(cutoff, 1)) for count in said]
        seen = np.concatenate([count[place] for count, place in zip(counts, kept, strict=True)])
        return cls(K, order, kept[0], kept[1] if order == 2 else np.empty(0, np.int64), seen.astype(np.float64))

    @property
    def n_weights(self) -> int:
        return len(self.two) + len(self.three)

    def tables(self, theta: Floats) -> tuple[Floats, Floats | None]:
        """The weights as [K, K] and, with order 2, [K, K, K]."""
        K, n = self.n_labels, len(self.two)
        two = np.zeros((K, K))
        two.reshape(-1)[self.two] = theta[:n]
        if self.order == 1:
            return two, None
        three = np.zeros((K, K, K))
        three.reshape(-1)[self.three] = theta[n:]
        return two, three

    def counts(self, transitions: Floats) -> Floats:
        """The counts of those that have a weight, from counts in the shape of a chain's transitions."""
        if self.order == 1:
            return transitions.reshape(-1)[self.two]
        two = transitions.sum(axis=0).reshape(-1)[self.two]
        return np.concatenate([two, transitions[:-1].reshape(-1)[self.three]])


def chain_of(two: Floats, three: Floats | None) -> Chain:
    """The chain of a CRF: no scores of starts and ends."""
    K = len(two)
    if three is None:
        return Chain(np.zeros(K), two, np.zeros(K))
    transitions = np.broadcast_to(two, (K + 1, K, K)).copy()
    transitions[:-1] += three
    return Chain(np.zeros(K), transitions, np.zeros((K + 1, K)))
