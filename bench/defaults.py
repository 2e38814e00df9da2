"""What does a changed import cost or bring: accuracy and log loss of the same calls, ours and scikit-learn's?

Every learner is fitted with all its defaults, or sees the rows once in one ``partial_fit``, on the same random splits
of corpora with short and long documents, two labels and many, as counts and as tf-idf. A row of the table is the mean
over the splits of ours − scikit-learn's accuracy in points, with two standard errors of the mean, and of the held-out
log loss where both have probabilities. A second column has ours with ``multi_class="ovr"``: models of each label
against the rest, as theirs are. What is left there is not the difference of the two models, and may be that of the
orders: one pass shows the rows to all labels in one order, theirs to each label in another. The last lines count the
rows where ours is worse by more than 0.3 points and two standard errors.
"""

from __future__ import annotations

import timing  # before numpy: it sets the threads

# isort: split
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import sklearn.linear_model as theirs
import sklearn.naive_bayes as their_bayes
import sklearn.svm as their_svm
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import log_loss

import fastlin
from corpora import documents

HELD_OUT = 5  # one row in five
OF_ALL_LABELS = fastlin.SGDClassifier, fastlin.Perceptron, fastlin.PassiveAggressiveClassifier
NOTEWORTHY = 0.3  # points
FIRST_WORDS = 12
Texts = tuple[np.ndarray, np.ndarray]  # labels and texts


