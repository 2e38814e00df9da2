"""What the scores of a block of rows mean: labels of each row, or rows that compete within a group."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import likelihood
from fastlin.engine.core import row_scores as row_kernels
from fastlin.optim.design import Design
from fastlin.runtime import parallel

Scores = NDArray[np.float64]
BlockArray = NDArray[Any]


def _total(weights: NDArray[np.float64], n: int) -> float:
    return float(weights.sum()) if len(weights) else float(n)


@dataclass(frozen=True)
class MultinomialLikelihood:
    """Every row has one of the same K labels; two may share a column."""

    codes: NDArray[np.int32]
    weights: NDArray[np.float64]  # one a row, or empty for all ones
    width: int

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All but the width, in their order."""
        return self.codes, self.weights

    def take(self, rows: slice) -> "MultinomialLikelihood":
        """Those of some of the rows."""
        return MultinomialLikelihood(self.codes[rows], self.weights[rows], self.width)

    @property
    def n_instances(self) -> int:
        return len(self.codes)

    @property
    def total_weight(self) -> float:
        return _total(self.weights, len(self.codes))

    def row_blocks(self, design: Design) -> list[tuple[int, int]]:
        return list(parallel.split_by_work(design.indptr, self.width))

    def loss(self, scores: Scores, start: int, stop: int, residual: BlockArray, shares: BlockArray) -> float:
        kernel = likelihood.sigmoid_loss if self.width == 1 else likelihood.softmax_loss
        return kernel(scores, self.codes[start:stop], self.weights[start:stop], residual, shares)

    def curvature(self, scores: Scores, start: int, stop: int, shares: BlockArray, curvature: BlockArray) -> None:
        kernel = likelihood.sigmoid_curvature if self.width == 1 else likelihood.softmax_curvature
        kernel(scores, shares, self.weights[start:stop], curvature)

    def variances(self, shares: BlockArray) -> NDArray[np.float64]:
        """w p (1 − p), the diagonal of the curvature of each row."""
        variances = shares.astype(np.float64)
        if self.width > 1:
            _bernoulli_variances(variances)
        return variances * self.weights[:, np.newaxis] if len(self.weights) else variances

    def probabilities(self, residual: BlockArray) -> NDArray[np.float64]:
        """p of every label, two where they share a column, from residuals of nonzero weight."""
        p = residual / self.weights[:, np.newaxis] if len(self.weights) else residual.copy()
        if self.width == 1:
            p[:, 0] += self.codes
            return np.concatenate([1 - p, p], axis=1)
        p[np.arange(len(p)), self.codes] += 1
        return p

    def expected(self, residual: BlockArray) -> NDArray[np.float64]:
        """w p of every label, two where they share a column."""
        p = residual + self.observed(self.width)
        return np.concatenate([self.row_weights() - p, p], axis=1) if self.width == 1 else p

    def observed(self, width: int) -> NDArray[np.float64]:
        """w e_y, of the second label only where two share a column."""
        own = np.zeros((len(self.codes), width))
        if width == 1:
            own[:, 0] = self.codes
        else:
            own[np.arange(len(own)), self.codes] = 1
        return own * self.row_weights()

    def row_weights(self) -> NDArray[np.float64]:
        """w, [n, 1]."""
        return (self.weights if len(self.weights) else np.ones(len(self.codes)))[:, np.newaxis]

    def fill_residual(self, a: BlockArray, residual: BlockArray) -> None:
        """residual = w (a − e_y)."""
        np.copyto(residual, a)
        if self.width == 1:
            residual[:, 0] -= self.codes
        else:
            residual[np.arange(len(residual)), self.codes] -= 1
        if len(self.weights):
            residual *= self.weights[:, np.newaxis]

    def shifted_softmax(self, logs: Scores, shift: NDArray[np.float64]) -> NDArray[np.float64]:
        """softmax(log p + shift), [n, K]."""
        odds = logs + shift
        odds -= odds.max(axis=1, keepdims=True)
        np.exp(odds, out=odds)
        odds /= odds.sum(axis=1, keepdims=True)
        return odds

    def mixed_residual(
        self, logs: Scores, shift: NDArray[np.float64], kept: float, rest: NDArray[np.float64], share: float
    ) -> tuple[NDArray[np.float64], float]:
        """w a of a = share · (kept · softmax(log p + shift) + rest) + (1 − share) · e_y, and Σ w KL(a ‖ p)."""
        mass, rows = self.row_weights(), np.arange(len(self.codes))
        a = kept * (self.shifted_softmax(logs, shift) if shift.any() else np.exp(logs)) + rest
        if share < 1:
            a *= share
            a[rows, self.codes] += 1 - share
        return mass * a, divergence(a, logs, mass)

    def log_proba(self, scores: Scores) -> NDArray[np.float64]:
        """log p of every label, two where they share a column; the scores may be overwritten."""
        if self.width > 1:
            row_kernels.softmax(scores, True)
            return scores
        both = np.empty((len(scores), 2))
        row_kernels.sigmoid_proba(scores[:, 0], both, True)
        return both

    def mean_variance(self, a: BlockArray) -> float:
        """Σ w a (1 − a), the curvature of an intercept, on average over the columns."""
        weights = self.weights if len(self.weights) else np.ones(len(a))
        return float(weights @ (a.sum(axis=1) - np.einsum("ik,ik->i", a, a))) / self.width


