"""Does this review praise the film?

Two corpora. IMDB: 25,000 reviews to learn from, of which a fifth, drawn once, is the development part; every choice
is made there, then the model learns from all 25,000 and is judged once on the 25,000 test reviews. Movie reviews:
2,000 documents in ten folds, as published; each fold makes its choices on a fifth of its own nine tenths.

Documents are counted once, whatever part they are in; a column takes part if ``cutoff`` of the documents that are
learnt from have it, and document frequencies and ratios are theirs alone. Weights of a column:

* counts, or binary: 1 where the word occurs;
* tf-idf: (1 + log count)·idf, rows of norm 1;
* either, times the log-count ratio r = log (p/‖p‖₁) − log (q/‖q‖₁), p and q = alpha + the number of documents of
  each label that have the word (Wang & Manning 2012). Their NBSVM then goes a part β of the way from naive Bayes to
  the SVM: w ← (1 − β)·mean |w| + β·w.
"""

from __future__ import annotations

from common import save, show  # before numpy: it sets the threads

# isort: split
import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, product
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from corpora import data_folder, documents
from fastlin import (
    LexiconClassifier,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    PassiveAggressiveClassifier,
    Perceptron,
)
from fastlin.text import CountVectorizer, LogCountRatio, TfidfTransformer

SEED = 0
DEV_SHARE = 5  # one training document in five
FOLDS = 10
TOKENS = {"words": r"(?u)\b\w\w+\b", "all": r"(?u)\w+|[^\w\s]"}  # of two letters or more; and single ones, and marks

Settings = dict[str, Any]
Choices = Mapping[str, Sequence[Any]]
Rows = np.ndarray


class NBSVM(LinearSVC):
    """An SVM on ratios, part of the way back to naive Bayes."""

    def __init__(self, C: float = 1.0, beta: float = 0.25) -> None:
        super().__init__(C=C, random_state=SEED)
        self.beta = beta

    def fit(self, X: Any, y: Any) -> NBSVM:
        super().fit(X, y)
        self.coef_ = (1 - self.beta) * np.abs(self.coef_).mean() + self.beta * self.coef_
        return self


@dataclass(frozen=True)
class Kind:
    """One line of the table: how a model is made, what it chooses from, and what was published."""

    name: str
    make: Callable[..., Any]
    reading: Choices = field(default_factory=dict)  # longest, tokens, negation
    weighing: Choices = field(default_factory=dict)  # values, cutoff, alpha
    options: Choices = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)


PRIORS = (1.0, 0.1, 0.3, 3.0)
TOKEN_KINDS = {"tokens": ("all", "words")}
MARKED = {**TOKEN_KINDS, "negation": (False, True)}
COUNTS = {"values": ("binary", "counts")}
VALUES = {"values": ("tf-idf", "binary")}
UP_TO_3 = {"longest": (2, 1, 3), **TOKEN_KINDS}
EPOCHS = {"epochs": (10, 5, 20)}
CS = {"C": (0.3, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0, 3.0, 10.0)}
CUTOFFS = {"cutoff": (2, 1, 3)}


@cache
def opinions() -> dict[int, list[str]]:
    """The words of Hu & Liu's lexicon by label; a negated one speaks for the other side."""
    folder = data_folder() / "lexicon"
    bad, good = ((folder / name).read_text(encoding="utf-8").split() for name in ("negative.txt", "positive.txt"))
    both = set(bad) & set(good)
    bad, good = ([word for word in words if word not in both] for words in (bad, good))
    return {0: bad + [f"NOT_{word}" for word in good], 1: good + [f"NOT_{word}" for word in bad]}


def lexicon() -> LexiconClassifier:
    return LexiconClassifier(opinions(), vocabulary=list(chain(*opinions().values())))


def naive_bayes(prior: float) -> MultinomialNB:
    return MultinomialNB(alpha=prior)


def perceptron(epochs: int) -> Perceptron:
    return Perceptron(max_iter=epochs, tol=None, average=True, random_state=SEED)


def passive_aggressive(C: float, epochs: int) -> PassiveAggressiveClassifier:
    return PassiveAggressiveClassifier(C=C, max_iter=epochs, tol=None, average=True, random_state=SEED)


def logistic(C: float) -> LogisticRegression:
    return LogisticRegression(C=C)


def svm(C: float) -> LinearSVC:
    return LinearSVC(C=C, random_state=SEED)


