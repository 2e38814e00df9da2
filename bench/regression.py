"""How much sooner than scikit-learn's are Ridge and LinearSVR where they are to be?

Each side gets the loosest of several tolerances at which its objective is within 1e-6 of the least, as our dual
objective at the tightest proves it; scikit-learn's Ridge the fastest of its solvers there. Then fits are timed, in
turns, on one core, by CPU time. Rows are the reviews of imdb, tf-idf of words; the targets are their labels, ±1, or the
logarithm of how many different words a review has; and 50 columns of numbers, of which the target is a noisy sum.
"""

from __future__ import annotations

from timing import arguments, interleave, save, seconds, show  # before numpy: it sets the threads

# isort: split
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from sklearn import linear_model, svm

import fastlin
from corpora import load

NEAR = 1e-6
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10)
SOLVERS = ("auto", "sparse_cg", "lsqr")  # of scikit-learn's Ridge
SPARSE = ("auto", "sparse_cg")  # those of them that fit an intercept of sparse rows
MAX_EPOCHS = 1000
COLUMNS = ["question", "ours s", "scikit-learn s", "scikit-learn ÷ ours", "ours above", "theirs above", "theirs"]


def reviews(kind: str) -> tuple[Any, np.ndarray]:
    """The training reviews, and a number for each."""
    corpus = load("imdb-tfidf")
    return corpus.X, np.where(corpus.y > 0, 1.0, -1.0) if kind == "±1" else np.log1p(np.diff(corpus.X.indptr))


def few_columns() -> tuple[Any, np.ndarray]:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 50)) * generator.uniform(0.1, 10, 50) + generator.normal(size=50)
    return X, X @ generator.normal(size=50) / 10 + generator.normal(size=20_000)


def ridge_objective(model: Any, X: Any, y: np.ndarray) -> float:
    residual = y - X @ model.coef_ - model.intercept_
    return float(residual @ residual + model.alpha * model.coef_ @ model.coef_)


def svr_objective(model: Any, X: Any, y: np.ndarray) -> float:
    left = np.maximum(np.abs(y - X @ model.coef_ - model.intercept_) - model.epsilon, 0)
    loss = left @ left if model.loss.startswith("squared") else left.sum()
    return float(0.5 * (model.coef_ @ model.coef_ + np.sum(np.square(model.intercept_))) + model.C * loss)


def loosest(make: Callable[..., Any], objective: Callable[..., float], data: Any, least: float) -> Any:
    """(seconds, what makes the model, how far it is above the least) of the first tolerance that is tight enough."""
    for tol in TOLERANCES:
        model = make(tol=tol)
        spent = seconds(partial(model.fit, *data), process_time)
        above = objective(model, *data) / least - 1
        if above <= NEAR or np.max(model.n_iter_ or 0) >= MAX_EPOCHS:
            break
    return spent, partial(make, tol=tol), above


def compare(name: str, ours: Any, theirs: dict[str, Any], objective: Any, data: Any, repeat: int) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        least = ours(tol=1e-10).fit(*data).certificate_["dual_objective"]
        _, mine, above = loosest(ours, objective, data, least)
        found = {key: loosest(make, objective, data, least) for key, make in theirs.items()}
    good = {key: value for key, value in found.items() if value[2] <= NEAR} or found
    best = min(good, key=lambda key: good[key][0])
    _, rival, rival_above = good[best]
    contenders = {
        "ours": lambda: partial(mine().fit, *data),
        "rival": lambda: partial(rival().fit, *data),
    }
    spent = {key: median(times) for key, times in interleave(contenders, repeat, process_time).items()}
    row = [name, spent["ours"], spent["rival"], spent["rival"] / spent["ours"], above, rival_above, best]
    print("  ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row), flush=True)
    return row


def questions() -> dict[str, tuple[Any, dict[str, Any], Any, Callable[[], Any]]]:
    found: dict[str, tuple[Any, dict[str, Any], Any, Callable[[], Any]]] = {}
    sources: dict[str, Callable[[], Any]] = {
        "reviews, ±1": partial(reviews, "±1"), "reviews, length": partial(reviews, "length"),
        "few columns": few_columns,
    }  # fmt: skip
    for source, read in sources.items():
        for alpha in (0.1, 1.0, 10.0):
            solvers = SOLVERS if source == "few columns" else SPARSE
            rivals = {solver: partial(linear_model.Ridge, alpha=alpha, solver=solver) for solver in solvers}
            found[f"Ridge α={alpha:g}, {source}"] = (partial(fastlin.Ridge, alpha=alpha), rivals, ridge_objective, read)
        for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            for C in (0.1, 1.0):
                options = {"C": C, "loss": loss, "epsilon": 0.1, "random_state": 0, "max_iter": MAX_EPOCHS}
                rivals = {"dual": partial(svm.LinearSVR, dual=True, **options)}
                if loss.startswith("squared"):
                    rivals["primal"] = partial(svm.LinearSVR, dual=False, **options)
                name = f"LinearSVR {'squared, ' if loss.startswith('squared') else ''}C={C:g}, {source}"
                found[name] = (partial(fastlin.LinearSVR, **options), rivals, svr_objective, read)
    return found


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    rows = [
        compare(name, ours, theirs, objective, read(), options.repeat)
        for name, (ours, theirs, objective, read) in questions().items()
        if not options.only or options.only in name
    ]
    show("ours against scikit-learn's, CPU time to an objective within 1e-6 of the least", COLUMNS, rows)
    save("regression", [dict(zip(COLUMNS, row, strict=True)) for row in rows])


if __name__ == "__main__":
    main()
