"""What does a path of regularisation strengths cost, alone and by folds?

A path of 20 C's with an L1 norm, every point certified to 1e-3 or 1e-4, against a loop of LIBLINEAR's fits, each at
the loosest of its tolerances that is within 1e-4 of the optimum of its C. Searches over folds: 3 folds and 5 values
against loops of our own fits, cold and with `warm_start`; all defaults against scikit-learn's, whose largest distance
from the optima of one fold's fits stands beside ours. Times are CPU seconds of whole searches, the refit included;
LIBLINEAR's are of training a problem already in its own format.
"""

from __future__ import annotations

from timing import arguments, save, show  # before numpy: it sets the threads

# isort: split
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn.linear_model as theirs
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold

from corpora import canonical, documents, load
from fastlin import LogisticRegression, LogisticRegressionCV
from rivals import LOGISTIC_L1, Liblinear
from sparse import TOLERANCES, Question, best, cpu_seconds, objective

LIBLINEAR_SHARE = 1e-4  # above the optimum
PATHS = {"acq": np.geomspace(0.1, 100, 20), "imdb-tfidf": np.geomspace(0.1, 10, 20)}
FEW_CS = [0.01, 0.1, 1.0, 10.0, 100.0]
Rows = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Answer:
    """CPU seconds of both sides, how far each is above the optimum at most, and the factors asked for and hoped for."""

    question: str
    rival: str
    seconds: tuple[float, float]
    above: tuple[float, float]
    least: float
    aim: float


def sentences(rows: int) -> Rows:
    """Sentences of film reviews, with the label of the review: short rows, two labels."""
    pairs = zip(*documents("movie_reviews", "train"), strict=True)
    found = [(label, one) for label, text in pairs for one in re.split(r" [.?!] ", text) if len(one.split()) > 3]
    chosen = np.random.default_rng(0).permutation(len(found))[:rows]
    X = TfidfVectorizer(min_df=2).fit_transform([found[row][1] for row in chosen])
    return canonical(X), np.array([found[row][0] == "pos" for row in chosen]).astype(int)


def l1_path(name: str, tol: float) -> LogisticRegressionCV:
    """All rows once along the path."""
    corpus = load(name)
    model = LogisticRegressionCV(Cs=PATHS[name], penalty="l1", fit_intercept=False, tol=tol, max_iter=1000, refit=False)
    return model.fit(corpus.X, corpus.y, X_val=corpus.X[:1], y_val=corpus.y[:1])


def loose_enough(name: str) -> tuple[list[Callable[[], Any]], float]:
    """LIBLINEAR's fits along the path, and how far they are from the optima at most."""
    corpus, runs, above = load(name), [], 0.0
    for C in PATHS[name]:
        problem, question = Liblinear(corpus.X, corpus.y, LOGISTIC_L1, C), Question(name, 1, C, None, 0, 0)
        for tolerance in TOLERANCES:
            excess = objective(corpus, problem.weights(problem.train(tolerance)), question) / best(question) - 1
            if excess <= LIBLINEAR_SHARE:
                break
        runs.append(partial(problem.train, tolerance))
        above = max(above, excess)
    return runs, above


def l1_paths(repeat: int, only: str) -> Iterator[Answer]:
    for name, (tol, least, aim) in ((name, asked) for name in PATHS for asked in ((1e-3, 2.5, 5), (1e-4, 1.2, 2.5))):
        question = f"path, L1, {name}, certified {tol:.0e}"
        if only not in question:
            continue
        loop, above = loose_enough(name)
        spent = cpu_seconds(
            {"ours": partial(l1_path, name, tol), "theirs": lambda loop=loop: [run() for run in loop]}, repeat
        )
        ours = max(record["duality_gap"] for record in l1_path(name, tol).path_)
        yield Answer(question, "LIBLINEAR, a loop", (spent["ours"], spent["theirs"]), (ours, above), least, aim)


def fold_loop(X: Any, y: np.ndarray, l1_ratio: float, warm: bool) -> None:
    """What users write by hand."""
    for train, test in StratifiedKFold(3).split(X, y):
        model = LogisticRegression(l1_ratio=l1_ratio, warm_start=warm, max_iter=1000)
        rows, labels, held, true = X[train], y[train], X[test], y[test]
        for C in FEW_CS:
            model.set_params(C=C).fit(rows, labels).score(held, true)


def few_values(repeat: int, only: str) -> Iterator[Answer]:
    imdb = load("imdb-tfidf")
    for name, (X, y), l1_ratio in (
        ("sentences", sentences(8000), 0.0), ("sentences", sentences(2000), 1.0), ("imdb-tfidf", (imdb.X, imdb.y), 0.0)
    ):  # fmt: skip
        question = f"3 folds, 5 values, {name}, {'L1' if l1_ratio else 'L2'}"
        if only not in question:
            continue
        model = LogisticRegressionCV(Cs=FEW_CS, cv=3, l1_ratios=[l1_ratio], max_iter=1000)
        runs = {
            "ours": partial(model.fit, X, y), "cold fits, a loop": partial(fold_loop, X, y, l1_ratio, False),
            "warm fits, a loop": partial(fold_loop, X, y, l1_ratio, True),
        }  # fmt: skip
        spent = cpu_seconds(runs, repeat)
        gap = max(record["duality_gap"] for record in model.path_)
        for rival in list(runs)[1:]:
            yield Answer(question, rival, (spent["ours"], spent[rival]), (gap, 1e-4), 1, 1.5)


def excess(X: Any, y: np.ndarray, model: Any) -> float:
    """How far the weights of the first fold's fits are above their optima, at most."""
    train, _ = next(iter(StratifiedKFold(5).split(X, y)))
    rows, sign, largest = X[train], 2 * y[train] - 1, 0.0
    for C, weights in zip(model.Cs_, model.coefs_paths_[0, 0, :, 0], strict=True):
        reached = (
            np.logaddexp(0, -sign * (rows @ weights[:-1] + weights[-1])).sum() + weights[:-1] @ weights[:-1] / 2 / C
        )
        optimum = LogisticRegression(C=C, tol=1e-8, max_iter=1000).fit(rows, y[train]).objective_
        largest = max(largest, reached / optimum - 1)
    return float(largest)


def defaults(repeat: int, only: str) -> Iterator[Answer]:
    for rows in (2000, 8000):
        question = f"defaults, sentences, {rows} rows"
        if only not in question:
            continue
        X, y = sentences(rows)
        ours, peer = LogisticRegressionCV(), theirs.LogisticRegressionCV(l1_ratios=(0,), use_legacy_attributes=False)
        spent = cpu_seconds({"ours": partial(ours.fit, X, y), "theirs": partial(peer.fit, X, y)}, repeat)
        above = excess(X, y, ours), excess(X, y, peer)
        yield Answer(question, "scikit-learn", (spent["ours"], spent["theirs"]), above, 2, 2)


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    heads = ["question", "rival", "ours s", "theirs s", "ours above", "theirs", "ratio", "at least", "aim"]
    answers: list[Answer] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for asked in (l1_paths, few_values, defaults):
            answers += asked(options.repeat, options.only or "")
    rows = [
        [each.question, each.rival, *each.seconds, *(f"{above:.0e}" for above in each.above),
         each.seconds[1] / each.seconds[0], each.least, each.aim]
        for each in answers
    ]  # fmt: skip
    show("paths", heads, rows)
    save("paths", [vars(each) for each in answers])


if __name__ == "__main__":
    main()
