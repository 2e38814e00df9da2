"""What every batch fit keeps and obeys: its history, its tolerance, its limit of iterations, its audience."""

import time
from collections.abc import Callable
from math import inf
from typing import Any

STILL = 10  # records in a row with neither a lower objective nor a smaller gradient


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
        self.wanders = False  # whether the objective may rise on the way
        self._started = time.perf_counter()
        self._least = self._smallest = inf
        self._still = 0

    def record(self, objective: float, gradient_norm: float, **more: Any) -> bool:
        """Note where the fit stands after an iteration, or before the first; says whether to stop."""
        moved = objective < self._least or gradient_norm < self._smallest
        self._still = 0 if moved else self._still + 1
        self._least, self._smallest = min(objective, self._least), min(gradient_norm, self._smallest)
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
        """Whether to stop: also where rounding leaves nothing to gain."""
        stuck = self._still >= STILL and not self.wanders
        return self.converged or self.stopped or stuck or self.iterations >= self.max_iter
