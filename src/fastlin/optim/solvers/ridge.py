"""Solvers of ridge regression: conjugate gradients, Cholesky's decomposition of either Gram matrix, singular values.

Of few columns, H = AᵀA + αI is written out and decomposed; of few rows, w = Aᵀu with (AAᵀ + αI)u = t, likewise. Each
step solves with the decomposition for what is left, so that rounding in H costs a step, not digits. Where the matrix is
not positive to rounding, singular values of A tell its rank, and the answer is the one of least norm. All others go by
conjugate gradients on Hw = Aᵀt, all targets together, each with steps of its own, preconditioned by the diagonal; where
α is nothing beside it, by no more than α, since they then end at the answer of least norm.
"""

from typing import Any, Protocol

import numpy as np
import scipy

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.fit_monitor import FitMonitor
from fastlin.data.scratch import ScratchArray
from fastlin.optim.gram import GramRows, factoring_cost, mirror, solve_positive
from fastlin.optim.ridge_problem import (
    Floats,
    RidgePoint,
    RidgeProblem,
    as_full,
    column_dots,
    gaps_of,
    is_near,
    objectives_of,
)
from fastlin.validation import CSRRows

MAX_DENSE_SIZE = 2048  # of a Gram matrix: its decomposition hears no Ctrl-C for a tenth of a second
MAX_DENSE_ENTRIES = 1 << 19  # of rows that are written out for their singular values: the same
CHUNK_ENTRIES = 1 << 17  # of rows that are written out for a Gram matrix, together
BLAS_SPEED = 32.0  # products of rows written out in the time of one by its place
CG_STEPS = 30.0  # that conjugate gradients take, at a guess
FLAT = 1e-10  # of the mean diagonal: a penalty below it is none for the preconditioner
LEAST_NORM = 1e-15  # of the first gradient: what is below is rounding, which a weak penalty magnifies into weights
GROWTH = 1e-9  # of the objective: a solver whose steps raise it more has no right digit left
PROGRESS = 0.5  # of the gradient: a solver that leaves more has come to what rounding allows


