"""Newton's method: conjugate gradients on H s = −∇f, preconditioned by the diagonal of H, then a line search.

Of two labels and few columns H is written out, a product for each pair of a row's non-zeros, and the step is exact, by
Cholesky's decomposition: 20,000 rows of 14 one-hot attributes take 5 steps, where conjugate gradients take as many
passes in each of them, and dual ascent 60 epochs.

The inner iterations run in float32 where the data allow it: they only shape the step, and their vectors are what an
iteration reads and writes. Values and gradients are float64.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.core import vector_ops
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.optim import log_linear_passes
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.gram import MAX_DENSE_WEIGHTS, Factor, GramRows, factoring_cost, factorise
from fastlin.optim.log_linear_problem import CurvedObjective, LogLinearProblem
from fastlin.optim.solvers import owlqn
from fastlin.optim.solvers.line_search import make_line_search
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel

MAX_CG_ITERATIONS = 250  # inner iterations
MIN_CG_ITERATIONS = 8  # of them with an L1 term, while weights still come and go
STEADY_SHARE = 0.01  # share of the weights that may do so before the model is solved better
CG_TOLERANCE = 0.25  # of the residual, at first
MIN_CG_TOLERANCE = 0.01
MIN_FUSED_TOLERANCE = 1e-3  # where products are float64: flat directions of the last steps are followed to their end
ACCURACY = 0.1  # of the line search: at 0.9 it accepts steps that overshoot, and saturated labels follow
REUSED_SHARE = 0.1  # of λ, below: a Hessian serves again where its next step has no more
LARGEST_STEP = 5.0  # of a weight's part of a score, where H is too flat to say how far to go
STEPS = 5.0  # that Newton's method takes with exact steps, at a guess
PASSES_OF_STEP = 3.0  # epochs of dual ascent that a step's passes cost, beside H
COST_OF_CALLS = 1e6  # products in the time that a step spends outside its passes
MAX_SHORT_ROW = 30.0  # non-zeros: of 13 Newton's method takes 0.6 of the time of dual ascent, of 100 one to four times
DUAL_EPOCHS = 40.0  # of dual ascent on few columns


def minimise(
    problem: CurvedObjective,
    theta: NDArray[np.float64],
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
    dense: LogLinearProblem | None = None,
) -> None:
    """Move θ to the minimum; with an L1 term, among the weights that are not zero or want to leave it.

    `dense`: the problem, if its Hessian is to be written out (`has_dense_hessian`), so that steps are exact.
    """
    dtype, saved = problem.inner_type, monitor.resume("newton")
    point = make_line_search(problem, theta, saved)
    fused = has_fused_steps(problem)
    norm = point.gradient_norm
    first = norm if saved is None else saved.number("first")
    limit = MIN_CG_ITERATIONS if problem.prior.l1 else MAX_CG_ITERATIONS
    if saved is not None:
        limit = saved.integer("limit", 1, MAX_CG_ITERATIONS)
    exact = None if dense is None else ExactSteps(dense, saved)

    def state() -> State:
        return point.state() | {"first": first, "limit": limit} | ({} if exact is None else exact.state())

    monitor.register_state("newton", problem, state)
    while not monitor.log_iteration(point.value, norm, theta, point.gradient, passes=problem.passes):
        monitor.maybe_save()
        monitor.iterations += 1
        if exact is not None and exact.advance(point):
            norm = point.gradient_norm
            continue
        damping = Damping(problem, point.steepest)
        tolerance = min(CG_TOLERANCE, np.sqrt(norm / first))
        if isinstance(problem, LogLinearProblem) and fused:
            tolerance = max(MIN_FUSED_TOLERANCE, tolerance)
            step = solve_fused(problem, damping, point, tolerance)
            if not point.move(step, 1.0, ACCURACY, scored=True) and not steepest_step(point, damping, dtype):
                break
            norm = point.gradient_norm
            continue
        inverse = damping.preconditioner(dtype)
        if problem.prior.l1:
            inverse[owlqn.stays_at_zero(problem, theta, point.steepest)] = 0
        tolerance = max(MIN_CG_TOLERANCE, tolerance)
        step = solve_cg(problem, damping, point.steepest, inverse, tolerance, limit)
        before = theta[: problem.n_weights] != 0 if problem.prior.l1 else None
        if not point.move(step, 1.0, ACCURACY) and not steepest_step(point, damping, dtype):
            break
        norm = point.gradient_norm
        if before is not None:
            changed = np.count_nonzero(before != (theta[: problem.n_weights] != 0))
            steady = changed <= STEADY_SHARE * np.count_nonzero(before)
            limit = min(MAX_CG_ITERATIONS, 2 * limit) if steady else max(MIN_CG_ITERATIONS, limit // 2)


def has_dense_hessian(problem: LogLinearProblem) -> bool:
    """Whether the Hessian is that of few weights, of two labels of rows in memory, and its steps are likely cheap."""
    fits = (
        problem.width == 1
        and isinstance(problem.layout, DenseWeights)
        and problem.partitions.has_labels
        and len(problem.partitions) == 1
        and problem.prior.l1 == 0
        and 0 < problem.n_weights < MAX_DENSE_WEIGHTS
    )
    if not fits:
        return False
    of_hessian, of_epoch = hessian_cost(problem)
    return STEPS * (of_hessian + PASSES_OF_STEP * of_epoch + COST_OF_CALLS) < DUAL_EPOCHS * of_epoch


def hessian_cost(problem: LogLinearProblem) -> tuple[float, float]:
    """Of a Hessian that is written out and decomposed, and of an epoch of dual ascent, in products of a row's pairs."""
    with problem.partitions.open(0) as part:
        design = part.design
        gram = GramRows(design.indptr, design.indices, design.values, problem.n_weights)
        return gram.cost + factoring_cost(problem.size), 2.0 * design.nnz + 20.0 * design.n_rows


