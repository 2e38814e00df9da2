"""How much sooner than its rivals does LogisticRegression reach a share of the optimum, sparse or under weak priors?

Every fit is without an intercept, which LIBLINEAR would penalise. The share is that above the best objective known:
our own fit at a tolerance that leaves it nothing. Each side gets the loosest of its tolerances that is within the
share, searched before the clock starts; for SAGA, whose tolerance measures steps, a number of epochs. Beside it,
defaults against defaults: our certified 1e-4 against whatever LIBLINEAR's own tolerance gives. Times are CPU seconds
of whole fits, LIBLINEAR's of training a problem already in its own format. What a second thread gains is told by the
clock on the wall, of fits whose bits are compared.
"""

from __future__ import annotations

from timing import arguments, save, show  # before numpy: it sets the threads

# isort: split
import gc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression as Peer

from corpora import Corpus, load
from fastlin import LogisticRegression
from rivals import LOGISTIC_DUAL, LOGISTIC_L1, LOGISTIC_PRIMAL, Liblinear

OURS = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)
TOLERANCES = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7)
EPOCHS = (3, 10, 30, 100)  # of SAGA
TIGHT = 1e-9
DEFAULT = "defaults"


@dataclass(frozen=True)
class Question:
    """A corpus, a penalty, a share of the optimum (None: defaults), and the factors asked for and hoped for."""

    corpus: str
    l1_ratio: float
    C: float
    gap: float | None
    least: float
    aim: float

    @property
    def name(self) -> str:
        penalty = {0.0: "L2", 1.0: "L1"}.get(self.l1_ratio, "elastic net")
        return f"{self.corpus}, {penalty}, C = {self.C:g}"


QUESTIONS = (
    *(Question("acq", 1, C, 1e-4, *asked) for C, asked in ((0.1, (2, 5)), (1, (2, 5)), (10, (1.2, 2.5)))),
    *(Question("acq", 1, C, 1e-4, 1.2, 2.5) for C in (100, 1000)),
    *(Question("acq", 1, C, None, 0.5, 1.5) for C in (0.1, 1, 10, 100, 1000)),
    *(Question("imdb-tfidf", 1, C, 1e-4, *asked) for C, asked in ((0.1, (2, 5)), (1, (2, 5)), (10, (1.2, 2.5)))),
    Question("imdb-tfidf", 1, 100, 1e-4, 1.2, 2.5),
    *(Question("imdb-tfidf", 1, C, None, 0.5, 1.5) for C in (0.1, 1, 10, 100)),
    *(Question("imdb-bigrams", 1, C, 1e-4, *asked) for C, asked in ((1, (2, 5)), (10, (1.2, 2.5)))),
    *(Question("letters", 1, C, 1e-4, 10, 28) for C in (0.1, 1, 10)),
    Question("bodies", 1, 1, 1e-3, 5, 10),
    Question("bodies", 1, 10, 1e-3, 40, 60),
    *(Question("imdb-tfidf", 0.5, C, 1e-4, 20, 100) for C in (1, 10)),
    *(Question(name, 0, C, 1e-4, 1.1, 2) for name in ("acq", "imdb-tfidf") for C in (1e2, 1e3, 1e4)),
)

THREADED = (*(Question("imdb-tfidf", 1, C, None, 1.3, 1.8) for C in (1, 10)), Question("bodies", 1, 1, None, 1.3, 1.8))

Fit = Callable[[float], np.ndarray]  # the weights at a tolerance, [K, V] or [V]


def objective(corpus: Corpus, weights: np.ndarray, question: Question) -> float:
    """−Σ log p + (1/C)(r‖θ‖₁ + ½ (1 − r)‖θ‖²)."""
    weights = np.atleast_2d(weights)
    scores = corpus.X @ weights.T
    if len(weights) == 1:
        scores = np.column_stack([np.zeros(len(corpus.y)), scores])
    loss = logsumexp(scores, axis=1) - scores[np.arange(len(corpus.y)), corpus.y]
    l1 = question.l1_ratio
    return float(loss.sum()) + float(l1 * np.abs(weights).sum() + 0.5 * (1 - l1) * np.sum(weights**2)) / question.C


def ours(question: Question, corpus: Corpus, tolerance: float, threads: int = 1) -> np.ndarray:
    shared = {"fit_intercept": False, "max_iter": 1000, "n_jobs": threads}
    model = LogisticRegression(C=question.C, l1_ratio=question.l1_ratio, tol=tolerance, **shared)
    return np.asarray(model.fit(corpus.X, corpus.y).coef_)


def peer(question: Question, corpus: Corpus, solver: str, tolerance: float) -> np.ndarray:
    """scikit-learn's: a tolerance, or a number of epochs of SAGA."""
    limit = {"tol": 0.0, "max_iter": int(tolerance)} if solver == "saga" else {"tol": tolerance, "max_iter": 1000}
    model = Peer(C=question.C, l1_ratio=question.l1_ratio, solver=solver, fit_intercept=False, random_state=0, **limit)
    return np.asarray(model.fit(corpus.X, corpus.y).coef_)


