"""How well do clusters agree with labels that they never saw? The measures, and restarts chosen by the bound alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, v_measure_score
from sklearn.metrics.cluster import contingency_matrix

MEASURES = ("purity", "v_measure", "adjusted_rand")
COLUMNS = ("purity", "V-measure", "adjusted Rand", "correlation", "iterations", "s")


@dataclass
class Ascents:
    """The runs of EM that were looked at, and their iterations; one whose bound falls is an error."""

    runs: int = 0
    iterations: int = 0

    def check(self, bounds: np.ndarray) -> None:
        assert (np.diff(bounds) >= 0).all(), f"the bound falls: {bounds}"
        self.runs += 1
        self.iterations += len(bounds) - 1

    def report(self) -> str:
        return f"the bound of EM never fell: {self.runs:,} runs, {self.iterations:,} iterations"


def purity(labels: np.ndarray, clusters: np.ndarray) -> float:
    """The share of rows whose label is the commonest of their cluster."""
    return float(contingency_matrix(labels, clusters).max(axis=0).sum() / len(labels))


def agreement(labels: np.ndarray, clusters: np.ndarray) -> dict[str, float]:
    """The measures, per cent."""
    values = purity(labels, clusters), v_measure_score(labels, clusters), adjusted_rand_score(labels, clusters)
    return {name: 100.0 * float(value) for name, value in zip(MEASURES, values, strict=True)}


@dataclass(frozen=True)
class Restart:
    """A clustering, what it cost, and the objective that restarts are compared by: the lower the better."""

    model: Any
    clusters: np.ndarray
    objective: float
    seconds: float


def restarts(make: Callable[[int], Any], X: Any, number: int) -> list[Restart]:
    """``number`` clusterings of the rows, from ``make(random_state)``; the best by its own objective comes first."""
    found = []
    for seed in range(number):
        start = perf_counter()
        model = make(seed).fit(X)
        spent = perf_counter() - start
        objective = -model.bound_[-1] if hasattr(model, "bound_") else model.inertia_
        found.append(Restart(model, model.predict(X), float(objective), spent))
    return sorted(found, key=lambda restart: restart.objective)


def judge(labels: np.ndarray, found: list[Restart]) -> dict[str, Any]:
    """The agreement of the best restart, and of all; and whether the objective foretells it.

    That is the correlation, over the restarts, of minus the objective with the V-measure.
    """
    every = [agreement(labels, restart.clusters) for restart in found]
    objectives, agreements = [restart.objective for restart in found], [each["v_measure"] for each in every]
    varied = np.ptp(objectives) > 0 and np.ptp(agreements) > 0
    return {
        "best": every[0],
        "mean": {name: float(np.mean([each[name] for each in every])) for name in MEASURES},
        "deviation": {name: float(np.std([each[name] for each in every])) for name in MEASURES},
        "correlation": -float(np.corrcoef(objectives, agreements)[0, 1]) if varied else None,
        "seconds": float(np.mean([restart.seconds for restart in found])),
        "iterations": float(np.mean([restart.model.n_iter_ for restart in found])),
    }


def cells(judged: dict[str, Any]) -> list[str]:
    """The figures of a line of a table, under `COLUMNS`; those in brackets are of all restarts."""
    best, mean, deviation = (judged[name] for name in ("best", "mean", "deviation"))
    return [
        *(f"{best[name]:.1f} ({mean[name]:.1f} ± {deviation[name]:.1f})" for name in MEASURES),
        "" if judged["correlation"] is None else f"{judged['correlation']:+.2f}",
        f"{judged['iterations']:.0f}",
        judged["seconds"],
    ]