KINDS = (
    Kind(
        "lexicon",
        lexicon,
        {"longest": (1,), **MARKED, "listed": (True,)},
        {**COUNTS, "cutoff": (0,)},
    ),
    Kind(
        "naive Bayes, words",
        naive_bayes,
        {"longest": (1,), **MARKED},
        COUNTS,
        {"prior": PRIORS},
        {"movie reviews": 83.45, "imdb": 83.55},
    ),
    Kind(
        "naive Bayes, words and pairs",
        naive_bayes,
        {"longest": (2,), **MARKED},
        COUNTS,
        {"prior": PRIORS},
        {"movie reviews": 85.85, "imdb": 86.59},
    ),
    Kind("averaged perceptron", perceptron, UP_TO_3, VALUES, EPOCHS),
    Kind("averaged PA-I", passive_aggressive, UP_TO_3, VALUES, {"C": (0.1, 0.001, 0.01, 1.0), **EPOCHS}),
    Kind("logistic regression", logistic, UP_TO_3, VALUES, {"C": (30.0, 0.03, 0.1, 1.0, 10.0, 100.0)}),
    Kind(
        "SVM, words",
        svm,
        {"longest": (1,), **MARKED},
        VALUES,
        CS,
        {"movie reviews": 86.25, "imdb": 86.95},
    ),
    Kind(
        "SVM, words and pairs",
        svm,
        {"longest": (2,), **MARKED},
        VALUES,
        CS,
        {"movie reviews": 87.40, "imdb": 89.16},
    ),
    Kind(
        "NBSVM, words and pairs",
        NBSVM,
        {"longest": (2,), **TOKEN_KINDS},
        {"values": ("binary",), **CUTOFFS, "alpha": (1.0,)},
        {"C": (0.01, 0.003, 0.03, 0.1, 1.0), "beta": (1.0, 0.25, 0.5, 0.75)},
        {"movie reviews": 89.45, "imdb": 91.22},
    ),
    Kind(
        "logistic, tf-idf × ratios",
        logistic,
        {"longest": (3, 2), **TOKEN_KINDS},
        {"values": ("tf-idf",), **CUTOFFS, "alpha": (1.0, 0.3, 3.0)},
        {"C": (100.0, 10.0, 30.0, 300.0, 1000.0)},
    ),
    Kind(
        "SVM, tf-idf × ratios",
        svm,
        {"longest": (3, 2), **TOKEN_KINDS},
        {"values": ("tf-idf",), **CUTOFFS, "alpha": (1.0, 0.3, 3.0)},
        {"C": (3.0, 0.3, 1.0, 10.0, 30.0)},
    ),
)


class Reviews:
    """The documents of a corpus, 1 where the label is ``pos``, and the counts of every reading, made once."""

    def __init__(self, folder: str) -> None:
        (labels, texts), (test_labels, test_texts) = (documents(folder, part) for part in ("train", "test"))
        self.texts = texts + test_texts
        self.y = np.array([label == "pos" for label in labels + test_labels], dtype=np.int64)
        self.train, self.test = np.split(np.arange(len(self.texts)), [len(texts)])
        self._counts: dict[tuple[Any, ...], sparse.csr_matrix] = {}

    def counts(self, longest: int, tokens: str, negation: bool = False, listed: bool = False) -> sparse.csr_matrix:
        """The counts of 1- to ``longest``-grams; ``listed``: of the words of the lexicon alone."""
        key = longest, tokens, negation, listed
        if key not in self._counts:
            vectoriser = CountVectorizer(
                token_pattern=TOKENS[tokens],
                ngram_range=(1, longest),
                vocabulary=list(chain(*opinions().values())) if listed else None,
                negation=negation,
                dtype=np.float32,
            )
            X = vectoriser.fit_transform(self.texts)
            X.sort_indices()
            self._counts[key] = X
        return self._counts[key]


