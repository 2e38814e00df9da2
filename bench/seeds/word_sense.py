"""Which sense of the word is meant here? With labels, and without any.

The contexts of *line*, *hard*, *serve* (Leacock, Chodorow & Miller 1998) and *interest* (Bruce & Wiebe 1994). There is
no official split: ten folds, drawn once with as many of every sense (the files are sorted by sense).

With labels, a context is read as the words near the target, or as these and its collocations: what stands at the
places next to it, alone and together. Each fold chooses the window, then the cut-off and the smoothing or C, on a fifth
of its own nine tenths. Published for *line* and *interest* are ensembles of naive Bayes over windows of many sizes
(Pedersen 2000).

Without labels, contexts are clustered, as many clusters as senses; restarts begin elsewhere, and the one with the best
bound (the lowest inertia) is the answer. What a context is was fixed beforehand, alike for all words: all of its words
but those of the stop list and the target itself, if five contexts have them; counts for the mixture, tf-idf of norm 1
for k-means. The measures compare with the senses; a clustering that is one cluster has the purity of the commonest one.
"""

from __future__ import annotations

from common import save, show  # before numpy: it sets the threads

# isort: split
import argparse
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from clusterings import COLUMNS, Ascents, cells, judge, restarts
from corpora import documents
from fastlin import KMeans, LogisticRegression, MultinomialMixture, MultinomialNB
from fastlin.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfTransformer

SEED = 0
WORDS = ("line", "interest", "hard", "serve")
FOLDS = 10
DEV_SHARE = 5  # one context in five of those to learn from
RESTARTS = 20
RARE = 5  # contexts that must have a word that clusters see
PUBLISHED = {"line": 88.0, "interest": 89.0}

TARGET = re.compile(r"(.*)<head>(.*?)</head>(.*)")
WINDOWS = (25, 5, 10, None)  # words on either side; None: all
CUTOFFS = (1, 2)
ALPHAS = (0.1, 0.01, 0.03, 0.3, 1.0)
CS = (10.0, 0.3, 1.0, 3.0, 30.0, 100.0)

Rows = np.ndarray


@dataclass(frozen=True)
class Context:
    before: list[str]
    target: str
    after: list[str]


@dataclass(frozen=True)
class Attempt:
    """A share of contexts that settings get right, per cent."""

    settings: Mapping[str, Any]
    accuracy: float


def load(word: str) -> tuple[list[Context], np.ndarray]:
    """Contexts, and their senses as 0, 1, …"""
    labels, texts = documents("senseval", word)
    matches = [TARGET.match(text) for text in texts]
    contexts = [
        Context(before.split(), target, after.split()) for before, target, after in (m.groups() for m in matches)
    ]
    return contexts, np.unique(labels, return_inverse=True)[1]


def nearby(context: Context, window: int | None) -> list[str]:
    """Words and numbers within the window, wherever they stand."""
    before = context.before if window is None else context.before[-window:]
    return [word for word in before + context.after[:window] if any(map(str.isalnum, word))]


def collocations(context: Context) -> Iterator[str]:
    """What stands at the places from −3 to 3, alone, and at places that touch one another or the target."""
    words = dict(zip(range(-3, 0), ["<", "<", "<", *context.before][-3:], strict=True))
    words[0] = context.target
    words |= dict(zip(range(1, 4), [*context.after, ">", ">", ">"][:3], strict=True))
    for places in SPANS:
        yield f"{places} {' '.join(words[place] for place in places)}"


SPANS = (
    *((place,) for place in range(-3, 4)),
    *((-2, -1), (-1, 0), (-1, 1), (0, 1), (1, 2)),
    *((-3, -2, -1), (-2, -1, 1), (-1, 1, 2), (1, 2, 3)),
)


def features(window: int | None, collocated: bool, context: Context) -> list[str]:
    return nearby(context, window) + (list(collocations(context)) if collocated else [])


def folds(y: np.ndarray) -> Iterator[tuple[Rows, Rows]]:
    """Ten pairs of contexts to learn from and to judge, with as many of every sense."""
    generator = np.random.default_rng(SEED)
    number = np.empty(len(y), dtype=np.int64)
    for label in range(y.max() + 1):
        rows = generator.permutation(np.flatnonzero(y == label))
        number[rows] = np.arange(len(rows)) % FOLDS
    for fold in range(FOLDS):
        yield np.flatnonzero(number != fold), np.flatnonzero(number == fold)


