"""The body that conditional log-linear models share: priors, layouts, a solver by name, the certificate."""

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.callbacks import Report, make_callback
from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.core.fit_records import FitCertificate, FitRecord
from fastlin.core.sparse_estimator import SparseClassifier, checkpoint_of
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.optim.certificate import Certificate, has_dual
from fastlin.optim.convergence_monitor import ConvergenceMonitor
from fastlin.optim.log_linear_problem import LogLinearProblem, WeightPrior
from fastlin.optim.partitions import Partitions
from fastlin.optim.solvers import owlqn
from fastlin.optim.solvers.dispatch import ALIASES, SOLVERS, SPARSE, Solver
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
PENALTIES = ("elasticnet", "l2", "l1", None, "deprecated")  # the last is scikit-learn's word for its default
UNFINISHED = {  # how scikit-learn's warnings begin, which programs filter by their words
    "lbfgs": "lbfgs failed to converge",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
    "newton-cholesky": "Newton solver did not converge after {n_iter} iterations",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
}
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

    history_: list[FitRecord]
    certificate_: FitCertificate
    n_iter_: Any  # a number; a search has one of each fit
    converged_: bool
    _stopped: bool

    def _check_parameters(self) -> str:
        """Check what does not depend on the data; returns the solver's own name."""
        check_parameters(self)
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be a number from 0 to 1 with penalty='elasticnet', got None")
        solver = ALIASES.get(self.solver, self.solver)
        l1, _ = self._strengths()
        if (l1 > 0 or (self.prior_variance is not None and self._l1_share() > 0)) and solver not in SPARSE:
            raise ValueError(f"solver={self.solver!r} has no L1 term; use one of {', '.join(map(repr, SPARSE))}")
        return solver

    def _strengths(self) -> tuple[float, float]:
        """λ₁ and λ₂ = 1/σ² of the elastic net."""
        C = float(self.C)
        if LARGEST < C < np.inf:
            raise ValueError(f"C must be at most {LARGEST:g}, or inf for no prior; got {self.C!r}")
        ratio = self._l1_share()
        strength = 0.0 if self.penalty is None else 1 / C
        return strength * ratio, strength * (1 - ratio)

    def _l1_share(self) -> float:
        """r, the share of the L1 norm in the penalty."""
        ratio = 0.0 if self.l1_ratio is None else float(self.l1_ratio)
        return {"l2": 0.0, "l1": 1.0, "group": 1.0, None: 0.0}.get(self.penalty, ratio)

    def _warn_of_penalty(self) -> None:
        """Say which parameter of the penalty is not heeded, in words that filters of scikit-learn's warnings know."""
        told, ratio = [], 0.0 if self.l1_ratio is None else float(self.l1_ratio)
        if self.penalty is None and float(self.C) not in (1.0, np.inf):
            told.append(f"Setting penalty=None will ignore the C={self.C!r}")
        if self.penalty in ("l1", "l2") and 0 < ratio < 1:
            told.append(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={self.penalty})")
        if self.penalty == "l2" and ratio == 1:
            told.append(f"Inconsistent values: penalty=l2 with l1_ratio={self.l1_ratio}: the penalty is heeded")
        for message in told:
            warnings.warn(message, UserWarning, stacklevel=4)

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
        precision, scale = np.full(len(features), l2), np.empty(0)
        if self.prior_variance is not None:
            precision = 1 / validation.as_positive(self.prior_variance, "prior_variance", n_features)[features]
            l1 = self._l1_share()
            if l1 > 0:
                scale = np.repeat(layout.expand(precision), layout.weights_per_feature)
                precision = (1 - l1) * precision
        mean = np.empty(0)
        if self.prior_mean is not None:
            if l1 > 0:
                raise ValueError("prior_mean belongs to a Gaussian prior: set l1_ratio=0")
            mean = layout.from_matrix(self._means(n_features, layout.width)[features])
        return WeightPrior(precision, mean, l1, scale)

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
        solver: Solver,
        report: Any,
        checkpoint: CheckpointTarget | None,
    ) -> None:
        """Run the solver on θ, and record what it reached."""
        certificate = Certificate(problem, self.tol) if has_dual(problem.prior) else None
        monitor = self._convergence_monitor(problem, report, checkpoint, certificate)
        seed = 0 if self.random_state is None else self.random_state
        solver(problem, theta, monitor, validation.as_generator(seed))
        self._record(problem, theta, monitor)

    def _convergence_monitor(
        self,
        problem: LogLinearProblem,
        report: Any,
        checkpoint: CheckpointTarget | None,
        certificate: Certificate | None,
    ) -> ConvergenceMonitor:
        total, theirs = problem.partitions.total_weight, self.solver in UNFINISHED
        return ConvergenceMonitor(self.tol, self.max_iter, total, report, checkpoint, certificate, theirs)

    def _record(self, problem: LogLinearProblem, theta: NDArray[np.float64], monitor: ConvergenceMonitor) -> None:
        """History and certificate."""
        gradient = np.empty(problem.size)
        loss, penalty = problem.evaluate(theta, gradient)
        smooth = loss + penalty
        counts, n, prior = problem.counts(theta, gradient), problem.n_weights, problem.prior
        steepest = owlqn.pseudo_gradient(problem, theta, gradient)
        self.history_, self.n_iter_, self.converged_ = monitor.history, monitor.iterations, monitor.converged
        self._stopped = monitor.stopped
        self.objective_ = smooth + prior.l1_penalty(theta[:n])
        self.certificate_ = {
            "objective": self.objective_,
            "gradient_norm": problem.pieces.largest(steepest),
            "moment_gap": problem.largest_count(counts),
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
        opening = "The fit did not converge"
        if self.n_iter_ >= self.max_iter:
            opening = UNFINISHED.get(self.solver, opening).rstrip(".").format(n_iter=self.max_iter)
            other = "use solver='auto', " if self.solver != "auto" else ""
            advice = f"max_iter={self.max_iter} iterations of solver={self.solver!r} were not enough: {state}"
            advice += f". Raise max_iter or tol, {other}{scaled}"
        else:
            advice = f"rounding ended the progress of solver={self.solver!r}: {state}. Raise tol, {scaled}"
        if np.isinf(float(self.C)) or self.penalty is None:
            advice += ". Without a prior the weights of separable data grow for ever: a finite C has an optimum"
        warnings.warn(f"{opening}: {advice}.", ConvergenceWarning, stacklevel=4)

    def _reporter(self, install: Callable[[], None], evaluate: Callable[[], float] | None) -> Report | None:
        """What happens after each record of the history; None for nothing."""
        as_callback = make_callback(self, lambda: self)
        if as_callback is None and evaluate is None:
            return None

        def report(record: dict[str, Any]) -> Any:
            install()
            if evaluate is not None:
                record["validation_score"] = evaluate()
            return as_callback is not None and as_callback(record)

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
