"""How near to the optimum is SGD after how much time, and how near is LIBLINEAR?

Both minimise ½‖θ‖² + C Σ loss without an intercept (α = 1/(C n) in SGD's scale), so that one number
says how good an answer is: how far its objective is above the optimum, as a share of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from corpora import Corpus, load
from learners import PAIRS
from rivals import CRAMMER_SINGER, HINGE_DUAL, LOGISTIC_DUAL, LOGISTIC_PRIMAL, Liblinear
from timing import interleave, show

TOLERANCES = (1.0, 0.1, 0.01)
EPOCHS = (1, 5, 20)
TIGHT = 1e-4  # LIBLINEAR's tolerance for what is called the optimum


@dataclass(frozen=True)
class Shared:
    """An objective that both can minimise; the last of LIBLINEAR's solvers finds the optimum."""

    corpus: str
    loss: str
    C: float
    solvers: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"LIBLINEAR, {self.corpus} {self.loss}"


OBJECTIVES = (
    Shared("imdb", "log_loss", 1e-3, (LOGISTIC_PRIMAL, LOGISTIC_DUAL)),
    Shared("imdb", "hinge", 1e-3, (HINGE_DUAL,)),
    Shared("newsgroups", "hinge", 1.0, (CRAMMER_SINGER,)),
)


@dataclass(frozen=True)
class Answer:
    """A way to weights: ``fit`` is what is timed, ``weights`` reads them from what it returns."""

    fit: Callable[[], Any]
    weights: Callable[[Any], np.ndarray]


def answers(shared: Shared, corpus: Corpus) -> dict[str, Answer]:
    """LIBLINEAR with several tolerances, SGD with several numbers of epochs."""
    found = {}
    for solver in shared.solvers:
        problem = Liblinear(corpus.X, corpus.y, solver, shared.C)
        tightest = (TIGHT,) if solver == shared.solvers[-1] else ()
        for tolerance in TOLERANCES + tightest:
            found[f"LIBLINEAR -s {solver} -e {tolerance:g}"] = Answer(
                partial(problem.train, tolerance), problem.weights
            )
    pair = PAIRS["SGD log loss" if shared.loss == "log_loss" else "SGD hinge"]
    penalty = {"alpha": 1.0 / (shared.C * len(corpus.y)), "fit_intercept": False, "tol": None, "random_state": 0}
    for epochs in EPOCHS:
        for average in (False, True):
            model = pair.ours(max_iter=epochs, average=average, **penalty)
            found[f"ours, {epochs} epoch(s){', averaged' * average}"] = Answer(
                partial(model.fit, corpus.X, corpus.y), lambda model: np.squeeze(model.coef_)
            )
    return found


def objective(corpus: Corpus, weights: np.ndarray, shared: Shared) -> float:
    """½‖θ‖² + C Σ loss; a vector of weights tells label 1 from 0, a matrix has a row for every label."""
    rows, y = np.arange(len(corpus.y)), corpus.y
    scores = corpus.X @ weights.T
    if weights.ndim == 1:
        margins = np.where(y > 0, scores, -scores)
    else:
        own = scores[rows, y]
        scores[rows, y] = -np.inf
        margins = own - scores.max(axis=1)
    losses = np.maximum(0.0, 1.0 - margins) if shared.loss == "hinge" else np.logaddexp(0.0, -margins)
    return 0.5 * float(np.sum(weights**2)) + shared.C * float(losses.sum())


def compare(repeat: int, only: str = "") -> list[dict[str, Any]]:
    """Print a table an objective, quickest answer first; the same figures as a list."""
    results = []
    for shared in (each for each in OBJECTIVES if only in each.name):
        corpus = load(shared.corpus)
        found = answers(shared, corpus)
        values = {name: objective(corpus, answer.weights(answer.fit()), shared) for name, answer in found.items()}
        best = values.pop(f"LIBLINEAR -s {shared.solvers[-1]} -e {TIGHT:g}")
        times = interleave({name: partial(partial, found[name].fit) for name in values}, repeat)
        spent = {name: median(each) for name, each in times.items()}
        above = {name: value / best - 1.0 for name, value in values.items()}
        rows = [[name, spent[name] * 1e3, f"{above[name]:.1e}"] for name in sorted(spent, key=spent.__getitem__)]
        show(f"{shared.name}, C = {shared.C:g}", ["learner", "ms", "above the optimum"], rows)
        results.append({"question": shared.name, "C": shared.C, "seconds": spent, "above_optimum": above})
    return results
