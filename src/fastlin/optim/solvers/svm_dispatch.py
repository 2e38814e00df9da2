"""Which of the methods trains a linear SVM: dual ascent, or Newton's on the primal; proximal Newton for an L1 norm."""

import numpy as np

from fastlin.core.fit_monitor import FitMonitor
from fastlin.data.scratch import ScratchArray
from fastlin.optim.solvers.svm_dual import LabelBlock, SvmDualSolver, train_dual
from fastlin.optim.solvers.svm_newton import NewtonCost, SvmNewtonSolver, has_primal
from fastlin.optim.solvers.svm_problem import Floats
from fastlin.optim.solvers.svm_steps import take_steps
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
    cost = NewtonCost(problem) if dual is not True and has_primal(problem) else None
    if cost is None or not (dual is False or cost.pays_at_once or monitor.has_saved("newton")):
        ascent = SvmDualSolver(blocks, tol, generator, workers)
        if kept is not None:
            ascent.measure_gaps(blocks)
        train_dual(ascent, monitor, np.inf if cost is None else cost.slow_epochs)
        monitor.forget("ascent")
    if cost is not None and not monitor.should_stop:
        newton = SvmNewtonSolver(blocks, cost.dense, tol, workers)
        take_steps(newton, monitor)
        newton.export_dual()
