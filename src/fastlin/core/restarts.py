"""Runs of a fit from several starts, of which the best is kept."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from fastlin.core.checkpoint_reader import CheckpointReader, State, as_part
from fastlin.core.fit_monitor import FitGenerator, FitMonitor


class RunResult(Protocol):
    """What a run came to."""

    @property
    def score(self) -> float:
        """Higher is better."""


R = TypeVar("R", bound=RunResult)


def decisive_limits(n_runs: int, max_iter: int, tol: float) -> dict[str, float]:
    """The limits that decide more than when a fit ends: of several runs, some have ended by them."""
    return {"max_iter": max_iter, "tol": tol} if n_runs > 1 else {}


class Restarts(Generic[R]):
    """The best of several runs, the first among equals.

    A checkpoint holds the number of the run that is on its way and the best of those before, as `export` and `restore`
    have it; the run registers what it goes on from itself.
    """

    def __init__(
        self,
        monitor: FitMonitor,
        n_runs: int,
        export: Callable[[R], State],
        restore: Callable[[CheckpointReader], R],
    ) -> None:
        self._monitor, self._n_runs, self._export, self._restore = monitor, n_runs, export, restore
        self.scores: list[float] = []  # of the runs that are done
        self._best: R | None = None

    def best(
        self, run: Callable[[], R], generator: FitGenerator | None, is_last: Callable[[R], bool] = lambda _: False
    ) -> R:
        """The best result of `run`, which may draw its start from the generator; no more are made after the last."""
        self._monitor.register("starts", self)
        if generator is not None:
            generator.catch_up()
        best = self._best
        while best is None or len(self.scores) < self._n_runs:
            if self.scores:
                self._monitor.begin_run()
            found = run()
            if best is None or found.score > best.score:
                best = self._best = found
            self.scores.append(float(found.score))
            if is_last(found):
                break
        return best

    def state_dict(self) -> State:
        best = {} if self._best is None else as_part("best", self._export(self._best))
        return {"scores": self.scores, **best}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        self.scores = saved.numbers("scores")
        if len(self.scores) >= self._n_runs:
            saved.reject("scores")
        if self.scores:
            self._best = self._restore(saved.part("best"))