class Disambiguation:
    """The contexts of a word, and models that learn its senses."""

    def __init__(self, word: str) -> None:
        self.contexts, self.y = load(word)
        self.indicators = cache(self._indicators)

    def _indicators(self, window: int | None, collocated: bool) -> sparse.csr_matrix:
        reading = partial(features, window, collocated)
        return CountVectorizer(analyzer=reading, binary=True, dtype=np.float64).fit_transform(self.contexts)

    def attempts(
        self, model: Any, settings: Sequence[Mapping[str, Any]], collocated: bool, learn: Rows, held_out: Rows
    ) -> Iterator[Attempt]:
        """Learn from some contexts, with every one of the settings, and count what is right among others."""
        for each in settings:
            X = self.indicators(each["window"], collocated)
            learnt = X[learn]
            keep = np.flatnonzero(np.bincount(learnt.indices, minlength=X.shape[1]) >= each["cutoff"])
            options = {name: value for name, value in each.items() if name not in ("window", "cutoff")}
            fitted = model(**options).fit(learnt[:, keep], self.y[learn])
            yield Attempt(each, 100.0 * fitted.score(X[held_out][:, keep], self.y[held_out]))

    def decide(
        self, model: Any, options: Mapping[str, Sequence[float]], collocated: bool, learn: Rows, held_out: Rows
    ) -> Attempt:
        """Choose on a fifth of ``learn``, the window before the rest; learn from all of it, and be judged."""
        dev, rest = np.split(np.random.default_rng(SEED).permutation(learn), [len(learn) // DEV_SHARE])
        ((name, values),) = options.items()

        def best(settings: Sequence[Mapping[str, Any]]) -> Attempt:
            tried = self.attempts(model, settings, collocated, np.sort(rest), np.sort(dev))
            return max(tried, key=lambda attempt: attempt.accuracy)

        window = best([{"window": each, "cutoff": CUTOFFS[0], name: values[0]} for each in WINDOWS]).settings["window"]
        grid = [{"window": window, "cutoff": cutoff, name: value} for cutoff in CUTOFFS for value in values]
        (final,) = self.attempts(model, [best(grid).settings], collocated, learn, held_out)
        return final


def with_labels(word: str, quick: bool) -> list[dict[str, Any]]:
    """Ten folds of every model."""
    task = Disambiguation(word)
    splits = list(folds(task.y))[: 2 if quick else FOLDS]
    results = []
    for collocated in (False, True):
        for model, options in ((MultinomialNB, {"alpha": ALPHAS}), (LogisticRegression, {"C": CS})):
            start = perf_counter()
            found = [task.decide(model, options, collocated, *split) for split in splits]
            accuracies = [attempt.accuracy for attempt in found]
            chosen = [dict(attempt.settings) for attempt in found]
            results.append(
                {
                    "word": word,
                    "model": model.__name__,
                    "collocations": collocated,
                    "accuracy": float(np.mean(accuracies)),
                    "of_each_fold": accuracies,
                    "commonest": 100.0 * float(np.bincount(task.y).max() / len(task.y)),
                    "published": PUBLISHED.get(word),
                    "settings": chosen,
                    "commonest_choice": max(chosen, key=chosen.count),
                    "seconds": perf_counter() - start,
                }
            )
    return results


def clusterings(word: str, number: int, ascents: Ascents) -> list[dict[str, Any]]:
    """Mixtures and k-means of the contexts of a word."""
    contexts, y = load(word)
    vectoriser = CountVectorizer(analyzer=unmarked, min_df=RARE, dtype=np.float64)
    counts = vectoriser.fit_transform(contexts)
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    senses = int(y.max()) + 1
    kinds = {
        "mixture": (lambda seed: MultinomialMixture(senses, random_state=seed), counts),
        "k-means": (lambda seed: KMeans(senses, n_init=1, random_state=seed), weighted),
        "k-means, spherical": (lambda seed: KMeans(senses, n_init=1, metric="spherical", random_state=seed), weighted),
    }
    results = []
    for name, (make, X) in kinds.items():
        found = restarts(make, X, number)
        if name == "mixture":
            for restart in found:
                ascents.check(restart.model.bound_)
        results.append({"word": word, "senses": senses, "model": name, **judge(y, found)})
    return results


def unmarked(context: Context) -> list[str]:
    """The words of a context that clusters see."""
    return [word for word in nearby(context, None) if word not in ENGLISH_STOP_WORDS and word.isalpha()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--word", choices=WORDS, help="only this one")
    parser.add_argument("--quick", action="store_true", help="two of the ten folds, two restarts")
    options = parser.parse_args()
    words = [options.word] if options.word else WORDS
    number = 2 if options.quick else RESTARTS
    ascents = Ascents()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that runs out of iterations is judged like the others
        supervised = [line for word in words for line in with_labels(word, options.quick)]
        clustered = [line for word in words for line in clusterings(word, number, ascents)]
    rows = [
        [
            f"{line['word']}: {line['model']}",
            "yes" if line["collocations"] else "no",
            f"{line['accuracy']:.2f}",
            f"{line['commonest']:.1f}",
            f"{line['published']:.0f}" if line["published"] else "",
            " ".join(f"{name}={value}" for name, value in line["commonest_choice"].items()),
            line["seconds"],
        ]
        for line in supervised
    ]
    columns = ["model", "collocations", "accuracy %", "commonest sense %", "published", "commonest choice", "s"]
    show("with labels: ten folds, chosen inside each", columns, rows)
    rows = [[f"{line['word']}: {line['model']}", line["senses"], *cells(line)] for line in clustered]
    columns = ["model", "clusters", *COLUMNS]
    show(f"without labels, {number} restarts: the one with the best bound (mean ± deviation of all)", columns, rows)
    print(ascents.report())
    save("word_sense", {"supervised": supervised, "clusters": clustered, "ascents": vars(ascents)})


if __name__ == "__main__":
    main()
