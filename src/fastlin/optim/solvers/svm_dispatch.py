"""Which of the methods trains a linear SVM: dual ascent, Newton's on the primal, or an interior-point method."""

import numpy as np

from fastlin.core.fit_monitor import FitMonitor
from fastlin.data.scratch import ScratchArray
from fastlin.optim.solvers.svm_dual import LabelBlock, SvmDualSolver, train_dual
from fastlin.optim.solvers.svm_newton import NewtonCost, SvmNewtonSolver, has_primal
from fastlin.optim.solvers.svm_problem import Floats
from fastlin.optim.solvers.svm_steps import take_steps
from fastlin.optim.solvers.svr_interior import InteriorSolver, has_interior
from fastlin.runtime import parallel


def train(
    blocks: list[LabelBlock],
    dual: str | bool,
    tol: float,
    generator: np.random.Generator,
    workers: parallel.WorkerPool,
    monitor: FitMonitor,
    kept: tuple[list[ScratchArray], Floats] | None = None,
) -> None:
    """Train the labels of all blocks by the method that `dual` names, "auto" the one that is likely the faster.

    `kept` are the dual variables and intercepts of another fit.
    """
    problem = blocks[0].problem
    if kept is not None:
        for block in blocks:
            block.start_from(*kept)
    interior = has_interior(problem)
    cost = NewtonCost(problem) if dual is not True and (interior or has_primal(problem)) else None
    if interior and cost is not None and not cost.dense:
        cost = None
    at_once = cost is not None and not interior and cost.pays_at_once
    if cost is None or not (dual is False or at_once or monitor.has_saved("newton") or monitor.has_saved("interior")):
        ascent = SvmDualSolver(blocks, tol, generator, workers)
        if kept is not None:
            ascent.measure_gaps(blocks)
        train_dual(ascent, monitor, np.inf if cost is None else cost.slow_epochs)
        monitor.forget("ascent")
    if cost is None or monitor.should_stop:
        return
    if interior:
        take_steps(InteriorSolver(blocks, tol, workers), monitor)
        return
    newton = SvmNewtonSolver(blocks, cost.dense, tol, workers)
    take_steps(newton, monitor)
    newton.export_dual()
