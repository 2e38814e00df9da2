"""Steepest descent and nonlinear conjugate gradients (Polak & Ribière 1969), in the metric of diag ∇²f at the start."""

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import State
from fastlin.engine.core import vector_ops
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.log_linear_problem import Objective
from fastlin.optim.solvers.line_search import make_line_search

ACCURACY = 0.1  # of the line search: its trials are cheap, and conjugacy needs a good minimum


def steepest_descent(
    problem: Objective,
    theta: NDArray[np.float64],
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
) -> None:
    """Go against the gradient."""
    _descend(problem, theta, monitor, conjugate=False)


def nonlinear_cg(
    problem: Objective,
    theta: NDArray[np.float64],
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,  # noqa: ARG001 - every solver is called alike
) -> None:
    """d = −M⁻¹∇f + βd with β = max(0, ∇f·M⁻¹(∇f − ∇f′) / ∇f′·M⁻¹∇f′)."""
    _descend(problem, theta, monitor, conjugate=True)


def _descend(problem: Objective, theta: NDArray[np.float64], monitor: ConvergenceMonitor, conjugate: bool) -> None:
    solver = "cg" if conjugate else "gd"
    saved = monitor.resume(solver)
    point = make_line_search(problem, theta, saved)
    metric = problem.diagonal()
    metric[~(metric > 0)] = 1.0
    direction, before, size = np.zeros(problem.size), np.zeros(problem.size), np.inf
    if saved is not None:
        metric, direction, before = (saved.array(name, metric) for name in ("metric", "direction", "before"))
        size = saved.number("size")

    def state() -> State:
        return point.state() | {"metric": metric, "direction": direction, "before": before, "size": float(size)}

    monitor.register_state(solver, problem, state)
    while not monitor.log_iteration(point.value, point.gradient_norm, theta, point.gradient, passes=problem.passes):
        monitor.maybe_save()
        monitor.iterations += 1
        downhill = point.gradient / -metric
        beta = 0.0
        if conjugate:
            beta = max(0.0, vector_ops.dot(before - point.gradient, downhill) / size)
            before, size = point.gradient.copy(), -vector_ops.dot(point.gradient, downhill)
        direction = downhill + beta * direction
        if not point.move(direction, 0.0, ACCURACY) and not (beta and point.move(downhill, 0.0, ACCURACY)):
            break
