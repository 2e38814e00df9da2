"""Labels that stop one by one, where each against the rest is a problem of its own, in one pass over the rows.

A label whose objective has not improved for so many epochs takes no more steps, as if its problem were fitted alone.
What becomes of its weights by the decay of all is taken back after every epoch.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.optim.online_state import OnlineState
from fastlin.optim.update_rules import FTRL


class LabelStops:
    """The criterion of each label, and the weights of those that have stopped.

    Parameters
    ----------
    shape : tuple of int
        Of the weights.
    dtype : dtype
        Of the weights.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        n_features, n_labels = shape
        self.losses = np.zeros(n_labels)  # of the present epoch: the kernel adds to them
        self.stopped = np.zeros(n_labels, np.uint8)
        self._best = np.full(n_labels, -np.inf)
        self._n_no_improvement = np.zeros(n_labels, np.int64)
        self._penalties = np.zeros(n_labels)  # of the weights at the beginning of the epoch
        self._last_losses = np.zeros(n_labels)  # of the last epoch of those that have stopped
        self._columns = np.empty(0, np.int64)  # that have stopped, in turn
        self._weights, self._intercepts = np.empty((n_features, 0), dtype), np.empty(0)

    def begin(self, state: OnlineState) -> None:
        """Begin the first epoch."""
        self._penalties = state.penalties()

    @property
    def all_stopped(self) -> bool:
        return bool(self.stopped.all())

    @property
    def loss_of_stopped(self) -> float:
        """What those that have stopped add to the loss of the present epoch."""
        return float(self._last_losses.sum())

    def end_epoch(self, state: OnlineState, n_rows: int, tol: float, patience: int) -> None:
        """Judge every label by its objective, and put the weights of those that had stopped back."""
        self._put_back(state)
        before, self._penalties = self._penalties, state.penalties()
        gains = -self.losses / n_rows - 0.5 * (before + self._penalties)
        goes_on = self.stopped == 0
        worse = goes_on & (gains < self._best + tol)
        self._n_no_improvement[goes_on & ~worse] = 0
        self._n_no_improvement[worse] += 1
        self._best = np.where(goes_on, np.maximum(self._best, gains), self._best)
        newly = np.flatnonzero(goes_on & (self._n_no_improvement >= patience))
        if len(newly):
            self._stop(state, newly)
        self.losses[:] = 0

    def _stop(self, state: OnlineState, columns: NDArray[np.int64]) -> None:
        self.stopped[columns] = 1
        self._last_losses[columns] = self.losses[columns]
        self._columns = np.concatenate([self._columns, columns])
        kept = np.concatenate([chunk[:, columns] for chunk in state.present_weights()])
        self._weights = np.hstack([self._weights, kept.astype(self._weights.dtype, copy=False)])
        self._intercepts = np.concatenate([self._intercepts, state.bias[0, columns]])

    def _put_back(self, state: OnlineState) -> None:
        if not len(self._columns) or state.rule["step"] == FTRL:  # whose weights are those of z, which rests
            return
        with state.changing():
            state.settle()
            state.weights[:, self._columns] = self._weights
            state.bias[0, self._columns] = self._intercepts

    def state_dict(self) -> State:
        """All that is to go on."""
        return {
            "label_losses": self.losses, "label_bests": self._best, "label_stales": self._n_no_improvement,
            "label_penalties": self._penalties, "last_losses": self._last_losses, "stopped": self._columns,
            "stopped_weights": self._weights, "stopped_intercepts": self._intercepts,
        }  # fmt: skip

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said, once it is proved to fit."""
        n_labels = len(self.stopped)
        for name, to in (("label_losses", self.losses), ("label_penalties", self._penalties),
                         ("last_losses", self._last_losses)):  # fmt: skip
            saved.read_into(name, to)
        saved.read_into("label_bests", self._best, finite=False)
        stales = saved.indices("label_stales", 2**62)
        columns = saved.indices("stopped", n_labels)
        if len(stales) != n_labels or len(np.unique(columns)) != len(columns):
            saved.reject("stopped")
        self._n_no_improvement, self._columns = stales.copy(), columns.copy()
        self.stopped[columns] = 1
        like = np.empty((len(self._weights), len(columns)), self._weights.dtype)
        self._weights = saved.array("stopped_weights", like).copy()
        self._intercepts = saved.array("stopped_intercepts", np.empty(len(columns))).copy()