class Direct(Protocol):
    """A decomposition of the problem."""

    name: str

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
        _, values, self.V = scipy.linalg.svd(
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
        offset, weighs = bool(row_offsets.any()), bool((weights != 1).any())
        length, full = max(1, CHUNK_ENTRIES // max(size, 1)), as_full(rows)
        memory = np.empty((min(length, n), size))
        for start in range(0, n, length):
            part = slice(start, min(start + length, n))
            chunk = memory[: part.stop - start]
            given = rows.between(part.start, part.stop).matrix().toarray() if full is None else full[part]
            np.subtract(given, row_offsets[part, np.newaxis] if offset else column_offsets, out=chunk)
            if weighs:
                chunk *= np.sqrt(weights[part, np.newaxis])
            found += chunk.T @ chunk  # numpy asks the BLAS for one triangle, and mirrors it
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
    kinds = choose(point.problem, solver)
    resumed = [place for place, kind in enumerate(kinds) if monitor.has_saved(kind.name)]
    for kind in () if monitor.has_saved(ConjugateGradients.name) else kinds[min(resumed, default=0) :]:
        if train_direct(DirectSteps(kind(point.problem), point, tol), monitor, kind.name):
            return str(kind.name)
        monitor.forget(kind.name)
    train_cg(ConjugateGradients(point, tol), monitor)
    return ConjugateGradients.name


class DirectSteps:
    """Steps by a decomposition."""

    def __init__(self, direct: Direct, point: RidgePoint, tol: float) -> None:
        self.direct, self.point, self.tol = direct, point, tol
        self.gained = False  # whether any step was of use

    def state_dict(self) -> State:
        """What the steps have changed."""
        u = {"u": self.direct.u} if isinstance(self.direct, DualCholesky) else {}
        return {"theta": self.point.theta, "gained": self.gained, **u}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        restore_point(self.point, saved)
        self.gained = saved.boolean("gained")
        if isinstance(self.direct, DualCholesky):
            saved.read_into("u", self.direct.u)

    def step(self, monitor: FitMonitor) -> bool:
        """A step, if one is wanted; returns whether there may be another."""
        point, direction = self.point, self.direct.direction(self.point)
        if direction is None:
            return False
        point.excess = np.abs(column_dots(point.gradient, direction))
        monitor.converged = bool(point.finished(self.tol).all())
        if monitor.should_stop:
            return False
        theta, before, norms = point.theta, point.objectives, point.norms
        point.move_to(theta + direction)
        if (point.objectives > before * (1 + GROWTH)).any():  # no digit of the decomposition is right
            point.move_to(theta)
            return False
        self.gained = True
        monitor.iterations += 1
        log(monitor, point.objectives, point.gaps)
        if (point.norms > PROGRESS * norms).all():
            monitor.converged = bool(point.finished(self.tol).all())
            return False
        return True


def train_direct(steps: DirectSteps, monitor: FitMonitor, name: str) -> bool:
    """Steps by a decomposition, until the optimum is there or rounding ends it; returns whether it was any use."""
    monitor.register_run(name, steps)
    monitor.maybe_save()
    while steps.step(monitor):
        monitor.maybe_save()
    return steps.gained or monitor.should_stop


class ConjugateGradients:
    """Conjugate gradients from a point, whose true gradient says whether they have arrived."""

    name = "sparse_cg"

    def __init__(self, point: RidgePoint, tol: float) -> None:
        self.point, self.tol = point, tol
        self.inverse = 1 / diagonal(point.problem)
        self.begin()

    def begin(self) -> None:
        """Begin anew from the true gradient."""
        point = self.point
        self.theta, self.residual, self.r = point.theta.copy(), point.residual.copy(), -point.gradient
        self.p = self.inverse * self.r
        self.size = column_dots(self.r, self.p)
        self.moves = (~point.finished(self.tol)).astype(np.float64)

    def state_dict(self) -> State:
        """Where they began, and what the steps from there have changed."""
        state: State = {name: getattr(self, name) for name in ("r", "p", "size", "moves")}
        return state | {"theta": self.point.theta, "present": self.theta, "residual": [ScratchArray(self.residual)]}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        restore_point(self.point, saved)
        for name in ("r", "p", "size", "moves"):
            saved.read_into(name, getattr(self, name))
        saved.read_into("present", self.theta)
        saved.read_per_row("residual", [ScratchArray(self.residual)])

    def step(self, monitor: FitMonitor) -> bool:
        """A step of every target that has not arrived, by its own measure; returns whether there are others."""
        problem, alphas, first = self.point.problem, self.point.problem.alphas, self.point.first_norms
        moves = self.moves > 0
        u, Hp = problem.normal_product(self.p)
        Hp += alphas * self.p
        bend = column_dots(self.p, Hp)
        share = np.divide(self.size, bend, out=np.zeros(len(bend)), where=moves & (bend > 0))
        self.theta += share * self.p
        self.residual -= share * u
        self.r -= share * Hp
        norms, values = np.sqrt(column_dots(self.r, self.r)), objectives_of(problem, self.theta, self.residual)
        gaps = gaps_of(norms, alphas)
        arrived = (norms <= self.tol * first) & is_near(alphas, values, gaps, self.tol)
        moves &= (share > 0) & ~arrived & (norms > LEAST_NORM * first)
        y = self.inverse * self.r
        before, self.size = self.size, column_dots(self.r, y)
        self.p = y + np.divide(self.size, before, out=np.zeros(len(before)), where=moves) * self.p
        self.moves = moves.astype(np.float64)
        self.point.latest = self.theta
        monitor.iterations += 1
        log(monitor, values, gaps)
        return bool(moves.any())

    def arrive(self, monitor: FitMonitor) -> bool:
        """Move the point to where the steps have come; returns whether to begin again from there."""
        point = self.point
        norms, theta, before = point.norms, point.theta, point.objectives
        point.move_to(self.theta)
        if (point.objectives > before * (1 + GROWTH)).any():
            point.move_to(theta)
        monitor.converged = bool(point.finished(self.tol).all())
        rounding = (point.norms > PROGRESS * norms) | (point.norms <= 100 * LEAST_NORM * point.first_norms)
        return not (monitor.should_stop or rounding.all())


def train_cg(descent: ConjugateGradients, monitor: FitMonitor) -> None:
    """Conjugate gradients, until the true gradient says that they have arrived."""
    monitor.register_run(descent.name, descent)
    while True:
        monitor.maybe_save()
        while descent.step(monitor) and not monitor.should_stop:
            monitor.maybe_save()
        if not descent.arrive(monitor):
            return
        descent.begin()


def restore_point(point: RidgePoint, saved: CheckpointReader) -> None:
    """Move a point to the weights of a checkpoint."""
    theta = np.empty(point.theta.shape)
    saved.read_into("theta", theta)
    point.move_to(theta)


def diagonal(problem: RidgeProblem) -> Floats:
    """The diagonal of H for each target, or ones where its penalty is nothing beside it."""
    found = problem.squared_sums()[:, np.newaxis] + problem.alphas
    flat = problem.alphas <= FLAT * found.mean(axis=0)
    return np.where(flat | (found == 0), 1.0, found)


def log(monitor: FitMonitor, objectives: Floats, gaps: Floats) -> None:
    """Log a step of all targets."""
    monitor.log(objective=float(objectives.sum()), gap=float(gaps.sum()))
