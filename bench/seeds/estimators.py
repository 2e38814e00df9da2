"""Which way to the optimum is the shortest?

All solvers fit one model, Σ −log p + ½ Σ θ²/C, from zero weights. What counts is how far the objective is
above the optimum, as a share of it, after how many iterations, passes over the data and seconds.
The optimum is the lowest objective that any solver has reached.

Malouf (2002) found, from quickest to slowest: limited memory variable metric (L-BFGS), conjugate
gradients, steepest ascent, IIS, GIS. The last line of a table puts our order beside his.
"""

from __future__ import annotations

from common import picture, save, show  # before numpy: it sets the threads

# isort: split
import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

import corpora
from fastlin import LogisticRegression
from quadruples import DEFAULT_CUTOFF, indicators, load, words

SOLVERS = ("auto", "newton", "lbfgs", "cg", "gd", "iis", "gis", "sgd", "adagrad")
MALOUF = ("lbfgs", "cg", "gd", "iis", "gis")
GAPS = (1e-2, 1e-4, 1e-6)
TOLERANCE = 1e-9  # so that every solver goes on for as long as it can


@dataclass(frozen=True)
class Problem:
    """Rows, labels and the variance of the prior."""

    name: str
    X: sparse.csr_matrix
    y: np.ndarray
    C: float


def attachment() -> Problem:
    """PP attachment: at most 15 features a row and all of them 1, as GIS and IIS like it."""
    rows, y = load("train")
    X, _ = indicators([words], rows, y, rows[:1], cutoff=DEFAULT_CUTOFF)
    return Problem("PP attachment", X, y, C=1.0)


def newsgroups() -> Problem:
    """20 Newsgroups, tf-idf: 20 labels, values that are no counts."""
    corpus = corpora.load("newsgroups")
    return Problem("20 Newsgroups", corpus.X, corpus.y, C=10.0)


PROBLEMS = {"attachment": attachment, "newsgroups": newsgroups}


@dataclass(frozen=True)
class Road:
    """What one solver did: an entry an iteration, and how the fit ended."""

    seconds: np.ndarray
    passes: np.ndarray
    objectives: np.ndarray
    whole: float
    iterations: int
    converged: bool

    def settles_below(self, objective: float) -> int | None:
        """The iteration from which on the objective is never higher: a lucky epoch of SGD does not count."""
        above = np.flatnonzero(self.objectives > objective)
        first = int(above[-1]) + 1 if len(above) else 0
        return first if first < len(self.objectives) else None


def travel(problem: Problem, solver: str, max_iter: int, limit: float) -> Road:
    """Fit until the solver is content, out of iterations, or ``limit`` seconds have gone."""
    start = perf_counter()
    model = LogisticRegression(
        C=problem.C,
        solver=solver,
        tol=TOLERANCE,
        max_iter=max_iter,
        callback=lambda _model, _record: perf_counter() - start > limit,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that some do not converge is the answer, not an accident
        model.fit(problem.X, problem.y)
    whole = perf_counter() - start
    column = {key: np.array([record[key] for record in model.history_]) for key in ("seconds", "passes", "objective")}
    return Road(column["seconds"], column["passes"], column["objective"], whole, model.n_iter_, model.converged_)


def cells(road: Road, best: float) -> list[Any]:
    """Iterations and seconds in all, the final gap, then seconds and passes to every gap of `GAPS`."""
    found: list[Any] = [road.iterations, road.whole, f"{road.objectives[-1] / best - 1.0:.1e}"]
    for gap in GAPS:
        i = road.settles_below(best * (1.0 + gap))
        found += ["–", "–"] if i is None else [float(road.seconds[i]), int(road.passes[i])]
    return found


def order(roads: dict[str, Road], best: float, names: Sequence[str]) -> list[str]:
    """The solvers of ``names``, first who comes furthest down `GAPS`, then who is there soonest."""

    def rank(name: str) -> tuple[int, float]:
        road = roads[name]
        reached = [i for gap in GAPS if (i := road.settles_below(best * (1.0 + gap))) is not None]
        return -len(reached), float(road.seconds[reached[-1]] if reached else road.objectives[-1])

    return sorted(names, key=rank)


def draw(problem: Problem, roads: dict[str, Road], best: float) -> None:
    """Distance from the optimum against time, both on logarithmic axes."""
    with picture(f"estimators-{problem.name.lower().replace(' ', '-')}") as axes:
        if axes is None:
            return
        for name, road in reversed(roads.items()):  # the quick ones on top
            gap = np.maximum(road.objectives / best - 1.0, 1e-13)
            axes.loglog(road.seconds, gap, label=name, linewidth=1.0)
        axes.set(title=problem.name, xlabel="seconds", ylabel="objective above the optimum, as a share of it")
        axes.legend()


def compare(problem: Problem, max_iter: int, limit: float) -> dict[str, Any]:
    """Print the table of a problem and draw its picture; the same figures."""
    roads = {solver: travel(problem, solver, max_iter, limit) for solver in SOLVERS}
    best = min(float(road.objectives.min()) for road in roads.values())
    columns = ["solver", "iterations", "s", "gap", *(cell for gap in GAPS for cell in (f"s to {gap:g}", "passes"))]
    rows, labels = problem.X.shape[0], len(np.unique(problem.y))
    show(
        f"{problem.name}: {rows:,} rows, {problem.X.shape[1]:,} features, {labels} labels, C = {problem.C:g}",
        columns,
        [[name, *cells(roads[name], best)] for name in order(roads, best, SOLVERS)],
    )
    ours = order(roads, best, MALOUF)
    print(f"quickest to slowest, Malouf: {' < '.join(MALOUF)}; here: {' < '.join(ours)}")
    draw(problem, roads, best)
    return {
        "problem": problem.name,
        "optimum": best,
        "order": ours,
        "malouf": MALOUF,
        "solvers": {
            name: {
                "iterations": road.iterations,
                "seconds": road.whole,
                "converged": road.converged,
                "gap": road.objectives[-1] / best - 1.0,
                "to": {f"{gap:g}": road.settles_below(best * (1.0 + gap)) for gap in GAPS},
                "history": {
                    "seconds": road.seconds.tolist(),
                    "passes": road.passes.tolist(),
                    "objective": road.objectives.tolist(),
                },
            }
            for name, road in roads.items()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problem", choices=PROBLEMS, action="append", help="only this one; may be given again")
    parser.add_argument("--max-iter", type=int, default=20_000)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each solver")
    parser.add_argument("--threads", action="store_true", help="leave the threads and cores as they are")
    options = parser.parse_args()
    chosen = options.problem or ["attachment"]
    save("estimators", [compare(PROBLEMS[name](), options.max_iter, options.limit) for name in chosen])


if __name__ == "__main__":
    main()
