"""What does an iteration of EM cost: in passes of the engine, against NumPy and SciPy, on two threads?

``passes``: the E-step and M-step of naive Bayes with K components, over the same rows' bare forward and backward
passes, X φ and Xᵀ R, as the batch learners make them. ``numpy``: a whole `MultinomialMixture.fit` of so many
iterations against the same EM in sparse products and vectorised NumPy, with the transpose made once, from the same
responsibilities; both bounds are shown. ``threads``: the fit on two threads against one. Word counts, the default
tokens, no cut-off; one core but for ``threads``.
"""

from __future__ import annotations

from timing import Prepare, all_cores, arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora import documents
from fastlin import CountVectorizer, MultinomialMixture, run, validation
from fastlin.cluster.expectation import Expectation
from fastlin.cluster.merged import lay_out
from fastlin.linear.counts import Prior
from fastlin.optim.design import Design
from fastlin.optim.inferences import Labels
from fastlin.optim.layouts import Dense

Floats = NDArray[np.float64]
CORPORA = {"20 Newsgroups": "20newsgroups", "IMDB": "imdb"}
WIDTHS = (5, 20, 100)
ITERATIONS = 10
ALPHA = 0.1
ASKED = {"passes": (1.3, 1.1), "numpy": (3, 6), "threads": (1.6, 1.9)}


def counts(folder: str) -> sparse.csr_matrix:
    _, texts = documents(folder, "train")
    return CountVectorizer(dtype=np.float64).fit_transform(texts)


def responsibilities(n_rows: int, width: int) -> Floats:
    return np.random.default_rng(0).dirichlet(np.ones(width), n_rows)


def ours(X: sparse.csr_matrix, start: Floats, n_jobs: int = 1) -> float:
    width = start.shape[1]
    model = MultinomialMixture(width, alpha=ALPHA, tol=0, max_iter=ITERATIONS, init=start, n_jobs=n_jobs).fit(X)
    return float(model.bound_[-1])


def numpy_em(X: sparse.csr_matrix, start: Floats) -> float:
    """The same iterations in products of matrices; returns the bound of the last parameters."""
    transpose, shares, bound = X.T.tocsr(), start, 0.0
    for _ in range(ITERATIONS + 1):
        smoothed = transpose @ shares
        smoothed += ALPHA
        log_phi = np.log(smoothed)
        log_phi -= np.log(smoothed.sum(axis=0))
        scores = X @ log_phi
        scores += np.log(shares.sum(axis=0)) - np.log(shares.sum())
        top = scores.max(axis=1, keepdims=True)
        shares = np.exp(scores - top)
        total = shares.sum(axis=1, keepdims=True)
        bound = float((top + np.log(total)).sum() + ALPHA * log_phi.sum())
        shares /= total
    return bound


def passes(X: sparse.csr_matrix, width: int, workers: run.Workers) -> dict[str, Prepare]:
    """An iteration, and a forward and a backward pass over all columns."""
    rows = validation.as_rows(X)
    labels = Labels(np.full(len(rows), -1, np.int32), np.empty(0), width)
    prior = Prior(np.array([ALPHA]), np.array([1 / rows.n_columns]), None)
    parts = lay_out(lambda: [(rows, labels)], rows.n_columns, None, None, prior)
    em = Expectation(parts, np.array([0, width]), prior, None, rows.n_columns, workers)
    start = responsibilities(len(rows), width)
    em.start(lambda _, shares: np.copyto(shares, start))
    design = Design.of(rows)
    layout, gradient = Dense(design.n_features, width), np.empty(design.n_features * width)
    weights, bias, residual = np.zeros(design.n_features * width), np.zeros(width), start.copy()
    row_cuts, column_cuts = list(run.cuts(design.indptr, width)), list(run.cuts(design.column_indptr, width))

    def iteration() -> None:
        em.expect()
        em.maximise()

    def both_passes() -> None:
        for first, last in row_cuts:
            layout.scores(design, weights, bias, first, last)
        for low, high in column_cuts:
            layout.columns(design, design.column_values, residual, low, high, gradient[layout.span(low, high)])

    return {"EM": lambda: iteration, "passes": lambda: both_passes}


def compare(times: dict[str, list[float]], ours: str, theirs: str, better: str) -> tuple[float, float, float]:
    mine, other = median(times[ours]), median(times[theirs])
    return mine, other, mine / other if better == "less" else other / mine


def of_passes(name: str, X: sparse.csr_matrix, width: int, repeat: int) -> dict[str, Any]:
    with run.Workers(1) as workers:
        times = interleave(passes(X, width, workers), 4 * repeat)
    mine, other, ratio = compare(times, "EM", "passes", "less")
    return {"corpus": name, "K": width, "ms": 1e3 * mine, "passes ms": 1e3 * other, "ratio": ratio}


def of_numpy(name: str, X: sparse.csr_matrix, width: int, repeat: int) -> dict[str, Any]:
    start, bounds = responsibilities(X.shape[0], width), {}

    def contender(who: str, fit: Callable[[], float]) -> Prepare:
        return lambda: lambda: bounds.__setitem__(who, fit())

    fits = {"ours": partial(ours, X, start), "NumPy": partial(numpy_em, X, start)}
    times = interleave({who: contender(who, fit) for who, fit in fits.items()}, repeat)
    mine, other, ratio = compare(times, "ours", "NumPy", "more")
    found = {"corpus": name, "K": width, "ms": 1e3 * mine / ITERATIONS, "NumPy ms": 1e3 * other / ITERATIONS}
    return {**found, "ratio": ratio, "bound": f"{bounds['ours']:.9g}", "NumPy's": f"{bounds['NumPy']:.9g}"}


def of_threads(name: str, X: sparse.csr_matrix, width: int, repeat: int) -> dict[str, Any]:
    start = responsibilities(X.shape[0], width)
    with all_cores():
        times = interleave({str(n): lambda n=n: partial(ours, X, start, n) for n in (1, 2)}, repeat)
    mine, other, ratio = compare(times, "2", "1", "more")
    return {
        "corpus": name,
        "K": width,
        "two ms": 1e3 * mine / ITERATIONS,
        "one ms": 1e3 * other / ITERATIONS,
        "ratio": ratio,
    }


QUESTIONS = {"passes": of_passes, "numpy": of_numpy, "threads": of_threads}


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    chosen = {name: ask for name, ask in QUESTIONS.items() if not options.only or options.only in name}
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in chosen}
    for name, folder in CORPORA.items():
        X = counts(folder)
        for width in WIDTHS:
            for question, ask in chosen.items():
                results[question].append(ask(name, X, width, options.repeat))
    for question, found in results.items():
        least, aim = ASKED[question]
        show(f"{question} (asked {least}, aim {aim})", list(found[0]), [list(row.values()) for row in found])
    save("em", results)


if __name__ == "__main__":
    main()
