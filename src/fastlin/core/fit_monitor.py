"""The fit monitor: history, iterations, clock, callback and checkpoint of a fit, the same for every iterative learner.

A fit in iterations logs each of them, and stops when `log` says so. What it takes to go on, besides the data, is what
its parts say in their `state_dict`. A part is registered when it stands at its beginning; if the fit is resumed, that
takes it to where the checkpoint was made. `maybe_save`, at the head of the loop, makes a checkpoint if one is due:

    monitor = FitMonitor(max_iter, report, checkpoint)
    monitor.register("steps", steps)
    while not monitor.should_stop:
        monitor.maybe_save()
        monitor.iterations += 1
        monitor.log(objective=steps.advance())

A fit inside another keeps its own monitor, whose checkpoint is `nested` in the outer one's.
"""

import time
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from fastlin.core.callbacks import Report
from fastlin.core.checkpoint_reader import CheckpointReader, CheckpointTarget, State, as_part, write_checkpoint
from fastlin.core.fit_records import FitRecord


class Resumable(Protocol):
    """A part of a fit that a checkpoint takes up, and that goes on from one."""

    def state_dict(self) -> State:
        """What the part is to go on from: see `write_checkpoint` for the kinds of values."""

    def load_state_dict(self, saved: CheckpointReader, /) -> None:
        """Become what `state_dict` said, once it is proved."""


class FitMonitor:
    """Monitor of a fit: what it logs, when it stops, where it goes on.

    Parameters
    ----------
    max_iter : int
        Iterations at most.
    report : callable, optional
        Sees every record of the history; a true answer ends the fit: see `callbacks.make_callback`.
    checkpoint : CheckpointTarget, optional
        The file. A fit without one keeps nothing.
    """

    def __init__(self, max_iter: int, report: Report | None = None, checkpoint: CheckpointTarget | None = None) -> None:
        self.max_iter, self.report = max_iter, report
        self.checkpoint = None if checkpoint is None or checkpoint.path is None else checkpoint
        self._parts: dict[str, Resumable] = {}
        self._saved = CheckpointReader.open(checkpoint)
        self._unread = [] if self._saved is None else self._names_of_parts(self._saved)
        self.begin_run()

    def begin_run(self) -> None:
        """Begin a run of the fit, from another start: with a history and a clock of its own."""
        self.history: list[FitRecord] = []
        self.iterations = 0
        self.converged = False
        self.stopped = False  # by `report`
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """How long the run has taken, without the time between a kill and its resumption."""
        return time.perf_counter() - self._started

    @property
    def should_stop(self) -> bool:
        return self.converged or self.stopped or self.iterations >= self.max_iter

    def log(self, **fields: Any) -> bool:
        """Log an iteration, or what is before the first; returns whether to stop."""
        return self.log_record({"iteration": self.iterations, "seconds": self.seconds, **fields})

    def log_record(self, record: dict[str, Any]) -> bool:
        """Log a record as it is."""
        self.history.append(cast("FitRecord", record))
        self.stopped = bool(self.report and self.report(record))
        return self.should_stop

    # Checkpoints

    def register(self, name: str, part: Resumable) -> bool:
        """Register a part that stands at its beginning, in the place of an earlier one of this name.

        If the fit is resumed, the first one of a name goes on from the checkpoint; returns whether it does.
        """
        self._parts[name] = part
        saved = self.take_saved(name)
        if saved is None:
            return False
        part.load_state_dict(saved)
        return True

    def register_run(self, name: str, part: Resumable) -> bool:
        """Register the part whose iterations are logged: its history, count and clock go on with it."""
        if self._saved is not None and self.has_saved(name):
            self.load_state_dict(self._saved)
        return self.register(name, part)

    def register_generator(self, generator: np.random.Generator) -> "FitGenerator":
        """Register the generator of the fit, of which nothing has been drawn."""
        held = FitGenerator(generator)
        if self.checkpoint is not None:
            held.note_first()
            self.register("generator", held)
        return held

    def forget(self, name: str) -> None:
        """Leave a part that is done out of the checkpoints to come."""
        self._parts.pop(name, None)

    def nested(self, name: str) -> "NestedCheckpoint":
        """The place in this fit's checkpoint for that of a fit inside it."""
        return NestedCheckpoint(self, name)

    def state_dict(self) -> State:
        """History, count and clock."""
        return {"history": self.history, "iterations": self.iterations, "seconds": self.seconds}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        self.history, self.iterations = saved.history(), saved.integer("iterations", 0)
        self._started = time.perf_counter() - saved.number("seconds")

    def maybe_save(self) -> None:
        """Make a checkpoint, should one be due."""
        if self.checkpoint is not None and self.checkpoint.due():
            self.save()

    def save(self) -> None:
        """Make a checkpoint now."""
        assert self.checkpoint is not None
        state = self.state_dict() | {"parts": list(self._parts)}
        for name, part in self._parts.items():
            state |= as_part(name, part.state_dict())
        write_checkpoint(self.checkpoint, state)

    def has_saved(self, name: str) -> bool:
        """Whether the checkpoint has a part of this name that nobody has taken up."""
        return self._saved is not None and name in self._unread

    def take_saved(self, name: str) -> CheckpointReader | None:
        """The reader of a part of the checkpoint that nobody has taken up; None if there is none."""
        if self._saved is None or name not in self._unread:
            return None
        self._unread.remove(name)
        saved = self._saved.part(name)
        self._forget_saved()
        return saved

    def _forget_saved(self) -> None:
        """Let go of the arrays of the checkpoint, once all of it is taken up."""
        if not self._unread:
            self._saved = None

    @staticmethod
    def _names_of_parts(saved: CheckpointReader) -> list[str]:
        return list(saved.strings("parts"))


