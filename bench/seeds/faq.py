"""Which lines of a document are its head, its questions, its answers and its tail?

McCallum, Freitag and Pereira (2000) labelled the lines of the FAQs of Usenet, learning from one document of a newsgroup
and judged on its others. Those files are not in the data folder: the documents are made here, with a seed, in the ways
that such files have. Each of seven groups has a manner of its own: how questions are numbered or marked, how far
answers are indented, whether lists, quotations and questions stand in answers too, which words it talks of. What a line
says of itself is misleading often enough, so that the lines about it matter. Half of the groups' documents are learnt
from, a quarter is for choosing, a quarter is judged; with ``--paper`` one document a group is learnt from, as
published.

The models are theirs, and what came after. "stateless": maximum entropy, line by line. "token HMM" emits the words of a
line, "feature HMM" its features; both as naive Bayes in each state. MEMM: a distribution for each label before, as the
features are conjoined with it; CRF: the same features. Those whose names do not say that they read words read the 24
features of the paper.

Agreement is the published measure: whether two lines are in one segment or not is judged right or wrong, for lines at
distances that fall off exponentially with the mean length of a segment. A segment is found if both its ends are right.
"""

from __future__ import annotations

from common import save  # before numpy: it sets the threads

# isort: split
import argparse
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from faq_documents import Document, line_features, line_words, make_group
from fastlin.sequence import CRF, HMM, MEMM, StructuredPerceptron
from tagging import Contender, Measure, Outcome, Part, accuracy, best_of, judge, report

GROUPS, DOCUMENTS = 7, 24  # of a group
SHARES = 0.5, 0.25  # to learn from, to choose on
ENOUGH = 300  # iterations
PUBLISHED = {  # agreement, precision and recall of segments
    "stateless": (0.520, 0.038, 0.362),
    "token HMM": (0.865, 0.276, 0.140),
    "feature HMM": (0.941, 0.413, 0.529),
    "MEMM": (0.965, 0.867, 0.681),
}


class Stateless:
    """Maximum entropy of lines that do not know of each other: of sequences of one line."""

    def __init__(self, C: float) -> None:
        self.model = MEMM(C=C, max_iter=ENOUGH)

    def fit(self, X: Sequence[Any], y: Sequence[Sequence[str]]) -> Stateless:
        self.model.fit([[line] for document in X for line in document], [[label] for each in y for label in each])
        return self

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        return [[label for (label,) in self.model.predict([[line] for line in document])] for document in X]


@dataclass(frozen=True)
class Split:
    """Parts to learn from, to choose on and to judge, of lines seen in one way."""

    train: Part
    dev: Part
    test: Part


def splits(groups: Sequence[Sequence[Document]], paper: bool) -> dict[str, Split]:
    """By what is seen of lines."""
    n_train, n_dev = (1, 5) if paper else (round(share * DOCUMENTS) for share in SHARES)
    cuts = (0, n_train), (n_train, n_train + n_dev), (n_train + n_dev, DOCUMENTS)
    parts = [[document for group in groups for document in group[low:high]] for low, high in cuts]
    views = {"features": line_features, "words": line_words}
    return {
        name: Split(*(Part([view(lines) for lines, _ in part], [labels for _, labels in part]) for part in parts))
        for name, view in views.items()
    }


def segments(labels: Sequence[str]) -> list[tuple[int, int]]:
    """Runs of one label: where each begins and ends."""
    lengths = [len(list(run)) for _, run in groupby(labels)]
    ends = np.cumsum(lengths).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


def of_segments(right: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> tuple[float, float]:
    """Precision and recall, per cent."""
    both = there = found = 0
    for own, other in zip(right, predicted, strict=True):
        one, two = ({(*ends, labels[ends[0]]) for ends in segments(labels)} for labels in (own, other))
        both, there, found = both + len(one & two), there + len(one), found + len(two)
    return 100.0 * both / found, 100.0 * both / there


def agreement(right: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """How likely two lines of a document are rightly said to be, or not to be, in one segment, per cent."""
    owns, others = ([np.repeat(np.arange(len(s)), [b - a for a, b in s]) for s in map(segments, each)]
                    for each in (right, predicted))  # fmt: skip
    mean = sum(map(len, right)) / sum(len(segments(labels)) for labels in right)
    agreed = total = 0.0
    for distance in range(1, int(8 * mean)):
        pairs = [
            (a[distance:] == a[:-distance]) == (b[distance:] == b[:-distance])
            for a, b in zip(owns, others, strict=True)
        ]
        weight = np.exp(-distance / mean)
        agreed += weight * sum(map(np.sum, pairs))
        total += weight * sum(map(len, pairs))
    return 100.0 * agreed / total


MEASURES: dict[str, Measure] = {
    "lines": accuracy,
    "agreement": agreement,
    "precision": lambda right, predicted: of_segments(right, predicted)[0],
    "recall": lambda right, predicted: of_segments(right, predicted)[1],
}


def contenders(name: str, make: Callable[..., Any], **choices: Sequence[Any]) -> list[Contender]:
    """A model with each value of one parameter, or as it is."""
    if not choices:
        return [Contender(name, make)]
    ((parameter, values),) = choices.items()
    return [Contender(name, partial(make, **{parameter: value}), {parameter: value}) for value in values]


def models() -> dict[str, tuple[str, list[Contender]]]:
    """What each reads, and its settings to choose from."""
    alphas, Cs, c2s = (0.01, 0.1, 1.0), (0.001, 0.01, 0.1, 1.0, 10.0), (0.001, 0.01, 0.1, 1.0)
    more = {"edges": "all", "max_iter": ENOUGH}
    return {
        "stateless": ("features", contenders("stateless", Stateless, C=Cs)),
        "token HMM": ("words", contenders("token HMM", HMM, alpha=alphas)),
        "feature HMM": ("features", contenders("feature HMM", HMM, alpha=alphas)),
        "MEMM": ("features", contenders("MEMM", partial(MEMM, **more), C=Cs)),
        "perceptron": (
            "features",
            contenders("perceptron", partial(StructuredPerceptron, random_state=0), max_iter=(5, 20)),
        ),
        "CRF, bare transitions": ("features", contenders("CRF, bare transitions", CRF, c2=c2s)),
        "CRF": ("features", contenders("CRF", partial(CRF, **more), c2=c2s)),
        "CRF, words": ("words", contenders("CRF, words", CRF, c2=c2s)),
    }


def experiment(parts: dict[str, Split], title: str) -> list[dict[str, Any]]:
    """Print the table; the same figures."""
    found: list[Outcome] = []
    for view, settings in models().values():
        split = parts[view]
        best = best_of(settings, split.train, split.dev, agreement)
        found.append(judge(best, split.train, split.test, MEASURES))
    published = {name: " ".join(f"{100 * value:.1f}" for value in values) for name, values in PUBLISHED.items()}
    return report(title, found, published)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paper", action="store_true", help="learn from one document a group, as published")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # models that would take more iterations are judged like the others
    generator = np.random.default_rng(options.seed)
    parts = splits([make_group(DOCUMENTS, generator) for _ in range(GROUPS)], options.paper)
    sizes = {name: (len(part.y), sum(map(len, part.y))) for name, part in vars(parts["features"]).items()}
    print("documents and lines: " + ", ".join(f"{name} {a:,} and {b:,}" for name, (a, b) in sizes.items()))
    results = experiment(
        parts, "lines of questions and answers: agreement on dev; on test also lines and segments, per cent"
    )
    save("faq" + "-paper" * options.paper, {"sizes": sizes, "models": results})


if __name__ == "__main__":
    main()
