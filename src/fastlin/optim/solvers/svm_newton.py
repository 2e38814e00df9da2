"""Newton's method for linear SVMs with a squared loss, one against the rest: the primal, for rows in memory.

    P(θ) = ½‖θ‖² + Σ_i C_i ξ_i²,  ξ = max(0, 1 − z θ·x),   ∇P = θ − 2 Σ C z ξ x,   H = I + 2 Σ_{ξ > 0} C x xᵀ

P is a quadratic between the kinks of ξ. The dual point α = 2Cξ has θ(α) = θ − ∇P and a gap of exactly ½‖∇P‖²: every
gradient is a certificate. The direction is −H⁻¹∇P, by Cholesky's decomposition where columns are few, else by conjugate
gradients; the step is the minimum on the line, where φ′ increases piece by piece. Labels take their steps together,
each of its own length, so that the rows are read once for all of a block. In regression ξ = max(0, |r| − ε) of the
residual r = y − θ·x, β = 2C ξ sgn r is the dual point, and all else the same.

Dual ascent is the faster on text (IMDB at C = 1,000: a third of LIBLINEAR's time). It stalls where norms of rows times
C are large, as of columns that nobody scaled; there a few Newton steps of few columns cost less than as many epochs.

Where the quadratics hold for a short way only, steps are short and many (digits, unscaled, C = 100: 116 for a label).
A label whose step is that short is solved for a share s of its C first, and from there for 8 times as much, and so on:
29 steps (C = 1,000: 129, 32). Every point of the way has a gap for the whole C as well, which alone decides.

Measured (digits, unscaled, C = 1): full steps cycle; curvatures smoothed at the kinks take 2–10 times the
steps. Levenberg's damping takes 2–10 times as many.
"""

from dataclasses import replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.data.scratch import ScratchArray
from fastlin.engine.core import passes
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.core.gram import add_gram_diagonal, solve_gram
from fastlin.engine.solvers import svm_newton
from fastlin.optim.gram import MAX_DENSE_WEIGHTS, GramRows, factoring_cost, mirror, solve_positive
from fastlin.optim.solvers.svm_dual import LabelBlock
from fastlin.optim.solvers.svm_problem import SegmentBlock, SvmProblem
from fastlin.optim.solvers.svm_steps import StepSolver
from fastlin.runtime import parallel

Floats = NDArray[np.float64]
Columns = NDArray[np.int64] | slice  # of a block, in which the problems of its labels are; a slice: all of them
ALL = slice(None)
MAX_CG_ITERATIONS = 250
CG_TOLERANCE = 0.05  # of the residual where CG is one call: 0.25 takes twice the steps
MAX_SHORT_ROW = 20.0  # non-zeros: of rows no longer dual ascent takes longer, or as long,
MAX_STRENGTH = 50.0  # while C times the mean of ‖x‖² is at most that
CG_PROGRESS = 0.1  # CG ends where (i + 1) times the last improvement of its model is at most so much of all of it
FINAL_SHARE = 0.1  # of the wanted gap: what CG may leave of a gradient that ends the fit
LINE_ACCURACY = 1e-3  # of φ′(0)
MAX_TRIALS = 60
SHORT_STEP = 0.3  # of Newton's: the label goes on with less of its C
LESS, MORE = 0.01, 8.0  # by which a label's share of C falls, and rises
MAX_NO_IMPROVEMENT = 4  # steps in a row that gain nothing: rounding
MAX_GRAM_EPOCHS = 8.0  # that a Newton step may cost where dual ascent has not been tried
SLOW_EPOCHS = 40.0  # of dual ascent that Newton's method with Cholesky's decomposition may cost, at a guess
SLOW_EPOCHS_CG = 150.0  # and with conjugate gradients


def has_primal(problem: SvmProblem) -> bool:
    """Whether Newton's method knows the problem: squared hinge, one against the rest, one segment."""
    objective = problem.objective
    return objective.squared and not objective.joint and len(problem.sizes) == 1


