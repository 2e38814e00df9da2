"""Do all solvers come to one optimum, and what does each pay for it?

Two medium problems, with the Gaussian prior and intercepts: every solver goes on until its objective is
within the gap asked of it, or its limit of iterations is reached. The gaps are shares of the optimum (see
``contenders.py``).
"""

from __future__ import annotations

from timing import show  # before numpy: it sets the threads

# isort: split
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from contenders import Objective, quietly
from corpora import load

CORPORA, C = ("attachment", "openings"), 1.0


@dataclass(frozen=True)
class Asked:
    """How near to the optimum a solver has to come, in how many iterations (epochs of sgd and adagrad)."""

    solver: str
    gap: float | None
    max_iter: int = 2_000


ASKED = (
    Asked("auto", 1e-6),
    Asked("newton", 1e-6),
    Asked("lbfgs", 1e-6),
    Asked("cg", 1e-6),
    Asked("gd", 1e-6, 20_000),
    Asked("iis", 1e-5, 6_000),
    Asked("gis", 1e-3, 20_000),
    Asked("sgd", 1e-4, 1_000),
    Asked("adagrad", None, 200),
)


def run(asked: Asked, objective: Objective, best: float) -> dict[str, Any]:
    """What the solver paid when it came as near as it should, and where it stands."""
    from fastlin import LogisticRegression

    goal = best * (1.0 + asked.gap) if asked.gap else best
    model = LogisticRegression(
        C=objective.C,
        solver=asked.solver,
        tol=0.0,
        max_iter=asked.max_iter,
        random_state=0,
        callback=lambda _, record: record["objective"] <= goal,
    )
    start = perf_counter()
    quietly(lambda: model.fit(objective.X, objective.y))
    return {
        "solver": asked.solver,
        "iterations": model.n_iter_,
        "seconds": perf_counter() - start,
        "passes": model.history_[-1]["passes"],
        "gap": objective.value((model.coef_, model.intercept_)) / best - 1.0,
        "asked": asked.gap,
    }


def compare() -> dict[str, Any]:
    """Print a table a problem; the same figures."""
    return {name: table(name) for name in CORPORA}


def table(name: str) -> list[dict[str, Any]]:
    corpus = load(name)
    objective = Objective(corpus.X, corpus.y, C)
    best, bound = objective.optimum()
    results = [run(asked, objective, best) for asked in ASKED]
    rows = []
    for each in results:
        gap = each["asked"]
        verdict = "" if gap is None else "yes" if each["gap"] <= gap else "NO"
        asked = "–" if gap is None else f"{gap:.0e}"
        paid = [each[what] for what in ("iterations", "passes", "seconds")]
        rows.append([each["solver"], *paid, f"{each['gap']:.1e}", asked, verdict])
    shape = f"{objective.X.shape[0]:,} rows, {objective.X.shape[1]:,} features, {len(set(objective.y))} labels"
    show(
        f"one optimum ({name}: {shape}, C = {C:g}; known to {bound:.0e})",
        ["solver", "iterations", "passes", "s", "gap", "asked", "reached"],
        rows,
    )
    return results
