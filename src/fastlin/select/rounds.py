"""The rounds of an induction: how many features to add at a time, which of them together, and when to stop."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import row_scores as row_kernels
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.runtime import parallel
from fastlin.select.induction import Candidates, Induction
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


@dataclass
class Rounds:
    """What has happened so far."""

    induction: Induction
    held: Validation | None
    began: float
    gains: list[float] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)

    def run(
        self,
        most: int,
        step: float,
        min_gain: float,
        patience: int | None,
        refit: Callable[[], float],
        report: Callable[[dict[str, Any]], bool],
    ) -> None:
        """Add features and refit until one of the rules says stop."""
        induction = self.induction
        refit()
        best, best_score, since = (0, induction.theta), -1.0, 0
        while len(self.gains) < most:
            share = step if isinstance(step, int | np.integer) else max(1, int(step * len(self.gains)))
            size = min(int(share), most - len(self.gains))
            found = induction.best(size if size == 1 else CANDIDATES_PER_ADDED * size, min_gain)
            if not len(found.gains):
                break
            chosen = self._apart(found, size)
            induction.add(chosen)
            self.gains.extend(chosen.gains.tolist())
            record = self._record(refit(), float(chosen.gains[0]))
            self.history.append(record)
            if patience is not None:
                if record["validation_score"] > best_score:
                    best, best_score, since = (len(self.gains), induction.theta.copy()), record["validation_score"], 0
                else:
                    since += 1
            if report(record) or since == patience:
                break
        if patience is not None and best[0]:
            n, theta = best
            del self.gains[n:]
            induction.active, induction.theta = induction.active[:n], theta

    def _apart(self, found: Candidates, size: int) -> Candidates:
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
            "seconds": time.perf_counter() - self.began,
        }
        if self.held is not None:
            columns = induction.design.features[induction.active]
            record["validation_score"] = self.held.accuracy(columns, induction.weights, induction.intercept)
        return record


def _rows(design: Any, feature: Any) -> NDArray[np.int32]:
    return design.column_rows[design.column_indptr[feature] : design.column_indptr[feature + 1]]
