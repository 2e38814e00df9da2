"""The solvers by name, and which problems each can solve."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.log_linear_problem import LogLinearProblem
from fastlin.optim.solvers import (
    conjugate_gradient,
    iterative_scaling,
    lbfgs,
    logistic_dual,
    newton,
    proximal_newton,
    sgd,
)

ROW_COST = 30.0  # of dual ascent beside a row's non-zeros, in those
MAX_DUAL_COST = 60.0  # passes over the non-zeros: a few steps of Newton's method, which begins near its end

Solver = Callable[[LogLinearProblem, NDArray[np.float64], ConvergenceMonitor, np.random.Generator], None]


def automatic(
    problem: LogLinearProblem, theta: NDArray[np.float64], monitor: ConvergenceMonitor, generator: np.random.Generator
) -> None:
    """Proximal Newton for L1 terms in memory; dual ascent where the dual exists and is fast, else Newton's method.

    Of few columns Newton's steps are exact, and dual ascent is not tried.
    L-BFGS goes on where Newton's method finds nothing to gain.
    """
    solve(problem, theta, monitor, generator, tries_dual=True)


def dual_ascent(
    problem: LogLinearProblem, theta: NDArray[np.float64], monitor: ConvergenceMonitor, generator: np.random.Generator
) -> None:
    """`automatic` of who wants the dual: its ascent where the dual exists, whatever is likely to be faster."""
    solve(problem, theta, monitor, generator, tries_dual=True, wants_dual=True)


def automatic_after(history: Sequence[Mapping[str, Any]]) -> Solver:
    """`automatic` of a fit that begins where another ended, with another strength of the prior, given its history.

    Once dual ascent has become slow it stays so on the way to weaker priors, where Newton's method begins near its end.
    """

    def automatic_from_there(
        problem: LogLinearProblem,
        theta: NDArray[np.float64],
        monitor: ConvergenceMonitor,
        generator: np.random.Generator,
    ) -> None:
        n_rows, nnz = problem.partitions.n_rows, sum(problem.partitions.n_non_zeros)
        cost_of_epoch = 1 + ROW_COST * n_rows / max(nnz, 1)
        last = history[-1] if history else {"epochs": 0}  # a fit that began at its end has no history
        slow = "epochs" not in last or last["epochs"] * cost_of_epoch > MAX_DUAL_COST
        solve(problem, theta, monitor, generator, tries_dual=not (slow or newton.has_short_rows(problem)))

    return automatic_from_there


def solve(
    problem: LogLinearProblem,
    theta: NDArray[np.float64],
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,
    tries_dual: bool,
    wants_dual: bool = False,
) -> None:
    """`automatic`, with dual ascent, where another solver is no faster or it is what is wanted, or without."""
    if proximal_newton.has_proximal_newton(problem):
        proximal_newton.minimise(problem, theta, monitor, generator)
        return
    dense = newton.has_dense_hessian(problem)
    if (
        tries_dual
        and (wants_dual or not (dense or newton.has_fast_products(problem)))
        and logistic_dual.has_logistic_dual(problem)
        and not (monitor.was_saved_by("newton") or monitor.was_saved_by("lbfgs"))
    ):
        logistic_dual.maximise(problem, theta, monitor, generator)
    if monitor.may_continue and not monitor.was_saved_by("lbfgs"):
        newton.minimise(problem, theta, monitor, generator, problem if dense else None)
    if monitor.may_continue:
        monitor.reset_stall()
        lbfgs.minimise(problem, theta, monitor, generator)


SOLVERS: dict[str, Solver] = {
    "auto": automatic,
    "gd": conjugate_gradient.steepest_descent,
    "cg": conjugate_gradient.nonlinear_cg,
    "newton": newton.minimise,
    "lbfgs": lbfgs.minimise,
    "gis": iterative_scaling.minimise_gis,
    "iis": iterative_scaling.minimise_iis,
    "sgd": sgd.averaged_sgd,
    "adagrad": sgd.adagrad,
}
ALIASES = {
    "newton-cg": "newton",
    "newton-cholesky": "newton",
    "liblinear": "auto",
    "sag": "auto",
    "saga": "auto",
}
SPARSE = ("auto", "newton", "lbfgs")  # solvers that know an L1 term
