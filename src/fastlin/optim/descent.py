"""Steepest descent and nonlinear conjugate gradients (Polak & Ribière 1969), in the metric of diag ∇²f at the start."""

import numpy as np
from numpy.typing import NDArray

from fastlin.engine import vectors
from fastlin.optim.line import Point
from fastlin.optim.problem import Problem
from fastlin.optim.progress import Progress

ACCURACY = 0.1  # of the line search: its trials are cheap, and conjugacy needs a good minimum


def steepest(
    problem: Problem,
    theta: NDArray[np.float64],
    progress: Progress,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
) -> None:
    """Go against the gradient."""
    _descend(problem, theta, progress, conjugate=False)


def conjugate(
    problem: Problem,
    theta: NDArray[np.float64],
    progress: Progress,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
) -> None:
    """d = −M⁻¹∇f + βd with β = max(0, ∇f·M⁻¹(∇f − ∇f′) / ∇f′·M⁻¹∇f′)."""
    _descend(problem, theta, progress, conjugate=True)


def _descend(problem: Problem, theta: NDArray[np.float64], progress: Progress, conjugate: bool) -> None:
    point = Point(problem, theta)
    metric = problem.diagonal()
    metric[~(metric > 0)] = 1.0
    direction = np.zeros(problem.size)
    before, size = np.zeros(problem.size), np.inf
    while not progress.record(point.value, point.gradient_norm, passes=problem.passes):
        progress.iterations += 1
        downhill = point.gradient / -metric
        beta = 0.0
        if conjugate:
            beta = max(0.0, vectors.dot(before - point.gradient, downhill) / size)
            before, size = point.gradient.copy(), -vectors.dot(point.gradient, downhill)
        direction = downhill + beta * direction
        if not point.move(direction, 0.0, ACCURACY) and not (beta and point.move(downhill, 0.0, ACCURACY)):
            break
