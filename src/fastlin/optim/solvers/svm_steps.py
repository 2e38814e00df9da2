"""Solvers of SVMs whose labels are problems of their own and take steps, each until it has its gap or gains nothing."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from fastlin.core.checkpoint_reader import CheckpointReader, State, as_part
from fastlin.core.fit_monitor import FitMonitor
from fastlin.optim.solvers.svm_problem import BlockOfLabels, sum_over_blocks
from fastlin.runtime import parallel


class StepProblem(Protocol):
    """Some labels that take their steps together."""

    @property
    def finished(self) -> bool:
        """Whether the gap is small enough."""

    @property
    def stalled(self) -> bool:
        """Whether the last steps have gained nothing."""

    @property
    def visits(self) -> int:
        """The rows whose loss is not zero."""

    def begin(self, saved: CheckpointReader | None = None) -> None:
        """Scores, gradients and gaps where the weights are, or where a fit stood."""

    def state_dict(self) -> State:
        """What the steps have changed."""


class StepSolver(ABC):
    """Problems that take their steps in turns, or in threads."""

    run: str  # its name in checkpoints
    blocks: Sequence[BlockOfLabels]  # the labels, as records tell of them

    def __init__(self, problems: Sequence[StepProblem], workers: parallel.WorkerPool) -> None:
        self.problems, self.workers = problems, workers

    @abstractmethod
    def take_step(self, problem: Any) -> None:
        """A step of one of the problems."""

    def state_dict(self) -> State:
        state: State = {}
        for place, problem in enumerate(self.problems):
            state |= as_part(f"{place}", problem.state_dict())
        return state

    def load_state_dict(self, saved: CheckpointReader) -> None:
        for place, problem in enumerate(self.problems):
            problem.begin(saved.part(f"{place}"))

    def begin(self) -> None:
        """Objectives and gaps of all labels."""
        self.workers.map(lambda problem: problem.begin(), [(problem,) for problem in self.problems])

    def step(self) -> int:
        """A step of each problem that is not done; returns the rows whose loss is not zero, added up."""
        unfinished = [problem for problem in self.problems if not (problem.finished or problem.stalled)]
        self.workers.map(self.take_step, [(problem,) for problem in unfinished])
        return sum(problem.visits for problem in unfinished)

    @property
    def stalled(self) -> bool:
        """Whether rounding ended the progress of what is not at its optimum."""
        return all(problem.finished or problem.stalled for problem in self.problems)


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