def has_fused_steps(problem: CurvedObjective) -> bool:
    """Whether conjugate gradients are one call: of one column, where threads would have no blocks of rows to share."""
    return (
        isinstance(problem, LogLinearProblem)
        and problem.width == 1
        and isinstance(problem.layout, DenseWeights)
        and problem.partitions.has_labels
        and len(problem.partitions) == 1
        and problem.prior.l1 == 0
        and problem.n_weights > 0
        and problem.partitions.n_non_zeros[0] + problem.partitions.n_rows <= parallel.BLOCK_WORK
    )


def has_fast_products(problem: LogLinearProblem) -> bool:
    """Whether rows are so short that steps of fused products take less time than epochs of dual ascent."""
    return has_fused_steps(problem) and has_short_rows(problem)


def has_short_rows(problem: LogLinearProblem) -> bool:
    """Whether rows have so few non-zeros that a visit of dual ascent costs as much as theirs in several products."""
    parts = problem.partitions
    return sum(parts.n_non_zeros) <= MAX_SHORT_ROW * parts.n_rows


def solve_fused(problem: LogLinearProblem, damping: "Damping", point: Any, tolerance: float) -> NDArray[np.float64]:
    """s with ‖(H + D)s + ∇f‖ ≤ tolerance · ‖∇f‖ in the norm of the preconditioner; its scores stay with the rows."""
    step, ridge = np.empty(problem.size), np.zeros(problem.size)
    ridge[: problem.n_weights] = problem.precision
    ridge[damping.flat] += damping.added
    diagonal = np.where(damping.diagonal > 0, damping.diagonal, 1.0)
    arguments = ridge, diagonal, point.steepest, tolerance, MAX_CG_ITERATIONS, point.direction_scores
    count = problem.data.at(0, log_linear_passes.newton_step, problem.model, *arguments, into=(step,))
    problem.passes += 2 * count
    return step


class ExactSteps:
    """Steps −(H + D)⁻¹∇f of a Hessian that is written out, which serves as long as steps shrink quickly.

    H costs more than all else of a step, and near the optimum it hardly changes. λ² = ∇fᵀ(H + D)⁻¹∇f, twice what a step
    promises, says by how much the next one with the same H will shrink.
    """

    def __init__(self, problem: LogLinearProblem, saved: CheckpointReader | None = None) -> None:
        self.problem, self.decrement = problem, 0.0
        self.factor: Factor | None = None
        of_hessian, of_epoch = hessian_cost(problem)
        self.reuses = of_hessian > of_epoch
        if saved is not None and saved.boolean("factored"):
            n = problem.size
            triangle = np.asfortranarray(saved.array("triangle", np.empty((n, n))))
            self.factor, self.decrement = Factor(triangle, saved.array("scale", np.empty(n))), saved.number("decrement")

    def state(self) -> State:
        if self.factor is None:
            return {"factored": False}
        triangle = np.ascontiguousarray(self.factor.triangle)
        return {"factored": True, "triangle": triangle, "scale": self.factor.scale, "decrement": self.decrement}

    def advance(self, point: Any) -> bool:
        """Move θ by the Hessian of an earlier θ or its own; False where that does not go down."""
        if self.reuses and self._move(point, REUSED_SHARE**2 * self.decrement):
            return True
        self.factor = decompose_hessian(self.problem, point.steepest)
        return self._move(point, np.inf)

    def _move(self, point: Any, limit: float) -> bool:
        """Take the step of the present factor if its λ² is at most `limit`."""
        step = None if self.factor is None else self.factor.solve(point.steepest)
        if step is None:
            return False
        decrement = vector_ops.dot(step, point.steepest)
        if decrement > limit:
            return False
        self.decrement = decrement
        return bool(point.move(-step, 1.0, ACCURACY))


