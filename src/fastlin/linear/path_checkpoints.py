"""What a search over folds keeps in its checkpoints: finished fits, and where the running ones stand."""

import copy
import threading
import time
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State, as_part
from fastlin.core.dataset import DatasetView
from fastlin.core.fit_monitor import FitMonitor, Resumable
from fastlin.core.fit_records import FitCertificate
from fastlin.core.label_sets import n_weight_columns
from fastlin.linear.logistic import LogisticRegression
from fastlin.storage import Checkpoint

FLOATS, COUNTS, FLAGS = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)
FITS = {
    "score": FLOATS, "objective": FLOATS, "duality_gap": FLOATS, "n_nonzero": COUNTS, "n_iter": COUNTS,
    "converged": FLAGS,
}  # fmt: skip  # what is kept of each
N_BEFORE = 2  # fits that the next one begins with: a third gains hardly a pass


class FittedModel:
    """A model as its fit has left it, or will leave it."""

    def __init__(self, model: LogisticRegression, sample: DatasetView) -> None:
        self.model, self.sample = model, sample

    def state_dict(self) -> State:
        model = self.model
        weights = {"coef": model.coef_, "intercept": model.intercept_}
        report = {"objective": model.objective_, "certificate": model.certificate_, "history": model.history_}
        ended = {"n_iter": int(model.n_iter_[0]), "converged": model.converged_, "stopped": model._stopped}
        return weights | report | ended

    def load_state_dict(self, saved: CheckpointReader) -> None:
        model, sample = self.model, self.sample
        n_labels = len(sample.classes)
        width = n_labels if model.weights == "observed" else n_weight_columns(n_labels)
        model.classes_, model.n_features_in_ = sample.classes, sample.n_features
        model.coef_ = saved.array("coef", np.empty((width, sample.n_features), model._type(sample.dataset)))
        model.intercept_ = saved.array("intercept", np.empty(width))
        model.objective_, model.history_ = saved.number("objective"), saved.history()
        model.certificate_ = cast("FitCertificate", saved.named_numbers("certificate"))
        model.n_iter_, model.converged_ = np.array([saved.integer("n_iter", 0)], np.int32), saved.boolean("converged")
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
    """The fits of a fold, each from the weights of the last ones; it is the checkpoint of the one that runs.

    Every fold has a clock of its own, so that none keeps others from saying where they stand.
    """

    def __init__(
        self,
        monitor: SearchMonitor,
        name: str,
        settings: list[dict[str, Any]],
        template: LogisticRegression,
        sample: DatasetView,
        ranks: list[int],
        coefs: NDArray[np.float64] | None,
    ) -> None:
        self.path = None if monitor.checkpoint is None else monitor.checkpoint.path
        self.records: list[dict[str, Any]] = []
        self.ended = False  # with the search, perhaps before the last setting
        self.before: list[LogisticRegression] = []  # the last fits of the path, the last one first
        self.best: LogisticRegression | None = None  # of all fits, that of the least rank among equals
        self.coefs = coefs  # weights and intercepts of each fit, [fits, K, V + 1]; None: not kept
        self._settings, self._template, self._sample, self._ranks = settings, template, sample, ranks
        self._running: tuple[State, dict[str, NDArray[Any]]] | None = None
        self._monitor, self._last = monitor, time.monotonic()
        monitor.register(name, self)

    @property
    def best_record(self) -> dict[str, Any]:
        """The record of the best fit."""
        return min(zip(self.records, self._ranks, strict=False), key=lambda each: (-each[0]["score"], each[1]))[0]

    def left(self) -> list[dict[str, Any]]:
        """The settings that are still to be fitted."""
        return [] if self.ended else self._settings[len(self.records) :]

    def add(self, model: LogisticRegression, score: float) -> dict[str, Any]:
        """Take in the fit of the next setting; returns the record."""
        n, setting = len(self.records), self._settings[len(self.records)]
        gap = model.certificate_.get("duality_gap", np.nan) / max(model.objective_, np.finfo(float).tiny)
        reached = {"objective": model.objective_, "duality_gap": gap, "n_nonzero": int(np.count_nonzero(model.coef_))}
        record = setting | {"score": score, **reached, "n_iter": int(model.n_iter_[0]), "converged": model.converged_}
        with self._monitor.lock:
            if self.coefs is not None:
                _store(model, self.coefs[n])
            self.records.append(record)
            if self.best_record is record:
                self.best = model
            goes_on = self.left() and self.left()[0]["l1_ratio"] == setting["l1_ratio"]
            self.before = [model, *self.before][:N_BEFORE] if goes_on else []
            self._running = None
        if self.due():
            self._save()
        return record

    def finish(self) -> list[dict[str, Any]]:
        """Fit no more of the settings; returns the records."""
        self.ended, self.before = True, []
        return self.records

    # A part of the search's checkpoint

    def state_dict(self) -> State:
        found: State = {"ended": self.ended}
        found |= {name: np.array([record[name] for record in self.records], kind) for name, kind in FITS.items()}
        models = {f"before{place}": model for place, model in enumerate(self.before)} | {"best": self.best}
        for name, model in models.items():
            if model is not None:
                found |= as_part(name, FittedModel(model, self._sample).state_dict())
        if self.coefs is not None:
            found["coefs"] = self.coefs[: len(self.records)]
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
        found = [self._model(saved.part(name)) for name in (*(f"before{place}" for place in range(N_BEFORE)), "best")]
        self.before, self.best = [model for model in found[:-1] if model is not None], found[-1]
        if self.coefs is not None:
            self.coefs[:n] = saved.array("coefs", self.coefs[:n])
        running = saved.part("running")
        self._running = (running.header, running.arrays) if running.header else None

    def _model(self, saved: CheckpointReader) -> LogisticRegression | None:
        """A fitted model, if a checkpoint has it."""
        if not saved.header:
            return None
        fitted = FittedModel(copy.copy(self._template), self._sample)
        fitted.load_state_dict(saved)
        return fitted.model

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


def _store(model: LogisticRegression, row: NDArray[np.float64]) -> None:
    """Write the weights that are not zero, and the intercepts if there is a column for them, over zeros.

    Memory that nothing is written to is none.
    """
    if 2 * np.count_nonzero(model.coef_) > model.coef_.size:
        row[:, : model.coef_.shape[1]] = model.coef_
    else:
        labels, features = np.nonzero(model.coef_)
        row[labels, features] = model.coef_[labels, features]
    if row.shape[1] > model.coef_.shape[1]:
        row[:, -1] = model.intercept_