class Call(NamedTuple):
    """Two models made with the same arguments, and whether they see the rows once."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    arguments: dict[str, Any]
    once: bool = False


CALLS = {
    "SGD hinge": Call(fastlin.SGDClassifier, theirs.SGDClassifier, {}),
    "SGD hinge, one partial_fit": Call(fastlin.SGDClassifier, theirs.SGDClassifier, {}, True),
    "SGD log": Call(fastlin.SGDClassifier, theirs.SGDClassifier, {"loss": "log_loss"}),
    "SGD log, one partial_fit": Call(fastlin.SGDClassifier, theirs.SGDClassifier, {"loss": "log_loss"}, True),
    "SGD log averaged": Call(fastlin.SGDClassifier, theirs.SGDClassifier, {"loss": "log_loss", "average": True}),
    "Perceptron": Call(fastlin.Perceptron, theirs.Perceptron, {}),
    "Perceptron, one partial_fit": Call(fastlin.Perceptron, theirs.Perceptron, {}, True),
    "PA": Call(fastlin.PassiveAggressiveClassifier, theirs.PassiveAggressiveClassifier, {}),
    "PA, one partial_fit": Call(fastlin.PassiveAggressiveClassifier, theirs.PassiveAggressiveClassifier, {}, True),
    "LogisticRegression": Call(fastlin.LogisticRegression, theirs.LogisticRegression, {"max_iter": 1000}),
    "LinearSVC": Call(fastlin.LinearSVC, their_svm.LinearSVC, {}),
    "MultinomialNB": Call(fastlin.MultinomialNB, their_bayes.MultinomialNB, {}),
    "ComplementNB": Call(fastlin.ComplementNB, their_bayes.ComplementNB, {}),
    "BernoulliNB": Call(fastlin.BernoulliNB, their_bayes.BernoulliNB, {}),
}


def pairs(folder: str, part: str = "train") -> Texts:
    labels, texts = documents(folder, part)
    return np.array(labels), np.array(texts, object)


def sentences(rows: int = 10_000) -> Texts:
    """Sentences of film reviews, with the label of the review."""
    found = [(label, sentence) for label, text in zip(*pairs("movie_reviews"), strict=True)
             for sentence in re.split(r" [.?!] ", text) if len(sentence.split()) > 3]  # fmt: skip
    chosen = np.random.default_rng(0).permutation(len(found))[:rows]
    return np.array([found[row][0] for row in chosen]), np.array([found[row][1] for row in chosen], object)


def openings(texts: Texts) -> Texts:
    """The first words of documents."""
    return texts[0], np.array([" ".join(text.split()[:FIRST_WORDS]) for text in texts[1]], object)


def subjects() -> Texts:
    """The subjects of posts."""
    labels, texts = pairs("20newsgroups")
    lines = [re.search(r"Subject: (.*?) (?:[A-Z][\w-]+: |$)", text) for text in texts]
    there = np.array([line is not None for line in lines])
    return labels[there], np.array([line.group(1) for line in lines if line], object)


def topics(least: int = 10) -> Texts:
    """News items of one topic, of topics that are not too rare."""
    labels, texts = pairs("reuters21578")
    names, counts = np.unique(labels, return_counts=True)
    common = {name for name, count in zip(names, counts, strict=True) if count >= least and name and "," not in name}
    there = np.array([label in common for label in labels])
    return labels[there], texts[there]


CORPORA: dict[str, Callable[[], Texts]] = {
    "sentences": sentences,
    "1,000 sentences": lambda: sentences(1_000),
    "senses of line": lambda: pairs("senseval", "line"),
    "subjects": subjects,
    "posts": lambda: pairs("20newsgroups_body"),
    "news openings": lambda: openings(topics()),
    "news": topics,
    "reviews": lambda: pairs("imdb"),
}
VECTORIZERS = {"counts": CountVectorizer, "tf-idf": TfidfVectorizer}


def fitted(model: Any, call: Call, X: Any, y: np.ndarray, classes: np.ndarray, seed: int) -> Any:
    """A model of one call, its seed set."""
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.partial_fit(X, y, classes=classes) if call.once else model.fit(X, y)


def measured(model: Any, X: Any, y: np.ndarray) -> tuple[float, float]:
    """Accuracy in points, and log loss or NaN, on rows of labels that may be new."""
    score, known = 100 * model.score(X, y), np.isin(y, model.classes_)
    if not hasattr(model, "predict_proba"):
        return score, np.nan
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return score, log_loss(y[known], model.predict_proba(X[known]), labels=model.classes_)


def compared(call: Call, X: Any, y: np.ndarray, seeds: int) -> Iterator[np.ndarray]:
    """Of each split accuracy and log loss, [ours, ours of each label against the rest, scikit-learn's]."""
    classes = np.unique(y)
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(y))
        test, train = order[: len(y) // HELD_OUT], order[len(y) // HELD_OUT :]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn's announcements
            models = [call.ours(**call.arguments), call.ours(**call.arguments), call.theirs(**call.arguments)]
        separate = len(classes) > 2 and call.ours in OF_ALL_LABELS
        if separate:
            models[1].set_params(multi_class="ovr")
        found = [measured(fitted(models[0], call, X[train], y[train], classes, seed), X[test], y[test])]
        for place, model in enumerate(models[1:], 1):
            alike = place == 1 and not separate
            found.append(
                found[0]
                if alike
                else measured(fitted(model, call, X[train], y[train], classes, seed), X[test], y[test])
            )
        yield np.array(found)


def main() -> None:
    options = timing.arguments(__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=20, help="splits of each corpus")
    options.add_argument("--corpus", help="only the corpora whose name contains this")
    chosen = options.parse_args()
    worse, n_rows = {"by default": [], 'with multi_class="ovr"': []}, 0
    print("| corpus | features | call | ours | ovr | scikit-learn | ours − theirs ± 2 s.e. | ovr − theirs ± 2 s.e. | "
          "log loss: ours / ovr / theirs |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for corpus, read in CORPORA.items():
        if chosen.corpus and chosen.corpus not in corpus:
            continue
        labels, texts = read()
        y = np.unique(labels, return_inverse=True)[1]
        for features, vectorizer in VECTORIZERS.items():
            X = vectorizer().fit_transform(texts)
            for name, call in CALLS.items():
                if chosen.only and chosen.only not in name:
                    continue
                found = np.array(list(compared(call, X, y, chosen.seeds)))
                scores, losses = found[..., 0].mean(axis=0), found[..., 1].mean(axis=0)
                n_rows += 1
                told = []
                for model, rows in zip((0, 1), worse.values(), strict=True):
                    difference = found[:, model, 0] - found[:, 2, 0]
                    mean, error = difference.mean(), 2 * difference.std(ddof=1) / np.sqrt(len(found))
                    mark = bool(mean < -NOTEWORTHY and mean + error < 0)
                    told.append(f"{'**' * mark}{mean:+.2f} ± {error:.2f}{'**' * mark}")
                    if mark:
                        rows.append(f"{corpus}, {features}, {name}")
                print(
                    f"| {corpus} | {features} | {name} | {scores[0]:.1f} | {scores[1]:.1f} | {scores[2]:.1f} | "
                    f"{told[0]} | {told[1]} | {losses[0]:.3f} / {losses[1]:.3f} / {losses[2]:.3f} |",
                    flush=True,
                )
    for which, rows in worse.items():
        print(f"\n{which}, worse by more than {NOTEWORTHY} points and two standard errors: {len(rows)} of {n_rows}")
        for row in rows:
            print(f"* {row}")


if __name__ == "__main__":
    main()
