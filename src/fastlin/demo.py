"""Which package of Python's standard library does a docstring come from?

Run it with ``python -m fastlin.demo``. Nothing is downloaded: the corpus is the source code of the
Python that runs, read with `ast` (no module is imported). The steps are those of any text
classification: read, split, turn texts into a sparse matrix, train, choose on one part of the
data, and report on another part that was never looked at.
"""

import ast
import re
import sys
import sysconfig
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastlin import (
    CountVectorizer,
    LinearSVC,
    LogisticRegression,
    MIRAClassifier,
    MultinomialNB,
    PassiveAggressiveClassifier,
    Perceptron,
    SGDClassifier,
    TfidfVectorizer,
)

LABELS = 20  # the packages with the most docstrings
SHOWN_LABELS, SHOWN_WORDS = 4, 9
WORD = r"(?u)\b[^\W\d]\w+\b"
NOT_LIBRARY = {"site-packages", "dist-packages", "test", "tests", "idle_test"}


def docstrings(root: Path) -> Iterator[tuple[str, str]]:
    """Yield (docstring, public top-level package or module) for all sources below `root`."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        label = parts[0].removesuffix(".py")
        if NOT_LIBRARY.intersection(parts) or label.startswith("_"):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue  # templates, unreadable files, exotic encodings
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node) or ""
                if len(re.findall(WORD, text)) >= 3:
                    yield text, label


def corpus(root: Path) -> tuple[list[str], list[str]]:
    """The texts and labels of the `LABELS` largest packages, each text once, label names masked.

    The name of every label is taken out of every text: left in, it makes the task only a point or
    two easier, but the strongest words below would be the names themselves. A text that is met
    again, in whatever package, is dropped.
    """
    labelled = list(docstrings(root))
    chosen = {label for label, _ in Counter(label for _, label in labelled).most_common(LABELS)}
    names = re.compile(rf"({'|'.join(map(re.escape, sorted(chosen)))})", re.IGNORECASE)
    label_of: dict[str, str] = {}
    for text, label in labelled:
        if label in chosen:
            label_of.setdefault(" ".join(names.sub(" ", text).split()), label)
    return list(label_of), list(label_of.values())


def part_of(text: str) -> str:
    """Train, dev or test (70, 15, 15 %), by a hash: a text is in the same part every time."""
    bucket = zlib.crc32(text.encode("utf-8", "replace")) % 20
    return "train" if bucket < 14 else "dev" if bucket < 17 else "test"


class Learner(NamedTuple):
    """A row of the table: an estimator, what is fixed, and the values among which dev chooses."""

    name: str
    estimator: type
    fixed: dict[str, Any]
    candidates: dict[str, list[Any]]
    counts: bool = False  # word counts, rather than tf-idf


ONLINE: dict[str, Any] = {"tol": None, "random_state": 0}  # tol=None: exactly max_iter epochs
AVERAGED = {**ONLINE, "average": True}
EPOCHS: dict[str, list[Any]] = {"max_iter": [3, 10, 30]}
MARGIN = {"C": [0.03, 0.3, 3.0], **EPOCHS}
RATE = {"alpha": [1e-6, 1e-5, 1e-4], **EPOCHS}
LOG_LOSS = {**ONLINE, "loss": "log_loss"}
ADAGRAD = {**LOG_LOSS, "learning_rate": "adagrad", "eta0": 1.0}

LEARNERS = [
    Learner("naive Bayes", MultinomialNB, {}, {"alpha": [0.01, 0.03, 0.1, 0.3, 1.0]}, counts=True),
    Learner("perceptron", Perceptron, ONLINE, EPOCHS),
    Learner("averaged perceptron", Perceptron, AVERAGED, EPOCHS),
    Learner("passive-aggressive", PassiveAggressiveClassifier, ONLINE, MARGIN),
    Learner("averaged passive-aggr.", PassiveAggressiveClassifier, AVERAGED, MARGIN),
    Learner("MIRA", MIRAClassifier, ONLINE, MARGIN),
    Learner("SGD, log loss", SGDClassifier, LOG_LOSS, RATE),
    Learner("SGD, hinge", SGDClassifier, {**ONLINE, "loss": "hinge"}, RATE),
    Learner("Adagrad, log loss", SGDClassifier, ADAGRAD, RATE),
    Learner("logistic regression", LogisticRegression, {}, {"C": [1.0, 10.0, 100.0]}),
    Learner("linear SVM", LinearSVC, {}, {"C": [0.1, 1.0, 10.0]}),
]


class Result(NamedTuple):
    """The candidate that did best on dev."""

    dev_accuracy: float
    model: Any
    seconds: float
    chosen: str


def train(learner: Learner, X: dict[str, Any], y: dict[str, Any]) -> Result:
    """Fit every candidate on train and keep the one that dev prefers (the first, if they tie)."""
    results: list[Result] = []
    for values in product(*learner.candidates.values()):
        parameters = dict(zip(learner.candidates, values, strict=True))
        chosen = " ".join(f"{name}={value:g}" for name, value in parameters.items())
        progress(f"{learner.name}: {chosen}")
        model = learner.estimator(**learner.fixed, **parameters)
        started = time.perf_counter()
        model.fit(X["train"], y["train"])
        seconds = time.perf_counter() - started
        results.append(Result(model.score(X["dev"], y["dev"]), model, seconds, chosen))
    progress("")
    return max(results, key=lambda result: result.dev_accuracy)


def progress(text: str) -> None:
    """Overwrite the current line of a terminal; a file or a pipe gets nothing."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="", flush=True)


