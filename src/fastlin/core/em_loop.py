"""The climb of EM to a maximum of its bound: when it ends, what it notes, components that die on the way."""

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
from fastlin.core.class_counts import Counts
from fastlin.core.sparse_estimator import SparseEstimator
from fastlin.validation import real_number, whole_number

OF_A_FIT = ("bound_", "objective_", "history_", "converged_", "n_iter_")
ROUNDING = 1e-12  # of the bound, and of the factors of its logarithms: 1 itself has a logarithm of 0 but for rounding


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

    def seed(self, components: list[int]) -> Any:
        """Start components anew; returns what `restore` takes."""

    def restore(self, before: Any) -> None: ...


class Judge:
    """The accuracy that counts have on validation data, by `look`, and which iteration had the best.

    With a `limit`, so many iterations that are no better end the climb, and its result is the best one.
    """

    def __init__(self, look: Callable[[Counts], float], limit: int | None) -> None:
        self.look, self.limit = look, limit
        self.best, self.waited = -1.0, 0
        self.kept: int  # the iteration that had it, and its counts
        self.counts: Counts

    def tired(self, counts: Counts, record: dict[str, Any]) -> bool:
        """Look at an iteration; says whether to end."""
        score = record["val_score"] = self.look(counts)
        self.waited = 0 if score > self.best else self.waited + 1
        if score > self.best:
            self.best, self.counts, self.kept = score, counts, record["iteration"]
        return self.limit is not None and self.waited >= self.limit


class Climb:
    """What an EM comes to: it iterates until the bound rises by no more than tol · Σ w, and once more.

    The last iteration keeps the counts; every one does, as the start has to, for those who look at them: `report`,
    which ends the climb where it returns something true, and `judge`. Where rounding lets the bound fall, it is noted
    as it was.
    """

    def __init__(
        self, em: EMSteps, tol: float, max_iter: int, report: Report | None = None, judge: Judge | None = None
    ) -> None:
        self.bounds: list[float] = []
        self.history: list[dict[str, Any]] = []
        self.converged = False
        self.ended = self.stopped = False  # by `report`; by it or by `judge`
        self.seeded: set[int] = set()  # components that died and were seeded again
        self._em, self._report, self._judge = em, report, judge
        self._enough, self._started = tol * em.total_weight, time.perf_counter()
        self._hopeless: set[int] = set()
        looked_at = report is not None or judge is not None
        self._note(*self._expect())
        for iteration in range(1, int(max_iter) + 1):
            if self.stopped:
                break
            last = self.converged or iteration == max_iter
            em.maximise(keep=last or looked_at)
            self._note(*((em.expect(), []) if last else self._expect()))
            if last:
                break
        self.dead = em.dead()  # components without a row at the end
        if judge is None or judge.limit is None:
            self.counts, kept, self.merit = em.counts(), -1, self.bounds[-1]
        else:
            self.counts, kept, self.merit = judge.counts, judge.kept, judge.best
        self.objective = -self.bounds[kept]  # of these counts

    def _note(self, bound: float, seeded: list[int]) -> None:
        """Note an iteration, and what those say who look at it."""
        if self.bounds:
            rise = bound - self.bounds[-1]
            self.converged |= rise <= self._enough
            if -ROUNDING * (abs(bound) + self._em.factors) <= rise < 0:
                bound = self.bounds[-1]
        self.bounds.append(bound)
        seconds = time.perf_counter() - self._started
        record = {"iteration": len(self.bounds) - 1, "seconds": seconds, "objective": -bound, "seeded": seeded}
        self.history.append(record)
        tired = bool(self._judge and self._judge.tired(self._em.counts(), record))
        self.ended = bool(self._report and self._report(record))
        self.stopped = self.ended or tired

    def _expect(self) -> tuple[float, list[int]]:
        """The E-step. Components that died are seeded again before it, which is taken back unless the bound rises."""
        em, bound = self._em, self._em.expect()
        dead = sorted(set(em.dead()) - self._hopeless)
        if not dead:
            return bound, []
        before = em.seed(dead)
        raised = em.expect()
        if raised > bound:
            self.seeded |= set(dead)
            return raised, dead
        em.restore(before)
        self._hopeless |= set(dead)
        return em.expect(), []


def best_of(climbs: Iterable[Climb]) -> Climb:
    """The one of most merit, the first among equals; no more are asked for after one that `report` ended."""
    best: Climb | None = None
    for climb in climbs:
        if best is None or climb.merit > best.merit:
            best = climb
        if climb.ended:
            break
    assert best is not None
    return best


class Climbing(ABC):
    """What an estimator that EM fits asks of a climb, and what it tells of it."""

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

    def _check_climb(self) -> None:
        """Check the parameters of a climb."""
        real_number("tol", self.tol, at_least=0)
        whole_number("max_iter", self.max_iter, 1)
        whole_number("n_init", self.n_init, 1)
        validation.check_verbose(self.verbose)
        validation.check_n_jobs(self.n_jobs)
        validation.as_callback(self.callback)

    def _record(self, climb: Climb) -> Self:
        """What is told of a climb."""
        self.bound_, self.history_, self.converged_ = np.array(climb.bounds), climb.history, climb.converged
        self.objective_, self.n_iter_ = climb.objective, len(climb.bounds) - 1
        return self

    def _forget(self) -> None:
        """What was told of a fit does not hold once there are more counts."""
        for name in OF_A_FIT:
            self.__dict__.pop(name, None)

    def _warn(self, climb: Climb) -> None:
        """Say what went otherwise than the user may think."""
        found = []
        if climb.seeded:
            which = self._described(climb.seeded)
            found.append(f"{which} had lost all documents, and were seeded again (see history_)")
        if climb.dead:
            advice = "to seed them again would not raise the bound: ask for fewer, or for a smaller alpha"
            found.append(f"{self._described(set(climb.dead))} have no documents; {advice}")
        if not (climb.converged or climb.stopped):
            advice = f"max_iter={self.max_iter} iterations were not enough for tol={self.tol}: raise max_iter or tol"
            found.append(f"EM did not converge: {advice}")
        for message in found:
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    @abstractmethod
    def _described(self, components: set[int]) -> str:
        """These components in a warning."""


class ClimbingEstimator(Climbing, SparseEstimator, ABC):
    """An estimator of sparse rows that EM fits."""
