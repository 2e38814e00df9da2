"""The rounds of an induction: how many features to add at a time, which of them together, and when to stop."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.fit_monitor import FitMonitor
from fastlin.engine.core import row_scores as row_kernels
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.runtime import parallel
from fastlin.select.induction import CandidateFeatures, Induction
from fastlin.validation import CSRRows

Floats = NDArray[np.float64]
CANDIDATES_PER_ADDED = 4  # candidates looked at for each to be added
MAX_OVERLAP = 0.5  # of a candidate's rows that features of the same round may have before it


class Validation:
    """Rows that tell how well a model predicts; the code of a label it does not know is −1."""

    def __init__(self, rows: CSRRows, codes: NDArray[np.int32], width: int) -> None:
        self.rows, self.codes = rows, codes
        self.weights = aligned_zeros((rows.n_columns, width), rows.values.dtype)

    def accuracy(self, columns: NDArray[np.int64], weights: Floats, intercept: Floats) -> float:
        """The share of rows whose label the weights of some columns predict."""
        self.weights[columns] = weights
        best = np.empty(len(self.rows), np.int64)
        row_kernels.argmax(parallel.scores(self.rows, self.weights, intercept, 1), best)
        return float(np.mean(best == self.codes))


class Rounds:
    """The rounds of an induction, and what decides when they end."""

    def __init__(
        self,
        induction: Induction,
        held: Validation | None,
        monitor: FitMonitor,
        generator: np.random.Generator,
        refit: Callable[[], float],
    ) -> None:
        self.induction, self.held, self.monitor = induction, held, monitor
        self.gains: list[float] = []
        self.ended = False
        self._generator, self._refit = generator, refit  # which draws from it
        self._best_score, self._since = -1.0, 0  # the best accuracy, and how many rounds ago that was
        self._best_size, self._best_theta = 0, induction.theta  # its features

    def run(self, most: int, step: float, min_gain: float, patience: int | None) -> None:
        """Add features and refit until one of the rules says stop."""
        induction, monitor = self.induction, self.monitor
        if monitor.register_run("rounds", self):
            induction.evaluate()
        else:
            self._refit()
        while len(self.gains) < most and not self.ended:
            monitor.maybe_save()
            share = step if isinstance(step, int | np.integer) else max(1, int(step * len(self.gains)))
            size = min(int(share), most - len(self.gains))
            found = induction.best(size if size == 1 else CANDIDATES_PER_ADDED * size, min_gain)
            if not len(found.gains):
                break
            chosen = self._apart(found, size)
            induction.add(chosen)
            self.gains.extend(chosen.gains.tolist())
            monitor.iterations += 1
            record = self._record(self._refit(), float(chosen.gains[0]))
            if patience is not None:
                self._compare(record["validation_score"])
            self.ended = monitor.log_record(record) or self._since == patience
        if self._best_size and len(self.gains) != self._best_size:
            del self.gains[self._best_size :]
            induction.active, induction.theta = induction.active[: self._best_size], self._best_theta
        self.ended = True

    def _compare(self, score: float) -> None:
        """Keep the weights of the best round."""
        self._since += 1
        if score > self._best_score:
            self._best_score, self._since = score, 0
            self._best_size, self._best_theta = len(self.gains), self.induction.theta.copy()

    def state_dict(self) -> State:
        induction = self.induction
        kept = {"active": induction.active.tolist(), "theta": induction.theta, "bar": float(induction.bar)}
        best: State = {"best_size": self._best_size, "best_score": float(self._best_score), "since": self._since}
        best |= {"best_theta": self._best_theta} if self._best_size else {}
        return kept | best | {"gains": self.gains, "ended": self.ended, "random": self._generator}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        induction, bias = self.induction, len(self.induction.theta)
        self.gains = saved.numbers("gains")
        active = saved.distinct_integers("active", induction.design.n_features)
        if len(active) != len(self.gains):
            saved.reject("active")
        induction.active = np.array(active, np.int64)
        induction.theta = saved.array("theta", np.empty(len(active) * induction.labels.width + bias))
        induction.bar = saved.number("bar")
        self._best_size, self._since = saved.integer("best_size", 0, len(active)), saved.integer("since", 0)
        if self._best_size:
            self._best_theta = saved.array("best_theta", np.empty(self._best_size * induction.labels.width + bias))
        self._best_score, self.ended = saved.number("best_score"), saved.boolean("ended")
        saved.restore_generator("random", self._generator)

    def _apart(self, found: CandidateFeatures, size: int) -> CandidateFeatures:
        """The best that share few rows: what one gains says little about what it gains after the other."""
        design, chosen = self.induction.design, [0]
        if size > 1:
            covered = np.zeros(design.n_rows, bool)
            covered[_rows(design, found.places[0])] = True
            for place in range(1, min(CANDIDATES_PER_ADDED * size, len(found.places))):
                rows = _rows(design, found.places[place])
                if covered[rows].mean() <= MAX_OVERLAP:
                    chosen.append(place)
                    covered[rows] = True
                if len(chosen) == size:
                    break
        return found.take(chosen)

    def _record(self, objective: float, gain: float) -> dict[str, Any]:
        induction = self.induction
        record = {
            "n_features": len(self.gains),
            "objective": objective,
            "log_likelihood": -induction.loss,
            "gain": gain,
            "seconds": self.monitor.seconds,
        }
        if self.held is not None:
            columns = induction.design.features[induction.active]
            record["validation_score"] = self.held.accuracy(columns, induction.weights, induction.intercept)
        return record


def _rows(design: Any, feature: Any) -> NDArray[np.int32]:
    return design.column_rows[design.column_indptr[feature] : design.column_indptr[feature + 1]]
