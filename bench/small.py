"""Are small things fast: short rows, few columns, one row, one text?

Rows of 5 to 30 non-zeros, whose columns are drawn by Zipf's law and whose labels a noisy linear model gives. What is
compared is CPU seconds of whole calls, scikit-learn's ÷ ours, in turns on one core; calls of microseconds are repeated
within a round. "search" compares LogisticRegressionCV with a loop of our own warm fits, too.
"""

from __future__ import annotations

from timing import Prepare, arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import sklearn.cluster
import sklearn.feature_extraction.text
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.pipeline
import sklearn.svm
from scipy import sparse

import fastlin
from fastlin.text import CountVectorizer, TextPredictor
from learners import PAIRS

EPOCHS = 10
COLUMNS = ["question", "ours µs", "scikit-learn µs", "scikit-learn ÷ ours", "at least", "aim"]
LEAST_SECONDS = 0.02  # of a round, for which calls are repeated


@dataclass(frozen=True)
class Shape:
    """Rows of about so many non-zeros."""

    rows: int
    columns: int
    nnz: int
    labels: int

    @property
    def name(self) -> str:
        return f"{self.rows:,} × {self.columns:,}, {self.nnz} non-zeros, {self.labels} labels"


@dataclass(frozen=True)
class Question:
    """Two calls, a word on what is asked of their ratio, or of the microseconds of ours."""

    name: str
    ours: Prepare
    rival: Prepare
    least: object = ""
    aim: object = ""


