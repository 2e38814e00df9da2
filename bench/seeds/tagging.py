"""What do the experiments with taggers share? Sentences of files, settings tried on held-out ones, and the tables."""

from __future__ import annotations

from common import read, show  # before numpy: it sets the threads

# isort: split
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np

from fastlin.sequence.chain import Chain

Sentences = list[list[Any]]
Labels = list[list[Any]]
Measure = Callable[[Labels, Labels], float]  # (right, predicted) → per cent


def sentences(*path: str) -> list[list[list[str]]]:
    """The tokens of each sentence of a file of the data folder, each the list of its columns."""
    found: list[list[list[str]]] = [[]]
    for line in read(*path):
        if line != [""]:
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return found if found[-1] else found[:-1]


def column(of: Sequence[Sequence[Sequence[str]]], number: int) -> list[list[str]]:
    return [[token[number] for token in sentence] for sentence in of]


def accuracy(right: Labels, predicted: Labels) -> float:
    """Per cent of the tokens."""
    pairs = list(zip(chain(*right), chain(*predicted), strict=True))
    return 100.0 * sum(a == b for a, b in pairs) / len(pairs)


@dataclass(frozen=True)
class Part:
    """Sentences and the labels of their tokens."""

    X: Sentences
    y: Labels

    def __add__(self, other: Part) -> Part:
        return Part(self.X + other.X, self.y + other.y)

    def without(self, share: float) -> tuple[Part, Part]:
        """All but a share at the end, and that."""
        n = round((1 - share) * len(self.X))
        return Part(self.X[:n], self.y[:n]), Part(self.X[n:], self.y[n:])


@dataclass(frozen=True)
class Contender:
    """A model with its settings."""

    name: str
    make: Callable[[], Any]
    settings: dict[str, Any] = field(default_factory=dict)  # as the table shows them

    def learn(self, part: Part) -> tuple[Any, float]:
        """A fitted model, and the seconds from raw tokens on."""
        start = perf_counter()
        return self.make().fit(part.X, part.y), perf_counter() - start


@dataclass
class Outcome:
    """What a contender reaches on held-out sentences, then on those of the test part."""

    contender: Contender
    dev: float
    seconds: float
    test: dict[str, float] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        contender = self.contender
        return {
            "model": contender.name,
            "settings": contender.settings,
            "dev": self.dev,
            "test": self.test,
            "seconds": self.seconds,
        }


def attempt(contender: Contender, train: Part, dev: Part, measure: Measure = accuracy) -> Outcome:
    model, spent = contender.learn(train)
    found = Outcome(contender, measure(dev.y, model.predict(dev.X)), spent)
    print(f"{contender.name} {words(contender.settings)}: dev {found.dev:.2f}, {spent:.1f} s", flush=True)
    return found


def best_of(contenders: Iterable[Contender], train: Part, dev: Part, measure: Measure = accuracy) -> Outcome:
    """The one that does best on ``dev``; of equals the first."""
    return max((attempt(contender, train, dev, measure) for contender in contenders), key=lambda found: found.dev)


def judge(found: Outcome, train: Part, test: Part, measures: dict[str, Measure]) -> Outcome:
    """Learn once more, and read the test part once."""
    model, found.seconds = found.contender.learn(train)
    predicted = model.predict(test.X)
    found.test = {name: measure(test.y, predicted) for name, measure in measures.items()}
    return found


def words(settings: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())


def report(title: str, found: Sequence[Outcome], goals: dict[str, str]) -> list[dict[str, Any]]:
    """Print the table; the same figures. ``goals``: what is asked of a contender, or published, by its name."""
    measures = list(dict.fromkeys(chain.from_iterable(each.test for each in found)))
    rows = [
        [
            each.contender.name,
            words(each.contender.settings),
            f"{each.dev:.2f}",
            *(f"{each.test[name]:.2f}" if name in each.test else "" for name in measures),
            f"{each.seconds:.1f}",
            goals.get(each.contender.name, ""),
        ]
        for each in found
    ]
    show(title, ["model", "chosen on dev", "dev", *measures, "s", "goal or published"], rows)
    return [each.record() for each in found]


class Committee:
    """The mean of linear models that differ by their seeds alone, which is a linear model itself.

    ``make(random_state)`` makes a member, which takes a matrix and lengths.
    """

    def __init__(self, templates: Any, make: Callable[[int], Any], size: int) -> None:
        self.templates, self.make, self.size = templates, make, size

    def fit(self, X: Sentences, y: Labels) -> Committee:
        matrix, lengths = self.templates.fit_transform(X)
        labels = np.concatenate(y)
        members = (self.make(seed).fit(matrix, labels, lengths=lengths) for seed in range(self.size))
        self.coef, self.transitions = 0.0, 0.0
        for member in members:
            self.classes = member.classes_
            self.coef = self.coef + member.coef_ / self.size
            self.transitions = self.transitions + of_histories(member) / self.size
        return self

    def predict(self, X: Sentences) -> Labels:
        matrix, lengths = self.templates.transform(X)
        starts = np.cumsum([0, *lengths])
        scores = np.ascontiguousarray((self.coef @ matrix.T).T)
        nothing = np.zeros(self.transitions.shape[:-1])
        codes, _ = Chain(np.zeros(len(self.classes)), self.transitions, nothing).viterbi(scores, starts)
        return [part.tolist() for part in np.split(self.classes[codes], starts[1:-1])]


def of_histories(model: Any) -> np.ndarray:
    """The scores of transitions as a `Chain` has them: [K, K], or in order 2 [K + 1, K, K]."""
    if model.second_order_ is None:
        return model.transitions_
    return np.concatenate([model.transitions_ + model.second_order_, model.transitions_[np.newaxis]])
