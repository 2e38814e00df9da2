"""The fit of a CRF: its problem, the solver, and what is told of where this ended.

Apart from the model, so that a tagger that is loaded does without solvers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.core.callbacks import make_callback
from fastlin.core.checkpoint_reader import CheckpointReader, CheckpointTarget, State
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.solvers import lbfgs, owlqn
from fastlin.runtime import parallel
from fastlin.sequence.column_selection import as_columns
from fastlin.sequence.crf import sgd
from fastlin.sequence.crf.certificate import duality_gap
from fastlin.sequence.crf.edge_weights import Edges
from fastlin.sequence.crf.model import STOCHASTIC_SOLVERS
from fastlin.sequence.crf.objective import CRFObjective
from fastlin.sequence.partial_labels import LabelCodes
from fastlin.sequence.tokens import Tokens
from fastlin.sequence.transition_weights import TransitionWeights
from fastlin.sequence.weight_layout import lay_out

Floats = NDArray[np.float64]
MIN_SGD_SEQUENCES = 500  # sequences from which on epochs of SGD pay before L-BFGS
SGD_EPOCHS = 10  # of these
TINY = 1e-300
LARGE_VALUE = 1e3  # of values from which on weights of features and of transitions are too different for a solver


def train(model: Any, tokens: Tokens, labels: LabelCodes, file: CheckpointTarget) -> str | None:
    """Fit a model in place, whose labels are known; returns what is to be warned of."""
    with parallel.WorkerPool(model.n_jobs) as workers:
        problem = make_problem(model, tokens, labels, workers)
        del tokens  # laid out: as much memory again
        theta = np.zeros(problem.size)
        report = make_callback(model, lambda: model._install(problem, theta))
        monitor = ConvergenceMonitor(model.tol, model.max_iter, 1.0, report, file)
        seed = 0 if model.random_state is None else model.random_state
        start = minimise(model, problem, theta, monitor, validation.as_generator(seed))
        record_fit(model, problem, theta, monitor)
        if not model.objective_ <= start.objective:
            monitor.converged = False
            if start.theta is not None:  # what was better is kept
                theta[:] = start.theta
            record_fit(model, problem, theta, monitor)
    model._install(problem, theta)
    if monitor.converged or monitor.stopped:
        return None
    text = f"The fit did not converge in {monitor.iterations} iterations to tol={model.tol}"
    if "duality_gap" in model.certificate_:
        gap = model.certificate_["duality_gap"] / max(model.objective_, TINY)
        text += f"; the objective is at most {gap:.1e} of it above its minimum"
    return f"{text}: {convergence_advice(problem, monitor)}."


def minimise(
    model: Any, problem: CRFObjective, theta: Floats, monitor: ConvergenceMonitor, generator: np.random.Generator
) -> "StartingPoint":
    """Move θ to the optimum; where the way to it began."""
    start = StartingPoint(problem.labels.log_choices(problem.starts), theta)
    if model.solver in STOCHASTIC_SOLVERS:
        sgd.minimise(problem, theta, monitor, generator, model.solver, int(model.batch_size), model.eta0)
        return start
    many = len(problem.starts) > MIN_SGD_SEQUENCES
    hybrid = model.solver == "auto" and many and not model.c1 and model.edges is None
    if hybrid and not monitor.register("start", start):
        approach_by_sgd(model, problem, theta, monitor, generator, start)
    if not monitor.should_stop:
        lbfgs.minimise(problem, theta, monitor, generator)
    return start


def approach_by_sgd(
    model: Any,
    problem: CRFObjective,
    theta: Floats,
    monitor: ConvergenceMonitor,
    generator: np.random.Generator,
    start: "StartingPoint",
) -> None:
    """Move θ some epochs of SGD towards the optimum, unless that is worse than zeros."""
    first = ConvergenceMonitor(0, min(SGD_EPOCHS, model.max_iter), 1.0, monitor.report, monitor.checkpoint)
    sgd.minimise(problem, theta, first, generator, "sgd", int(model.batch_size), model.eta0)
    monitor.continue_from(first)
    objective = problem.value(theta, np.empty(problem.size))
    if objective < start.objective:
        start.objective, start.theta = objective, theta.copy()
    else:
        theta[:] = 0


def make_problem(model: Any, tokens: Tokens, labels: LabelCodes, workers: parallel.WorkerPool) -> CRFObjective:
    """Weights laid out, and what is to be evaluated of them."""
    K, V = len(model.classes_), tokens.rows.n_columns
    observed = model.weights == "observed"
    seen = model.cutoff if observed else None
    design, layout = lay_out(tokens, labels, K, observed, np.full(V, model.cutoff, np.int64))
    kept = model.cutoff if (model.transitions or model.weights) == "observed" else None
    transition_weights = TransitionWeights.observed(labels, tokens.starts, K, int(model.order), kept)
    edges = None
    if model.edges is not None:
        columns = as_columns(model.edges, model.attributes_, V, "edges")
        edges = Edges(tokens, labels, K, columns, seen) if len(columns) else None
    c1, c2 = float(model.c1), float(model.c2)
    return CRFObjective(design, layout, transition_weights, edges, tokens, labels, c1, c2, workers)


def record_fit(model: Any, problem: CRFObjective, theta: Floats, monitor: ConvergenceMonitor) -> None:
    """History and certificate."""
    gradient = np.empty(problem.size)
    smooth = problem.value(theta, gradient)
    steepest = owlqn.pseudo_gradient(problem, theta, gradient)
    model.history_, model.n_iter_, model.converged_ = monitor.history, monitor.iterations, monitor.converged
    model.objective_ = smooth + owlqn.l1_penalty(problem, theta)
    model.certificate_ = {
        "objective": model.objective_,
        "gradient_norm": problem.distance(theta, steepest),
        "moment_gap": problem.pieces.largest(gradient - 2 * problem.c2 * theta),
    }
    if problem.c2 or problem.prior.l1:
        model.certificate_["duality_gap"] = duality_gap(problem, theta, smooth, gradient)


class StartingPoint:
    """Where L-BFGS begins: weights and their objective; None are zeros."""

    def __init__(self, objective_of_zeros: float, like: Floats) -> None:
        self.objective, self._like = objective_of_zeros, like
        self.theta: Floats | None = None

    def state_dict(self) -> State:
        return {"objective": self.objective} | ({} if self.theta is None else {"theta": self.theta})

    def load_state_dict(self, saved: CheckpointReader) -> None:
        objective = saved.number("objective")
        if objective < self.objective:  # that of zeros
            self.objective, self.theta = objective, saved.array("theta", self._like)


def convergence_advice(problem: CRFObjective, monitor: ConvergenceMonitor) -> str:
    """What helps a fit that has not converged."""
    largest = max(problem.design.largest, 0.0 if problem.edges is None else problem.edges.largest)
    if largest > LARGE_VALUE:
        return f"scale the features, whose values are up to {largest:g}, to about 1"
    if monitor.iterations < monitor.max_iter:
        return "rounding ended the progress: raise tol, or give a larger c2"
    return "raise max_iter or tol, or give a larger c2"