@cache
def short_rows(shape: Shape) -> tuple[sparse.csr_matrix, np.ndarray]:
    """X and its labels: a third of the columns of a row are those that its label likes."""
    draw = np.random.default_rng(shape.rows + shape.labels)
    y = draw.integers(0, shape.labels, shape.rows).astype(np.int64)
    lengths = np.maximum(1, draw.poisson(shape.nnz, shape.rows))
    weight = 1.0 / np.arange(3, shape.columns + 3)
    owner = np.repeat(np.arange(shape.rows), lengths)
    drawn = draw.choice(shape.columns, len(owner), p=weight / weight.sum())
    liked = draw.random(len(owner)) < 0.33
    drawn[liked] = (drawn[liked] // shape.labels * shape.labels + y[owner[liked]]) % shape.columns
    X = sparse.csr_matrix((np.ones(len(owner)), (owner, drawn)), shape=(shape.rows, shape.columns))
    X.sum_duplicates()
    X.sort_indices()
    return X, y


@cache
def attributes(shape: Shape) -> tuple[sparse.csr_matrix, np.ndarray]:
    """X of one-hot attributes, `nnz` in each row, some values of which are frequent; the labels follow some of them."""
    draw = np.random.default_rng(shape.columns)
    sizes = np.full(shape.nnz, shape.columns // shape.nnz)
    sizes[: shape.columns % shape.nnz] += 1
    latent, columns = draw.standard_normal((shape.rows, 3)), []
    for start, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
        levels = latent @ draw.standard_normal(3) + draw.standard_normal(shape.rows)
        bounds = np.quantile(levels, np.sort(draw.beta(0.7, 0.7, size - 1)))
        columns.append(start + np.searchsorted(bounds, levels))
    weights = draw.standard_normal(shape.columns)
    indices = np.stack(columns, axis=1)
    scores = weights[indices].sum(axis=1)
    y = (scores + draw.logistic(size=shape.rows) > np.quantile(scores, 0.75)).astype(np.int64)
    indptr = np.arange(0, indices.size + 1, shape.nnz)
    X = sparse.csr_matrix((np.ones(indices.size), indices.ravel().astype(np.int32), indptr.astype(np.int32)))
    return X, y


def fits(ours: Callable[[], Any], rival: Callable[[], Any], X: Any, y: np.ndarray) -> tuple[Prepare, Prepare]:
    return lambda: partial(ours().fit, X, y), lambda: partial(rival().fit, X, y)


def online() -> Iterator[Question]:
    asked = {2: (1.2, 1.5), 6: (3, 5), 50: (8, 12)}
    shapes = [Shape(n, n, 13, labels) for n in (1_000, 4_000, 10_000) for labels in asked]
    for shape in [*shapes, Shape(20_000, 10_000, 30, 2), Shape(200_000, 20_000, 30, 2)]:
        least, aim = asked[shape.labels] if shape.nnz < 30 else (1.4, 1.7) if shape.rows < 200_000 else (2, 2.8)
        for name in ("SGD hinge", "SGD log loss", "perceptron", "PA-I"):
            pair, settings = PAIRS[name], {"tol": None, "random_state": 0, "max_iter": EPOCHS}
            X, y = short_rows(shape)
            sides = fits(partial(pair.ours, **settings), partial(pair.rival, **settings), X, y)
            yield Question(f"online: {name}, {shape.name}", *sides, least, aim)


def naive_bayes() -> Iterator[Question]:
    for shape in (Shape(4_000, 4_000, 13, 2), Shape(80_000, 20_000, 13, 2), Shape(80_000, 20_000, 13, 23)):
        X, y = short_rows(shape)
        words = np.array([f"label {code}" for code in range(shape.labels)])[y]
        pair = fastlin.MultinomialNB, sklearn.naive_bayes.MultinomialNB
        yield Question(f"naive Bayes: fit, {shape.name}", *fits(*pair, X, y), 3, 5)
        yield Question(f"naive Bayes: fit, string labels, {shape.name}", *fits(*pair, X, words), 3, 5)
        ready = [make().fit(X, y) for make in pair]
        yield Question(f"naive Bayes: predict, {shape.name}", *(predicts(model, X) for model in ready), 1.3, 2)


def predicts(model: Any, X: Any, method: str = "predict") -> Prepare:
    getattr(model, method)(X[:2])
    return lambda: partial(getattr(model, method), X)


def logistic(C: float = 1.0) -> tuple[Callable[[], Any], Callable[[], Any]]:
    return (
        partial(fastlin.LogisticRegression, C=C),
        partial(sklearn.linear_model.LogisticRegression, C=C),
    )


def batch() -> Iterator[Question]:
    svms = partial(fastlin.LinearSVC, random_state=0), partial(sklearn.svm.LinearSVC, random_state=0)
    narrow = [Shape(20_000, 123, 14, 2), Shape(20_000, 300, 12, 2)]
    wide = [Shape(1_000, 2_000, 13, 2), Shape(20_000, 10_000, 30, 2), Shape(200_000, 20_000, 30, 2)]
    for shape in narrow + wide:
        few = shape in narrow
        X, y = (attributes if few else short_rows)(shape)
        least, aim = ((2.5 if shape.columns < 200 else 1.2), 4.8) if few else (1.3, 2.5)
        yield Question(f"batch: LogisticRegression, {shape.name}", *fits(*logistic(), X, y), least, aim)
        if shape.rows < 200_000:
            small = fits(*logistic(0.05), X, y)
            yield Question(f"batch: LogisticRegression C = 0.05, {shape.name}", *small)
        yield Question(f"batch: LinearSVC, {shape.name}", *fits(*svms, X, y), *((2, 4) if few else (1.3, 2.5)))


def predictions() -> Iterator[Question]:
    kinds = {
        "LogisticRegression": logistic(),
        "SGD hinge": (PAIRS["SGD hinge"].ours, PAIRS["SGD hinge"].rival),
        "LinearSVC": (fastlin.LinearSVC, sklearn.svm.LinearSVC),
    }
    for name, pair in kinds.items():
        for labels in (2, 6):
            for shape in (Shape(1_000, 2_000, 13, labels), Shape(20_000, 10_000, 30, labels)):
                X, y = short_rows(shape)
                models = [make().fit(X[:1_000], y[:1_000]) for make in pair]
                yield Question(f"predict: {name}, {shape.name}", *(predicts(model, X) for model in models), 1.3, 2)
    shape = Shape(200_000, 20_000, 30, 2)
    X, y = short_rows(shape)
    models = [make().fit(X[:1_000], y[:1_000]) for make in logistic()]
    yield Question(f"predict: LogisticRegression, {shape.name}", *(predicts(model, X) for model in models), 1.3, 2)
    for name, pair in kinds.items():
        X, y = short_rows(Shape(1_000, 2_000, 13, 2))
        row = X[:1]
        models = [make().fit(X, y) for make in pair]
        yield Question(f"predict: first after a fit, {name}", *(first(make, X, y) for make in pair))
        for method in ("predict", "decision_function", *(["predict_proba"] if name == "LogisticRegression" else [])):
            sides = (predicts(model, row, method) for model in models)
            yield Question(f"predict: one row, {name}.{method}", *sides, "25 µs", "8 µs")


def first(make: Callable[[], Any], X: Any, y: np.ndarray) -> Prepare:
    def prepare() -> Callable[[], object]:
        models = [make().fit(X, y) for _ in range(4)]
        return lambda: [model.predict(X) for model in models]

    return prepare


def clusters() -> Iterator[Question]:
    for rows in (4_000, 10_000, 20_000):
        X, _ = short_rows(Shape(rows, 5_000, 13, 2))
        for k in (2, 3, 4):
            start = X[np.random.default_rng(0).choice(rows, k, replace=False)].toarray()
            settings = {"n_clusters": k, "init": start, "n_init": 1, "max_iter": EPOCHS, "tol": 0}
            makes = (fastlin.KMeans, sklearn.cluster.KMeans)
            sides = (lambda make=make, settings=settings, X=X: partial(make(**settings).fit, X) for make in makes)
            yield Question(f"k-means: k = {k}, {rows:,} rows", *sides, 1.5, 2.8)


def search() -> Iterator[Question]:
    Cs = [0.01, 0.1, 1.0, 10.0, 100.0]
    for shape in (Shape(4_000, 4_000, 13, 2), Shape(4_000, 4_000, 13, 6)):
        X, y = short_rows(shape)
        ours = partial(fastlin.LogisticRegressionCV, Cs=Cs, cv=3)
        rival = partial(sklearn.linear_model.LogisticRegressionCV, Cs=Cs, cv=3, scoring="accuracy")
        yield Question(f"search: 3 folds, 5 C, {shape.name}", *fits(ours, rival, X, y), 2)
        loop = partial(warm_loop, X, y, Cs)
        whole = lambda X=X, y=y: partial(ours().fit, X, y)  # noqa: B023, E731
        yield Question(f"search: beside a loop of our warm fits, {shape.name}", whole, lambda loop=loop: loop, 1)
        defaults = partial(fastlin.LogisticRegressionCV), partial(sklearn.linear_model.LogisticRegressionCV)
        yield Question(f"search: defaults, {shape.name}", *fits(*defaults, X, y), 2)


def warm_loop(X: Any, y: np.ndarray, Cs: list[float]) -> None:
    """What a search replaces: for each fold a model that goes from C to C, and one fit of all rows."""
    from sklearn.model_selection import StratifiedKFold

    for train, test in StratifiedKFold(3).split(X, y):
        model = fastlin.LogisticRegression(warm_start=True)
        for C in Cs:
            model.set_params(C=C).fit(X[train], y[train]).score(X[test], y[test])
    fastlin.LogisticRegression(C=1.0).fit(X, y)


def texts() -> Iterator[Question]:
    draw = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(3_000)])
    documents = [" ".join(draw.choice(words, 12)) for _ in range(1_000)]
    y = draw.integers(0, 2, 1_000)
    theirs = sklearn.pipeline.make_pipeline(
        sklearn.feature_extraction.text.CountVectorizer(), sklearn.linear_model.LogisticRegression()
    ).fit(documents, y)
    ours = sklearn.pipeline.make_pipeline(CountVectorizer(), fastlin.LogisticRegression()).fit(documents, y)
    rival = lambda: partial(theirs.predict, documents[:1])  # noqa: E731
    one, name = partial(ours.predict, documents[:1]), "text: one document"
    yield Question(f"{name}, Pipeline", lambda: one, rival, "110 µs", "90 µs")
    frozen = partial(TextPredictor(ours).predict_one, documents[0])
    yield Question(f"{name}, frozen", lambda: frozen, rival, "15 µs", "8 µs")


