"""What the scores of a block of rows mean: a label or labels of each row, or rows that compete within a group."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from fastlin.engine.core import likelihood
from fastlin.engine.core import row_scores as row_kernels
from fastlin.optim.design import Design
from fastlin.runtime import parallel

Scores = NDArray[np.float64]
BlockArray = NDArray[Any]


def _total(weights: NDArray[np.float64], n: int) -> float:
    return float(weights.sum()) if len(weights) else float(n)


def _range(weights: NDArray[np.float64]) -> tuple[float, float]:
    """The least and the largest weight, and 1."""
    return float(weights.min(initial=1)), float(weights.max(initial=1))


class LabelLikelihood:
    """What likelihoods of rows with labels share, of one label a row or several."""

    codes: NDArray[np.int32]
    weights: NDArray[np.float64]
    width: int

    @property
    def n_instances(self) -> int:
        return len(self.codes)

    @property
    def total_weight(self) -> float:
        return _total(self.weights, len(self.codes))

    @property
    def weight_range(self) -> tuple[float, float]:
        return _range(self.weights)

    def row_blocks(self, design: Design) -> list[tuple[int, int]]:
        return list(parallel.split_by_work(design.indptr, self.width))


@dataclass(frozen=True)
class MultinomialLikelihood(LabelLikelihood):
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

    def first_shares(self, mass: float) -> NDArray[np.float64]:
        """a of every label, two where they share a column: `mass` spread over all, the rest with a row's own."""
        K = max(2, self.width)
        a = np.full((len(self.codes), K), mass / K)
        a[np.arange(len(a)), self.codes] += 1 - mass
        return a

    def dual_state(self, a: NDArray[np.float64]) -> NDArray[np.float64]:
        """What dual ascent keeps of a: its logarithms before it, or the logit of two labels in one column."""
        if self.width == 1:
            return np.stack([np.log(a[:, 1] / a[:, 0]), a[:, 1]], axis=1)
        return np.hstack([np.log(a), a])

    def dual_masses(self, a: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Σ w a, and Σ w e_y, of every label, two where they share a column."""
        a, mass = self._of_all_labels(a), self.row_weights()
        return (mass * a).sum(axis=0), np.bincount(self.codes, mass[:, 0], a.shape[1]).astype(np.float64, copy=False)

    def fill_mixture(
        self, a: NDArray[np.float64], scores: Scores, kept: float, rest: Any, residual: BlockArray
    ) -> float:
        """residual = w (a' − e_y) of a' = kept · a + rest; returns Σ w KL(a' ‖ p)."""
        mixed = kept * self._of_all_labels(a) + rest
        self.fill_residual(mixed[:, -self.width :], residual)
        return divergence(mixed, self.log_proba(scores), self.row_weights())

    def _of_all_labels(self, a: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([1 - a, a], axis=1) if a.shape[1] == 1 else a

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
        row_kernels.softmax(odds, False)
        return odds

    def mixed_residual(
        self, logs: Scores, shift: NDArray[np.float64], kept: float, rest: NDArray[np.float64], share: float
    ) -> tuple[NDArray[np.float64], float]:
        """w a of a = share · (kept · softmax(log p + shift) + rest) + (1 − share) · e_y, and Σ w KL(a ‖ p).

        Of two labels in one column `logs` are the log odds.
        """
        mass, rows = self.row_weights(), np.arange(len(self.codes))
        logs = self.log_proba(logs) if self.width == 1 else logs
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

    def fill_dual(
        self,
        logs: Scores,
        shift: NDArray[np.float64],
        kept: float,
        rest: NDArray[np.float64],
        residual: BlockArray,
    ) -> float:
        """residual = w (a − e_y) of the a of `mixed_residual`; returns Σ w KL(a ‖ p)."""
        if self.width == 1:
            mixture = float(shift[1] - shift[0]), kept, float(rest[0]), float(rest[1])
            return row_kernels.binary_mixture(logs, self.codes, self.weights, *mixture, residual)
        wa, found = self.mixed_residual(logs, shift, kept, rest, 1.0)
        self.fill_residual((wa / self.row_weights())[:, -residual.shape[1] :], residual)
        return found

    def binary_masses(self, odds: Scores, shift: float) -> tuple[Scores, Scores, float]:
        """Of two labels in one column Σ w p where the log odds are shifted, Σ w e_y, and Σ w p₀ p₁."""
        first, second, slope = row_kernels.binary_masses(odds, self.weights, shift)
        held = np.bincount(self.codes, self.weights if len(self.weights) else None, minlength=2)
        return np.array([first, second]), held.astype(np.float64, copy=False), slope

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

    @property
    def weight_range(self) -> tuple[float, float]:
        return _range(self.weights)

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


@dataclass(frozen=True)
class OneVsRestLikelihood(LabelLikelihood):
    """Every row has a set of the same K labels, each of which is there or not on its own."""

    codes: NDArray[np.int32]  # of the sets
    weights: NDArray[np.float64]  # one a row, or empty for all ones
    members: NDArray[np.uint8]  # [sets, K]
    factors: NDArray[np.float64]  # of the weights of rows without a label, and with it, [2, K]; empty for all ones
    width: int

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All but the width, in their order."""
        return self.codes, self.weights, self.members, self.factors

    @property
    def weight_range(self) -> tuple[float, float]:
        (least, largest), factors = _range(self.weights), self.factors[self.factors > 0]
        return least * float(factors.min(initial=1)), largest * float(factors.max(initial=1))

    def loss(self, scores: Scores, start: int, stop: int, residual: BlockArray, shares: BlockArray) -> float:
        codes, weights = self.codes[start:stop], self.weights[start:stop]
        return likelihood.one_vs_rest_loss(scores, codes, self.members, weights, self.factors, residual, shares)

    def curvature(self, scores: Scores, start: int, stop: int, shares: BlockArray, curvature: BlockArray) -> None:
        np.multiply(shares, scores, out=curvature, casting="same_kind")
        self._weigh(curvature, slice(start, stop))

    def variances(self, shares: BlockArray) -> NDArray[np.float64]:
        """w p (1 − p), the diagonal of the curvature of each row."""
        variances = shares.astype(np.float64)
        self._weigh(variances, slice(None))
        return variances

    def log_proba(self, scores: Scores) -> NDArray[np.float64]:
        """What log p follows from: the log odds of every label."""
        return scores

    def masses(
        self, odds: Scores, shift: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Σ w p where the log odds are shifted, its derivative by the shift, Σ w y and Σ w, of each label."""
        p, mass, own = scipy.special.expit(odds + shift), self.row_weights(slice(None)), self.members[self.codes]
        wp = mass * p
        whole = np.broadcast_to(mass, p.shape).sum(axis=0)
        return wp.sum(axis=0), (wp * (1 - p)).sum(axis=0), (mass * own).sum(axis=0), whole

    def mixed_residual(
        self,
        odds: Scores,
        shift: NDArray[np.float64],
        kept: NDArray[np.float64] | float,
        rest: NDArray[np.float64],
        share: float,
    ) -> tuple[NDArray[np.float64], float]:
        """w a of a = share · (kept · p(odds + shift) + rest) + (1 − share) · y, and Σ w KL(a ‖ p), over all labels."""
        mass, own = self.row_weights(slice(None)), self.members[self.codes]
        a = share * (kept * scipy.special.expit(odds + shift) + rest)
        if share < 1:
            a += (1 - share) * own
        np.clip(a, 0.0, 1.0, out=a)
        return mass * a, divergence(a, scipy.special.log_expit(odds), mass) + divergence(
            1 - a, scipy.special.log_expit(-odds), mass
        )

    def fill_dual(
        self,
        odds: Scores,
        shift: NDArray[np.float64],
        kept: NDArray[np.float64] | float,
        rest: NDArray[np.float64],
        residual: BlockArray,
    ) -> float:
        """residual = w (a − y) of the a of `mixed_residual`; returns Σ w KL(a ‖ p)."""
        wa, found = self.mixed_residual(odds, shift, kept, rest, 1.0)
        np.subtract(wa, self.row_weights(slice(None)) * self.members[self.codes], out=residual)
        return found

    # Dual ascent

    def take(self, rows: slice) -> "OneVsRestLikelihood":
        """That of some of the rows."""
        return OneVsRestLikelihood(self.codes[rows], self.weights[rows], self.members, self.factors, self.width)

    def first_shares(self, mass: float) -> NDArray[np.float64]:
        """a of every label: nearly 1 of those that a row has, nearly 0 of the others."""
        own: NDArray[np.float64] = self.members[self.codes].astype(np.float64)
        return 0.5 * mass + (1 - mass) * own

    def probabilities(self, residual: BlockArray) -> NDArray[np.float64]:
        """p of every label from residuals; ½ of those without a weight."""
        weights = np.broadcast_to(self.row_weights(slice(None)), residual.shape)
        there, own = weights > 0, self.members[self.codes]
        return np.where(there, np.divide(residual, weights, where=there, out=np.zeros(residual.shape)) + own, 0.5)

    def dual_state(self, a: NDArray[np.float64]) -> NDArray[np.float64]:
        """What dual ascent keeps of a: its logits before it."""
        return np.hstack([np.log(a) - np.log1p(-a), a])

    def dual_masses(self, a: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Σ w a, and Σ w y, of the rest of each label and of itself, [2, K]."""
        mass, own = self.row_weights(slice(None)), self.members[self.codes]
        whole = np.broadcast_to(mass, a.shape).sum(axis=0)
        total, held = (mass * a).sum(axis=0), (mass * own).sum(axis=0)
        return np.stack([whole - total, total]), np.stack([whole - held, held])

    def fill_mixture(self, a: NDArray[np.float64], scores: Scores, kept: Any, rest: Any, residual: BlockArray) -> float:
        """residual = w (a' − y) of a' = kept · a + rest, of each label; returns Σ w KL(a' ‖ p)."""
        own = rest[1] if np.ndim(rest) else rest
        mixed, mass = np.clip(kept * a + own, 0.0, 1.0), self.row_weights(slice(None))
        self.fill_residual(mixed, residual)
        log_p, log_rest = scipy.special.log_expit(scores), scipy.special.log_expit(-scores)
        return divergence(mixed, log_p, mass) + divergence(1 - mixed, log_rest, mass)

    def fill_residual(self, a: BlockArray, residual: BlockArray) -> None:
        """residual = w (a − y)."""
        np.subtract(a, self.members[self.codes], out=residual)
        self._weigh(residual, slice(None))

    def mean_variance(self, a: BlockArray) -> NDArray[np.float64]:
        """Σ w a (1 − a), the curvature of each intercept."""
        return np.asarray((self.row_weights(slice(None)) * a * (1 - a)).sum(axis=0))

    def row_weights(self, rows: slice) -> NDArray[np.float64]:
        """w of some rows, of each label, [n, K], or of all alike, [n, 1]."""
        own = self.weights[rows] if len(self.weights) else np.ones(len(self.codes[rows]))
        weights: NDArray[np.float64] = own[:, np.newaxis]
        if len(self.factors):
            weights = weights * np.where(self.members[self.codes[rows]], self.factors[1], self.factors[0])
        return weights

    def _weigh(self, of_rows: BlockArray, rows: slice) -> None:
        """Multiply numbers of some rows and all labels by the weights, in place."""
        if len(self.weights) or len(self.factors):
            np.multiply(of_rows, self.row_weights(rows), out=of_rows, casting="same_kind")


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
Likelihood = MultinomialLikelihood | ConditionalLogitLikelihood | OneVsRestLikelihood
