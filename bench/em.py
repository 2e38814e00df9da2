"""What does an iteration of EM cost: in passes of the engine, against NumPy and SciPy, on two threads?

``passes``: the E-step and M-step of naive Bayes with K components, over the same rows' bare forward and backward
passes, X φ and Xᵀ R, as the batch learners make them. ``numpy``: `MultinomialMixture` against the same EM in sparse
products and vectorised NumPy, with the transpose made once, from the same responsibilities: a whole fit of ten
iterations, layout and checks included, and a further iteration; both bounds are shown, of which ours may be higher
where components have died and were seeded again. ``threads``: the same on two threads against one. Word counts, the
default tokens, no cut-off; one core but for ``threads``.
"""

from __future__ import annotations

from timing import Prepare, all_cores, arguments, epochs, interleave, save, show  # before numpy: it sets the threads

# isort: split
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from corpora import documents
from fastlin import CountVectorizer, MultinomialMixture, validation
from fastlin.core.class_counts import SmoothingPrior
from fastlin.mixture.merged_columns import lay_out
from fastlin.mixture.multinomial_em import MultinomialEM
from fastlin.optim.design import Design
from fastlin.optim.likelihoods import MultinomialLikelihood
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel

Floats = NDArray[np.float64]
CORPORA = {"20 Newsgroups": "20newsgroups", "IMDB": "imdb"}
WIDTHS = (5, 20, 100)
FEW, MORE = 10, 20  # iterations
ALPHA = 0.1
ASKED = {"passes": (1.3, 1.1), "numpy": (3, 6), "threads": (1.6, 1.9)}


def counts(folder: str) -> sparse.csr_matrix:
    _, texts = documents(folder, "train")
    return CountVectorizer(dtype=np.float64).fit_transform(texts)


def responsibilities(n_rows: int, width: int) -> Floats:
    return np.random.default_rng(0).dirichlet(np.ones(width), n_rows)


def ours(X: sparse.csr_matrix, start: Floats, iterations: int, n_jobs: int = 1) -> float:
    width = start.shape[1]
    model = MultinomialMixture(width, alpha=ALPHA, tol=0, max_iter=iterations, init=start, n_jobs=n_jobs).fit(X)
    return float(model.bound_[-1])


def numpy_em(X: sparse.csr_matrix, start: Floats, iterations: int) -> float:
    """The same iterations in products of matrices; returns the bound of the last parameters."""
    transpose, shares, bound = X.T.tocsr(), start, 0.0
    for _ in range(iterations + 1):
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


def passes(X: sparse.csr_matrix, width: int, workers: parallel.WorkerPool) -> dict[str, Prepare]:
    """An iteration, and a forward and a backward pass over all columns."""
    rows = validation.as_rows(X)
    labels = MultinomialLikelihood(np.full(len(rows), -1, np.int32), np.empty(0), width)
    prior = SmoothingPrior(np.array([ALPHA]), np.array([1 / rows.n_columns]), None)
    parts = lay_out(lambda: [(rows, labels)], rows.n_columns, None, None, prior)
    em = MultinomialEM(parts, np.array([0, width]), prior, None, rows.n_columns, workers)
    start = responsibilities(len(rows), width)
    em.start(lambda _, shares: np.copyto(shares, start))
    design = Design.of(rows)
    layout, gradient = DenseWeights(design.n_features, width), np.empty(design.n_features * width)
    weights, bias, residual = np.zeros(design.n_features * width), np.zeros(width), start.copy()
    row_cuts, column_cuts = (
        list(parallel.split_by_work(design.indptr, width)),
        list(parallel.split_by_work(design.column_indptr, width)),
    )

    def iteration() -> None:
        em.expect()
        em.maximise()

    def both_passes() -> None:
        for first, last in row_cuts:
            layout.forward(design, weights, bias, first, last)
        for low, high in column_cuts:
            layout.backward(design, design.column_values, residual, low, high, gradient[layout.slice_of(low, high)])

    return {"EM": lambda: iteration, "passes": lambda: both_passes}


def of_passes(name: str, X: sparse.csr_matrix, width: int, repeat: int) -> dict[str, Any]:
    with parallel.WorkerPool(1) as workers:
        times = interleave(passes(X, width, workers), 4 * repeat)
    mine, bare = (median(times[who]) for who in ("EM", "passes"))
    return {"corpus": name, "K": width, "ms": 1e3 * mine, "passes ms": 1e3 * bare, "ratio": mine / bare}


def of_numpy(name: str, X: sparse.csr_matrix, width: int, repeat: int) -> dict[str, Any]:
    start, bounds = responsibilities(X.shape[0], width), {}

    def contender(who: str, fit: Callable[..., float]) -> Callable[[int], Prepare]:
        return lambda count: lambda: lambda: bounds.__setitem__(who, fit(X, start, count))

    found = epochs({"ours": contender("ours", ours), "NumPy": contender("NumPy", numpy_em)}, FEW, MORE, repeat)
    return {
        **compared(name, width, found["ours"], found["NumPy"], "NumPy"),
        "bound": f"{bounds['ours']:.9g}",
        "NumPy's": f"{bounds['NumPy']:.9g}",
    }


def of_threads(name: str, X: sparse.csr_matrix, width: int, repeat: int) -> dict[str, Any]:
    start = responsibilities(X.shape[0], width)
    fits = {str(n): lambda count, n=n: lambda: partial(ours, X, start, count, n) for n in (1, 2)}
    with all_cores():
        found = epochs(fits, FEW, MORE, repeat)
    return compared(name, width, found["2"], found["1"], "one thread")


def compared(name: str, width: int, mine: dict[str, float], other: dict[str, float], who: str) -> dict[str, Any]:
    """Milliseconds an iteration: of a whole fit, and of those that are added to it."""
    row: dict[str, Any] = {"corpus": name, "K": width}
    for kind in ("whole", "further"):
        row |= {kind: 1e3 * mine[kind], f"{who}, {kind}": 1e3 * other[kind], f"ratio, {kind}": other[kind] / mine[kind]}
    return row


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