def has_fused_steps(problem: SvmProblem) -> bool:
    """Whether conjugate gradients are one call: of one label, where threads would have no blocks of rows to share."""
    with problem.block(0) as block:
        return problem.objective.n_columns == 1 and block.rows.nnz + len(block.rows) <= parallel.BLOCK_WORK


class NewtonCost:
    """What a step of Newton's method costs, in epochs of dual ascent of as many labels."""

    def __init__(self, problem: SvmProblem) -> None:
        with problem.block(0) as block:
            indptr = block.rows.indptr
            size = block.rows.n_columns + (problem.objective.scaling > 0)
            epoch = 2.0 * float(indptr[-1]) + 20.0 * len(block.rows)
            self.dense = size <= MAX_DENSE_WEIGHTS
            self.step = np.inf
            if self.dense:
                gram = GramRows(indptr, block.rows.indices, block.rows.values, block.rows.n_columns)
                self.step = (gram.cost + factoring_cost(size)) / max(epoch, 1.0)
            short = float(indptr[-1]) <= MAX_SHORT_ROW * len(block.rows)
            values = block.rows.values[: block.rows.nnz]
            strength = problem.objective.C * float(np.dot(values, values)) / max(len(block.rows), 1)
        fused = not self.dense and problem.objective.epsilon is None and has_fused_steps(problem)
        self.pays_at_once = self.step <= MAX_GRAM_EPOCHS or (fused and short and strength <= MAX_STRENGTH)
        self.slow_epochs = max(SLOW_EPOCHS, 10 * self.step) if self.dense else SLOW_EPOCHS_CG


