"""Is a faster learner a worse one?

Every learner and its rival are tuned over the same grid on the development part (a fifth of the
training texts), then trained with the best setting on all training texts, and tested once. Learners
that shuffle are tested with several seeds, and the mean is reported with the spread of the seeds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from corpora import Corpus, load
from learners import NAIVE_BAYES, PAIRS, Make, Pair
from timing import show

NAIVE_BAYES_NAME = "naive Bayes"
SEEDS = range(3)
EPOCHS = (1, 2, 5, 10, 20)
FEWER_EPOCHS = (3, 15)  # for learners that have another parameter to tune
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "newsgroups": {"alpha": (1e-6, 3e-6, 1e-5, 3e-5, 1e-4), "C": (0.03, 0.1, 0.3, 1.0)},
    "imdb": {"alpha": (1e-4, 1e-3, 1e-2, 1e-1), "C": (1e-5, 1e-4, 1e-3, 1e-2)},
}
SMOOTHING = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def settings_of(name: str, pair: Pair, corpus: str) -> Iterator[dict[str, Any]]:
    """The grid of a pair, cheapest first: the first of equals is kept."""
    if name == NAIVE_BAYES_NAME:
        yield from ({"alpha": alpha} for alpha in SMOOTHING)
        return
    epochs = FEWER_EPOCHS if pair.tuned else EPOCHS
    names = ("max_iter", "fit_intercept", *pair.tuned)
    for values in product(epochs, (True, False), *(GRIDS[corpus][parameter] for parameter in pair.tuned)):
        yield {"tol": None, "random_state": 0, **dict(zip(names, values, strict=True))}


def tune(name: str, pair: Pair, make: Make, corpus: Corpus) -> tuple[dict[str, Any], float]:
    """The best setting on the development part, and its accuracy there."""
    X, y, X_dev, y_dev = corpus.tuning_parts()
    best, accuracy = {}, -1.0
    for settings in settings_of(name, pair, corpus.name):
        found = make(**settings).fit(X, y).score(X_dev, y_dev)
        if found > accuracy:
            best, accuracy = settings, found
    return best, accuracy


def test(make: Make, settings: dict[str, Any], corpus: Corpus) -> tuple[float, float]:
    """Mean accuracy on the test part and the standard deviation of one seed's."""
    shuffles = "random_state" in settings
    tries = [settings | {"random_state": seed} for seed in SEEDS] if shuffles else [settings]
    scores = [make(**each).fit(corpus.X, corpus.y).score(corpus.X_test, corpus.y_test) for each in tries]
    return float(np.mean(scores)), float(np.std(scores))


def compare(only: str = "") -> list[dict[str, Any]]:
    """Print a table a corpus; the same figures as a list."""
    results = []
    for name in GRIDS:
        corpus = load(name)
        rows = []
        for learner, pair in {**PAIRS, NAIVE_BAYES_NAME: NAIVE_BAYES}.items():
            if only and only not in learner:
                continue
            record: dict[str, Any] = {"corpus": name, "learner": learner}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for side, make in (("ours", pair.ours), ("rival", pair.rival)):
                    settings, dev = tune(learner, pair, make, corpus)
                    mean, deviation = test(make, settings, corpus)
                    shown = {
                        key: settings[key] for key in ("max_iter", "fit_intercept", *pair.tuned) if key in settings
                    }
                    record[side] = {"settings": shown, "dev": dev, "test": mean, "deviation": deviation}
            results.append(record)
            rows.append([learner, *(cell for side in ("ours", "rival") for cell in _cells(record[side]))])
        columns = [
            "accuracy %",
            *(f"{side} {what}" for side in ("ours", "rival") for what in ("best", "dev", "test ±")),
        ]
        show(f"{name}: tuned on dev, tested once", columns, rows)
    return results


def _cells(found: dict[str, Any]) -> list[str]:
    best = " ".join(f"{key}={value:g}" for key, value in found["settings"].items())
    return [best, f"{100 * found['dev']:.2f}", f"{100 * found['test']:.2f} {100 * found['deviation']:.2f}"]
