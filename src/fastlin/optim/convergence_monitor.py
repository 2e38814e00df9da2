"""What every batch fit keeps and obeys: its history, its tolerance, its limit of iterations, its audience, its file."""

import time
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import storage
from fastlin.optim.certificate import Certificate
from fastlin.optim.checkpoint_reader import Saved, State, write

Vector = NDArray[np.float64]
STILL = 10  # records in a row with neither a lower objective nor a smaller gradient


class Progress:
    """Decides when a fit ends: by its certificate's gap ≤ tol · f, without one by max |∂f| ≤ tol · Σ w; by max_iter.

    A callback may end it, too.

    A solver that is to be resumed asks `resume` for where it stood, says in `keep` what it has to keep, and calls
    `offer` where a checkpoint may be made: at the head of its loop.
    """

    def __init__(
        self,
        tol: float,
        max_iter: int,
        total_weight: float,
        report: Callable[[dict[str, Any]], Any] | None = None,
        checkpoint: storage.Checkpoint | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        self.enough, self.max_iter, self.report, self.checkpoint = tol * total_weight, max_iter, report, checkpoint
        self.certificate, self.tol, self.gap = certificate, tol, inf
        self.history: list[dict[str, Any]] = []
        self.iterations = 0
        self.converged = False
        self.stopped = False
        self.wanders = False  # whether the objective may rise on the way
        self._started = time.perf_counter()
        self._least = self._smallest = inf
        self._still = 0
        self._saved, self._again = Saved.of(checkpoint), False

    def record(self, objective: float, gradient_norm: float, theta: Vector, gradient: Vector, **more: Any) -> bool:
        """Note where the fit stands after an iteration, or before the first; says whether to stop.

        `gradient` is that of the smooth part at θ, `gradient_norm` the distance to the optimum that it means.
        """
        if self._again:  # what was noted before the checkpoint was made
            self._again = False
            return self.finished
        moved = objective < self._least or gradient_norm < self._smallest
        self._still = 0 if moved else self._still + 1
        self._least, self._smallest = min(objective, self._least), min(gradient_norm, self._smallest)
        distance, enough = gradient_norm, self.enough
        if self.certificate is not None:
            distance, enough = self.certificate.gap(objective, theta, gradient), self.tol * objective
            self.gap = distance
            if distance < inf:
                more["duality_gap"] = distance
        return self.note(distance, enough, objective=objective, gradient_norm=gradient_norm, **more)

    def note(self, distance: float, enough: float | None = None, **fields: Any) -> bool:
        """Note a measure of the distance to the optimum, and how small it has to be: as `tol · Σ w`, unless said."""
        self.converged = distance <= (self.enough if enough is None else enough)
        record = {"iteration": self.iterations, "seconds": time.perf_counter() - self._started, **fields}
        self.history.append(record)
        self.stopped = bool(self.report and self.report(record))
        return self.finished

    def follow(self, first: "Progress") -> None:
        """Go on where another solver has ended."""
        self.history, self.iterations, self.stopped = first.history, first.iterations, first.stopped
        self._started = first._started

    @property
    def may_go_on(self) -> bool:
        """Whether another solver may go on where one has ended, which found nothing to gain."""
        return not (self.converged or self.stopped or self.iterations >= self.max_iter)

    def go_on(self) -> None:
        """Let another solver try."""
        self._still = 0

    @property
    def finished(self) -> bool:
        """Whether to stop: also where rounding leaves nothing to gain."""
        stuck = self._still >= STILL and not self.wanders
        return self.converged or self.stopped or stuck or self.iterations >= self.max_iter

    # Checkpoints

    def stood_at(self, solver: str) -> bool:
        """Whether the checkpoint was made by this solver."""
        return self._saved is not None and self._saved.header.get("solver") == solver

    def resume(self, solver: str) -> Saved | None:
        """Where this solver stood when the last checkpoint was made; None to begin."""
        return self._saved if self.stood_at(solver) else None

    def keep(self, solver: str, problem: Any, state: Callable[[], State], noted: bool = True) -> None:
        """From now on, this is where a solver stands; `noted`: it offers checkpoints after it has noted the iteration.

        A problem counts its passes. If the fit is resumed, it is as far as it was: the first record is not repeated.
        """
        self._solver, self._problem, self._state = solver, problem, state
        saved = self.resume(solver)
        if saved is None:
            return
        if problem is not None:
            problem.passes = saved.whole("passes", 0)
        self.history, self.iterations = saved.history(), saved.whole("iterations", 0)
        self._least, self._smallest = saved.number("least"), saved.number("smallest")
        self._still, self._again = saved.whole("still", 0), noted
        if self.certificate is not None:
            self.certificate.restore(saved.numbers("certificate"))
        self._started = time.perf_counter() - saved.number("seconds")
        self._saved = None

    def state(self) -> State:
        """All that a checkpoint has to hold."""
        own = {
            "solver": self._solver, "history": self.history, "iterations": self.iterations,
            "least": float(self._least), "smallest": float(self._smallest), "still": self._still,
            "seconds": time.perf_counter() - self._started,
        }  # fmt: skip
        if self._problem is not None:
            own["passes"] = self._problem.passes
        if self.certificate is not None:
            own["certificate"] = self.certificate.state()
        return own | self._state()

    def offer(self) -> None:
        """Make a checkpoint, should one be due."""
        if self.checkpoint is not None and self.checkpoint.due():
            write(self.checkpoint, self.state())
