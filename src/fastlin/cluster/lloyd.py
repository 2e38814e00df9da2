"""The loop of k-means: both steps in turns until nothing moves."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.cluster.kmeans_steps import KMeansState, SoftStep
from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.fit_monitor import FitMonitor
from fastlin.core.fit_records import FitRecord


class LloydRun(NamedTuple):
    """Where one fit from one start ended."""

    centres: NDArray[np.float64]
    labels: NDArray[np.int32]
    inertia: float
    objective: float
    history: list[FitRecord]
    converged: bool

    @property
    def score(self) -> float:
        return -self.objective

    def state_dict(self) -> State:
        return self._asdict() | {"inertia": float(self.inertia), "objective": float(self.objective)}

    @classmethod
    def restored(cls, step: KMeansState, saved: CheckpointReader) -> "LloydRun":
        """What `state_dict` said."""
        return cls(
            centres=saved.array("centres", np.empty((step.K, step.points.n_columns))),
            labels=step.saved_labels(saved, "labels"),
            inertia=saved.number("inertia"),
            objective=saved.number("objective"),
            history=saved.history(),
            converged=saved.boolean("converged"),
        )


def run_lloyd(
    step: KMeansState,
    begin: Callable[[], NDArray[np.float64]],
    threshold: float,
    monitor: FitMonitor,
    tell: Callable[[str], None],
) -> LloydRun:
    """Both steps in turns, until no row changes its cluster, the centres move by no more, or the callback ends it.

    The last labels are those that the centres give when they are used to predict. `tell` prints, where it is wanted:
    scikit-learn's words, which programs look for.
    """
    if not monitor.register_run("run", step):
        step.begin(begin())
        tell("Initialization complete")
    found: dict[str, Any] = {}
    while not monitor.should_stop:
        if monitor.iterations:
            monitor.maybe_save()
        found = step.expect() | step.maximise()
        monitor.iterations += 1
        monitor.log(**found)
        monitor.converged = bool(found.get("changed") == 0 or found["movement"] <= threshold or monitor.stopped)
    if found and monitor.converged and not monitor.stopped:
        strict, shift = found.get("changed") == 0, f"center shift {found['movement']:g} within tolerance {threshold:g}"
        tell(f"Converged at iteration {monitor.iterations - 1}: {'strict convergence' if strict else shift}.")
    centres = step.settle()
    step.assign()
    inertia = step.points.weighted(step.distances())
    objective = step.expect()["objective"] if isinstance(step, SoftStep) else inertia
    return LloydRun(centres, step.labels.copy(), inertia, objective, monitor.history, monitor.converged)
