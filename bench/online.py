"""How much faster is an epoch than scikit-learn's or Vowpal Wabbit's, and at what accuracy?

An epoch is timed as a fit of five over five, so it bears its share of checks and set-up, and again as
what five more epochs add. Every comparison runs in turns on one core. LIBLINEAR, which has no epochs
to compare, is asked in ``objectives.py``, and accuracy in ``accuracy.py``; this script runs them too.
"""

from __future__ import annotations

from timing import Prepare, arguments, epochs, interleave, save, show  # before numpy: it sets the threads

# isort: split
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import sklearn.linear_model

import accuracy
import fastlin
import objectives
from corpora import Corpus, load
from learners import NAIVE_BAYES, PAIRS, fixed_settings
from rivals import VowpalWabbit, VowpalWabbitPasses

FEW, MORE = 5, 5
VW_RATE = 5e-4
COLUMNS = ["question", "ours ms", "rival ms", "rival ÷ ours", "further epochs", "at least", "aim"]


@dataclass(frozen=True)
class Question:
    """Seconds of an epoch against scikit-learn's; the factors asked for and hoped for."""

    learner: str
    corpus: str
    least: float
    aim: float

    @property
    def name(self) -> str:
        return f"{self.learner}, {self.corpus}"


QUESTIONS = [
    Question("perceptron", "newsgroups", 4, 8),
    Question("perceptron", "zipf", 3, 5),
    Question("perceptron averaged", "newsgroups", 3, 6),
    Question("perceptron averaged", "zipf", 2, 4),
    Question("SGD log loss", "newsgroups", 7, 14),
    Question("SGD log loss", "zipf", 10, 22),
    Question("PA-I", "newsgroups", 3, 6),
    Question("PA-I", "zipf", 3, 6),
]


def fits(make: Callable[..., Any], settings: dict[str, Any], X: Any, y: np.ndarray) -> Callable[[int], Prepare]:
    """For ``timing.epochs``: a fresh estimator, and its fit of a number of epochs as what is timed."""
    return lambda count: lambda: partial(make(max_iter=count, **settings).fit, X, y)


def row(name: str, ours: dict[str, float], rival: dict[str, float], least: object, aim: object) -> list[object]:
    whole, further = (rival[way] / ours[way] for way in ("whole", "further"))
    return [name, ours["whole"] * 1e3, rival["whole"] * 1e3, whole, further, least, aim]


def against_scikit_learn(options: Any) -> list[dict[str, Any]]:
    """The learners of many labels, both sides with float64 rows."""
    rows, results = [], []
    for question in wanted(QUESTIONS, options.only):
        corpus, pair = load(question.corpus), PAIRS[question.learner]
        settings = fixed_settings(question.learner, question.corpus)
        sides = {side: fits(getattr(pair, side), settings, corpus.X, corpus.y) for side in ("ours", "rival")}
        spent = epochs(sides, FEW, MORE, options.repeat)
        rows.append(row(question.name, spent["ours"], spent["rival"], question.least, question.aim))
        results.append({"question": question.name, **spent})
    show_some("an epoch against scikit-learn's", COLUMNS, rows)
    return results


def naive_bayes(options: Any) -> list[dict[str, Any]]:
    """Fit, first predict (which makes the logarithms) and later predicts."""
    rows, results = [], []
    asked = {"fit": (6, 15), "first predict": ("", ""), "predict": (3, 6), "fit + first predict": ("", "")}
    for name in wanted(["naive Bayes, newsgroups", "naive Bayes, zipf"], options.only):
        corpus = load(name.split(", ")[1])
        contenders = {
            f"{side}:{step}": prepare
            for side in ("ours", "rival")
            for step, prepare in naive_bayes_steps(partial(getattr(NAIVE_BAYES, side), alpha=0.01), corpus).items()
        }
        spent = {key: median(times) for key, times in interleave(contenders, options.repeat, process_time).items()}
        for side in ("ours", "rival"):
            spent[f"{side}:fit + first predict"] = spent[f"{side}:fit"] + spent[f"{side}:first predict"]
        for step, (least, aim) in asked.items():
            ours, rival = spent[f"ours:{step}"], spent[f"rival:{step}"]
            rows.append([f"{name}: {step}", ours * 1e3, rival * 1e3, rival / ours, least, aim])
        results.append({"question": name, **spent})
    show_some("naive Bayes against scikit-learn's", [*COLUMNS[:4], *COLUMNS[5:]], rows)
    return results


