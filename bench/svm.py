"""How much sooner than LIBLINEAR does LinearSVC reach the same share of the optimum?

Both minimise ½‖θ‖² + C Σ loss without an intercept. Ours is asked for a relative duality gap; LIBLINEAR gets the
loosest of its tolerances that brings its objective within the same share of the best dual objective known, and where
two of its solvers are asked, the faster of those that get there counts. Times are CPU seconds of the whole fit against
LIBLINEAR's training of a problem already in its own format.
"""

from __future__ import annotations

from timing import arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
import warnings
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from corpora import Corpus, load
from fastlin import LinearSVC
from rivals import CRAMMER_SINGER, HINGE_DUAL, Liblinear

SQUARED_HINGE_DUAL, SQUARED_HINGE_PRIMAL = 1, 2
SQUARED_HINGE = (SQUARED_HINGE_DUAL, SQUARED_HINGE_PRIMAL)
GAPS = (1e-3, 1e-6)
TIGHT = 1e-7  # the gap of what is called the best
TOLERANCES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


@dataclass(frozen=True)
class Question:
    """A corpus, the solvers of LIBLINEAR for a loss, the factors asked for and hoped for, and at which gaps."""

    corpus: str
    solvers: tuple[int, ...]
    C: float
    least: float
    aim: float
    gaps: tuple[float, ...] = GAPS

    @property
    def name(self) -> str:
        return f"{self.corpus} -s {' or '.join(map(str, self.solvers))}, C = {self.C:g}"

    @property
    def squared(self) -> bool:
        return self.solvers[0] in SQUARED_HINGE

    @property
    def joint(self) -> bool:
        return self.solvers[0] == CRAMMER_SINGER

    def ours(self, gap: float) -> LinearSVC:
        return LinearSVC(
            loss="squared_hinge" if self.squared else "hinge",
            multi_class="crammer_singer" if self.joint else "ovr",
            C=self.C,
            tol=gap,
            fit_intercept=False,
            random_state=0,
            max_iter=10_000,
        )


QUESTIONS = (
    Question("imdb", (HINGE_DUAL,), 1e-3, 1.2, 2),
    Question("imdb", (HINGE_DUAL,), 1.0, 1.2, 2),
    Question("newsgroups", (HINGE_DUAL,), 1.0, 1.2, 2),
    Question("imdb", (SQUARED_HINGE_DUAL,), 1e-3, 1.2, 2),
    Question("imdb", (SQUARED_HINGE_DUAL,), 1.0, 1.2, 2),
    Question("newsgroups", (SQUARED_HINGE_DUAL,), 1.0, 1.2, 2),
    Question("newsgroups", (CRAMMER_SINGER,), 1.0, 2, 5),
    *(
        Question(name, SQUARED_HINGE, C, 1, 3, (1e-4,))
        for name in ("acq", "imdb-tfidf", "breast", "digits")
        for C in (1.0, 10.0, 100.0, 1000.0)
    ),
)


def objective(corpus: Corpus, weights: np.ndarray, question: Question) -> float:
    """½‖θ‖² + C Σ loss of a vector of weights, label 1 against label 0, or of a row for every label."""
    rows, y, weights = np.arange(len(corpus.y)), corpus.y, np.atleast_2d(weights)
    scores = corpus.X @ weights.T
    if question.joint:
        own = scores[rows, y].copy()
        scores += 1
        scores[rows, y] -= 1
        losses = scores.max(axis=1) - own
    else:
        labels = np.arange(len(weights)) if len(weights) > 1 else np.array([1])
        losses = np.maximum(0.0, 1.0 - np.where(y[:, None] == labels, scores, -scores))
        losses = losses**2 if question.squared else losses
    return 0.5 * float(np.sum(weights**2)) + question.C * float(losses.sum())


def loosest(problem: Liblinear, corpus: Corpus, question: Question, best: float) -> dict[float, tuple[float, float]]:
    """For each gap, the first of the tolerances that reaches it, else the last, and the share above the best."""
    found: dict[float, tuple[float, float]] = {}
    for tolerance in TOLERANCES:
        above = objective(corpus, problem.weights(problem.train(tolerance)), question) / best - 1
        for gap in question.gaps:
            if above <= gap and gap not in found:
                found[gap] = tolerance, above
        if len(found) == len(question.gaps):
            break
    return {gap: found.get(gap, (tolerance, above)) for gap in question.gaps}


def compare(question: Question, repeat: int) -> list[dict[str, Any]]:
    corpus = load(question.corpus)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = question.ours(TIGHT).fit(corpus.X, corpus.y).certificate_["dual_objective"]
    problems = {f"-s {solver}": Liblinear(corpus.X, corpus.y, solver, question.C) for solver in question.solvers}
    settings = {name: loosest(problem, corpus, question, best) for name, problem in problems.items()}
    answers = []
    for gap in question.gaps:
        model = question.ours(gap).fit(corpus.X, corpus.y)
        runs = {name: partial(problem.train, settings[name][gap][0]) for name, problem in problems.items()}
        runs["ours"] = partial(question.ours(gap).fit, corpus.X, corpus.y)
        times = interleave({name: lambda run=run: run for name, run in runs.items()}, repeat, process_time)
        seconds = {name: median(each) for name, each in times.items()}
        fastest = min(problems, key=lambda name: (settings[name][gap][1] > gap, seconds[name]))
        tolerance, above = settings[fastest][gap]
        answers.append(
            {
                "question": question.name,
                "gap": gap,
                "seconds": {"ours": seconds.pop("ours"), "LIBLINEAR": seconds[fastest]},
                "of each": {name: (*settings[name][gap], each) for name, each in seconds.items()},
                "above": {"ours": model.objective_ / best - 1, "LIBLINEAR": above},
                "tolerance": f"{fastest} -e {tolerance:g}",
                "visits": sum(record["active"] for record in model.history_) / len(corpus.y),
            }
        )
    return answers


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    heads = ["gap", "ours ms", "LIBLINEAR ms", "ours above", "theirs", "options", "ratio", "at least", "aim"]
    results = []
    for question in (each for each in QUESTIONS if not options.only or options.only in each.name):
        rows = []
        for answer in compare(question, options.repeat):
            ours, theirs = answer["seconds"]["ours"], answer["seconds"]["LIBLINEAR"]
            above = [f"{answer['above'][side]:.0e}" for side in ("ours", "LIBLINEAR")]
            gap, tolerance = f"{answer['gap']:.0e}", answer["tolerance"]
            asked = question.least, question.aim
            rows.append([gap, ours * 1e3, theirs * 1e3, *above, tolerance, theirs / ours, *asked])
            results.append(answer)
        show(question.name, heads, rows)
    save("svm", results)


if __name__ == "__main__":
    main()
