"""The EM loop: its stopping rule, its history, components that die on the way."""

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin import validation
from fastlin.core.callbacks import Report
from fastlin.core.class_counts import ClassCounts
from fastlin.core.sparse_estimator import SparseEstimator
from fastlin.validation import real_number, whole_number

FIT_ATTRIBUTES = ("bound_", "objective_", "history_", "converged_", "n_iter_")
ROUNDING_PER_FACTOR = (
    1e-12  # of the bound, and of the factors of its logarithms: 1 itself has a logarithm of 0 but for rounding
)


class EMSteps(Protocol):
    """The two steps of an EM, and what the loop does with components that lose all their rows."""

    total_weight: float

    @property
    def factors(self) -> float:
        """How many factors the logarithm of the likelihood has: what rounding may amount to."""

    def expect(self) -> float:
        """E-step; returns the bound."""

    def maximise(self, keep: bool) -> None:
        """M-step, of counts that `counts` returns if they are kept."""

    def counts(self) -> Any: ...
    def dead(self) -> list[int]:
        """Components without a row."""

    def reseed_components(self, components: list[int]) -> Any:
        """Start components anew; returns what `restore` takes."""

    def restore(self, before: Any) -> None: ...


class EarlyStopping:
    """Early stopping of EM by `accuracy_of`, the accuracy that counts have on validation data.

    With `patience`, so many iterations that are no better end the run, and its result is the best one.
    """

    def __init__(self, look: Callable[[ClassCounts], float], limit: int | None) -> None:
        self.accuracy_of, self.patience = look, limit
        self.best_score, self.n_no_improvement = -1.0, 0
        self.best_iteration: int  # the iteration that had it, and its counts
        self.best_counts: ClassCounts

    def should_stop(self, counts: ClassCounts, record: dict[str, Any]) -> bool:
        """Score an iteration; returns whether to stop."""
        score = record["val_score"] = self.accuracy_of(counts)
        self.n_no_improvement = 0 if score > self.best_score else self.n_no_improvement + 1
        if score > self.best_score:
            self.best_score, self.best_counts, self.best_iteration = score, counts, record["iteration"]
        return self.patience is not None and self.n_no_improvement >= self.patience


class EMRun:
    """A run of EM: it iterates until the bound rises by no more than tol · Σ w, and once more.

    The last iteration keeps the counts; every one does, as the start has to, for those who look at them: `report`,
    which ends the climb where it returns something true, and `judge`. Where rounding lets the bound fall, it is noted
    as it was.
    """

    def __init__(
        self, em: EMSteps, tol: float, max_iter: int, report: Report | None = None, judge: EarlyStopping | None = None
    ) -> None:
        self.bounds: list[float] = []
        self.history: list[dict[str, Any]] = []
        self.converged = False
        self.stopped_by_callback = self.stopped = False  # by `report`; by it or by `judge`
        self.reseeded: set[int] = set()  # components that died and were seeded again
        self._em, self._report, self._early_stopping = em, report, judge
        self._threshold, self._started = tol * em.total_weight, time.perf_counter()
        self._not_revivable: set[int] = set()
        looked_at = report is not None or judge is not None
        self._log_iteration(*self._expect())
        for iteration in range(1, int(max_iter) + 1):
            if self.stopped:
                break
            last = self.converged or iteration == max_iter
            em.maximise(keep=last or looked_at)
            self._log_iteration(*((em.expect(), []) if last else self._expect()))
            if last:
                break
        self.dead = em.dead()  # components without a row at the end
        if judge is None or judge.patience is None:
            self.counts, kept, self.score = em.counts(), -1, self.bounds[-1]
        else:
            self.counts, kept, self.score = judge.best_counts, judge.best_iteration, judge.best_score
        self.objective = -self.bounds[kept]  # of these counts

    def _log_iteration(self, bound: float, seeded: list[int]) -> None:
        """Log an iteration, for `report` and early stopping to judge."""
        if self.bounds:
            rise = bound - self.bounds[-1]
            self.converged |= rise <= self._threshold
            if -ROUNDING_PER_FACTOR * (abs(bound) + self._em.factors) <= rise < 0:
                bound = self.bounds[-1]
        self.bounds.append(bound)
        seconds = time.perf_counter() - self._started
        record = {"iteration": len(self.bounds) - 1, "seconds": seconds, "objective": -bound, "seeded": seeded}
        self.history.append(record)
        tired = bool(self._early_stopping and self._early_stopping.should_stop(self._em.counts(), record))
        self.stopped_by_callback = bool(self._report and self._report(record))
        self.stopped = self.stopped_by_callback or tired

    def _expect(self) -> tuple[float, list[int]]:
        """The E-step. Components that died are seeded again before it, which is taken back unless the bound rises."""
        em, bound = self._em, self._em.expect()
        dead = sorted(set(em.dead()) - self._not_revivable)
        if not dead:
            return bound, []
        before = em.reseed_components(dead)
        raised = em.expect()
        if raised > bound:
            self.reseeded |= set(dead)
            return raised, dead
        em.restore(before)
        self._not_revivable |= set(dead)
        return em.expect(), []


def best_run(climbs: Iterable[EMRun]) -> EMRun:
    """The one of most merit, the first among equals; no more are asked for after one that `report` ended."""
    best: EMRun | None = None
    for climb in climbs:
        if best is None or climb.score > best.score:
            best = climb
        if climb.stopped_by_callback:
            break
    assert best is not None
    return best


class EMEstimatorMixin(ABC):
    """The parameters and fitted attributes of an estimator that EM fits."""

    tol: float
    max_iter: int
    n_init: int
    n_jobs: int | None
    verbose: int
    callback: Any

    bound_: NDArray[np.float64]
    objective_: float
    history_: list[dict[str, Any]]
    converged_: bool
    n_iter_: int

    def _check_em_parameters(self) -> None:
        """Check the parameters of EM."""
        real_number("tol", self.tol, at_least=0)
        whole_number("max_iter", self.max_iter, 1)
        whole_number("n_init", self.n_init, 1)
        validation.check_verbose(self.verbose)
        validation.check_n_jobs(self.n_jobs)
        validation.as_callback(self.callback)

    def _record_fit(self, climb: EMRun) -> Self:
        """Record a run in the attributes of a fit."""
        self.bound_, self.history_, self.converged_ = np.array(climb.bounds), climb.history, climb.converged
        self.objective_, self.n_iter_ = climb.objective, len(climb.bounds) - 1
        return self

    def _forget_fit(self) -> None:
        """Forget the attributes of a fit, which do not hold once there are more counts."""
        for name in FIT_ATTRIBUTES:
            self.__dict__.pop(name, None)

    def _warn_of_run(self, climb: EMRun) -> None:
        """Warn of components that died, and of a run that did not converge."""
        found = []
        if climb.reseeded:
            which = self._describe_components(climb.reseeded)
            found.append(f"{which} had lost all documents, and were seeded again (see history_)")
        if climb.dead:
            advice = "to seed them again would not raise the bound: ask for fewer, or for a smaller alpha"
            found.append(f"{self._describe_components(set(climb.dead))} have no documents; {advice}")
        if not (climb.converged or climb.stopped):
            advice = f"max_iter={self.max_iter} iterations were not enough for tol={self.tol}: raise max_iter or tol"
            found.append(f"EM did not converge: {advice}")
        for message in found:
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    @abstractmethod
    def _describe_components(self, components: set[int]) -> str:
        """These components in a warning."""


class SparseEMEstimator(EMEstimatorMixin, SparseEstimator, ABC):
    """An estimator of sparse rows that EM fits."""
