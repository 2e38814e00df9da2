"""The loop of k-means: both steps in turns until nothing moves."""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.cluster.kmeans_steps import KMeansState, SoftStep
from fastlin.core.callbacks import Report


class LloydRun(NamedTuple):
    """Where one fit from one start ended."""

    centres: NDArray[np.float64]
    labels: NDArray[np.int32]
    inertia: float
    objective: float
    history: list[dict[str, Any]]
    converged: bool


def run_lloyd(step: KMeansState, start: NDArray[np.float64], max_iter: int, enough: float, report: Report) -> LloydRun:
    """Both steps in turns, until no row changes its cluster, the centres move by no more than `enough`, or `report`.

    The last labels are those that the centres give when they are used to predict.
    """
    history: list[dict[str, Any]] = []
    began, converged = time.perf_counter(), False
    step.begin(start)
    while not converged and len(history) < max_iter:
        found = step.expect() | step.maximise()
        history.append({"iteration": len(history) + 1, "seconds": time.perf_counter() - began, **found})
        stopped = report(history[-1])
        converged = bool(found.get("changed") == 0 or found["movement"] <= enough or stopped)
    centres = step.settle()
    step.assign()
    inertia = step.points.weighted(step.distances())
    objective = step.expect()["objective"] if isinstance(step, SoftStep) else inertia
    return LloydRun(centres, step.labels.copy(), inertia, objective, history, converged)