def liblinear(problem: Liblinear, tolerance: float | None) -> np.ndarray:
    return problem.weights(problem.train(tolerance))


@cache
def best(question: Question) -> float:
    corpus = load(question.corpus)
    return objective(corpus, ours(question, corpus, TIGHT), question)


def rivals(question: Question, corpus: Corpus) -> dict[str, tuple[Fit, Sequence[float]]]:
    """What the question is asked of beside us, and the tolerances to choose from."""
    if question.l1_ratio > 0 and (question.corpus == "bodies" or question.l1_ratio < 1):
        return {"SAGA": (partial(peer, question, corpus, "saga"), EPOCHS)}
    solvers = {"newGLMNET": LOGISTIC_L1} if question.l1_ratio else {"TRON": LOGISTIC_PRIMAL, "dual": LOGISTIC_DUAL}
    found: dict[str, tuple[Fit, Sequence[float]]] = {}
    for name, solver in solvers.items():
        problem = Liblinear(corpus.X, corpus.y, solver, question.C)
        found[f"LIBLINEAR, {name}"] = partial(liblinear, problem), TOLERANCES
    if not question.l1_ratio:
        found["newton-cg"] = partial(peer, question, corpus, "newton-cg"), TOLERANCES
    return found


def loosest(fit: Fit, tolerances: Sequence[float], question: Question, corpus: Corpus) -> tuple[Any, float]:
    """The first tolerance that is within the share of the best, or the last, and the share above it."""
    above = np.inf
    for tolerance in tolerances:
        above = objective(corpus, fit(tolerance), question) / best(question) - 1
        if question.gap is not None and above <= question.gap:
            break
    return tolerance, above


def cpu_seconds(runs: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """The median of rounds in turns."""
    spent: dict[str, list[float]] = {name: [] for name in runs}
    gc.collect()
    for turn in range(repeat):
        for name in runs if turn % 2 else reversed(list(runs)):
            start = process_time()
            runs[name]()
            spent[name].append(process_time() - start)
    return {name: median(each) for name, each in spent.items()}


def compare(question: Question, repeat: int) -> list[dict[str, Any]]:
    """One answer a rival."""
    corpus = load(question.corpus)
    contenders: dict[str, tuple[Fit, Sequence[Any]]] = {"ours": (partial(ours, question, corpus), OURS)}
    contenders |= rivals(question, corpus)
    if question.gap is None:  # LIBLINEAR's own tolerance is None
        contenders = {name: (fit, (1e-4 if name == "ours" else None,)) for name, (fit, _) in contenders.items()}
    chosen = {name: loosest(*each, question, corpus) for name, each in contenders.items()}
    runs = {name: partial(fit, chosen[name][0]) for name, (fit, _) in contenders.items()}
    seconds = cpu_seconds(runs, repeat)
    return [
        {
            "question": question.name, "gap": question.gap, "rival": name, "least": question.least,
            "aim": question.aim, "seconds": {"ours": seconds["ours"], "theirs": seconds[name]},
            "above": {"ours": chosen["ours"][1], "theirs": chosen[name][1]},
            "tolerance": {"ours": chosen["ours"][0], "theirs": chosen[name][0]},
        }
        for name in runs
        if name != "ours"
    ]  # fmt: skip


def second_thread(question: Question, repeat: int) -> dict[str, Any]:
    """Seconds by the clock of our own fits at the default tolerance in one thread and in two."""
    corpus, spent, found = load(question.corpus), {1: [], 2: []}, {}
    for _ in range(repeat):
        for threads, seconds in spent.items():
            start = perf_counter()
            found[threads] = ours(question, corpus, 1e-4, threads)
            seconds.append(perf_counter() - start)
    if not np.array_equal(found[1], found[2]):
        raise SystemExit(f"{question.name}: two threads give other bits than one")
    seconds = {"two threads": median(spent[2]), "one thread": median(spent[1])}
    return {"question": question.name, "least": question.least, "aim": question.aim, "seconds": seconds}


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    heads = ["question", "gap", "rival", "ours s", "theirs s", "ours above", "theirs", "ratio", "at least", "aim"]
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for question in (each for each in QUESTIONS if not options.only or options.only in each.name):
            rows = []
            for answer in compare(question, options.repeat):
                mine, theirs = answer["seconds"].values()
                above = [f"{each:.0e}" for each in answer["above"].values()]
                gap = DEFAULT if question.gap is None else f"{question.gap:.0e}"
                asked = question.least, question.aim
                rows.append([question.name, gap, answer["rival"], mine, theirs, *above, theirs / mine, *asked])
                results.append(answer)
            show(question.name, heads, rows)
        rows = []
        for question in (each for each in THREADED if not options.only or options.only in "threads, " + each.name):
            answer = second_thread(question, options.repeat)
            two, one = answer["seconds"].values()
            rows.append([question.name, two, one, one / two, question.least, question.aim])
            results.append(answer)
        if rows:
            show("A second thread", ["question", "two threads s", "one s", "ratio", "at least", "aim"], rows)
    save("sparse", results)


if __name__ == "__main__":
    main()
