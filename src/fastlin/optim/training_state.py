"""How far a run of epochs has come, and its checkpoints: all that it takes, besides the data, to go on the same way."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin import storage
from fastlin.data.scratch import ScratchArray
from fastlin.optim.online_state import OnlineState

COUNTS = ("epoch", "stale", "learnt", "done")


def _nobody() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass
class Course:
    """Where a run stands between two epochs or, of a corpus, between two segments of one."""

    epoch: int = 1  # the present one
    history: list[dict[str, Any]] = field(default_factory=list)
    best: float = -np.inf  # of what decides when to stop
    stale: int = 0  # epochs without progress
    seconds: float = 0.0  # that the run took before it was resumed
    learnt: int = 0  # instances before the present epoch
    segments: NDArray[np.int64] = field(default_factory=_nobody)  # in their order; of length 0 before an epoch
    done: int = 0  # segments of those
    carried: NDArray[np.int64] = field(default_factory=_nobody)  # rows of a mini-batch that goes on in the next segment
    pause: Callable[[], None] = lambda: None  # called where a checkpoint may be made


class File(Protocol):
    """What a checkpoint is written to: a `store.Checkpoint`, or part of another fit's."""

    path: str | None

    def load(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None: ...

    def due(self) -> bool: ...

    def save(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]], /) -> None: ...


class Keeper:
    """Writes checkpoints of a run, and takes the last one up; without a path it does nothing.

    Parameters
    ----------
    checkpoint : File
        The file.
    generator : Generator
        What the orders are drawn from, before anything was drawn.
    """

    def __init__(self, checkpoint: File, generator: np.random.Generator) -> None:
        self._checkpoint, self.course, self._residuals = checkpoint, Course(), list[NDArray[np.float64]]()
        self.state: OnlineState | None = None  # what has been learnt, if a run is resumed
        self._first, self._present = storage.export_generator(generator), generator
        saved = checkpoint.load()
        if saved is None:
            return
        header, arrays = saved
        with self._damaged_if_impossible():
            self.state = OnlineState.restore(arrays)
            self._first = {"random": arrays["first"]}
            self._present = storage.restore_generator(arrays)
            course = self.course = Course(history=list(header["history"]))
            for name in COUNTS:
                setattr(course, name, int(header[name]))
            course.best, course.seconds = float(header["best"]), float(header["seconds"])
            course.segments, course.carried = (arrays[name].astype(np.int64) for name in ("segments", "carried"))
            self._residuals = [arrays[f"residual{index}"] for index in range(int(header["residuals"]))]
            generator.bit_generator.state = storage.restore_generator(self._first).bit_generator.state

    def check(self, shape: tuple[int, int], rule: NDArray[Any], bounds: NDArray[np.int64]) -> None:
        """Prove that what was read belongs to weights of this shape, this rule and rows in these segments."""
        if self.state is None:
            return
        course, n, names = self.course, len(bounds) - 1, [name for name in rule.dtype.names or () if name != "eta0"]
        with self._damaged_if_impossible():
            segments = course.segments
            fits = self.state.weights.shape == shape == (shape[0], len(self.state.order))
            fits &= all(self.state.rule[name] == rule[name] for name in names)
            fits &= course.epoch >= 1 and course.epoch == len(course.history) + 1
            fits &= course.stale >= 0 and 0 <= course.learnt <= int(self.state.clock["t"][0])
            fits &= len(segments) in (0, n) and bool((np.sort(segments) == np.arange(len(segments))).all())
            fits &= 0 <= course.done <= len(segments)
            fits &= course.carried.ndim == 1 and bool(((course.carried >= 0) & (course.carried < bounds[-1])).all())
            if not fits:
                raise ValueError("it does not fit the rows, the labels or the rule")

    def begin(self, residuals: Sequence[ScratchArray], generator: np.random.Generator) -> None:
        """Put what was read where the run goes on with it."""
        if self.state is None:
            return
        generator.bit_generator.state = self._present.bit_generator.state
        with self._damaged_if_impossible():
            for held, saved in zip(residuals, self._residuals, strict=True):
                with held.map() as residual:
                    if saved.shape != residual.shape or saved.dtype != np.float64 or not np.isfinite(saved).all():
                        raise ValueError("the residuals of its average do not fit the rows")
                    residual[:] = saved
        self._residuals = []

    def offer(
        self, state: OnlineState, residuals: Sequence[ScratchArray], generator: np.random.Generator, now: float
    ) -> None:
        """Write a checkpoint, should one be due; `now` are the seconds of the run."""
        if not self._checkpoint.due():
            return
        course = self.course
        header = {name: getattr(course, name) for name in (*COUNTS, "history", "best")}
        with contextlib.ExitStack() as stack:
            maps = {f"residual{index}": stack.enter_context(held.map()) for index, held in enumerate(residuals)}
            orders = {"segments": course.segments, "carried": course.carried, "first": self._first["random"]}
            arrays = state.export(copy=False) | storage.export_generator(generator) | orders | maps
            self._checkpoint.save(header | {"seconds": now, "residuals": len(maps)}, arrays)

    @contextlib.contextmanager
    def _damaged_if_impossible(self) -> Iterator[None]:
        try:
            yield
        except storage.ModelFileError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise storage.ModelFileError(f"{self._checkpoint.path}: not a checkpoint of this fit: {error}") from error
