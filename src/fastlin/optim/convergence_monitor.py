"""The convergence monitor of batch fits: a fit monitor that stops by a certificate, a gradient or a stall."""

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.callbacks import Report
from fastlin.core.checkpoint_reader import CheckpointReader, CheckpointTarget, State
from fastlin.core.fit_monitor import FitMonitor

if TYPE_CHECKING:
    from fastlin.optim.certificate import Certificate

Vector = NDArray[np.float64]
GRADIENT_SHARE = 0.5  # of the limit of gradients: scikit-learn's L-BFGS ends farther below it than ours just does
MAX_NO_IMPROVEMENT = 10  # records in a row with neither a lower objective nor a smaller gradient


class ConvergenceMonitor(FitMonitor):
    """Stopping rule of a fit: its certificate's gap ≤ tol · f, without one max |∂f| ≤ tol · Σ w; max_iter; a callback.

    `wants_gradient`: with a certificate max |∂f| ≤ ½ tol · Σ w, too.

    A solver that is to be resumed asks `resume` for where it stood, says in `register_state` what it has
    to keep, and calls `maybe_save` where a checkpoint may be made: at the head of its loop.
    """

    def __init__(
        self,
        tol: float,
        max_iter: int,
        total_weight: float,
        report: Report | None = None,
        checkpoint: CheckpointTarget | None = None,
        certificate: "Certificate | None" = None,
        wants_gradient: bool = False,
    ) -> None:
        super().__init__(max_iter, report, checkpoint)
        self.threshold, self.tol, self.certificate = tol * total_weight, tol, certificate
        self._gradient_limit = GRADIENT_SHARE * self.threshold if wants_gradient else inf
        self.nonmonotone = False  # whether the objective may rise on the way
        self._saved_solver = None if self._saved is None else self._saved.header.get("solver")
        self._skips_next_record = False

    def begin_run(self) -> None:
        super().begin_run()
        self.gap = self._best_objective = self._best_gradient_norm = inf
        self.n_no_improvement = 0

    def log_iteration(
        self, objective: float, gradient_norm: float, theta: Vector, gradient: Vector, **more: Any
    ) -> bool:
        """Log an iteration, or the state before the first; returns whether to stop.

        `gradient` is that of the smooth part at θ, `gradient_norm` the distance to the optimum that it means.
        """
        if self._skips_next_record:  # it was logged before the checkpoint was made
            self._skips_next_record = False
            return self.should_stop
        moved = objective < self._best_objective or gradient_norm < self._best_gradient_norm
        self.n_no_improvement = 0 if moved else self.n_no_improvement + 1
        self._best_objective, self._best_gradient_norm = (
            min(objective, self._best_objective),
            min(gradient_norm, self._best_gradient_norm),
        )
        distance, threshold = gradient_norm, self.threshold
        if self.certificate is not None:
            distance, threshold = self.certificate.gap(objective, theta, gradient), self.tol * objective
            self.gap = distance
            if distance < inf:
                more["duality_gap"] = distance
            if gradient_norm > self._gradient_limit:
                threshold = -inf
        return self.log_distance(distance, threshold, objective=objective, gradient_norm=gradient_norm, **more)

    def log_distance(self, distance: float, threshold: float | None = None, **fields: Any) -> bool:
        """Log a distance to the optimum, to be at most `threshold` (`tol · Σ w` if None); returns whether to stop."""
        self.converged = distance <= (self.threshold if threshold is None else threshold)
        return self.log(**fields)

    def continue_from(self, first: "ConvergenceMonitor") -> None:
        """Continue the history of another solver."""
        self.history, self.iterations, self.stopped = first.history, first.iterations, first.stopped
        self._started = first._started

    @property
    def may_continue(self) -> bool:
        """Whether another solver may go on where one has ended, which found nothing to gain."""
        return not (self.converged or self.stopped or self.iterations >= self.max_iter)

    def reset_stall(self) -> None:
        """Forget the iterations without improvement, before another solver begins."""
        self.n_no_improvement = 0

    @property
    def should_stop(self) -> bool:
        """Whether to stop: also where rounding leaves nothing to gain."""
        stuck = self.n_no_improvement >= MAX_NO_IMPROVEMENT and not self.nonmonotone
        return stuck or super().should_stop

    # Checkpoints

    def was_saved_by(self, solver: str) -> bool:
        """Whether the checkpoint is this solver's."""
        return self._saved_solver == solver

    def resume(self, solver: str) -> CheckpointReader | None:
        """The reader of the last checkpoint if it is this solver's; None to begin."""
        return self._saved if self.was_saved_by(solver) else None

    def register_state(self, solver: str, problem: Any, state: Callable[[], State], logged: bool = True) -> None:
        """Register a solver's state for checkpoints; `logged`: they are made after the iteration is logged.

        A problem counts its passes. If the fit is resumed, it is as far as it was: the first record is not repeated.
        """
        self._solver, self._problem, self._state = solver, problem, state
        saved = self.resume(solver)
        if saved is not None:
            self.load_state_dict(saved)
            self._skips_next_record, self._saved_solver = logged, None
            self._forget_saved()

    def _forget_saved(self) -> None:
        if self._saved_solver is None:
            super()._forget_saved()

    def state_dict(self) -> State:
        """All that a checkpoint has to hold."""
        own = super().state_dict() | {
            "solver": self._solver, "least": float(self._best_objective), "smallest": float(self._best_gradient_norm),
            "still": self.n_no_improvement,
        }  # fmt: skip
        if self._problem is not None:
            own["passes"] = self._problem.passes
        if self.certificate is not None:
            own["certificate"] = self.certificate.state()
        return own | self._state()

    def load_state_dict(self, saved: CheckpointReader) -> None:
        super().load_state_dict(saved)
        if self._problem is not None:
            self._problem.passes = saved.integer("passes", 0)
        self._best_objective, self._best_gradient_norm = saved.number("least"), saved.number("smallest")
        self.n_no_improvement = saved.integer("still", 0)
        if self.certificate is not None:
            self.certificate.restore(saved.numbers("certificate"))
