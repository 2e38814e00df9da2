"""The EM loop: its stopping rule, its history, components that die on the way, starts of which the best is kept."""

import itertools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from fastlin.core.checkpoint_reader import CheckpointReader, State, as_part
from fastlin.core.class_counts import ClassCounts
from fastlin.core.fit_monitor import FitGenerator, FitMonitor
from fastlin.core.fit_records import FitRecord
from fastlin.core.restarts import Restarts
from fastlin.core.sparse_estimator import SparseEstimator
from fastlin.validation.parameter_kinds import RUN, Integer, ParameterTable, Real

FIT_ATTRIBUTES = ("bound_", "restart_scores_", "objective_", "history_", "converged_", "n_iter_")
ROUNDING_PER_FACTOR = (
    1e-12  # of the bound, and of the factors of its logarithms: 1 itself has a logarithm of 0 but for rounding
)


EM: ParameterTable = RUN | {
    "tol": Real(at_least=0), "max_iter": Integer(at_least=1), "n_init": Integer(at_least=1),
}  # fmt: skip


class EMSteps(Protocol):
    """The two steps of an EM, and what the loop does with components that lose all their rows."""

    total_weight: float
    width: int  # the number of components

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
    def state_dict(self) -> State:
        """The parameters: an E-step finds the rest anew."""

    def load_state_dict(self, saved: CheckpointReader, /) -> None: ...
    def export_counts(self, counts: Any) -> State:
        """What `counts` returned, for a checkpoint."""

    def restore_counts(self, saved: CheckpointReader, /) -> Any: ...


class EarlyStopping:
    """Early stopping of EM by `accuracy_of`, the accuracy that counts have on validation data.

    With `patience`, so many iterations that are no better end the run, and its result is the best one.
    """

    def __init__(self, accuracy_of: Callable[[ClassCounts], float], patience: int | None) -> None:
        self.accuracy_of, self.patience = accuracy_of, patience
        self.score = self.best_score = -1.0  # of the latest iteration, and of the best
        self.n_no_improvement = 0
        self.best_iteration: int  # the iteration that had it, and its counts
        self.best_counts: ClassCounts

    def should_stop(self, counts: ClassCounts, iteration: int) -> bool:
        """Score an iteration; returns whether to stop."""
        self.score = self.accuracy_of(counts)
        self.n_no_improvement = 0 if self.score > self.best_score else self.n_no_improvement + 1
        if self.score > self.best_score:
            self.best_score, self.best_counts, self.best_iteration = self.score, counts, iteration
        return self.patience is not None and self.n_no_improvement >= self.patience

    def state_dict(self, em: EMSteps) -> State:
        best = {} if self.patience is None else as_part("counts", em.export_counts(self.best_counts))
        own = {"score": float(self.best_score), "still": self.n_no_improvement, "iteration": self.best_iteration}
        return own | best

    def load_state_dict(self, saved: CheckpointReader, em: EMSteps, n_iterations: int) -> None:
        self.best_score, self.n_no_improvement = saved.number("score"), saved.integer("still", 0)
        self.best_iteration = saved.integer("iteration", 0, n_iterations)
        if self.patience is not None:
            self.best_counts = em.restore_counts(saved.part("counts"))