class NestedCheckpoint:
    """The checkpoint of a fit inside another, a part of the outer one's: a `CheckpointTarget`."""

    def __init__(self, outer: FitMonitor, name: str) -> None:
        self._outer, self._name, self._state = outer, name, dict[str, Any]()
        self.path = None if outer.checkpoint is None else outer.checkpoint.path

    def load(self) -> tuple[State, dict[str, NDArray[Any]]] | None:
        saved = self._outer.take_saved(self._name)
        return None if saved is None else (saved.header, saved.arrays)

    def due(self) -> bool:
        return self._outer.checkpoint is not None and self._outer.checkpoint.due()

    def save(self, header: State, arrays: dict[str, NDArray[Any]], /) -> None:
        """Make a checkpoint of the outer fit, with this state for the inner one."""
        self._state = {**header, **arrays}
        try:
            self._outer.register(self._name, self)
            self._outer.save()
        finally:
            self._outer.forget(self._name)
            self._state = {}

    def state_dict(self) -> State:
        return self._state

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Nothing: `load` has taken up what there was."""


class FitGenerator:
    """The generator of a fit that may draw before its iterations begin.

    Resumed, it draws the same again up to there; `catch_up` then takes it to where the checkpoint was made.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self._first: Any = None  # its states, before anything was drawn and, resumed, where the checkpoint was made
        self._present: Any = None

    def note_first(self) -> None:
        """Note the state before anything is drawn."""
        self._first = self.generator.bit_generator.state

    def state_dict(self) -> State:
        first = np.random.Generator(np.random.PCG64(0))
        first.bit_generator.state = self._first
        return {"first": first, "present": self.generator}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        saved.restore_generator("present", self.generator)
        self._present = self.generator.bit_generator.state
        saved.restore_generator("first", self.generator)
        self._first = self.generator.bit_generator.state

    def catch_up(self) -> None:
        """Go on where the checkpoint was made, if the fit is resumed from one."""
        if self._present is not None:
            self.generator.bit_generator.state, self._present = self._present, None
