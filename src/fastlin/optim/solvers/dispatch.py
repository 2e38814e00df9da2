"""The solvers by name, and which problems each can solve."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fastlin.optim.convergence_monitor import Progress
from fastlin.optim.problem import Problem
from fastlin.optim.solvers import conjugate_gradient, iterative_scaling, lbfgs, logistic_dual, newton, sgd

Solver = Callable[[Problem, NDArray[np.float64], Progress, np.random.Generator], None]


def automatic(problem: Problem, theta: NDArray[np.float64], progress: Progress, generator: np.random.Generator) -> None:
    """Dual ascent where the dual exists and is fast, else Newton's method; L-BFGS where that finds nothing to gain."""
    if logistic_dual.applies(problem) and not (progress.stood_at("newton") or progress.stood_at("lbfgs")):
        logistic_dual.maximise(problem, theta, progress, generator)
    if progress.may_go_on and not progress.stood_at("lbfgs"):
        newton.minimise(problem, theta, progress, generator)
    if progress.may_go_on:
        progress.go_on()
        lbfgs.minimise(problem, theta, progress, generator)


SOLVERS: dict[str, Solver] = {
    "auto": automatic,
    "gd": conjugate_gradient.steepest,
    "cg": conjugate_gradient.conjugate,
    "newton": newton.minimise,
    "lbfgs": lbfgs.minimise,
    "gis": iterative_scaling.generalised,
    "iis": iterative_scaling.improved,
    "sgd": sgd.averaged,
    "adagrad": sgd.adaptive,
}
ALIASES = {
    "newton-cg": "newton",
    "newton-cholesky": "newton",
    "liblinear": "newton",
    "sag": "auto",
    "saga": "auto",
}
SPARSE = ("auto", "newton", "lbfgs")  # solvers that know an L1 term
