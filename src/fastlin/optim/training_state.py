"""The state of a run of epochs: all that it takes, besides the data, to go on the same way."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin import storage
from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.data.scratch import ScratchArray
from fastlin.optim.label_stops import LabelStops
from fastlin.optim.online_state import OnlineState

NO_ROWS = np.empty(0, np.int64)


class TrainingState:
    """The state of a run between two epochs or, of a corpus, between two segments of one: a part of a fit monitor.

    Parameters
    ----------
    shape : tuple of int
        Of the weights.
    rule : array of RULE
        The update rule, of which a checkpoint may differ in the rate alone.
    bounds : array of shape (n_segments + 1,)
        Where the segments of the rows start, and the number of rows.
    """

    def __init__(self, shape: tuple[int, int], rule: NDArray[np.void], bounds: NDArray[np.int64]) -> None:
        self._shape, self._rule, self._bounds = shape, rule, bounds
        self.best = -np.inf  # of what decides when to stop
        self.n_no_improvement = 0  # epochs in a row
        self.penalty = 0.0  # of the weights at the beginning of the present epoch
        self.n_seen_before = 0  # instances before the present epoch
        self.segment_order = NO_ROWS  # of length 0 before an epoch
        self.n_segments_done = 0  # segments of those
        self.carried_rows = NO_ROWS  # of a mini-batch that the next segment ends
        self.label_stops: LabelStops | None = None  # of labels that stop one by one
        self.online_state: OnlineState | None = None  # what is learnt, once a run has begun or is resumed
        self.maybe_save: Callable[[], None] = lambda: None  # called where a checkpoint may be made
        self._residuals: Sequence[ScratchArray] = []
        self._saved: CheckpointReader | None = None

    def begin(self, state: OnlineState, residuals: Sequence[ScratchArray], maybe_save: Callable[[], None]) -> bool:
        """Begin, or go on, with what is learnt and what its average keeps for each segment; whether it goes on."""
        self.online_state, self._residuals, self.maybe_save = state, residuals, maybe_save
        goes_on = self._saved is not None
        if self._saved is not None:
            self._saved.read_per_row("residual", residuals)
            if self.label_stops is not None:
                self.label_stops.load_state_dict(self._saved)
            self._saved = None
        elif self.label_stops is not None:
            self.label_stops.begin(state)
        return goes_on

    def mean_penalty(self) -> float:
        """About what the penalty was along the epoch that ends here, as the loss is of the rows along it."""
        assert self.online_state is not None
        before, self.penalty = self.penalty, self.online_state.penalty()
        return 0.5 * (before + self.penalty)

    def end_epoch(self) -> None:
        """Forget the segments of an epoch."""
        self.segment_order, self.n_segments_done, self.carried_rows = NO_ROWS, 0, NO_ROWS

    def state_dict(self) -> State:
        """The weights with all that they owe, and where the run stands."""
        assert self.online_state is not None
        return self.online_state.export(copy=False) | {
            "best": float(self.best), "stale": self.n_no_improvement, "penalty": self.penalty,
            "learnt": self.n_seen_before, "done": self.n_segments_done, "segments": self.segment_order,
            "carried": self.carried_rows, "residual": list(self._residuals),
            **({} if self.label_stops is None else self.label_stops.state_dict()),
        }  # fmt: skip

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said, once it is proved to belong to these weights, this rule and these rows."""
        try:
            state = self.online_state = OnlineState.restore(saved.arrays)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise storage.ModelFileError(f"{saved.path}: not a checkpoint of this fit: {error}") from error
        fits = state.weights.shape == self._shape == (self._shape[0], len(state.order))
        names = [name for name in self._rule.dtype.names or () if name != "eta0"]
        if not fits or any(state.rule[name] != self._rule[name] for name in names):
            saved.reject("weights")
        self.best, self.n_no_improvement = saved.number("best"), saved.integer("stale", 0)
        self.penalty = saved.number("penalty")
        self.n_seen_before = saved.integer("learnt", 0, int(state.clock["t"][0]))
        segments = self.segment_order = saved.indices("segments", len(self._bounds) - 1)
        if len(np.unique(segments)) != len(segments) or len(segments) not in (0, len(self._bounds) - 1):
            saved.reject("segments")
        self.n_segments_done = saved.integer("done", 0, len(segments))
        self.carried_rows, self._saved = saved.indices("carried", int(self._bounds[-1])), saved
