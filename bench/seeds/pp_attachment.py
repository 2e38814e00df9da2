"""Does "with a telescope" belong to the verb or to the noun?

Ratnaparkhi's table of maximum entropy models of prepositional phrase attachment, on his own data:
20,801 quadruples to learn from, 4,039 to choose settings on, 3,097 to be judged on, once.
"""

from __future__ import annotations

from common import Matrices, Parts, Question, decide, draw_curve, report, save  # before numpy: it sets the threads

# isort: split
from collections import Counter
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline

from fastlin import CategoricalNB, LogisticRegression
from fastlin.select import SelectFeatures
from quadruples import (
    DEFAULT_CUTOFF,
    PREPOSITION,
    Quadruple,
    View,
    backed_off,
    indicators,
    lemmas,
    load,
    shapes,
    subsets,
    words,
)

SELECTED = 387
ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def parts() -> tuple[Parts, Parts]:
    """The training rows, to be judged on the development part and on the test part."""
    rows, y = load("train")
    return Parts(rows, y, *load("dev")), Parts(rows, y, *load("test"))


def with_values(
    views: Sequence[View], rows: Sequence[Quadruple], y: np.ndarray, held_out: Sequence[Quadruple], cutoff: int = 1
) -> Matrices:
    """The indicators, and a backed-off value for every subset."""
    columns = [indicators(views, rows, y, held_out, cutoff)]
    columns += [tuple(map(sparse.csr_matrix, backed_off(view, rows, y, held_out))) for view in views]
    learnt, judged = (sparse.hstack(blocks, format="csr") for blocks in zip(*columns, strict=True))
    return learnt, judged


def maxent(C: float, **options: Any) -> LogisticRegression:
    return LogisticRegression(C=C, random_state=0, **options)


def selector(method: str = "greedy") -> SelectFeatures:
    return SelectFeatures(SELECTED, method=method, C=1.0)


def selected(C: float, method: str = "greedy") -> Any:
    """A model of `SELECTED` features alone: those of greedy induction, or the best by a score of their own."""
    return make_pipeline(selector(method), maxent(C))


QUESTIONS = (
    Question(
        "default: words",
        partial(indicators, [words]),
        partial(maxent, weights="observed", cutoff=DEFAULT_CUTOFF),
        "82.0 % (4,028 features, 10 min)",
        Cs=(1.0,),
    ),
    Question(
        "tuned: lemmas, shapes",
        partial(indicators, [lemmas, shapes]),
        maxent,
        "83.7 % (83,875 features)",
        goal=83.7,
        feature_settings=[{"cutoff": cutoff} for cutoff in (1, 2, 3)],
    ),
    Question(
        "tuned: and backed-off values",
        partial(with_values, [lemmas, shapes]),
        maxent,
        "83.7 % (83,875 features)",
        goal=84.5,
        feature_settings=[{"cutoff": cutoff} for cutoff in (1, 2, 3)],
        Cs=(0.01, 0.03, 0.1, 0.3),
    ),
    Question(
        "selected: by information gain",
        partial(indicators, [lemmas, shapes]),
        partial(selected, method="information_gain"),
        "",
        feature_settings=[{"cutoff": DEFAULT_CUTOFF}],
        Cs=(0.3, 1.0, 3.0),
    ),
    Question(
        "selected: greedy",
        partial(indicators, [lemmas, shapes]),
        selected,
        "80.5 % (387 features, 30 h)",
        goal=80.5,
        feature_settings=[{"cutoff": DEFAULT_CUTOFF}],
        Cs=(0.3, 1.0, 3.0),
    ),
)


def baseline(dev: Parts, test: Parts) -> dict[str, Any]:
    """The more frequent label of the preposition."""
    start = perf_counter()
    votes: Counter[str] = Counter()
    for row, label in zip(dev.rows, dev.y, strict=True):
        votes[subsets(words, row)[PREPOSITION]] += 1 if label else -1
    spent = perf_counter() - start

    def accuracy(part: Parts) -> float:
        predicted = np.array([votes[subsets(words, row)[PREPOSITION]] >= 0 for row in part.held_out])
        return 100.0 * float(np.mean(predicted == part.y_held_out))

    return {
        "question": "majority of the preposition",
        "settings": {},
        "features": len(votes),
        "dev": accuracy(dev),
        "test": accuracy(test),
        "seconds": spent,
        "published": "70.4 %",
        "goal": 0.0,
    }


def around_the_preposition(quadruple: Quadruple) -> list[str]:
    """The preposition, alone and with each of the lemmas."""
    v, n1, p, n2 = lemmas(quadruple)
    return [p, f"{v} {p}", f"{n1} {p}", f"{p} {n2}"]


def naive_bayes(name: str, view: View, dev: Parts, test: Parts) -> dict[str, Any]:
    """A distribution over the words of each position; alpha is chosen on the development part."""

    def judged(alpha: float, part: Parts) -> tuple[float, CategoricalNB]:
        model = CategoricalNB(alpha=alpha).fit(list(map(view, part.rows)), part.y)
        return 100.0 * model.score(list(map(view, part.held_out)), part.y_held_out), model

    chosen = max(ALPHAS, key=lambda alpha: judged(alpha, dev)[0])
    start = perf_counter()
    accuracy, model = judged(chosen, test)
    return {
        "question": f"naive Bayes: {name}",
        "settings": {"alpha": chosen},
        "features": int(model.n_categories_.sum()),
        "dev": judged(chosen, dev)[0],
        "test": accuracy,
        "seconds": perf_counter() - start,
        "published": "",
        "goal": 0.0,
    }


def main() -> None:
    dev, test = parts()
    tuples = (("words", words), ("preposition with each", around_the_preposition))
    results = [baseline(dev, test), *(naive_bayes(name, view, dev, test) for name, view in tuples)]
    results += [decide(question, dev, test) for question in QUESTIONS]
    report("PP attachment: 20,801 quadruples, chosen on dev, judged once on test", results)
    curve = draw_curve("pp_attachment-selection", QUESTIONS[-1], {"cutoff": DEFAULT_CUTOFF}, selector(), dev)
    save("pp_attachment", {"models": results, "selection": curve})


if __name__ == "__main__":
    main()
