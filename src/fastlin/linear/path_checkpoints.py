"""What a search over folds keeps in its checkpoints: finished fits, and where the running ones stand."""

import copy
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State, as_part
from fastlin.core.dataset import DatasetView
from fastlin.core.fit_monitor import FitMonitor, Resumable
from fastlin.core.label_sets import n_weight_columns
from fastlin.linear.logistic import LogisticRegression
from fastlin.storage import Checkpoint

FLOATS, COUNTS, FLAGS = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)
FITS = {"score": FLOATS, "objective": FLOATS, "n_iter": COUNTS, "converged": FLAGS}  # what is kept of each


class FittedModel:
    """A model as its fit has left it, or will leave it."""

    def __init__(self, model: LogisticRegression, sample: DatasetView) -> None:
        self.model, self.sample = model, sample

    def state_dict(self) -> State:
        model = self.model
        weights = {"coef": model.coef_, "intercept": model.intercept_}
        report = {"objective": model.objective_, "certificate": model.certificate_, "history": model.history_}
        ended = {"n_iter": model.n_iter_, "converged": model.converged_, "stopped": model._stopped}
        return weights | report | ended

    def load_state_dict(self, saved: CheckpointReader) -> None:
        model, sample = self.model, self.sample
        n_labels = len(sample.classes)
        width = n_labels if model.weights == "observed" else n_weight_columns(n_labels)
        model.classes_, model.n_features_in_ = sample.classes, sample.n_features
        model.coef_ = saved.array("coef", np.empty((width, sample.n_features), model._type(sample.dataset)))
        model.intercept_ = saved.array("intercept", np.empty(width))
        model.objective_, model.history_ = saved.number("objective"), saved.history()
        model.certificate_ = saved.named_numbers("certificate")
        model.n_iter_, model.converged_ = saved.integer("n_iter", 0), saved.boolean("converged")
        model._stopped = saved.boolean("stopped")


class SearchMonitor(FitMonitor):
    """The monitor of a search, whose fits run in threads and make its checkpoints.

    When it is `interrupted`, fits end at their next look at the gradient: what they have come to is kept in no file.
    """

    def __init__(self, n_fits: int, file: Checkpoint) -> None:
        super().__init__(n_fits, checkpoint=file)
        self.interval, self.lock, self.interrupted = file.interval, threading.RLock(), False

    def state_dict(self) -> State:
        """Nothing: the records are those of the folds."""
        return {}

    def register_finished(self, name: str, part: Resumable) -> bool:
        """Register a part that is done, if a checkpoint says so."""
        saved = self.take_saved(name)
        if saved is None:
            return False
        part.load_state_dict(saved)
        self.register(name, part)
        return True

    def save(self) -> None:
        with self.lock:
            if not self.interrupted:
                super().save()


class FoldPath:
    """The fits of a fold, each from the last one's weights; it is the checkpoint of the one that runs.

    Every fold has a clock of its own, so that none keeps others from saying where they stand.
    """

    def __init__(
        self,
        monitor: SearchMonitor,
        name: str,
        settings: list[dict[str, Any]],
        template: LogisticRegression,
        sample: DatasetView,
    ) -> None:
        self.path = None if monitor.checkpoint is None else monitor.checkpoint.path
        self.records: list[dict[str, Any]] = []
        self.ended = False  # with the search, perhaps before the last setting
        self.model: LogisticRegression | None = None  # of the last fit
        self._settings, self._template, self._sample = settings, template, sample
        self._running: tuple[State, dict[str, NDArray[Any]]] | None = None
        self._monitor, self._last = monitor, time.monotonic()
        monitor.register(name, self)

    def left(self) -> list[dict[str, Any]]:
        """The settings that are still to be fitted."""
        return [] if self.ended else self._settings[len(self.records) :]

    def add(self, model: LogisticRegression, score: float) -> dict[str, Any]:
        """Take in the fit of the next setting; returns the record."""
        reached = {"objective": model.objective_, "n_iter": model.n_iter_, "converged": model.converged_}
        record = self._settings[len(self.records)] | {"score": score} | reached
        with self._monitor.lock:
            self.model = model
            self.records.append(record)
            self._running = None
        if self.due():
            self._save()
        return record

    def finish(self) -> list[dict[str, Any]]:
        """Fit no more of the settings; returns the records."""
        self.ended, self.model = True, None
        return self.records

    # A part of the search's checkpoint

    def state_dict(self) -> State:
        found: State = {"ended": self.ended}
        found |= {name: np.array([record[name] for record in self.records], kind) for name, kind in FITS.items()}
        if self.model is not None and self.left():
            found |= as_part("model", FittedModel(self.model, self._sample).state_dict())
        if self._running is not None:
            found |= as_part("running", {**self._running[0], **self._running[1]})
        return found

    def load_state_dict(self, saved: CheckpointReader) -> None:
        self.ended = saved.boolean("ended")
        n = len(saved.arrays.get("score", ()))
        if n > len(self._settings):
            saved.reject("score")
        kept = {name: saved.array(name, np.empty(n, kind), finite=False).tolist() for name, kind in FITS.items()}
        fits = [dict(zip(kept, values, strict=True)) for values in zip(*kept.values(), strict=True)]
        self.records = [setting | fit for setting, fit in zip(self._settings, fits, strict=False)]
        if n and self.left():
            fitted = FittedModel(copy.copy(self._template), self._sample)
            fitted.load_state_dict(saved.part("model"))
            self.model = fitted.model
        running = saved.part("running")
        self._running = (running.header, running.arrays) if running.header else None

    # The checkpoint of the fit that runs

    def load(self) -> tuple[State, dict[str, NDArray[Any]]] | None:
        return self._running

    def due(self) -> bool:
        return self.path is not None and time.monotonic() - self._last >= self._monitor.interval

    def save(self, header: State, arrays: dict[str, NDArray[Any]], /) -> None:
        """Make a checkpoint of the search; others write this state again while the fit goes on and changes its own."""
        running = copy.deepcopy((header, arrays))
        with self._monitor.lock:  # another fold's checkpoint has all of one state
            self._running = running
        self._save()

    def _save(self) -> None:
        self._monitor.save()
        self._last = time.monotonic()
