"""Solvers of ridge regression: conjugate gradients, Cholesky's decomposition of either Gram matrix, singular values.

Of few columns, H = AᵀA + αI is written out and decomposed; of few rows, w = Aᵀu with (AAᵀ + αI)u = t, likewise. Each
step solves with the decomposition for what is left, so that rounding in H costs a step, not digits. Where the matrix is
not positive to rounding, singular values of A tell its rank, and the answer is the one of least norm. All others go by
conjugate gradients on Hw = Aᵀt, all targets together, each with steps of its own, preconditioned by the diagonal; where
α is nothing beside it, by no more than α, since they then end at the answer of least norm.
"""

from typing import Any, Protocol

import numpy as np
from scipy import linalg

from fastlin.core.fit_monitor import FitMonitor
from fastlin.optim.gram import GramRows, factoring_cost, mirror, solve_positive
from fastlin.optim.ridge_problem import (
    Floats,
    RidgePoint,
    RidgeProblem,
    column_dots,
    gaps_of,
    is_near,
    objectives_of,
)
from fastlin.validation import CSRRows

MAX_DENSE_SIZE = 4096  # of a Gram matrix
MAX_DENSE_ENTRIES = 1 << 22  # of rows that are written out for their singular values
CHUNK_ENTRIES = 1 << 18  # of rows that are written out for a Gram matrix, together
BLAS_SPEED = 32.0  # products of rows written out in the time of one by its place
CG_STEPS = 30.0  # that conjugate gradients take, at a guess
FLAT = 1e-10  # of the mean diagonal: a penalty below it is none for the preconditioner
LEAST_NORM = 1e-15  # of the first gradient: what is below is rounding, which a weak penalty magnifies into weights
GROWTH = 1e-9  # of the objective: a solver whose steps raise it more has no right digit left
PROGRESS = 0.5  # of the gradient: a solver that leaves more has come to what rounding allows


class Direct(Protocol):
    """A decomposition of the problem."""

    def direction(self, point: RidgePoint) -> Floats | None:
        """−H⁻¹g of all targets; None where rounding leaves no decomposition."""


class PrimalCholesky:
    """Of few columns: H itself."""

    name = "cholesky"

    def __init__(self, problem: RidgeProblem) -> None:
        self.problem = problem
        rows, s = problem.rows, problem.weights
        self.gram = gram_of(rows, s, np.zeros(len(rows)), problem.mean)

    def direction(self, point: RidgePoint) -> Floats | None:
        return _solve_each(self.gram, self.problem.alphas, -point.gradient)


class DualCholesky:
    """Of few rows: w = Aᵀu, with u in the space of the rows."""

    name = "cholesky"

    def __init__(self, problem: RidgeProblem) -> None:
        self.problem, self.roots = problem, np.sqrt(problem.weights)
        columns = _transposed(problem.rows)
        gram = gram_of(columns, np.ones(len(columns)), problem.mean, np.zeros(len(problem.rows)))
        gram *= np.outer(self.roots, self.roots)
        if problem.centred:  # √s is orthogonal to all that is centred: what it weighs there changes nothing
            gram += np.outer(self.roots, self.roots) * (max(gram.trace(), 1e-290) / len(gram) / problem.weights.sum())
        self.gram, self.u = gram, np.zeros(problem.targets.shape)

    def direction(self, point: RidgePoint) -> Floats | None:
        left = self.roots[:, np.newaxis] * point.residual - self.problem.alphas * self.u
        found = _solve_each(self.gram, self.problem.alphas, left)
        if found is None:
            return None
        self.u += found
        return self.problem.sums(self.roots[:, np.newaxis] * found)


class SingularValues:
    """Of a small problem: A = UΣVᵀ, without what is 0 to rounding."""

    name = "svd"

    def __init__(self, problem: RidgeProblem) -> None:
        A = problem.rows.matrix().toarray().astype(np.float64, copy=False) - problem.mean
        _, values, self.V = linalg.svd(
            np.sqrt(problem.weights)[:, np.newaxis] * A, full_matrices=False, check_finite=False
        )
        kept = values > np.finfo(float).eps * max(A.shape) * values.max(initial=0)
        self.V = self.V[kept]
        self.curvature = np.square(values[kept])[:, np.newaxis] + problem.alphas

    def direction(self, point: RidgePoint) -> Floats | None:
        found: Floats = self.V.T @ ((self.V @ -point.gradient) / self.curvature)
        return found