def decompose_hessian(problem: LogLinearProblem, gradient: NDArray[np.float64]) -> Factor | None:
    """H + D, decomposed; None where rounding leaves no positive one."""
    H = problem.hessian()
    damping = Damping(problem, gradient, H.diagonal().copy())
    H[damping.flat, damping.flat] += damping.added
    return factorise(H)


class Damping:
    """H + D: a diagonal D where H is too flat for its gradient, so that −g/(H + D) moves no score by more than a few.

    A label that saturates leaves a curvature of 1e-18 under a gradient of hundreds. With H_jj + D_j ≥ |g_j| max|x_j|/R
    such a weight moves scores by R at most; where the gradient vanishes, so does D, and steps are Newton's.
    """

    def __init__(
        self, problem: CurvedObjective, gradient: NDArray[np.float64], diagonal: NDArray[np.float64] | None = None
    ) -> None:
        self.problem, self.diagonal = problem, problem.diagonal() if diagonal is None else diagonal
        least = np.abs(gradient) / LARGEST_STEP
        self.flat = np.flatnonzero(self.diagonal < least * max(1.0, problem.max_abs_value))
        self.added = np.empty(0)
        if len(self.flat):
            least = least[self.flat] * problem.largest_values()[self.flat]
            self.added = np.maximum(0.0, least - self.diagonal[self.flat])
            self.diagonal[self.flat] += self.added

    def preconditioner(self, dtype: Any) -> NDArray[Any]:
        """1 / diag(H + D); where that is nothing, 1."""
        diagonal, inverse = self.diagonal, np.empty(self.problem.size, dtype)

        def work(part: slice) -> None:
            diagonal[part][~(diagonal[part] > np.finfo(dtype).tiny)] = 1.0
            np.divide(1.0, diagonal[part], out=inverse[part], casting="same_kind")

        self.problem.pieces.map(work)
        return inverse

    def product(self, p: NDArray[Any], Hp: NDArray[Any]) -> float:
        """Hp = (H + D) p; returns pᵀHp."""
        curvature = self.problem.product(p, Hp)
        if len(self.flat):
            more = self.added * p[self.flat]
            Hp[self.flat] += more.astype(Hp.dtype, copy=False)
            curvature += vector_ops.dot(more, p[self.flat].astype(np.float64, copy=False))
        return curvature


def steepest_step(point: Any, damping: Damping, dtype: Any) -> bool:
    """A step of steepest descent, as long as the model says."""
    direction = -point.steepest
    p = direction.astype(dtype)
    curvature = damping.product(p, np.empty_like(p))
    size = damping.problem.pieces.dot(direction, direction)
    return bool(point.move(direction, size / curvature if curvature > 0 else 1.0, ACCURACY))


def solve_cg(
    problem: CurvedObjective,
    damping: Damping,
    gradient: NDArray[np.float64],
    inverse: NDArray[Any],
    tolerance: float,
    limit: int,
) -> NDArray[np.float64]:
    """s with ‖(H + D)s + ∇f‖ ≤ tolerance · ‖∇f‖ in the norm of M⁻¹, or that of the last iteration allowed.

    Zeros of `inverse` stay where they are.
    """
    s, r, p, Hp = (aligned_zeros((problem.size,), inverse.dtype) for _ in range(4))
    pieces, step = problem.pieces, np.empty(problem.size)
    scale = np.float64(pieces.largest(gradient))

    def begin(part: slice) -> None:
        np.divide(gradient[part], -scale, out=r[part], casting="same_kind")
        vector_ops.cg_direction(0.0, r[part], inverse[part], p[part])

    def advance(part: slice) -> float:
        return vector_ops.cg_update(size / curvature, p[part], Hp[part], inverse[part], s[part], r[part])

    def redirect(part: slice) -> None:
        vector_ops.cg_direction(size / previous, r[part], inverse[part], p[part])

    pieces.map(begin)
    first = size = pieces.dot(r, p)
    for _ in range(limit):
        curvature = damping.product(p, Hp)
        if not curvature > 0:
            break
        previous, size = size, sum(pieces.map(advance))
        if not size > tolerance**2 * first:
            break
        pieces.map(redirect)
    found = s if any(pieces.map(lambda part: s[part].any())) else p
    pieces.map(lambda part: np.multiply(found[part], scale, out=step[part]))
    return step