@dataclass(frozen=True)
class EMResult:
    """What a run of EM came to."""

    counts: Any
    score: float  # of early stopping, or the bound
    objective: float  # of the counts
    bounds: list[float]
    history: list[FitRecord]
    converged: bool
    stopped: bool  # by the callback or by early stopping
    stopped_by_callback: bool
    reseeded: set[int]  # components that died and were seeded again
    dead: list[int]  # components without a row at the end
    restart_scores: list[float] = field(default_factory=list)  # of all runs, this one among them

    def state_dict(self, em: EMSteps) -> State:
        own = {
            "score": float(self.score), "objective": float(self.objective), "bounds": self.bounds,
            "history": self.history, "converged": self.converged, "stopped": self.stopped,
            "reseeded": sorted(self.reseeded), "dead": self.dead,
        }  # fmt: skip
        return own | as_part("counts", em.export_counts(self.counts))

    @classmethod
    def restored(cls, em: EMSteps, saved: CheckpointReader) -> "EMResult":
        """What `state_dict` said."""
        return cls(
            counts=em.restore_counts(saved.part("counts")),
            score=saved.number("score"),
            objective=saved.number("objective"),
            bounds=saved.numbers("bounds"),
            history=saved.history(),
            converged=saved.boolean("converged"),
            stopped=saved.boolean("stopped"),
            stopped_by_callback=False,  # after one that was, no more are made
            reseeded=set(saved.distinct_integers("reseeded", em.width)),
            dead=saved.distinct_integers("dead", em.width),
        )