def grid(choices: Choices) -> Iterator[dict[str, Any]]:
    """Every combination; the first of each come first."""
    for values in product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def weigh(
    learnt: sparse.csr_matrix,
    y: np.ndarray,
    judged: sparse.csr_matrix,
    values: str,
    cutoff: int = 1,
    alpha: float | None = None,
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """The columns that ``cutoff`` of the rows to learn from have, and their values in both matrices."""
    keep = np.flatnonzero(np.bincount(learnt.indices, minlength=learnt.shape[1]) >= cutoff)
    pair = learnt[:, keep], judged[:, keep]
    ratio = None if alpha is None else LogCountRatio(alpha).fit(pair[0], y).log_ratio_[0].astype(np.float32)
    if values == "binary":
        for X in pair:
            X.data.fill(1.0)
    elif values == "tf-idf":
        idf = TfidfTransformer(sublinear_tf=True).fit(pair[0])
        pair = idf.transform(pair[0]), idf.transform(pair[1])
    if ratio is not None:
        for X in pair:
            X.data *= ratio[X.indices]
    return pair


@dataclass(frozen=True)
class Attempt:
    """Settings, and the share of the judged documents that they get right."""

    settings: tuple[Settings, Settings, Settings]  # of the reading, the weights and the model
    accuracy: float
    columns: int


def attempts(
    kind: Kind, reviews: Reviews, learn: Rows, judge: Rows, groups: Sequence[Sequence[Settings]]
) -> Iterator[Attempt]:
    """A model for every combination of settings that learns from some documents and is judged on others."""
    readings, weighings, options = groups
    y = reviews.y
    for reading in readings:
        counts = reviews.counts(**reading)
        learnt, judged = counts[learn], counts[judge]
        for weighing in weighings:
            X, X_judged = weigh(learnt, y[learn], judged, **weighing)
            for chosen in options:
                accuracy = 100.0 * kind.make(**chosen).fit(X, y[learn]).score(X_judged, y[judge])
                yield Attempt((reading, weighing, chosen), accuracy, X.shape[1])


def decide(kind: Kind, reviews: Reviews, learn: Rows, judge: Rows) -> tuple[Attempt, Attempt]:
    """The best found on the development part of ``learn``; it once more, on ``judge``.

    The reading is chosen first, with the first weights and options listed, then the weights, then the options; of
    equals the first.
    """
    shuffled = np.random.default_rng(SEED).permutation(learn)
    dev, rest = np.split(shuffled, [len(learn) // DEV_SHARE])
    choices = [list(grid(each)) for each in (kind.reading, kind.weighing, kind.options)]
    groups = [each[:1] for each in choices]
    for place, each in enumerate(choices):
        groups[place] = each
        tried = attempts(kind, reviews, np.sort(rest), np.sort(dev), groups)
        best = max(tried, key=lambda attempt: attempt.accuracy)
        groups[place] = [best.settings[place]]
    (final,) = attempts(kind, reviews, learn, judge, groups)
    return best, final


def folds(reviews: Reviews) -> Iterator[tuple[Rows, Rows]]:
    """Ten pairs of documents to learn from and to judge, with as many of either label."""
    generator = np.random.default_rng(SEED)
    number = np.empty(len(reviews.y), dtype=np.int64)
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(reviews.y == label))
        number[rows] = np.arange(len(rows)) % FOLDS
    for fold in range(FOLDS):
        yield np.flatnonzero(number != fold), np.flatnonzero(number == fold)


def experiment(corpus: str, kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    """Print the table of a corpus; the same figures."""
    reviews = Reviews(corpus.replace(" ", "_"))
    splits = [(reviews.train, reviews.test)] if corpus == "imdb" else list(folds(reviews))
    results, rows = [], []
    for kind in kinds:
        start = perf_counter()
        pairs = [decide(kind, reviews, learn, judge) for learn, judge in splits]
        spent = perf_counter() - start
        dev, test = (float(np.mean([pair[i].accuracy for pair in pairs])) for i in (0, 1))
        chosen = [reading | weighing | options for reading, weighing, options in (best.settings for best, _ in pairs)]
        common = max(chosen, key=chosen.count)
        words = " ".join(f"{name}={value}" for name, value in common.items())
        published = kind.published.get(corpus)
        columns = f"{round(np.mean([final.columns for _, final in pairs])):,}"
        rows.append(
            [kind.name, f"{dev:.2f}", f"{test:.2f}", f"{published:.2f}" if published else "", columns, spent, words]
        )
        print(f"{corpus}: {kind.name} {test:.2f}", flush=True)
        results.append(
            {
                "model": kind.name,
                "dev": dev,
                "test": test,
                "of_each_fold": [final.accuracy for _, final in pairs],
                "published": published,
                "settings": chosen,
                "columns": [final.columns for _, final in pairs],
                "seconds": spent,
            }
        )
    how = (
        "chosen on dev, judged once on test"
        if len(splits) == 1
        else "ten folds, chosen inside each; the commonest choice"
    )
    show(f"{corpus}: {how}", ["model", "dev %", "test %", "published", "columns", "s", "chosen"], rows)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", choices=("movie reviews", "imdb"))
    parser.add_argument("--only", default="", help="only the models whose name contains this")
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if options.only in kind.name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that runs out of iterations is judged like the others
        corpora = [options.corpus] if options.corpus else ["movie reviews", "imdb"]
        save("sentiment", {corpus: experiment(corpus, kinds) for corpus in corpora})


if __name__ == "__main__":
    main()
