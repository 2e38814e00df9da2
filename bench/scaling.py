"""How much sooner is an iteration of GIS or IIS done than NLTK's?

The data are Ratnaparkhi's quadruples, all of them, with the 15 subsets of their words as features. The
weights are those of the (feature, label) pairs that occur, as in NLTK's binary encoding; there is neither
a prior nor an intercept. Timed are whole fits of one iteration (``whole``: checks, conversion to our
layout and NLTK's making of its encoding included) and what more iterations add (``further``). NLTK's
first iteration comes with its ``max_iter=2``, and between two iterations it computes the log-likelihood.
Its correction feature makes its GIS a slower one; IIS takes the same steps on both sides, so after as
many iterations the largest difference of two weights is printed.
"""

from __future__ import annotations

from timing import interleave, show  # before numpy: it sets the threads

# isort: split
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer

from contenders import quietly
from corpora import canonical, quadruples

MORE = {"ours": 20, "NLTK": 1}  # further iterations
ASKED = (200, 1000)

Rows = list[tuple[dict[str, str], str]]


def ours(algorithm: str, X: Any, y: np.ndarray, iterations: int) -> Any:
    from fastlin import LogisticRegression

    settings = {"weights": "observed", "penalty": None, "fit_intercept": False, "tol": 0.0}
    return LogisticRegression(solver=algorithm, max_iter=iterations, **settings).fit(X, y)


def nltk(algorithm: str, rows: Rows, iterations: int) -> Any:
    from nltk.classify import MaxentClassifier

    return MaxentClassifier.train(rows, algorithm, trace=0, max_iter=iterations + 1)


def difference(vectoriser: DictVectorizer, X: Any, y: np.ndarray, rows: Rows) -> float:
    """Between the weights of both sides after two iterations of IIS; NLTK's are for powers of 2."""
    model, rival = quietly(lambda: ours("iis", X, y, 2)), nltk("iis", rows, 2)
    weights, classes, largest = rival.weights() * np.log(2), list(model.classes_), 0.0
    for (name, value, label), place in rival._encoding._mapping.items():
        column = vectoriser.vocabulary_[f"{name}={value}"]
        largest = max(largest, abs(model.coef_[classes.index(label), column] - weights[place]))
    return float(largest)


def compare(repeat: int) -> dict[str, Any]:
    """Print a table; the same figures."""
    labels, dictionaries = quadruples()
    vectoriser = DictVectorizer()
    X, y = canonical(vectoriser.fit_transform(dictionaries)), np.array(labels)
    rows = list(zip(dictionaries, labels, strict=True))
    results: dict[str, Any] = {"rows": X.shape[0], "columns": X.shape[1]}
    table = []
    for algorithm in ("gis", "iis"):
        fits = {"ours": partial(ours, algorithm, X, y), "NLTK": partial(nltk, algorithm, rows)}
        contenders = {
            f"{side}:{count}": lambda fit=fit, count=count: partial(fit, count)
            for side, fit in fits.items()
            for count in (1, 1 + MORE[side])
        }
        times = interleave(contenders, repeat)
        spent = {}
        for side, more in MORE.items():
            one, several = times[f"{side}:1"], times[f"{side}:{1 + more}"]
            added = median(b - a for a, b in zip(one, several, strict=True)) / more
            spent[side] = {"whole": median(one), "further": added}
        for way in ("further", "whole"):
            mine, theirs = spent["ours"][way], spent["NLTK"][way]
            asked = ASKED if way == "further" else ("", "")
            table.append([f"{algorithm}, {way}", mine * 1e3, theirs * 1e3, theirs / mine, *asked])
        results[algorithm] = spent
    title = f"an iteration over {X.shape[0]:,} quadruples, {X.shape[1]:,} features"
    show(title, ["algorithm", "ours ms", "NLTK ms", "NLTK ÷ ours", "at least", "aim"], table)
    results["difference"] = difference(vectoriser, X, y, rows)
    print(f"(after two iterations of IIS no weight differs by more than {results['difference']:.0e})")
    return results