class EMRun:
    """A run of EM: it iterates until the bound rises by no more than tol · Σ w, and once more.

    The last iteration keeps the counts; every one does, as the start has to, for those who look at them: the monitor's
    `report`, which ends the run where it returns something true, and early stopping. Where rounding lets the bound
    fall, it is noted as it was.
    """

    def __init__(
        self, em: EMSteps, monitor: FitMonitor, tol: float, early_stopping: EarlyStopping | None = None
    ) -> None:
        self._em, self._monitor, self._early_stopping = em, monitor, early_stopping
        self._threshold = tol * em.total_weight
        self._bounds: list[float] = []
        self._stopped = False  # by `report` or early stopping
        self._reseeded: set[int] = set()
        self._not_revivable: set[int] = set()

    def run(self, begin: Callable[[], None]) -> EMResult:
        """Iterate to the end, from where `begin` puts the parameters or where the checkpoint was made."""
        em, monitor = self._em, self._monitor
        if not monitor.register_run("run", self):
            begin()
            self._log_iteration(*self._expect())
        looked_at, last = monitor.report is not None or self._early_stopping is not None, False
        while not (last or self._stopped):
            monitor.maybe_save()
            monitor.iterations += 1
            last = monitor.converged or monitor.iterations >= monitor.max_iter
            em.maximise(keep=last or looked_at)
            self._log_iteration(*((em.expect(), []) if last else self._expect()))
        judge = self._early_stopping
        if judge is None or judge.patience is None:
            counts, kept, score = em.counts(), -1, self._bounds[-1]
        else:
            counts, kept, score = judge.best_counts, judge.best_iteration, judge.best_score
        return EMResult(
            counts=counts,
            score=score,
            objective=-self._bounds[kept],
            bounds=self._bounds,
            history=monitor.history,
            converged=monitor.converged,
            stopped=self._stopped,
            stopped_by_callback=monitor.stopped,
            reseeded=self._reseeded,
            dead=em.dead(),
        )

    def _log_iteration(self, bound: float, seeded: list[int]) -> None:
        """Log an iteration, for `report` and early stopping to judge."""
        monitor, judge, ends = self._monitor, self._early_stopping, False
        if self._bounds:
            rise = bound - self._bounds[-1]
            monitor.converged |= rise <= self._threshold
            if -ROUNDING_PER_FACTOR * (abs(bound) + self._em.factors) <= rise < 0:
                bound = self._bounds[-1]
        self._bounds.append(bound)
        fields = {"objective": -bound, "seeded": seeded}
        if judge is not None:
            ends = judge.should_stop(self._em.counts(), monitor.iterations)
            fields["val_score"] = judge.score
        monitor.log(**fields)
        self._stopped = monitor.stopped or ends

    def _expect(self) -> tuple[float, list[int]]:
        """The E-step. Components that died are seeded again before it, which is taken back unless the bound rises."""
        em, bound = self._em, self._em.expect()
        dead = sorted(set(em.dead()) - self._not_revivable)
        if not dead:
            return bound, []
        before = em.reseed_components(dead)
        raised = em.expect()
        if raised > bound:
            self._reseeded |= set(dead)
            return raised, dead
        em.restore(before)
        self._not_revivable |= set(dead)
        return em.expect(), []

    def state_dict(self) -> State:
        own = {
            "bounds": self._bounds, "reseeded": sorted(self._reseeded), "not_revivable": sorted(self._not_revivable),
        }  # fmt: skip
        if self._early_stopping is not None:
            own |= as_part("early_stopping", self._early_stopping.state_dict(self._em))
        return own | as_part("parameters", self._em.state_dict())

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said; an E-step finds what the parameters mean for the rows."""
        monitor, width = self._monitor, self._em.width
        self._bounds = saved.numbers("bounds")
        if not len(self._bounds) == len(monitor.history) == monitor.iterations + 1:
            saved.reject("bounds")
        rises = (after - before for before, after in itertools.pairwise(self._bounds))
        monitor.converged = any(rise <= self._threshold for rise in rises)  # by the tol of now
        self._reseeded = set(saved.distinct_integers("reseeded", width))
        self._not_revivable = set(saved.distinct_integers("not_revivable", width))
        if self._early_stopping is not None:
            self._early_stopping.load_state_dict(saved.part("early_stopping"), self._em, monitor.iterations)
        self._em.load_state_dict(saved.part("parameters"))
        self._em.expect()


def best_run(
    em: EMSteps,
    monitor: FitMonitor,
    tol: float,
    n_starts: int,
    begin: Callable[[], None],
    generator: FitGenerator | None = None,
    early_stopping: Callable[[], EarlyStopping | None] = lambda: None,
) -> EMResult:
    """The run of the highest score of so many; no more are made after one that the callback ended."""
    restarts = Restarts(monitor, n_starts, lambda found: found.state_dict(em), partial(EMResult.restored, em))
    best = restarts.best(
        lambda: EMRun(em, monitor, tol, early_stopping()).run(begin), generator, lambda found: found.stopped_by_callback
    )
    return replace(best, restart_scores=restarts.scores)


class EMEstimatorMixin(ABC):
    """The parameters and fitted attributes of an estimator that EM fits."""

    tol: float
    max_iter: int
    n_init: int
    n_jobs: int | None
    verbose: int
    callback: Any

    bound_: NDArray[np.float64]
    restart_scores_: NDArray[np.float64]
    objective_: float
    history_: list[FitRecord]
    converged_: bool
    n_iter_: int

    def _record_fit(self, run: EMResult) -> Self:
        """Record a run in the attributes of a fit."""
        self.bound_, self.history_, self.converged_ = np.array(run.bounds), run.history, run.converged
        self.objective_, self.n_iter_ = run.objective, len(run.bounds) - 1
        self.restart_scores_ = np.array(run.restart_scores or [run.score])
        return self

    def _forget_fit(self) -> None:
        """Forget the attributes of a fit, which do not hold once there are more counts."""
        for name in FIT_ATTRIBUTES:
            self.__dict__.pop(name, None)

    def _warn_of_run(self, run: EMResult) -> None:
        """Warn of components that died, and of a run that did not converge."""
        found = []
        if run.reseeded:
            which = self._describe_components(run.reseeded)
            found.append(f"{which} had lost all documents, and were seeded again (see history_)")
        if run.dead:
            advice = "to seed them again would not raise the bound: ask for fewer, or for a smaller alpha"
            found.append(f"{self._describe_components(set(run.dead))} have no documents; {advice}")
        if not (run.converged or run.stopped):
            advice = f"max_iter={self.max_iter} iterations were not enough for tol={self.tol}: raise max_iter or tol"
            found.append(f"EM did not converge: {advice}")
        for message in found:
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    @abstractmethod
    def _describe_components(self, components: set[int]) -> str:
        """These components in a warning."""


class SparseEMEstimator(EMEstimatorMixin, SparseEstimator, ABC):
    """An estimator of sparse rows that EM fits."""
