"""Which of the methods trains a linear SVM: dual ascent, Newton's on the primal, or an interior-point method.

One with an L1 norm is trained by proximal Newton, which takes its steps here, too.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.fit_monitor import FitMonitor
from fastlin.data.scratch import ScratchArray
from fastlin.optim.solvers.svm_dual import LabelBlock, SvmDualSolver, train_dual
from fastlin.optim.solvers.svm_newton import NewtonCost, SvmNewtonSolver, has_primal
from fastlin.optim.solvers.svm_problem import BlockOfLabels, Floats, sum_over_blocks
from fastlin.optim.solvers.svr_interior import InteriorPoint, has_interior
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
        take_steps(InteriorPoint(blocks, tol), monitor)
        return
    newton = SvmNewtonSolver(blocks, cost.dense, tol, workers)
    take_steps(newton, monitor)
    newton.export_dual()


class StepSolver(Protocol):
    """Problems of labels that take steps until each has its gap, or gains nothing."""

    run: str  # its name in checkpoints

    @property
    def blocks(self) -> Sequence[BlockOfLabels]:
        """The labels, as records tell of them."""

    @property
    def stalled(self) -> bool:
        """Whether rounding ended the progress of what is not at its optimum."""

    def begin(self) -> None:
        """Take up the weights that there are."""

    def step(self) -> int:
        """A step of what is not done; returns the rows whose loss is not zero, added up."""

    def state_dict(self) -> State:
        """What the steps have changed."""

    def load_state_dict(self, saved: CheckpointReader, /) -> None:
        """Become what `state_dict` said."""


def take_steps(solver: StepSolver, monitor: FitMonitor) -> None:
    """Steps until every gap is at most tol times its objective, or nothing is gained."""
    if not monitor.register_run(solver.run, solver):
        solver.begin()
    monitor.converged = False
    while not (monitor.should_stop or (solver.stalled and monitor.iterations and not _finished(solver))):
        monitor.maybe_save()
        visits = solver.step()
        monitor.iterations += 1
        monitor.log_record(
            {
                "epoch": monitor.iterations,
                "dual": sum_over_blocks(solver.blocks, "value"),
                "gap": sum_over_blocks(solver.blocks, "gap"),
                "active": visits,
                "objective": sum_over_blocks(solver.blocks, "objective"),
                "seconds": monitor.seconds,
            }
        )
        monitor.converged = _finished(solver)
    monitor.converged = monitor.stopped or _finished(solver)


def _finished(solver: StepSolver) -> bool:
    return all(block.finished for block in solver.blocks)