def gram_of(rows: CSRRows, weights: Floats, row_offsets: Floats, column_offsets: Floats) -> Floats:
    """Σ_i w_i z_i z_iᵀ of z_i = x_i − row_offsets_i − column_offsets, of which one at most is not zero.

    `column_offsets` are the means of the columns by these weights.
    """
    n, size = len(rows), rows.n_columns
    found, pairs = np.zeros((size, size)), _pairs(rows)
    if pairs.write_out:
        length = max(1, CHUNK_ENTRIES // max(size, 1))
        for start in range(0, n, length):
            part = slice(start, min(start + length, n))
            chunk = rows.between(part.start, part.stop).matrix().toarray().astype(np.float64, copy=False)
            chunk -= row_offsets[part, np.newaxis]
            chunk -= column_offsets
            chunk *= np.sqrt(weights[part, np.newaxis])
            found += chunk.T @ chunk
        return found
    pairs.add(weights, found)
    mirror(found)
    found -= weights.sum() * np.outer(column_offsets, column_offsets)
    if row_offsets.any():
        cross = np.bincount(rows.indices, (weights * row_offsets).repeat(np.diff(rows.indptr)) * rows.values, size)
        found += weights @ np.square(row_offsets) - cross - cross[:, np.newaxis]
    return found


def _pairs(rows: CSRRows) -> GramRows:
    return GramRows(rows.indptr, rows.indices, rows.values, rows.n_columns)


def _transposed(rows: CSRRows) -> CSRRows:
    matrix = rows.matrix().tocsc()
    return CSRRows(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, len(rows), rows.negative,
        rows.zeros, rows.largest,
    )  # fmt: skip


def _solve_each(gram: Floats, alphas: Floats, right: Floats) -> Floats | None:
    """(G + αI)⁻¹ of the columns of `right`, a decomposition for each α."""
    found = np.empty(right.shape)
    for alpha in np.unique(alphas):
        H, columns = gram.copy(), alphas == alpha
        H[np.diag_indices(len(H))] += alpha
        solved = solve_positive(H, right[:, columns])
        if solved is None:
            return None
        found[:, columns] = solved
    return found


def choose(problem: RidgeProblem, solver: str) -> list[type[Any]]:
    """The decompositions to be tried in turn; conjugate gradients do what they leave."""
    n, size = len(problem.rows), problem.rows.n_columns
    small = [SingularValues] if n * size <= MAX_DENSE_ENTRIES else []
    if solver == "svd" and small:
        return small
    if solver not in ("auto", "cholesky", "svd", "lbfgs"):
        return []
    smaller = min(n, size)
    if smaller > MAX_DENSE_SIZE:
        return []
    work = _gram_cost(problem.rows) if size <= n else _gram_cost(_transposed(problem.rows))
    work += len(np.unique(problem.alphas)) * factoring_cost(smaller)
    step = 2.0 * (problem.rows.nnz + n + size) * len(problem.alphas)
    if solver != "cholesky" and work > CG_STEPS * step:
        return []
    return [PrimalCholesky if size <= n else DualCholesky, *small]


def _gram_cost(rows: CSRRows) -> float:
    pairs = _pairs(rows)
    return 0.5 * len(rows) * float(rows.n_columns) ** 2 / BLAS_SPEED if pairs.write_out else pairs.cost


def train(point: RidgePoint, solver: str, tol: float, monitor: FitMonitor) -> str:
    """Go to the optimum of all targets; returns how."""
    for kind in choose(point.problem, solver):
        if train_direct(kind(point.problem), point, tol, monitor):
            return str(kind.name)
    train_cg(point, tol, monitor)
    return "sparse_cg"


def train_direct(direct: Direct, point: RidgePoint, tol: float, monitor: FitMonitor) -> bool:
    """Steps by a decomposition, until the optimum is there or rounding ends it; returns whether it was any use."""
    gained = False
    while True:
        direction = direct.direction(point)
        if direction is None:
            return gained
        point.excess = np.abs(column_dots(point.gradient, direction))
        monitor.converged = bool(point.finished(tol).all())
        if monitor.should_stop:
            return True
        theta, before, norms = point.theta, point.objectives, point.norms
        point.move_to(theta + direction)
        if (point.objectives > before * (1 + GROWTH)).any():  # no digit of the decomposition is right
            point.move_to(theta)
            return gained
        gained = True
        monitor.iterations += 1
        log(monitor, point.objectives, point.gaps)
        if (point.norms > PROGRESS * norms).all():
            monitor.converged = bool(point.finished(tol).all())
            return True


def train_cg(point: RidgePoint, tol: float, monitor: FitMonitor) -> None:
    """Conjugate gradients; the true gradient says whether they have arrived, or begin again from there."""
    inverse = 1 / diagonal(point.problem)
    while not monitor.should_stop:
        norms, theta, before = point.norms, point.theta, point.objectives
        point.move_to(_descend(point, inverse, tol, monitor))
        if (point.objectives > before * (1 + GROWTH)).any():
            point.move_to(theta)
        monitor.converged = bool(point.finished(tol).all())
        if ((point.norms > PROGRESS * norms) | (point.norms <= 100 * LEAST_NORM * point.first_norms)).all():
            break


def _descend(point: RidgePoint, inverse: Floats, tol: float, monitor: FitMonitor) -> Floats:
    """Steps until their own measure says that all targets have arrived; returns the weights."""
    problem, alphas = point.problem, point.problem.alphas
    theta, residual, r = point.theta.copy(), point.residual.copy(), -point.gradient
    p = inverse * r
    size, moves = column_dots(r, p), ~point.finished(tol)
    while True:
        u, Hp = problem.normal_product(p)
        Hp += alphas * p
        bend = column_dots(p, Hp)
        share = np.divide(size, bend, out=np.zeros(len(bend)), where=moves & (bend > 0))
        theta += share * p
        residual -= share * u
        r -= share * Hp
        norms, values = np.sqrt(column_dots(r, r)), objectives_of(problem, theta, residual)
        monitor.iterations += 1
        gaps = gaps_of(norms, alphas)
        log(monitor, values, gaps)
        arrived = (norms <= tol * point.first_norms) & is_near(alphas, values, gaps, tol)
        moves &= (share > 0) & ~arrived & (norms > LEAST_NORM * point.first_norms)
        if not moves.any() or monitor.should_stop:
            return theta
        y = inverse * r
        before, size = size, column_dots(r, y)
        p = y + np.divide(size, before, out=np.zeros(len(size)), where=moves) * p


def diagonal(problem: RidgeProblem) -> Floats:
    """The diagonal of H for each target, or ones where its penalty is nothing beside it."""
    found = problem.squared_sums()[:, np.newaxis] + problem.alphas
    flat = problem.alphas <= FLAT * found.mean(axis=0)
    return np.where(flat | (found == 0), 1.0, found)


def log(monitor: FitMonitor, objectives: Floats, gaps: Floats) -> None:
    """Log a step of all targets."""
    monitor.log(objective=float(objectives.sum()), gap=float(gaps.sum()))
