"""The body that conditional log-linear models share: priors, layouts, a solver by name, the certificate."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.callbacks import Report, print_record
from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.core.sparse_estimator import SparseClassifier, checkpoint_of
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.optim.certificate import Certificate, has_dual
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.solvers import owlqn
from fastlin.optim.solvers.dispatch import ALIASES, SOLVERS, SPARSE
from fastlin.optim.weight_layouts import WeightLayout
from fastlin.storage import Checkpoint
from fastlin.validation.parameter_kinds import (
    ABSENT,
    DTYPE,
    NUMBERS,
    RUN,
    TRUTH,
    Integer,
    OneOf,
    ParameterTable,
    Real,
    check_parameters,
)

LEAST, LARGEST = 1e-100, 1e100  # of C: its inverse and its products stay numbers
PENALTIES = ("elasticnet", "l2", "l1", None)
COUNTS = ("gis", "iis")  # solvers that scale counts: features must not be negative


class MaxentClassifier(SparseClassifier):
    """Weights with a Gaussian or an elastic-net prior that any of the solvers fits to one optimum."""

    _parameters: ClassVar[ParameterTable] = RUN | {
        "C": Real(at_least=LEAST), "penalty": OneOf(*PENALTIES), "l1_ratio": Real(at_least=0, at_most=1) | ABSENT,
        "prior_variance": NUMBERS | ABSENT, "prior_mean": NUMBERS | ABSENT, "tol": Real(at_least=0),
        "solver": OneOf(*SOLVERS, *ALIASES), "max_iter": Integer(at_least=1), "warm_start": TRUTH,
        "dtype": DTYPE | ABSENT,
    }  # fmt: skip

    C: float
    penalty: str | None
    l1_ratio: float
    prior_variance: Any
    prior_mean: Any
    tol: Any
    fit_intercept: bool
    random_state: Any
    solver: str
    max_iter: int
    verbose: int
    warm_start: bool
    n_jobs: int | None
    dtype: Any
    callback: Any

    history_: list[dict[str, Any]]
    certificate_: dict[str, float]
    n_iter_: int
    converged_: bool
    _stopped: bool

    def _check_parameters(self) -> str:
        """Check what does not depend on the data; returns the solver's own name."""
        check_parameters(self)
        solver = ALIASES.get(self.solver, self.solver)
        l1, _ = self._strengths()
        if l1 > 0 and solver not in SPARSE:
            raise ValueError(f"solver={self.solver!r} has no L1 term; use one of {', '.join(map(repr, SPARSE))}")
        return solver

    def _strengths(self) -> tuple[float, float]:
        """λ₁ and λ₂ = 1/σ² of the elastic net."""
        C = float(self.C)
        if LARGEST < C < np.inf:
            raise ValueError(f"C must be at most {LARGEST:g}, or inf for no prior; got {self.C!r}")
        ratio = 0.0 if self.l1_ratio is None else float(self.l1_ratio)
        if self.penalty == "l2" and ratio > 0:
            raise ValueError(f"penalty='l2' together with l1_ratio={self.l1_ratio!r}: say penalty='elasticnet'")
        ratio = 1.0 if self.penalty == "l1" else ratio
        strength = 0.0 if self.penalty is None else 1 / C
        return strength * ratio, strength * (1 - ratio)

    def _checkpoint_of(self, source: Any, path: Any, checkpoint_interval: Any, resume: Any, **given: Any) -> Checkpoint:
        """The file of a fit of these rows; `given` are the other arguments of `fit`."""
        if self.warm_start and hasattr(self, "coef_"):
            given |= {"coef_": self.coef_, "intercept_": getattr(self, "intercept_", None)}
        return checkpoint_of(self, source, path, checkpoint_interval, resume, given | self._decisive_limits())

    def _decisive_limits(self) -> dict[str, Any]:
        """The limits that decide more than when a fit ends: SGD's average begins in the middle of all epochs."""
        return {"max_iter": self.max_iter} if ALIASES.get(self.solver, self.solver) == "sgd" else {}

    def _prior(self, parts: Partitions, layout: WeightLayout, n_features: int) -> WeightPrior:
        """The prior of the features that occur."""
        features = parts.features
        l1, l2 = self._strengths()
        precision = np.full(len(features), l2)
        if self.prior_variance is not None:
            if l1 > 0:
                raise ValueError("prior_variance belongs to a Gaussian prior: set l1_ratio=0")
            variance = validation.as_positive(self.prior_variance, "prior_variance", n_features)
            precision = 1 / variance[features]
        mean = np.empty(0)
        if self.prior_mean is not None:
            if l1 > 0:
                raise ValueError("prior_mean belongs to a Gaussian prior: set l1_ratio=0")
            mean = layout.from_matrix(self._means(n_features, layout.width)[features])
        return WeightPrior(precision, mean, l1)

    def _means(self, n_features: int, width: int) -> NDArray[np.float64]:
        """The prior's means as [V, K]; zeros where none are given."""
        if self.prior_mean is None:
            return np.zeros((n_features, width))
        mean = validation.as_finite(self.prior_mean, "prior_mean", np.ndim(self.prior_mean))
        if mean.shape not in ((), (n_features,), (width, n_features)):
            shapes = f"a number, ({n_features},) or ({width}, {n_features})"
            raise ValueError(f"prior_mean must be {shapes}, got shape {mean.shape}")
        return np.ascontiguousarray(np.broadcast_to(mean, (width, n_features)).T)

    def _optimise(
        self,
        problem: LogLinearProblem,
        theta: NDArray[np.float64],
        solver: str,
        report: Any,
        checkpoint: CheckpointTarget | None,
    ) -> None:
        """Run the solver on θ, and record what it reached."""
        certificate = Certificate(problem, self.tol) if has_dual(problem) else None
        total = problem.partitions.total_weight
        monitor = ConvergenceMonitor(self.tol, self.max_iter, total, report, checkpoint, certificate)
        seed = 0 if self.random_state is None else self.random_state
        SOLVERS[solver](problem, theta, monitor, validation.as_generator(seed))
        self._record(problem, theta, monitor)

    def _record(self, problem: LogLinearProblem, theta: NDArray[np.float64], monitor: ConvergenceMonitor) -> None:
        """History and certificate."""
        gradient = np.empty(problem.size)
        loss, penalty = problem.evaluate(theta, gradient)
        smooth = loss + penalty
        counts, n, prior = problem.counts(theta, gradient), problem.n_weights, problem.prior
        steepest = owlqn.pseudo_gradient(problem, theta, gradient)
        self.history_, self.n_iter_, self.converged_ = monitor.history, monitor.iterations, monitor.converged
        self._stopped = monitor.stopped
        self.objective_ = smooth + prior.l1 * float(np.abs(theta[:n]).sum())
        self.certificate_ = {
            "objective": self.objective_,
            "gradient_norm": problem.pieces.largest(steepest),
            "moment_gap": problem.pieces.largest(counts),
            "entropy": loss - problem.pieces.dot(theta, counts),
        }
        if monitor.certificate is None:
            return
        if monitor.converged:  # to add rounding alone, but with the best of stochastic epochs
            gap = max(0.0, monitor.gap + self.objective_ - monitor.history[-1]["objective"])
        else:
            gap = monitor.certificate.measure(self.objective_, theta, gradient)
            self.converged_ = gap <= self.tol * self.objective_
        self.certificate_["duality_gap"] = gap

    def _warn(self) -> None:
        """Say that the fit did not converge, how far from the optimum it may be, and what helps."""
        if self.converged_ or self._stopped:
            return
        left, scaled = self.certificate_.get("duality_gap"), "or scale the features"
        if left is None:
            state = f"the largest gradient is {self.certificate_['gradient_norm']:.1e}, too much for tol={self.tol}"
        else:
            state = f"the relative duality gap is {left / max(self.objective_, 1e-300):.1e}, above tol={self.tol}"
        if self.n_iter_ >= self.max_iter:
            other = "use solver='auto', " if self.solver != "auto" else ""
            advice = f"max_iter={self.max_iter} iterations of solver={self.solver!r} were not enough: {state}"
            advice += f". Raise max_iter or tol, {other}{scaled}"
        else:
            advice = f"rounding ended the progress of solver={self.solver!r}: {state}. Raise tol, {scaled}"
        if np.isinf(float(self.C)) or self.penalty is None:
            advice += ". Without a prior the weights of separable data grow for ever: a finite C has an optimum"
        warnings.warn(f"The fit did not converge: {advice}.", ConvergenceWarning, stacklevel=4)

    def _reporter(self, install: Callable[[], None], evaluate: Callable[[], float] | None) -> Report | None:
        """What happens after each record of the history; None for nothing."""
        if not self.verbose and self.callback is None and evaluate is None:
            return None

        def report(record: dict[str, Any]) -> Any:
            install()
            if evaluate is not None:
                record["validation_score"] = evaluate()
            print_record(self, record)
            return self.callback is not None and self.callback(self, record)

        return report


def spread_out(
    features: NDArray[np.int64],
    n_features: int,
    some: NDArray[np.float64],
    rest: NDArray[np.float64] | None,
    dtype: Any,
) -> NDArray[Any]:
    """Weights of some features as weights of all, [V, K]; the others are 0, or as `rest` says."""
    weights = aligned_zeros((n_features, some.shape[1]), dtype)
    if rest is not None:
        np.copyto(weights, rest, casting="same_kind")
    weights[features] = some
    return weights
