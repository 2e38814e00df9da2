"""Naive Bayes of each label against the rest, from counts of the rows of each label, and of all rows.

    ln p(k | x) − ln p(not k | x)  =  the score of a binary model's label less that of the rest

is linear in x like those of the two sides, whose difference the weights are. Where a side may be impossible (α = 0)
both are scored: ∞ − ∞ is decided by the prior.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from fastlin.core.class_counts import Estimates, Floats, SmoothingPrior
from fastlin.core.sparse_estimator import Infer, Scorer
from fastlin.runtime.made_once import made_once
from fastlin.validation import CSRRows


@dataclass(frozen=True)
class OneVsRestPrior(SmoothingPrior):
    """The prior of each binary model. The last of the counts that it takes are those of all rows."""

    binary: SmoothingPrior

    @classmethod
    def of(cls, binary: SmoothingPrior) -> Self:
        """The prior of labels that each have this one, of two sides."""
        return cls(binary.pseudo, binary.measure, binary.labels, binary)

    def estimates(self, features: Floats, labels: Floats) -> "OneVsRestEstimates":
        own, L = features[:, :-1], len(labels) - 1
        rest = np.maximum(features[:, -1:] - own, 0.0)
        rows = np.concatenate([np.maximum(labels[-1] - labels[:-1], 0.0), labels[:-1]])
        logs = None if self.labels is None else np.repeat(self.labels, L)
        sides = replace(self.binary, labels=logs).side_estimates(rest, own, rows)
        return OneVsRestEstimates(sides.logs[:, L:], sides.impossible, labels, self, sides)

    def log_labels(self, labels: Floats) -> Floats:
        """log p of each label."""
        if self.labels is not None:
            return np.full(len(labels) - 1, self.labels[1])
        if not labels.any():
            return np.full(len(labels) - 1, -np.log(2))
        with np.errstate(divide="ignore"):
            return np.log(labels[:-1]) - np.log(labels[-1])


@dataclass(frozen=True, eq=False)
class OneVsRestEstimates(Estimates):
    """The log odds of each label, and the estimates of its two sides."""

    sides: Estimates  # [V, 2L], the rest's first

    @made_once
    def weights(self) -> Floats:
        """What the features of a row weigh in its log odds, [V, L]."""
        L = len(self.labels) - 1
        return np.ascontiguousarray(self.sides.weights[:, L:] - self.sides.weights[:, :L])

    @made_once
    def bias(self) -> Floats:
        """The log odds of an empty row."""
        return self.fix_constant(_odds(self.sides.bias[np.newaxis], self.undecided_odds))[0]

    @property
    def undecided_odds(self) -> Floats:
        """The log odds of a row that neither side can produce."""
        return _odds(self.sides.undecided[np.newaxis], np.zeros(len(self.labels) - 1))[0]

    def fix_constant(self, odds: Floats) -> Floats:
        """−∞ for a label that no row has had, ∞ for one that all have; in place."""
        own, everyone = self.labels[:-1], self.labels[-1]
        if everyone > 0:
            odds[:, own == 0] = -np.inf
            odds[:, own == everyone] = np.inf
        return odds

    def odds(self, scores: Floats) -> Floats:
        """The log odds of rows whose sides have these scores."""
        return self.fix_constant(_odds(scores, self.undecided_odds))


def _odds(scores: Floats, undecided: Floats) -> Floats:
    """The right half of the scores less the left, `undecided` where both are the same infinity."""
    L = scores.shape[1] // 2
    rest, own = scores[:, :L], scores[:, L:]
    same = np.isinf(rest) & (rest == own)
    odds = np.subtract(own, rest, where=~same, out=np.zeros(own.shape))
    return np.where(same, undecided, odds)


def odds_scorer(found: OneVsRestEstimates, sides: Scorer) -> Scorer:
    """Scores of both sides as log odds."""

    def forward(rows: CSRRows, infer: Infer) -> None:
        sides.forward(rows, lambda scores, start, stop: infer(found.odds(scores), start, stop))

    return Scorer(sides.width // 2, forward)