class PrimalBlock:
    """The weights θ of the labels of a block, an intercept the last row; scores, gradients and gaps where they are."""

    def __init__(self, block: LabelBlock, dense: bool, tol: float) -> None:
        self.block, self.dense, self.tol, self.problem = block, dense, tol, block.problem
        self.scaling, self.n = self.problem.objective.scaling, self.problem.corpus.shape[1]
        K, n_rows = len(block.bias), self.problem.sizes[0]
        self.ones = int(block.task["first"][0]) + np.arange(K)
        bias = block.bias[np.newaxis] if self.scaling else np.empty((0, K))
        self.theta = np.concatenate([block.weights, bias])
        self.gradient = np.empty(self.theta.shape)
        self.scores, self.residual, self.curvature = np.empty((3, n_rows, K))
        self.objectives, self.gaps = np.empty(K), np.full(K, np.inf)
        self.shares, self.rising = np.ones(K), np.zeros(K, np.bool_)
        self.best, self.idle = np.inf, 0
        self.fused = not dense and has_fused_steps(self.problem)

    @property
    def finished(self) -> bool:
        """Whether the gap is small enough."""
        return self.block.finished

    @property
    def stalled(self) -> bool:
        """Whether the last steps have gained nothing."""
        return self.idle >= MAX_NO_IMPROVEMENT

    @property
    def visits(self) -> int:
        """The rows whose loss is not zero."""
        return self.block.visits

    def state_dict(self) -> State:
        """What the steps have changed; all else follows from it."""
        state: State = {name: getattr(self, name) for name in ("theta", "gradient", "shares", "rising", "best", "idle")}
        return state | {"scores": [ScratchArray(self.scores)]}

    def begin(self, saved: CheckpointReader | None = None) -> None:
        """Scores, gradients and gaps of all labels where the weights are, or where a fit stood."""
        if saved is not None:
            saved.read_into("theta", self.theta)
            for name in ("gradient", "shares", "rising"):
                saved.read_into(name, getattr(self, name))
            saved.read_per_row("scores", [ScratchArray(self.scores)])
            self.best, self.idle = saved.number("best"), saved.integer("idle", 0)
        with self.problem.block(0) as rows:
            if saved is None:
                scores = None if self.theta.any() else np.zeros(self.scores.shape)
                self._evaluate(rows, ALL, self._sides(rows, ALL), scores)
            else:
                self._infer(rows, ALL, self._sides(rows, ALL))
                self.gaps = 0.5 * _dots(self.gradient, self.gradient)
        self._install()

    def step(self) -> None:
        """A step of every label whose gap is not far below its share of the one wanted."""
        self.enough = FINAL_SHARE * self.tol * self.block.objective / len(self.gaps)
        unfinished = self.gaps > self.enough
        columns = ALL if unfinished.all() else np.flatnonzero(unfinished)
        self._raise_shares(columns)
        gradient = self._gradient(columns)
        with self.problem.block(0) as rows:
            sides = self._sides(rows, columns)
            if self.fused:
                direction, along = self._solve_fused(rows, columns, gradient)
            else:
                direction = (self._solve_dense if self.dense else self._solve_cg)(rows, columns, gradient)
                along = self._scores_of(rows, direction)
            steps = self._search(rows, columns, sides, gradient, direction, along)
            self.theta[:, columns] += steps * direction
            self._evaluate(rows, columns, sides, self.scores[:, columns] + steps * along if self.fused else None)
        self.shares[columns] *= np.where((steps < SHORT_STEP) & ~self.rising[columns], LESS, 1.0)
        before, gap = self.block.objective, self.block.gap
        self._install()
        gains = self.block.objective < before or self.block.gap < min(self.best, gap) or self.shares.min() < 1
        self.best = min(self.best, gap, self.block.gap)
        self.idle = 0 if gains else self.idle + 1

    def export_dual(self) -> None:
        """Leave α = 2Cξ, or β, with the rows, from which a warm start begins."""
        with self.block.rows_of(0) as kept:
            kept.alpha[:] = np.abs(self.residual) if self.problem.objective.epsilon is None else -self.residual

    # Parts

    def _raise_shares(self, columns: Columns) -> None:
        """More of C for the labels whose gap is below their objective at the share that they have."""
        if (self.shares[columns] == 1).all():
            return
        columns = np.arange(len(self.shares))[columns]
        prior = 0.5 * _dots(self.theta, self.theta)[columns]
        while True:
            shares, gradient = self.shares[columns], self._gradient(columns)
            objectives = shares * self.objectives[columns] + (1 - shares) * prior
            ready = (shares < 1) & (0.5 * _dots(gradient, gradient) <= objectives)
            if not ready.any():
                break
            self.rising[columns[ready]] = True
            self.shares[columns[ready]] = np.minimum(1.0, MORE * shares[ready])

    def _gradient(self, columns: Columns) -> Floats:
        """Of some labels at their shares of C, which is not to be changed."""
        shares = self.shares[columns]
        if (shares == 1).all():
            return self.gradient[:, columns]
        return shares * self.gradient[:, columns] + (1 - shares) * self.theta[:, columns]

    def _install(self) -> None:
        """Weights, objective and gap of the block."""
        block = self.block
        block.weights[:] = self.theta[: self.n]
        block.bias[:] = self.theta[self.n] if self.scaling else 0.0
        block.objective, block.gap = float(self.objectives.sum()), float(self.gaps.sum())
        block.value = block.objective - block.gap
        if not (isfinite(block.objective) and isfinite(block.gap)):
            raise ValueError("the objective overflows: scale the features, or lower C and the weights of the rows")
        block.measured, block.finished = True, block.gap <= self.tol * block.objective
        block.visits = int(np.count_nonzero(self.curvature.any(axis=1)))

    def _curvature(self, columns: Columns) -> Floats:
        return np.ascontiguousarray(self.shares[columns] * self.curvature[:, columns])

    def _evaluate(
        self, rows: SegmentBlock, columns: Columns, sides: svm_newton.Sides | None, scores: Floats | None = None
    ) -> None:
        """Scores, if they are not given, gradients and gaps of some labels."""
        self.scores[:, columns] = self._scores_of(rows, self.theta[:, columns]) if scores is None else scores
        residual = self._infer(rows, columns, sides)
        self.gradient[:, columns] = self.theta[:, columns] + self._sums_of(rows, residual)
        self.gaps = 0.5 * _dots(self.gradient, self.gradient)

    def _infer(self, rows: SegmentBlock, columns: Columns, sides: svm_newton.Sides | None) -> Floats:
        """Objectives, residuals and curvatures of some labels by their scores; returns the residuals."""
        scores = np.ascontiguousarray(self.scores[:, columns])
        losses = np.empty(scores.shape[1])
        residual, curvature = np.empty((2, *scores.shape))
        epsilon = self.problem.objective.epsilon
        if epsilon is not None:
            svm_newton.squared_insensitive(scores, rows.targets, epsilon, rows.C, residual, curvature, losses)
        elif sides is not None:
            svm_newton.squared_hinge(scores, sides, residual, curvature, losses)
        self.residual[:, columns], self.curvature[:, columns] = residual, curvature
        self.objectives[columns] = 0.5 * _dots(self.theta, self.theta)[columns] + losses
        return residual

    def _sides(self, rows: SegmentBlock, columns: Columns) -> svm_newton.Sides | None:
        """The sides of the rows in the problems of some labels; None in regression."""
        if self.problem.objective.epsilon is not None:
            return None
        members = np.ascontiguousarray(self.block.members[:, columns])
        factors = np.ascontiguousarray(self.block.side_factors[:, columns])
        return svm_newton.Sides(rows.labels, self.ones[columns], rows.C, rows.own_cost, members, factors)

    def _scores_of(self, rows: SegmentBlock, theta: Floats) -> Floats:
        bias = self.scaling * theta[self.n] if self.scaling else np.zeros(theta.shape[1])
        return parallel.scores(rows.rows, np.ascontiguousarray(theta[: self.n]), bias, 1)

    def _sums_of(self, rows: SegmentBlock, of_rows: Floats) -> Floats:
        """Xᵀ R, the intercept's column among X's."""
        sums, matrix = np.zeros((len(self.theta), of_rows.shape[1])), rows.rows
        if self.fused:  # one block
            indices, values = parallel.block_arrays(matrix, 0, len(matrix), np.float64)
            passes.backward(matrix.indptr, indices, values, 0, len(matrix), of_rows, 0, self.n, sums[: self.n])
        else:
            parallel.backward(matrix, of_rows, sums[: self.n], 1)
        if self.scaling:
            sums[self.n] = self.scaling * of_rows.sum(axis=0)
        return sums

    def _solve_dense(self, rows: SegmentBlock, columns: Columns, gradients: Floats) -> Floats:
        """−H⁻¹∇P of some labels, by Cholesky's decomposition; −∇P/diag(H) where rounding leaves none."""
        gram = GramRows(rows.rows.indptr, rows.rows.indices, rows.rows.values, self.n)
        curvature = self._curvature(columns)
        cross, direction = self._sums_of(rows, curvature), np.empty(gradients.shape)
        H, before = np.empty((0, 0)), np.empty(0)
        for k in range(curvature.shape[1]):
            weights, gradient = np.ascontiguousarray(curvature[:, k]), gradients[:, k]
            if not np.array_equal(before, weights):
                H, before = self._hessian(gram, weights, cross[:, k]), weights
            found = solve_positive(H, gradient)
            direction[:, k] = -(gradient / H.diagonal() if found is None else found)
        return direction

    def _hessian(self, gram: GramRows, weights: Floats, cross: Floats) -> Floats:
        """I + X' diag(weights) X, where `cross` are the sums of the weights over the columns of X."""
        n, inner = self.n, np.zeros((self.n, self.n))
        gram.add(weights, inner)
        mirror(inner)
        H = np.zeros((len(self.theta), len(self.theta)))
        H[:n, :n] = inner
        H[n:, :] = self.scaling * cross
        H[:, n:] = H[n:, :].T
        H[np.diag_indices(len(H))] += 1.0
        return H

    def _solve_cg(self, rows: SegmentBlock, columns: Columns, gradient: Floats) -> Floats:
        """The same by conjugate gradients, preconditioned by the diagonal, with a step for each label of its own."""
        squares = np.square(rows.rows.values, dtype=np.float64)
        curvature = self._curvature(columns)
        diagonal = self._sums_of(rows._replace(rows=replace(rows.rows, values=squares)), curvature)
        diagonal[self.n :] *= self.scaling
        inverse = 1 / (1 + diagonal)
        r = -gradient
        p, direction = inverse * r, np.zeros(r.shape)
        size, gained, moves = _dots(r, p), np.zeros(r.shape[1]), np.ones(r.shape[1], np.bool_)
        for iteration in range(MAX_CG_ITERATIONS):
            Hp = p + self._sums_of(rows, curvature * self._scores_of(rows, p))
            bend = _dots(p, Hp)
            share = np.divide(size, bend, out=np.zeros(len(bend)), where=moves & (bend > 0))
            direction += share * p
            r -= share * Hp
            gain = 0.5 * share * size
            gained += gain
            moves &= (share > 0) & ((iteration + 1) * gain > CG_PROGRESS * gained) & (_dots(r, r) > 2 * self.enough)
            if not moves.any():
                break
            y = inverse * r
            before, size = size, _dots(r, y)
            p = y + np.divide(size, before, out=np.zeros(len(size)), where=moves) * p
        return direction

    def _solve_fused(self, rows: SegmentBlock, columns: Columns, gradient: Floats) -> tuple[Floats, Floats]:
        """The same of the only label in one call, and its scores."""
        matrix, n = rows.rows, self.n
        view = CSRView(matrix.indptr, matrix.indices, matrix.values)
        gradient, curvature = gradient[:, 0].copy(), self._curvature(columns)[:, 0]
        ridge, diagonal = np.ones(len(gradient)), np.ones(len(gradient))
        add_gram_diagonal(view, curvature, diagonal[:n])
        if self.scaling:  # the intercept is that weight times the scaling
            ridge[n] /= self.scaling**2
            gradient[n] /= self.scaling
            diagonal[n] = ridge[n] + curvature.sum()
        direction, along = np.empty(len(self.theta)), np.empty(len(curvature))
        tolerance = max(CG_TOLERANCE, float(np.sqrt(self.enough / self.gaps[0])))
        solve_gram(view, curvature, ridge, diagonal, gradient, n, tolerance, MAX_CG_ITERATIONS, direction, along)
        if self.scaling:
            direction[n] /= self.scaling
        return direction[:, np.newaxis], along[:, np.newaxis]

    def _search(
        self,
        rows: SegmentBlock,
        columns: Columns,
        sides: svm_newton.Sides | None,
        gradient: Floats,
        direction: Floats,
        along: Floats,
    ) -> Floats:
        """The step of some labels to the minimum of P on their lines: Newton's method on φ′, within a bracket."""
        linear, square = _dots(self.theta[:, columns], direction), _dots(direction, direction)
        near = LINE_ACCURACY * np.abs(_dots(gradient, direction))
        lines, steps = np.array([linear, square, self.shares[columns], near]), np.empty(len(near))
        scores = np.ascontiguousarray(self.scores[:, columns])
        epsilon = self.problem.objective.epsilon
        if epsilon is not None:
            svm_newton.search_insensitive_line(scores, along, rows.targets, epsilon, rows.C, lines, MAX_TRIALS, steps)
        elif sides is not None:
            svm_newton.search_lines(scores, along, sides, lines, MAX_TRIALS, steps)
        return steps


def _dots(a: Floats, b: Floats) -> Floats:
    return np.einsum("jk,jk->k", a, b)


class SvmNewtonSolver(StepSolver):
    """Blocks of labels by Newton's method."""

    run = "newton"

    def __init__(self, blocks: list[LabelBlock], dense: bool, tol: float, workers: parallel.WorkerPool) -> None:
        self.blocks, self.primals = blocks, [PrimalBlock(block, dense, tol) for block in blocks]
        super().__init__(self.primals, workers)

    def take_step(self, problem: PrimalBlock) -> None:
        problem.step()

    def export_dual(self) -> None:
        """Leave α with the rows."""
        for primal in self.primals:
            primal.export_dual()
