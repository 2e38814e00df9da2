"""How fast are labels of which a document may have several, and how good, beside scikit-learn's one-vs-rest fits?

Reuters-21578, ModApte split, the 90 categories that both parts have: counts of words for naive Bayes, tf-idf for the
others. Ours is one fit of the indicator, the rival scikit-learn's OneVsRestClassifier of its class of the same name
and parameters, in turns on one core; CPU seconds. Naive Bayes takes logarithms when it first predicts, which "fit"
has, too. Each side's model is asked for its micro-averaged F1 on the test part and for its objective, which is worked
out here from its weights.
"""

from __future__ import annotations

from timing import arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
import warnings
from dataclasses import dataclass, field
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from sklearn import linear_model, naive_bayes, svm
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

import fastlin
from corpora import PARTS, canonical, documents

COLUMNS = ["model", "question", "ours s", "scikit-learn s", "ratio", "F1, ours", "F1, theirs", "objective ÷ theirs"]


def log_losses(margins: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, -margins)


def squared_hinges(margins: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - margins) ** 2


def hinges(margins: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - margins)


@dataclass(frozen=True)
class Model:
    """A class of both libraries, and what its linear models minimise."""

    theirs: type
    parameters: dict[str, Any] = field(default_factory=dict)
    of_theirs: dict[str, Any] = field(default_factory=dict)  # parameters that ours has not, or means otherwise
    counts: bool = False
    losses: Any = None  # of margins; None: nothing is minimised
    penalty: float = 1.0  # of ½‖θ‖², where the losses of a label are added up
    penalised_intercept: bool = False

    def ours(self) -> Any:
        return getattr(fastlin, self.theirs.__name__)(**self.parameters)

    def rival(self) -> Any:
        return OneVsRestClassifier(self.theirs(**self.parameters | self.of_theirs))

    def objective(self, model: Any, X: Any, Y: np.ndarray) -> float:
        """What a model left of the sum of all labels' objectives."""
        if self.losses is None:
            return float("nan")
        of_labels = getattr(model, "estimators_", None)
        coef = model.coef_ if of_labels is None else np.vstack([each.coef_ for each in of_labels])
        bias = model.intercept_ if of_labels is None else np.concatenate([each.intercept_ for each in of_labels])
        losses = self.losses((X @ coef.T + bias) * (2 * Y - 1)).sum()
        size = np.square(coef).sum() + (np.square(bias).sum() if self.penalised_intercept else 0.0)
        return float(losses + 0.5 * self.penalty * size)


def models(n_rows: int) -> dict[str, Model]:
    """Those that are compared; SGD runs a fixed number of epochs."""
    sgd = {"random_state": 0, "max_iter": 20, "tol": None, "alpha": 1e-5}
    return {
        "MultinomialNB": Model(naive_bayes.MultinomialNB, {"alpha": 0.01}, counts=True),
        "ComplementNB": Model(naive_bayes.ComplementNB, {"alpha": 0.1}, counts=True),
        "BernoulliNB": Model(naive_bayes.BernoulliNB, {"alpha": 0.01}, counts=True),
        "LogisticRegression": Model(linear_model.LogisticRegression, {"C": 10, "max_iter": 1000}, losses=log_losses,
                                    penalty=0.1),
        "LogisticRegression, theirs tol=1e-6": Model(
            linear_model.LogisticRegression, {"C": 10, "max_iter": 1000}, {"tol": 1e-6}, losses=log_losses, penalty=0.1
        ),
        "LinearSVC": Model(svm.LinearSVC, {}, losses=squared_hinges, penalised_intercept=True),
        "SGDClassifier": Model(linear_model.SGDClassifier, sgd, losses=hinges, penalty=1e-5 * n_rows),
        "SGDClassifier, log loss": Model(linear_model.SGDClassifier, sgd | {"loss": "log_loss"}, losses=log_losses,
                                         penalty=1e-5 * n_rows),
    }  # fmt: skip


def reuters() -> tuple[Any, Any, list[str], list[str]]:
    """Indicators and texts of both parts, and no labels that only one of them has."""
    (labels, texts), (test_labels, test_texts) = (documents("reuters21578", part) for part in PARTS)
    sets, test_sets = ([set(filter(None, each.split(","))) for each in part] for part in (labels, test_labels))
    shared = sorted(set.union(*sets) & set.union(*test_sets))
    binarizer = MultiLabelBinarizer(classes=shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the labels that are left out
        return binarizer.fit_transform(sets), binarizer.transform(test_sets), texts, test_texts


def compare(name: str, model: Model, rows: tuple[Any, Any], Y: Any, Y_test: Any, repeat: int) -> list[list[Any]]:
    X, X_test = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = {"ours": model.ours().fit(X, Y), "theirs": model.rival().fit(X, Y)}
    scores = [f1_score(Y_test, each.predict(X_test), average="micro") for each in fitted.values()]
    ours, theirs = (model.objective(each, X, Y) for each in fitted.values())
    contenders = {
        "ours:fit": lambda: lambda: model.ours().fit(X, Y).predict(X_test[:1]),
        "theirs:fit": lambda: lambda: model.rival().fit(X, Y).predict(X_test[:1]),
        "ours:predict": lambda: lambda: fitted["ours"].predict(X_test),
        "theirs:predict": lambda: lambda: fitted["theirs"].predict(X_test),
    }
    spent = {key: median(times) for key, times in interleave(contenders, repeat, process_time).items()}
    lines = []
    for question in ("fit", "predict"):
        pair = [spent[f"ours:{question}"], spent[f"theirs:{question}"]]
        lines.append([name, question, *pair, pair[1] / pair[0], *scores, ours / theirs])
    return lines


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    Y, Y_test, texts, test_texts = reuters()
    rows = {}
    for counts, vectorizer in ((True, CountVectorizer()), (False, TfidfVectorizer(sublinear_tf=True))):
        rows[counts] = canonical(vectorizer.fit_transform(texts)), canonical(vectorizer.transform(test_texts))
    found = [
        line
        for name, model in models(len(texts)).items()
        if not options.only or options.only in name
        for line in compare(name, model, rows[model.counts], Y, Y_test, options.repeat)
    ]
    show(f"{len(texts):,} documents, {Y.shape[1]} labels", COLUMNS, found)
    save("multilabel", [dict(zip(COLUMNS, line, strict=True)) for line in found])


if __name__ == "__main__":
    main()
