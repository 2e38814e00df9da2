"""Stochastic gradients on the way to the optimum: averaged SGD with η₀/(1 + η₀λt), and Adagrad.

The epochs are those of the online learners (optim/epochs.py), with λ = 1/(C Σw) an instance.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine import vectors
from fastlin.losses import CODES
from fastlin.optim.epochs import Data, Stopping, train
from fastlin.optim.inferences import Labels
from fastlin.optim.layouts import Dense
from fastlin.optim.problem import Problem
from fastlin.optim.progress import Progress
from fastlin.optim.state import ADAGRAD, CANCELLATION, GRADIENT, REACH, RULE, SCHEDULES, OnlineState
from fastlin.validation import Rows

BURN_IN = 0.5  # the share of max_iter epochs that the average leaves out
STEADY = 4.0  # η₀ times the mean squared norm of a row


def averaged(problem: Problem, theta: NDArray[np.float64], progress: Progress, generator: np.random.Generator) -> None:
    """SGD whose weights are averaged over the second half of the epochs."""
    scale = _mean_square(problem)
    first = int(BURN_IN * progress.max_iter * problem.design.n_rows) + 1
    fields = {"step": GRADIENT, "schedule": SCHEDULES["inverse"], "eta0": STEADY / scale, "average_from": first}
    _run(problem, theta, progress, generator, fields)


def adaptive(problem: Problem, theta: NDArray[np.float64], progress: Progress, generator: np.random.Generator) -> None:
    """Adagrad with η₀ = 1."""
    _run(problem, theta, progress, generator, {"step": ADAGRAD, "schedule": SCHEDULES["adagrad"], "eta0": 1.0})


def _mean_square(problem: Problem) -> float:
    """Mean ‖x‖² of a row, the intercept included."""
    squares = np.square(problem.design.values, dtype=np.float64).sum()
    return 1.0 + float(squares) / problem.design.n_rows


def _run(
    problem: Problem,
    theta: NDArray[np.float64],
    progress: Progress,
    generator: np.random.Generator,
    fields: dict[str, Any],
) -> None:
    inference, design, precision = problem.inference, problem.design, problem.prior.precision
    if not isinstance(inference, Labels) or not isinstance(problem.layout, Dense):
        raise ValueError("solver='sgd' and solver='adagrad' need weights='dense'")
    if len(problem.prior.mean) or (len(precision) and np.ptp(precision) > 0):
        raise ValueError("solver='sgd' and solver='adagrad' know one variance for all features, and no prior_mean")
    gradient, n = np.empty(problem.size), problem.n_weights
    if progress.record(problem.value(theta, gradient), vectors.largest(gradient), passes=problem.passes) or n == 0:
        return
    rule = np.zeros(1, RULE)
    strength = float(precision[0]) / design.n_rows
    common = {"loss": CODES["log_loss"], "batch_size": 1, "fit_intercept": problem.size > n, "alpha": strength}
    limits = {"l2": strength, "cancellation": CANCELLATION, "reach": REACH[np.dtype(np.float64)]}
    for field, number in (common | limits | fields).items():
        rule[field] = number
    state = OnlineState(rule, design.n_features, problem.width, np.dtype(np.float64))
    state.start_from(theta[:n].reshape(-1, problem.width).T, theta[n:])
    values = design.values.astype(np.float64, copy=False)
    largest = float(np.abs(values).max(initial=0))
    rows = Rows(design.indptr, design.indices, values, design.n_features, True, True, largest)
    data = Data(rows, inference.codes, inference.weights, np.arange(design.n_rows), "shuffle", generator)

    def report(_: dict[str, Any]) -> bool:
        theta[:n] = state.coef().reshape(-1)
        theta[n:] = state.intercept()[: problem.size - n]
        progress.iterations += 1
        problem.passes += 2
        return progress.record(problem.value(theta, gradient), vectors.largest(gradient), passes=problem.passes)

    train(state, data, Stopping(progress.max_iter, None, 1), report=report)
