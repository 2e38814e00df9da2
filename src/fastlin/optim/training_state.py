"""The state of a run of epochs, and its checkpoints: all that it takes, besides the data, to go on the same way."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import storage
from fastlin.core.checkpoint_reader import CheckpointTarget
from fastlin.data.scratch import ScratchArray
from fastlin.optim.online_state import OnlineState

# The counts of a checkpoint's header, and the attribute of each.
COUNTS = {"epoch": "epoch", "stale": "n_no_improvement", "learnt": "n_seen_before", "done": "n_segments_done"}


def _no_rows() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass
class TrainingState:
    """The state of a run between two epochs or, of a corpus, between two segments of one."""

    epoch: int = 1  # the present one
    history: list[dict[str, Any]] = field(default_factory=list)
    best: float = -np.inf  # of what decides when to stop
    n_no_improvement: int = 0  # epochs in a row
    seconds: float = 0.0  # that the run took before it was resumed
    n_seen_before: int = 0  # instances before the present epoch
    segment_order: NDArray[np.int64] = field(default_factory=_no_rows)  # of length 0 before an epoch
    n_segments_done: int = 0  # segments of those
    carried_rows: NDArray[np.int64] = field(default_factory=_no_rows)  # of a mini-batch that the next segment ends
    maybe_save: Callable[[], None] = lambda: None  # called where a checkpoint may be made


class CheckpointManager:
    """Manager of a run's checkpoints, which writes them and restores the last; without a path it does nothing.

    Parameters
    ----------
    checkpoint : CheckpointTarget
        The file.
    generator : Generator
        What the orders are drawn from, before anything was drawn.
    """

    def __init__(self, checkpoint: CheckpointTarget, generator: np.random.Generator) -> None:
        self._checkpoint, self.training, self._residuals = checkpoint, TrainingState(), list[NDArray[np.float64]]()
        self.online_state: OnlineState | None = None  # what has been learnt, if a run is resumed
        self._first_generator, self._present_generator = storage.export_generator(generator), generator
        saved = checkpoint.load()
        if saved is None:
            return
        header, arrays = saved
        with self._reporting_damage():
            self.online_state = OnlineState.restore(arrays)
            self._first_generator = {"random": arrays["first"]}
            self._present_generator = storage.restore_generator(arrays)
            training = self.training = TrainingState(history=list(header["history"]))
            for name, attribute in COUNTS.items():
                setattr(training, attribute, int(header[name]))
            training.best, training.seconds = float(header["best"]), float(header["seconds"])
            training.segment_order, training.carried_rows = (
                arrays[name].astype(np.int64) for name in ("segments", "carried")
            )
            self._residuals = [arrays[f"residual{index}"] for index in range(int(header["residuals"]))]
            generator.bit_generator.state = storage.restore_generator(self._first_generator).bit_generator.state

    def check_fits(self, shape: tuple[int, int], rule: NDArray[Any], bounds: NDArray[np.int64]) -> None:
        """Prove that what was read belongs to weights of this shape, this rule and rows in these segments."""
        if self.online_state is None:
            return
        training, n, names = self.training, len(bounds) - 1, [name for name in rule.dtype.names or () if name != "eta0"]
        with self._reporting_damage():
            segments = training.segment_order
            fits = self.online_state.weights.shape == shape == (shape[0], len(self.online_state.order))
            fits &= all(self.online_state.rule[name] == rule[name] for name in names)
            fits &= training.epoch >= 1 and training.epoch == len(training.history) + 1
            n_seen = int(self.online_state.clock["t"][0])
            fits &= training.n_no_improvement >= 0 and 0 <= training.n_seen_before <= n_seen
            fits &= len(segments) in (0, n) and bool((np.sort(segments) == np.arange(len(segments))).all())
            fits &= 0 <= training.n_segments_done <= len(segments)
            carried = training.carried_rows
            fits &= carried.ndim == 1 and bool(((carried >= 0) & (carried < bounds[-1])).all())
            if not fits:
                raise ValueError("it does not fit the rows, the labels or the rule")

    def restore_residuals(self, residuals: Sequence[ScratchArray], generator: np.random.Generator) -> None:
        """Put what was read where the run goes on with it."""
        if self.online_state is None:
            return
        generator.bit_generator.state = self._present_generator.bit_generator.state
        with self._reporting_damage():
            for held, saved in zip(residuals, self._residuals, strict=True):
                with held.map() as residual:
                    if saved.shape != residual.shape or saved.dtype != np.float64 or not np.isfinite(saved).all():
                        raise ValueError("the residuals of its average do not fit the rows")
                    residual[:] = saved
        self._residuals = []

    def maybe_save(
        self, state: OnlineState, residuals: Sequence[ScratchArray], generator: np.random.Generator, now: float
    ) -> None:
        """Write a checkpoint, should one be due; `now` are the seconds of the run."""
        if not self._checkpoint.due():
            return
        training = self.training
        header = {name: getattr(training, attribute) for name, attribute in COUNTS.items()}
        header |= {"history": training.history, "best": training.best}
        with contextlib.ExitStack() as stack:
            maps = {f"residual{index}": stack.enter_context(held.map()) for index, held in enumerate(residuals)}
            orders = {
                "segments": training.segment_order,
                "carried": training.carried_rows,
                "first": self._first_generator["random"],
            }
            arrays = state.export(copy=False) | storage.export_generator(generator) | orders | maps
            self._checkpoint.save(header | {"seconds": now, "residuals": len(maps)}, arrays)

    @contextlib.contextmanager
    def _reporting_damage(self) -> Iterator[None]:
        try:
            yield
        except storage.ModelFileError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise storage.ModelFileError(f"{self._checkpoint.path}: not a checkpoint of this fit: {error}") from error