def strongest_words(weights: Any, words: Any, label: int) -> str:
    """The words with the largest weights of a label, strongest first."""
    return " ".join(words[np.argsort(-weights[label], kind="stable")[:SHOWN_WORDS]])


def main() -> None:
    started = time.perf_counter()
    print(__doc__.splitlines()[0])
    progress("reading the standard library ...")
    texts, labels = corpus(Path(sysconfig.get_path("stdlib")))
    progress("")
    parts: dict[str, list[int]] = {"train": [], "dev": [], "test": []}
    for i, text in enumerate(texts):
        parts[part_of(text)].append(i)
    if len({labels[i] for i in parts["train"]}) < 2 or not parts["dev"] or not parts["test"]:
        sys.exit("This Python comes without the sources of its standard library: nothing to learn.")

    y = {part: np.array([labels[i] for i in rows]) for part, rows in parts.items()}
    tfidf = TfidfVectorizer(token_pattern=WORD, sublinear_tf=True)
    counts = CountVectorizer(token_pattern=WORD)
    matrices = {}
    for vectoriser in (tfidf, counts):
        vectoriser.fit(texts[i] for i in parts["train"])  # words are learned from train only
        matrices[vectoriser] = {part: vectoriser.transform(texts[i] for i in rows) for part, rows in parts.items()}
    sizes = ", ".join(f"{len(rows):,} {part}" for part, rows in parts.items())
    words = tfidf.get_feature_names_out()  # the same, in the same order, for both
    print(f"{len(texts):,} docstrings ({sizes}), {len(set(labels))} labels, {len(words):,} words.")
    frequency = Counter(labels[i] for i in parts["train"])
    guess = frequency.most_common(1)[0][0]
    print(f"Always answering “{guess}” is right in {np.mean(y['test'] == guess):.1%} of test.\n")

    print(f"{'learner':<24}{'seconds':>8}{'epochs':>8}{'dev':>8}{'test':>8}   chosen on dev")
    models = {}
    for learner in LEARNERS:
        X = matrices[counts if learner.counts else tfidf]
        best = train(learner, X, y)
        models[learner.name] = best.model
        epochs = int(np.max(getattr(best.model, "n_iter_", 1)))  # LogisticRegression's is an array
        print(
            f"{learner.name:<24}{best.seconds:>8.3f}{epochs:>8}"
            f"{best.dev_accuracy:>8.1%}{best.model.score(X['test'], y['test']):>8.1%}"
            f"   {best.chosen}",
            flush=True,
        )

    perceptron, bayes = models["averaged perceptron"], models["naive Bayes"]
    # log p(word | label) alone would list "the" and "of": compare it with the mean of the labels
    contrast = bayes.feature_log_prob_ - bayes.feature_log_prob_.mean(axis=0)
    print("\nStrongest words")
    for name, _ in frequency.most_common(SHOWN_LABELS):
        label = int(np.flatnonzero(perceptron.classes_ == name)[0])
        print(f"  {name}")
        print(f"    averaged perceptron  {strongest_words(perceptron.coef_, words, label)}")
        print(f"    naive Bayes          {strongest_words(contrast, words, label)}")
    print(f"\n{time.perf_counter() - started:.0f} seconds in all.")


if __name__ == "__main__":
    main()