SECTIONS = (online, naive_bayes, batch, predictions, clusters, search, texts)


def repeated(prepare: Prepare) -> Prepare:
    """The calls of a round: as many as take long enough for the clock."""
    run = prepare()
    run()
    start = process_time()
    run()
    count = max(1, min(2_000, int(LEAST_SECONDS / max(process_time() - start, 1e-6))))
    if count == 1:
        return prepare, 1

    def again() -> Callable[[], None]:
        runs = [prepare()] * count
        return lambda: [run() for run in runs]

    return again, count


def main() -> None:
    options = arguments(__doc__.splitlines()[0]).parse_args()
    results = []
    for section in SECTIONS:
        rows = []
        for question in section():
            if options.only and not any(part in question.name for part in options.only.split("|")):
                continue
            contenders, counts = {}, {}
            for side, prepare in (("ours", question.ours), ("rival", question.rival)):
                contenders[side], counts[side] = repeated(prepare)
            times = interleave(contenders, options.repeat, process_time)
            spent = {side: median(values) / counts[side] for side, values in times.items()}
            ours, rival = spent["ours"], spent["rival"]
            rows.append([question.name, ours * 1e6, rival * 1e6, rival / ours, question.least, question.aim])
            results.append({"question": question.name, **spent})
        if rows:
            show(section.__name__.replace("_", " "), COLUMNS, rows)
    save("small", results)


if __name__ == "__main__":
    main()
