"""What do the repeated experiments share? Data, the rule of the held-out parts, tables and pictures.

The rule: every choice is made on the development part, and the test part is read once, with what was
chosen. `decide` follows it for a `Question`: it tries every setting on the development part, then
trains the best one again and asks the test part a single time.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from timing import RESULTS, save, show  # before numpy: it sets the threads

# isort: split
import numpy as np
from scipy import sparse

from corpora import data_folder

__all__ = [
    "Matrices",
    "Model",
    "Parts",
    "Question",
    "decide",
    "draw_curve",
    "picture",
    "read",
    "report",
    "save",
    "show",
]

Settings = Mapping[str, Any]
Matrices = tuple[sparse.csr_matrix, sparse.csr_matrix]  # of the rows and of the held-out rows
Features = Callable[..., Matrices]  # (rows, y, held-out rows, **settings)


@dataclass(frozen=True)
class Parts:
    """Rows to learn from and rows to be judged on, with their labels 0 and 1."""

    rows: Sequence[Any]
    y: np.ndarray
    held_out: Sequence[Any]
    y_held_out: np.ndarray


@dataclass(frozen=True)
class Model:
    """What was learnt with some settings, how well it does on the held-out rows, and at what cost."""

    settings: Settings
    accuracy: float
    features: int
    seconds: float  # from rows of text to predictions


@dataclass(frozen=True)
class Question:
    """One line of a published table: what was reported, and the settings to choose from."""

    name: str
    features: Features
    make: Callable[..., Any]  # (C=...) -> an estimator
    published: str
    goal: float = 0.0  # accuracy on the test part, per cent
    feature_settings: Sequence[Settings] = ({},)
    Cs: Sequence[float] = (0.1, 0.3, 1.0, 3.0, 10.0)


def attempts(
    question: Question, parts: Parts, feature_settings: Iterable[Settings], Cs: Sequence[float]
) -> Iterator[Model]:
    """A model for every setting; the matrices are made once for all values of C."""
    for settings in feature_settings:
        start = perf_counter()
        X, X_held_out = question.features(parts.rows, parts.y, parts.held_out, **settings)
        made = perf_counter() - start
        for C in Cs:
            start = perf_counter()
            estimator = question.make(C=C).fit(X, parts.y)
            accuracy = 100.0 * estimator.score(X_held_out, parts.y_held_out)
            spent = made + perf_counter() - start
            yield Model({**settings, "C": C}, accuracy, count_features(estimator), spent)


def count_features(estimator: Any) -> int:
    """Weights that are not zero. A column of a two-label model has one, whatever the label."""
    return int(np.count_nonzero(getattr(estimator, "steps", [(None, estimator)])[-1][1].coef_))


def decide(question: Question, dev: Parts, test: Parts) -> dict[str, Any]:
    """The best settings on ``dev`` (the first of equals), learnt once more and judged once on ``test``."""
    start = perf_counter()
    chosen = max(attempts(question, dev, question.feature_settings, question.Cs), key=lambda model: model.accuracy)
    tuning = perf_counter() - start
    feature_settings = {name: value for name, value in chosen.settings.items() if name != "C"}
    (final,) = attempts(question, test, [feature_settings], [chosen.settings["C"]])
    return {
        "question": question.name,
        "settings": dict(chosen.settings),
        "features": final.features,
        "dev": chosen.accuracy,
        "test": final.accuracy,
        "seconds": final.seconds,
        "tuning_seconds": tuning,
        "published": question.published,
        "goal": question.goal,
    }


def report(title: str, results: Sequence[Mapping[str, Any]]) -> None:
    """The table of an experiment: ours, then what was published."""
    columns = ["model", "chosen on dev", "features", "dev %", "test %", "s", "goal %", "published"]
    rows = [
        [
            found["question"],
            " ".join(f"{name}={value}" for name, value in found["settings"].items()),
            f"{found['features']:,}",
            f"{found['dev']:.2f}",
            f"{found['test']:.2f}",
            f"{found['seconds']:.2f}",
            f"{found['goal']:.1f}" if found["goal"] else "",
            found["published"],
        ]
        for found in results
    ]
    show(title, columns, rows)


def draw_curve(name: str, question: Question, settings: Settings, selector: Any, dev: Parts) -> list[dict[str, float]]:
    """Log-likelihood of the rows and accuracy on dev against the number of features, a point a round."""
    X, X_held_out = question.features(dev.rows, dev.y, dev.held_out, **settings)
    selector.fit(X, dev.y, X_val=X_held_out, y_val=dev.y_held_out)
    keys = ("n_features", "log_likelihood", "validation_score", "seconds")
    curve = [{key: float(record[key]) for key in keys} for record in selector.history_]
    numbers, likelihoods, scores, _ = (np.array([point[key] for point in curve]) for key in keys)
    with picture(name) as axes:
        if axes is not None:
            axes.plot(numbers, 100.0 * scores, color="tab:blue")
            axes.set(title=question.name, xlabel="features", ylabel="accuracy on dev, per cent (blue)")
            beside = axes.twinx()
            beside.plot(numbers, likelihoods / len(dev.y), color="tab:orange")
            beside.set_ylabel("log-likelihood of a training row (orange)")
    return curve


def read(*path: str) -> list[list[str]]:
    """The tab-separated fields of every line of a compressed file in the data folder."""
    with gzip.open(data_folder().joinpath(*path), "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


@contextmanager
def picture(name: str, width: float = 7.0, height: float = 4.5) -> Iterator[Any]:
    """Axes to draw on, saved as ``results/name.png``; None where matplotlib is missing."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: matplotlib is missing (pip install '.[plot]')")
        yield None
        return
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    yield figure.add_subplot()
    RESULTS.mkdir(parents=True, exist_ok=True)
    figure.savefig(RESULTS / f"{name}.png", dpi=150)
    print(f"picture: {name}.png, beside the JSON")
