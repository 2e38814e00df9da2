"""How much sooner is LogisticRegression at its optimum than scikit-learn's, LIBLINEAR's, NLTK's?

``prices``: everybody minimises one objective, and pays for a whole fit at the loosest of his settings
that brings the finished model within a gap of 1e-6 (see ``contenders.py``). ``defaults``: whole fits at
everybody's own settings, and who stands lower afterwards. LIBLINEAR penalises its intercept, so the
comparison with it has none; with intercepts it is held against the optimum of its own objective.
scikit-learn's newton-cholesky is left out: it makes a Hessian of (features × labels)² numbers, which no
machine has room for at these widths. Wide models (``memory.py``), iterative scaling (``scaling.py``),
all solvers on one problem (``solvers.py``) and two threads follow.
"""

from __future__ import annotations

from timing import Prepare, all_cores, arguments, interleave, save, seconds, show  # before numpy: it sets the threads

# isort: split
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from statistics import median
from typing import Any

import numpy as np

import memory
import scaling
import solvers
from contenders import GAP, Contender, Objective, Price, liblinear, loosest, ours, quietly, scikit_learn
from corpora import load
from rivals import LOGISTIC_DUAL, LOGISTIC_PRIMAL

PATIENCE = 3.0  # a search ends with a fit that takes so many times as long as the fastest rival before
BUDGET = 40.0  # seconds for the rounds of one table, the first of which does not count


@dataclass(frozen=True)
class Question:
    """A data set and C; scikit-learn's solvers with guesses of their settings, LIBLINEAR's by number; whom to beat."""

    corpus: str
    C: float
    fit_intercept: bool
    scikit_learn: Mapping[str, float]
    liblinear: Sequence[int] = ()
    asked: tuple[tuple[str, float, float], ...] = ()  # (start of a rival's name, at least, aim)

    @property
    def name(self) -> str:
        return f"{self.corpus}, C = {self.C:g}{'' if self.fit_intercept else ', no intercept'}"

    def objective(self, bias_penalised: bool = False) -> Objective:
        corpus = load(self.corpus)
        return Objective(corpus.X, corpus.y, self.C, self.fit_intercept, bias_penalised)


QUESTIONS = (
    Question(
        "newsgroups",
        10.0,
        True,
        {"lbfgs": 1e-6, "newton-cg": 3e-5, "sag": 32, "saga": 32},
        asked=(("scikit-learn lbfgs", 4, 10), ("scikit-learn", 2, 4)),
    ),
    Question(
        "imdb",
        1.0,
        False,
        {"newton-cg": 1e-4, "lbfgs": 1e-3},
        (LOGISTIC_DUAL, LOGISTIC_PRIMAL),
        asked=(("LIBLINEAR", 1.5, 3),),
    ),
    Question("imdb", 1.0, True, {}, (LOGISTIC_DUAL, LOGISTIC_PRIMAL)),
)


@dataclass(frozen=True)
class Entry:
    """A contender, the objective it minimises, and the optimum of that."""

    contender: Contender
    objective: Objective
    best: float

    @property
    def name(self) -> str:
        return self.contender.name

    def above(self, model: Any) -> float:
        return self.objective.value(self.contender.weights(model)) / self.best - 1.0


def entries(question: Question) -> tuple[list[Entry], float]:
    """Everybody who takes part, ours first; and how well the optimum is known."""
    objective = question.objective()
    best, bound = objective.optimum()
    found = [Entry(ours(objective), objective, best)]
    if question.liblinear:
        own = question.objective(bias_penalised=question.fit_intercept)
        own_best = own.optimum()[0] if question.fit_intercept else best
        found += [Entry(liblinear(own, solver), own, own_best) for solver in question.liblinear]
    found += [Entry(scikit_learn(objective, *each), objective, best) for each in question.scikit_learn.items()]
    return found, bound