@dataclass(frozen=True)
class ConditionalLogitLikelihood:
    """Rows starts[g] … starts[g + 1] − 1 compete, and gold[g] is the place of the right one among them."""

    starts: NDArray[np.int64]
    gold: NDArray[np.int64]
    weights: NDArray[np.float64]  # one a group, or empty for all ones
    width: int = 1

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All but the width, in their order."""
        return self.starts, self.gold, self.weights

    @property
    def n_instances(self) -> int:
        return len(self.gold)

    @property
    def total_weight(self) -> float:
        return _total(self.weights, len(self.gold))

    def row_blocks(self, design: Design) -> list[tuple[int, int]]:
        of_groups = parallel.split_by_work(design.indptr[self.starts], 1)
        return [(int(self.starts[first]), int(self.starts[last])) for first, last in of_groups]

    def _range(self, start: int, stop: int) -> tuple[int, int]:
        """The groups of a block."""
        first, last = np.searchsorted(self.starts, [start, stop], side="left")
        return int(first), int(last)

    def loss(self, scores: Scores, start: int, stop: int, residual: BlockArray, shares: BlockArray) -> float:
        first, last = self._range(start, stop)
        weights = self.weights[first:last]
        return likelihood.group_loss(
            scores, self.starts[first : last + 1], self.gold[first:last], weights, residual, shares
        )

    def curvature(self, scores: Scores, start: int, stop: int, shares: BlockArray, curvature: BlockArray) -> None:
        first, last = self._range(start, stop)
        starts, weights = self.starts[first : last + 1], self.weights[first:last]
        likelihood.group_curvature(scores, starts, shares, weights, curvature)

    def expected(self, residual: BlockArray) -> NDArray[np.float64]:
        """w p of every row."""
        return residual + self.observed(1)

    def observed(self, width: int) -> NDArray[np.float64]:
        """w for the right rows, 0 for the others."""
        own = np.zeros((int(self.starts[-1]), width))
        own[self.starts[:-1] + self.gold, 0] = self.weights if len(self.weights) else 1.0
        return own

    def log_proba(self, scores: Scores) -> NDArray[np.float64]:
        """log p of every row; the scores may be overwritten."""
        sizes = np.diff(self.starts)
        scores[:, 0] -= np.repeat(np.maximum.reduceat(scores[:, 0], self.starts[:-1]), sizes)
        scores[:, 0] -= np.repeat(np.log(np.add.reduceat(np.exp(scores[:, 0]), self.starts[:-1])), sizes)
        return scores

    def mixed_residual(
        self,
        logs: Scores,
        shift: NDArray[np.float64],  # noqa: ARG002 - there are no intercepts
        kept: float,
        rest: NDArray[np.float64],
        share: float,
    ) -> tuple[NDArray[np.float64], float]:
        """w a of a = share · (kept · p + rest) + (1 − share) · e_y, and Σ w KL(a ‖ p)."""
        a = share * (kept * np.exp(logs) + rest)
        a[self.starts[:-1] + self.gold] += 1 - share
        mass = np.repeat(self.weights if len(self.weights) else np.ones(len(self.gold)), np.diff(self.starts))
        return mass[:, np.newaxis] * a, divergence(a, logs, mass[:, np.newaxis])

    def variances(self, shares: BlockArray) -> NDArray[np.float64]:
        """w p (1 − p)."""
        variances = _bernoulli_variances(shares.astype(np.float64))
        if len(self.weights):
            variances *= np.repeat(self.weights, np.diff(self.starts))[:, np.newaxis]
        return variances


class RowLoss(Protocol):
    """What rows mean, as partitions keep it."""

    @property
    def width(self) -> int:
        """The columns of scores."""

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All but the width, in their order."""


def _bernoulli_variances(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """p (1 − p), in place, from p or p − 1."""
    distance = np.abs(shares)
    np.multiply(distance, 1 - distance, out=shares)
    return shares


def divergence(a: NDArray[np.float64], logs: Scores, mass: NDArray[np.float64]) -> float:
    """Σ w KL(a ‖ p), of terms a log(a/p) − a + p ≥ 0."""
    terms = a * (np.log(a, where=a > 0, out=logs.copy()) - logs) - a + np.exp(logs)
    return float((mass * np.maximum(terms, 0)).sum())


# Losses, residuals and curvatures of the blocks of rows that `split_by_work` makes.
Likelihood = MultinomialLikelihood | ConditionalLogitLikelihood
