"""What every batch fit keeps and obeys: its history, its tolerance, its limit of iterations, its audience."""

import time
from collections.abc import Callable
from typing import Any


class Progress:
    """Decides when a fit ends: max |∂f| ≤ tol · Σ w, max_iter, or a callback that says so."""

    def __init__(
        self, tol: float, max_iter: int, total_weight: float, report: Callable[[dict[str, Any]], Any] | None = None
    ) -> None:
        self.enough, self.max_iter, self.report = tol * total_weight, max_iter, report
        self.history: list[dict[str, Any]] = []
        self.iterations = 0
        self.converged = False
        self.stopped = False
        self._started = time.perf_counter()

    def record(self, objective: float, gradient_norm: float, **more: Any) -> bool:
        """Note where the fit stands after an iteration, or before the first; says whether to stop."""
        return self.note(gradient_norm, objective=objective, gradient_norm=gradient_norm, **more)

    def note(self, distance: float, **fields: Any) -> bool:
        """The same for any measure of the distance to the optimum."""
        record = {"iteration": self.iterations, "seconds": time.perf_counter() - self._started, **fields}
        self.history.append(record)
        self.converged = distance <= self.enough
        self.stopped = bool(self.report and self.report(record))
        return self.finished

    @property
    def finished(self) -> bool:
        return self.converged or self.stopped or self.iterations >= self.max_iter
