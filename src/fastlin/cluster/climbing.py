"""The climb of EM to a maximum of its bound: when it ends, what it notes, and components that die on the way."""

import time
from collections.abc import Callable
from typing import Any

from fastlin.cluster.expectation import Expectation
from fastlin.linear.counts import Counts

Report = Callable[[dict[str, Any]], Any]
ROUNDING = 1e-12  # of the bound, and of the factors of its logarithms: 1 itself has a logarithm of 0 but for rounding


def line_of(record: dict[str, Any]) -> str:
    """What is printed of a record of the history, where verbose asks for it."""
    line = f"iteration {record['iteration']}  {record['seconds']:.2f} s  objective {record['objective']:.10g}"
    if "val_score" in record:
        line += f"  val_score {record['val_score']:.4f}"
    return line + (f"  seeded {record['seeded']}" if record["seeded"] else "")


class Judge:
    """The accuracy that counts have on validation data, by `look`, and which iteration had the best.

    With a `limit`, so many iterations that are no better end the climb, and its result is the best one.
    """

    def __init__(self, look: Callable[[Counts], float], limit: int | None) -> None:
        self.look, self.limit = look, limit
        self.best, self.waited = -1.0, 0
        self.counts: Counts | None = None

    def tired(self, counts: Counts, record: dict[str, Any]) -> bool:
        """Look at an iteration; says whether to end."""
        score = record["val_score"] = self.look(counts)
        self.waited = 0 if score > self.best else self.waited + 1
        if score > self.best:
            self.best, self.counts = score, counts
        return self.limit is not None and self.waited >= self.limit


class Climb:
    """What an EM comes to: it iterates until the bound rises by no more than tol · Σ w, and once more.

    The last iteration keeps the counts; every one does, as the start has to, for those who look at them: `report`,
    which ends the climb where it returns something true, and `judge`. Where rounding lets the bound fall, it is noted
    as it was.
    """

    def __init__(
        self, em: Expectation, tol: float, max_iter: int, report: Report | None = None, judge: Judge | None = None
    ) -> None:
        self.bounds: list[float] = []
        self.history: list[dict[str, Any]] = []
        self.converged = self.stopped = False
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
        found = judge.counts if judge and judge.limit is not None else None
        self.counts: Counts = em.counts() if found is None else found

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
        self.stopped = bool(self._report and self._report(record)) or tired

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
