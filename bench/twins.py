"""How much sooner than scikit-learn's do naive Bayes, nearest centroids and mini-batch k-means learn and answer?

Long rows are 20 Newsgroups, short ones the first words of posts; both sides get the same rows, settings and
labels, in turns on one core. "fit" and "predict" are of a fresh model each time, so that what is made lazily counts in
the first prediction. scikit-learn's NearestCentroid lays rows out densely, and gets the rows and features that fit into
a few hundred megabytes; so does ours.
"""

from __future__ import annotations

from timing import arguments, interleave, save, show  # before numpy: it sets the threads

# isort: split
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from scipy import sparse
from sklearn import cluster, naive_bayes, neighbors

import fastlin
from corpora import load, openings

DENSE_NUMBERS = 2**25  # that scikit-learn's NearestCentroid may lay out
COLUMNS = ["question", "ours ms", "scikit-learn ms", "scikit-learn ÷ ours"]


@dataclass(frozen=True)
class Twin:
    """Two classes of one name, and the parameters of both."""

    theirs: Callable[..., Any]
    parameters: dict[str, Any]
    dense: bool = False  # whether theirs needs n × V numbers
    labelled: bool = True

    def makers(self) -> dict[str, Callable[[], Any]]:
        ours = getattr(fastlin, self.theirs.__name__)
        return {"ours": partial(ours, **self.parameters), "rival": partial(self.theirs, **self.parameters)}


TWINS = {
    "MultinomialNB": Twin(naive_bayes.MultinomialNB, {"alpha": 0.1}),
    "ComplementNB": Twin(naive_bayes.ComplementNB, {"alpha": 0.1}),
    "ComplementNB, norm": Twin(naive_bayes.ComplementNB, {"alpha": 0.1, "norm": True}),
    "BernoulliNB": Twin(naive_bayes.BernoulliNB, {"alpha": 0.1}),
    "NearestCentroid": Twin(neighbors.NearestCentroid, {}, dense=True),
    "NearestCentroid, manhattan": Twin(neighbors.NearestCentroid, {"metric": "manhattan"}, dense=True),
    "MiniBatchKMeans": Twin(
        cluster.MiniBatchKMeans, {"n_clusters": 20, "random_state": 0, "max_no_improvement": None, "max_iter": 3},
        labelled=False,
    ),
}  # fmt: skip
CORPORA = {"long": lambda: load("newsgroups"), "short": openings}


def steps(make: Callable[[], Any], data: tuple[Any, ...], X: Any) -> dict[str, Callable[[], Callable[[], object]]]:
    """A fit, the first prediction after it, and a prediction after that."""
    ready = make().fit(*data)
    ready.predict(X)
    return {
        "fit": lambda: partial(make().fit, *data),
        "first predict": lambda: partial(make().fit(*data).predict, X),
        "predict": lambda: partial(ready.predict, X),
        "predict a row": lambda: partial(ready.predict, X[:1]),
    }


def rows_of(twin: Twin, corpus: Any) -> tuple[Any, Any]:
    """Rows and labels: fewer, and the most frequent features, where n × V numbers would be too many."""
    X, y = sparse.csr_matrix(corpus.X), corpus.y
    if not twin.dense or X.shape[0] * X.shape[1] <= DENSE_NUMBERS:
        return X, y
    X, y = X[:4000], y[:4000]
    frequent = X.getnnz(axis=0).argsort()[::-1][: DENSE_NUMBERS // X.shape[0]]
    return X[:, sorted(frequent)].tocsr(), y


def compare(name: str, twin: Twin, kind: str, repeat: int) -> list[list[Any]]:
    X, y = rows_of(twin, CORPORA[kind]())
    data = (X, y) if twin.labelled else (X,)
    contenders = {
        f"{side}:{step}": prepare
        for side, make in twin.makers().items()
        for step, prepare in steps(make, data, X).items()
    }
    spent = {key: median(times) * 1e3 for key, times in interleave(contenders, repeat).items()}
    found = [key.split(":")[1] for key in spent if key.startswith("ours")]
    return [
        [f"{name}, {kind}: {step}", spent[f"ours:{step}"], spent[f"rival:{step}"],
         spent[f"rival:{step}"] / spent[f"ours:{step}"]] for step in found
    ]  # fmt: skip


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    rows = [
        row
        for name, twin in TWINS.items()
        for kind in CORPORA
        if not options.only or options.only in f"{name}, {kind}"
        for row in compare(name, twin, kind, options.repeat)
    ]
    show("ours against scikit-learn's", COLUMNS, rows)
    save("twins", [dict(zip(COLUMNS, row, strict=True)) for row in rows])


if __name__ == "__main__":
    main()