def prices(takers: list[Entry], bound: float, question: Question, repeat: int) -> dict[str, Any]:
    """Print the seconds to the optimum; the same figures."""
    found: dict[str, Price] = {}
    for taker in takers:
        rivals = [price.seconds for name, price in found.items() if price.reached and not name.startswith("ours")]
        limit = PATIENCE * min(rivals, default=inf)
        found[taker.name] = loosest(taker.contender, taker.objective, taker.best, limit)
    arrived = {taker.name: whole_fit(taker, found[taker.name].setting) for taker in takers if found[taker.name].reached}
    spent = timed(arrived, sum(found[name].seconds for name in arrived), repeat)
    ours_alone = spent[takers[0].name]
    rows = []
    for taker in takers:
        price, paid = found[taker.name], spent.get(taker.name)
        cells = [price.seconds, "> limit"] if paid is None else [paid, paid / ours_alone]
        rows.append([taker.name, f"{taker.contender.unit} {price.setting:.2g}", f"{price.gap:.1e}", *cells])
    title = f"to the optimum: a gap of {GAP:g} or less (the optimum is known to {bound:.0e})"
    show(title, [question.name, "setting", "gap", "s", "÷ ours"], rows)
    for start, least, aim in question.asked:
        fastest = min(((cost, name) for name, cost in spent.items() if name.startswith(start)), default=None)
        if fastest:
            print(f"({fastest[1]} takes {fastest[0] / ours_alone:.2f} times as long; at least {least}, aim {aim})")
    return {name: {**asdict(price), "seconds": spent.get(name)} for name, price in found.items()}


def defaults(takers: list[Entry], question: Question, repeat: int) -> dict[str, Any]:
    """Print what everybody's own settings take and reach; the same figures. Epochs are left out: too slow."""
    takers = [taker for taker in takers if taker.contender.unit != "epochs"]
    gaps, once = {}, 0.0
    for taker in takers:
        models: list[Any] = []
        once += quietly(lambda taker=taker, models=models: seconds(lambda: models.append(taker.contender.fit(None))))
        gaps[taker.name] = taker.above(models[0])
    spent = timed({taker.name: whole_fit(taker, None) for taker in takers}, once, repeat)
    first = takers[0].name
    rows = []
    for name, gap in gaps.items():
        verdict = "" if name == first else "ours" if gaps[first] <= gap else "THEIRS"
        rows.append([name, f"{gap:.1e}", spent[name], spent[name] / spent[first], verdict])
    show("everybody's own settings", [question.name, "gap", "s", "÷ ours", "whose is lower"], rows)
    return {name: {"gap": gaps[name], "seconds": spent[name]} for name in gaps}


def whole_fit(entry: Entry, setting: float | None) -> Prepare:
    return lambda: partial(entry.contender.fit, setting)


def timed(contenders: dict[str, Prepare], once: float, repeat: int) -> dict[str, float]:
    """Median seconds; fewer rounds than asked for when one of them takes long."""
    rounds = max(1, min(repeat, int(BUDGET / once)))
    return {name: median(times) for name, times in interleave(contenders, rounds).items()}


def threads(question: Question, repeat: int) -> dict[str, Any]:
    """Print what a second thread is worth, and whether it changes a bit; the same figures."""
    objective, rows, results = question.objective(), [], {}
    for solver in ("newton", "lbfgs", "auto"):
        sides = {n: ours(objective, solver, n_jobs=n) for n in (1, 2)}
        with all_cores():
            models = {n: quietly(lambda side=side: side.fit(None)) for n, side in sides.items()}
            times = interleave({str(n): lambda side=side: partial(side.fit, None) for n, side in sides.items()}, repeat)
        one, two = (median(times[str(n)]) for n in (1, 2))
        same = all(
            np.array_equal(getattr(models[1], each), getattr(models[2], each)) for each in ("coef_", "intercept_")
        )
        rows.append([solver, one, two, one / two, "yes" if same else "NO", 1.6, 1.9])
        results[solver] = {"one": one, "two": two, "same_bits": same}
    title = f"two threads ({question.name}, default tolerance)"
    show(title, ["solver", "one, s", "two, s", "one ÷ two", "same bits", "at least", "aim"], rows)
    return results


def against_others(repeat: int, only: str) -> list[dict[str, Any]]:
    results = []
    for question in (each for each in QUESTIONS if only in each.name):
        takers, bound = entries(question)
        results.append(
            {
                "question": question.name,
                "optimum": takers[0].best,
                "known_within": bound,
                "prices": prices(takers, bound, question, repeat),
                "defaults": defaults(takers, question, repeat),
            }
        )
    return results


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.set_defaults(repeat=3)
    parser.add_argument("--quick", action="store_true", help="one round, and without the wide models")
    options = parser.parse_args()
    if options.quick:
        options.repeat = 1
    only = options.only or ""
    parts: dict[str, Callable[[], Any]] = {
        "solvers": solvers.compare,
        "scaling": lambda: scaling.compare(options.repeat),
        "threads": lambda: threads(QUESTIONS[0], options.repeat),
        "memory": memory.compare,
    }
    results: dict[str, Any] = {"others": against_others(options.repeat, only)}
    for name, part in parts.items():
        if only in name and not (options.quick and name == "memory"):
            results[name] = part()
    save("batch", results)


if __name__ == "__main__":
    main()
