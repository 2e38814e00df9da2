"""Truncated Newton: conjugate gradients on H s = −∇f, preconditioned by the diagonal of H, then a line search.

The inner iterations run in float32 where the data allow it: they only shape the step, and their vectors are what an
iteration reads and writes. Values and gradients are float64.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine import memory, vectors
from fastlin.optim import orthant
from fastlin.optim.line import start
from fastlin.optim.problem import Problem
from fastlin.optim.progress import Progress

MOST = 250  # inner iterations
TOLERANCE = 0.25  # of the residual, at first
TIGHTEST = 0.01
ACCURACY = 0.9  # of the line search


def minimise(
    problem: Problem,
    theta: NDArray[np.float64],
    progress: Progress,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
) -> None:
    """Move θ to the minimum; with an L1 term, among the weights that are not zero or want to leave it."""
    dtype, saved = problem.inner_type, progress.resume("newton")
    point = start(problem, theta, saved)
    norm = point.gradient_norm
    first = norm if saved is None else saved.number("first")
    progress.keep("newton", problem, lambda: point.state() | {"first": first})
    while not progress.record(point.value, norm, passes=problem.passes):
        progress.offer()
        progress.iterations += 1
        inverse = preconditioner(problem, dtype)
        if problem.prior.l1:
            inverse[orthant.resting(problem, theta, point.steepest)] = 0
        tolerance = max(TIGHTEST, min(TOLERANCE, np.sqrt(norm / first)))
        step = solve(problem, point.steepest, inverse, tolerance)
        if not point.move(step, 1.0, ACCURACY) and not point.move(-point.steepest * inverse, 1.0, ACCURACY):
            break
        norm = point.gradient_norm


def preconditioner(problem: Problem, dtype: Any) -> NDArray[Any]:
    """1 / diag H; where H has nothing, 1."""
    diagonal, inverse = problem.diagonal(), np.empty(problem.size, dtype)

    def work(part: slice) -> None:
        diagonal[part][~(diagonal[part] > np.finfo(dtype).tiny)] = 1.0
        np.divide(1.0, diagonal[part], out=inverse[part], casting="same_kind")

    problem.pieces.each(work)
    return inverse


def solve(
    problem: Problem, gradient: NDArray[np.float64], inverse: NDArray[Any], tolerance: float
) -> NDArray[np.float64]:
    """s with ‖Hs + ∇f‖ ≤ tolerance · ‖∇f‖ in the norm of M⁻¹; zeros of `inverse` stay where they are."""
    s, r, p, Hp = (memory.zeros((problem.size,), inverse.dtype) for _ in range(4))
    pieces, step = problem.pieces, np.empty(problem.size)
    scale = np.float64(pieces.largest(gradient))

    def begin(part: slice) -> None:
        np.divide(gradient[part], -scale, out=r[part], casting="same_kind")
        vectors.redirect(0.0, r[part], inverse[part], p[part])

    def advance(part: slice) -> float:
        return vectors.advance(size / curvature, p[part], Hp[part], inverse[part], s[part], r[part])

    def redirect(part: slice) -> None:
        vectors.redirect(size / previous, r[part], inverse[part], p[part])

    pieces.each(begin)
    first = size = pieces.dot(r, p)
    for _ in range(MOST):
        curvature = problem.product(p, Hp)
        if not curvature > 0:
            break
        previous, size = size, sum(pieces.each(advance))
        if not size > tolerance**2 * first:
            break
        pieces.each(redirect)
    found = s if any(pieces.each(lambda part: s[part].any())) else p
    pieces.each(lambda part: np.multiply(found[part], scale, out=step[part]))
    return step