def naive_bayes_steps(make: Callable[[], Any], corpus: Corpus) -> dict[str, Prepare]:
    def fitted() -> Any:
        return make().fit(corpus.X, corpus.y)

    ready = fitted()
    ready.predict(corpus.X_test)
    return {
        "fit": lambda: partial(make().fit, corpus.X, corpus.y),
        "first predict": lambda: partial(fitted().predict, corpus.X_test),
        "predict": lambda: partial(ready.predict, corpus.X_test),
    }


def binary(options: Any) -> list[dict[str, Any]]:
    """One column, a million and a half features: scikit-learn and Vowpal Wabbit (a float32 learner)."""
    name = "binary SGD log loss, imdb"
    if not wanted([name], options.only):
        return []
    corpus, pair = load("imdb"), PAIRS["SGD log loss"]
    settings = fixed_settings("SGD log loss", "imdb")
    narrow = corpus.X.astype(np.float32)
    wabbit = VowpalWabbit(corpus.X, corpus.y, VW_RATE)

    def repeated(run: Callable[[], None]) -> Callable[[int], Prepare]:
        return lambda count: lambda: lambda: [run() for _ in range(count)]

    with tempfile.TemporaryDirectory() as folder:
        cached = VowpalWabbitPasses(corpus.X, corpus.y, VW_RATE, Path(folder))
        contenders = {
            "ours float64": fits(pair.ours, settings, corpus.X, corpus.y),
            "ours float32": fits(pair.ours, settings, narrow, corpus.y),
            "scikit-learn float64": fits(pair.rival, settings, corpus.X, corpus.y),
            "scikit-learn float32": fits(pair.rival, settings, narrow, corpus.y),
            "VW learning": repeated(wabbit.epoch),
            "binding": repeated(wabbit.binding),
            "VW cached passes": lambda count: lambda: partial(cached.passes, count),
        }
        spent = epochs(contenders, FEW, MORE, options.repeat)
    binding = spent.pop("binding")
    spent["VW learning"] = {way: spent["VW learning"][way] - binding[way] for way in binding}
    rows = [
        row(f"{name}: {rival}, {ours}", spent[ours], spent[rival], *asked)
        for ours, rival, asked in (
            ("ours float64", "scikit-learn float64", (1.5, 3)),
            ("ours float32", "scikit-learn float32", (1.5, 3)),
            ("ours float64", "VW learning", (4, 10)),
            ("ours float32", "VW learning", (4, 10)),
            ("ours float64", "VW cached passes", (4, 10)),
            ("ours float32", "VW cached passes", (4, 10)),
        )
    ]
    show_some("two labels", COLUMNS, rows)
    print(f"(VW's model is right on {wabbit.score(corpus.y):.1%} of the rows it has learnt from)")
    wabbit.close()
    return [{"question": name, **spent}]


def regression(options: Any) -> list[dict[str, Any]]:
    """Real targets: the logarithm of how many different words a document has, from its tf-idf values."""
    rows, results = [], []
    for loss in wanted(["squared_error", "huber", "epsilon_insensitive"], options.only):
        corpus, settings = load("newsgroups"), {"loss": loss, "alpha": 1e-5, "tol": None, "random_state": 0}
        targets = np.log1p(np.diff(corpus.X.indptr))
        kinds = {"ours": fastlin.SGDRegressor, "rival": sklearn.linear_model.SGDRegressor}
        sides = {side: fits(kind, settings, corpus.X, targets) for side, kind in kinds.items()}
        spent = epochs(sides, FEW, MORE, options.repeat)
        name = f"SGDRegressor {loss}, newsgroups"
        rows.append(row(name, spent["ours"], spent["rival"], 1.5, 3))
        results.append({"question": name, **spent})
    show_some("regression against scikit-learn's", COLUMNS, rows)
    return results


def wanted(questions: list[Any], only: str | None) -> list[Any]:
    return [question for question in questions if not only or only in getattr(question, "name", question)]


def show_some(title: str, columns: list[str], rows: list[list[object]]) -> None:
    if rows:
        show(title, columns, rows)


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three rounds, and no test of accuracy")
    options = parser.parse_args()
    if options.quick:
        options.repeat = min(options.repeat, 3)
    results: dict[str, Any] = {
        "scikit_learn": against_scikit_learn(options),
        "naive_bayes": naive_bayes(options),
        "binary": binary(options),
        "regression": regression(options),
        "liblinear": objectives.compare(options.repeat, options.only or ""),
    }
    if not options.quick:
        results["accuracy"] = accuracy.compare(options.only or "")
    save("online", results)


if __name__ == "__main__":
    main()
