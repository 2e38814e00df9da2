"""Ridge regression of sparse rows: the problem, centred without a change of the rows, and points in it.

For each target, with weights s of the rows and the penalty α,

    min over w and b   Σ_i s_i (y_i − x_i·w − b)² + α‖w‖²

The best b is ȳ − x̄·w, with the means by the weights s. What remains is of centred rows A = √S(X − 1x̄ᵀ) and targets
t = √S(y − ȳ):

    P(w) = ‖t − Aw‖² + α‖w‖²,      g = ½∇P = αw − Aᵀ(t − Aw),      H = ½∇²P = AᵀA + αI

P is quadratic: P(w) − min P = gᵀH⁻¹g, of which no more than ‖g‖²/α is certain without H: that is exactly the gap to the
dual objective 2u·t − ‖u‖² − ‖Aᵀu‖²/α at u = t − Aw.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import passes
from fastlin.engine.core.csr_view import CSRView
from fastlin.runtime import parallel
from fastlin.validation import CSRRows

Floats = NDArray[np.float64]
PARTITION_NNZ = 1 << 22  # non-zeros of the rows that share a sum: as many sums, whatever the number of threads


class RidgeProblem:
    """Rows of positive weights, their targets [n, K], and the penalty of each target."""

    def __init__(
        self, rows: CSRRows, targets: Floats, weights: Floats, alphas: Floats, centred: bool, n_jobs: int | None
    ) -> None:
        self.rows, self.alphas, self.n_jobs = rows, alphas, n_jobs
        self._partitions = list(parallel.split_by_length(rows.indptr, PARTITION_NNZ))
        self._full = as_full(rows)
        self.weights = weights if len(weights) else np.ones(len(rows))
        self.mean, self.target_mean = np.zeros(rows.n_columns), np.zeros(targets.shape[1])
        if centred:
            total = self.weights.sum()
            self.mean = self._sums(self.weights[:, np.newaxis])[:, 0] / total
            self.target_mean = self.weights @ targets / total
        self.centred, self.targets = centred, targets - self.target_mean
        self._view = CSRView(rows.indptr, rows.indices, rows.values)

    def scores(self, theta: Floats) -> Floats:
        """(X − 1x̄ᵀ)θ of every row, [n, K]."""
        shift = self.mean @ theta
        if self._full is None:
            return parallel.scores(self.rows, theta, -shift, self.n_jobs)
        found = np.empty((len(self.rows), theta.shape[1]))
        for start, stop in self._partitions:
            np.subtract(self._full[start:stop] @ theta, shift, out=found[start:stop])
        return found

    def weighted_sums(self, of_rows: Floats) -> Floats:
        """(X − 1x̄ᵀ)ᵀ S R, [V, K]."""
        return self.sums(self.weights[:, np.newaxis] * of_rows)

    def sums(self, of_rows: Floats) -> Floats:
        """(X − 1x̄ᵀ)ᵀ R, [V, K]."""
        found = self._sums(of_rows)
        if self.centred:
            found -= np.outer(self.mean, of_rows.sum(axis=0))
        return found

    def normal_product(self, theta: Floats) -> tuple[Floats, Floats]:
        """The scores of θ, and their `weighted_sums`: of one target, in one pass over sparse rows."""
        if theta.shape[1] > 1 or self._full is not None:
            scores = self.scores(theta)
            return scores, self.weighted_sums(scores)
        scores, shift = np.empty(len(self.rows)), float(self.mean @ theta[:, 0])

        def work(start: int, stop: int) -> Floats:
            pairs = np.zeros((len(theta), 2))
            pairs[:, :1] = theta
            passes.normal_product(self._view, start, stop, self.weights, shift, pairs, scores)
            return pairs[:, 1:]

        with parallel.WorkerPool(self.n_jobs) as workers:
            found = sum(workers.map(work, self._partitions), np.zeros(theta.shape))
        if self.centred:
            found -= self.mean[:, np.newaxis] * float(self.weights @ scores)
        return scores[:, np.newaxis], found

    def squared_sums(self) -> Floats:
        """The diagonal of AᵀA."""
        squares = replace(self.rows, values=np.square(self.rows.values, dtype=np.float64))
        found = np.zeros((self.rows.n_columns, 1))
        parallel.backward(squares, self.weights[:, np.newaxis], found, self.n_jobs)
        return np.asarray(np.maximum(found[:, 0] - self.weights.sum() * self.mean**2, 0))

    def intercepts(self, theta: Floats) -> Floats:
        """The best intercept of each target; 0 where rows are not centred."""
        found: Floats = self.target_mean - self.mean @ theta
        return found

    def _sums(self, of_rows: Floats) -> Floats:
        found = np.zeros((self.rows.n_columns, of_rows.shape[1]))
        if self._full is None:
            parallel.backward(self.rows, np.ascontiguousarray(of_rows), found, self.n_jobs)
        else:
            for start, stop in self._partitions:
                found += self._full[start:stop].T @ of_rows[start:stop]
        return found


def as_full(rows: CSRRows) -> Floats | None:
    """Rows that lack no column as a dense matrix, which the BLAS reads faster; None of others."""
    n, size = len(rows), rows.n_columns
    if rows.nnz != n * size or not size:
        return None
    return rows.values[: rows.nnz].reshape(n, size).astype(np.float64, copy=False)


class RidgePoint:
    """The weights of all targets, [V, K], and what is known of the objective there."""

    def __init__(self, problem: RidgeProblem) -> None:
        self.problem = problem
        self.theta = np.zeros((problem.rows.n_columns, problem.targets.shape[1]))
        self.residual = problem.targets
        self._measure()
        self.first_norms = self.norms

    def move_to(self, theta: Floats) -> None:
        """Go to other weights."""
        self.theta = theta
        self.residual = self.problem.targets - self.problem.scores(theta)
        self._measure()

    def _measure(self) -> None:
        self.latest = self.theta  # or where steps from here have come, for callbacks
        alphas = self.problem.alphas
        self.gradient = alphas * self.theta - self.problem.weighted_sums(self.residual)
        self.objectives = objectives_of(self.problem, self.theta, self.residual)
        self.norms = np.sqrt(column_dots(self.gradient, self.gradient))
        if not np.isfinite([self.objectives, self.norms]).all():
            raise ValueError("the objective overflows: scale the features and the targets, or lower alpha")
        self.excess = np.full(len(alphas), np.inf)  # gᵀH⁻¹g, where a solver has told

    @property
    def gaps(self) -> Floats:
        """By how much each objective is above that of the dual; infinite without a penalty."""
        return gaps_of(self.norms, self.problem.alphas)

    def finished(self, tol: float) -> NDArray[np.bool_]:
        """Which targets are at their optimum."""
        near = is_near(self.problem.alphas, self.objectives, np.minimum(self.gaps, self.excess), tol)
        return (near & (self.norms <= tol * self.first_norms)) | (self.norms == 0)


def objectives_of(problem: RidgeProblem, theta: Floats, residual: Floats) -> Floats:
    """P of each target."""
    found: Floats = problem.weights @ np.square(residual) + problem.alphas * column_dots(theta, theta)
    return found


def gaps_of(norms: Floats, alphas: Floats) -> Floats:
    """‖g‖²/α of each target."""
    found: Floats = np.divide(norms**2, alphas, out=np.where(norms > 0, np.inf, 0.0), where=alphas > 0)
    return found


def is_near(alphas: Floats, objectives: Floats, excess: Floats, tol: float) -> NDArray[np.bool_]:
    """Whether an objective is at most so far above its least value; without a penalty only the gradient tells."""
    found: NDArray[np.bool_] = (alphas == 0) | (excess <= tol * objectives)
    return found


def column_dots(a: Floats, b: Floats) -> Any:
    """The products of the columns of two arrays."""
    return np.einsum("jk,jk->k", a, b)
