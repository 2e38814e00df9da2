"""Do the groups of 20 Newsgroups show without their names?

The 11,314 training posts are clustered, into 20 clusters and into as many as there are coarse groups, and compared with
both: the 20 newsgroups, and the six subjects that they are about: computers, recreation, science, things for sale,
politics and religion. Nothing is tuned. Words are those that five posts have, without the stop list. A mixture of
multinomials sees counts, and counts and tf-idf values scaled to a sum of 20 for every post (what naive Bayes with EM
chose in `nigam.py`, whose labels are of the same posts); k-means sees tf-idf of norm 1. The restart with the best
bound, or the lowest inertia, is the answer, and its most telling words are printed: those that raise the likelihood of
the cluster most over that of all posts together.
"""

from __future__ import annotations

from common import save, show  # before numpy: it sets the threads

# isort: split
import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans as TheirKMeans

from clusterings import COLUMNS, Ascents, cells, judge, restarts
from corpora import documents
from fastlin import KMeans, MultinomialMixture
from fastlin.text import CountVectorizer, TfidfTransformer

RESTARTS = 10
RARE = 5  # posts that must have a word
LENGTH = 20.0
TELLING = 8  # words a cluster
SUBJECTS = {
    "computers": ("comp.",),
    "recreation": ("rec.",),
    "science": ("sci.",),
    "sale": ("misc.",),
    "politics": ("talk.politics.",),
    "religion": ("talk.religion.", "alt.", "soc."),
}


@dataclass(frozen=True)
class Kind:
    """A line of the table: what clusters, and what it sees."""

    name: str
    values: str
    make: Callable[[int, int], Any]  # (clusters, seed)


KINDS = (
    Kind("mixture", "counts", lambda clusters, seed: MultinomialMixture(clusters, random_state=seed)),
    Kind(
        "mixture", "scaled counts", lambda clusters, seed: MultinomialMixture(clusters, alpha=0.02, random_state=seed)
    ),
    Kind(
        "mixture", "scaled tf-idf", lambda clusters, seed: MultinomialMixture(clusters, alpha=0.02, random_state=seed)
    ),
    Kind("k-means", "tf-idf", lambda clusters, seed: KMeans(clusters, n_init=1, random_state=seed)),
    Kind(
        "k-means, spherical",
        "tf-idf",
        lambda clusters, seed: KMeans(clusters, n_init=1, metric="spherical", random_state=seed),
    ),
    Kind("scikit-learn's k-means", "tf-idf", lambda clusters, seed: TheirKMeans(clusters, n_init=1, random_state=seed)),
)


class Posts:
    """The posts as every kind sees them, and their labels: group and subject."""

    def __init__(self, limit: int | None) -> None:
        labels, texts = (each[:limit] for each in documents("20newsgroups", "train"))
        words = CountVectorizer(token_pattern=r"[a-z]{2,}", stop_words="english", min_df=RARE, dtype=np.float64)
        counts = sparse.csr_matrix(words.fit_transform(texts))
        self.words = words.get_feature_names_out()
        self.values = {
            "counts": counts,
            "scaled counts": LENGTH * TfidfTransformer(norm="l1", use_idf=False).fit_transform(counts),
            "scaled tf-idf": LENGTH * TfidfTransformer(norm="l1", sublinear_tf=True).fit_transform(counts),
            "tf-idf": TfidfTransformer(sublinear_tf=True).fit_transform(counts),
        }
        self.groups = np.unique(labels, return_inverse=True)[1]
        subjects = [name for label in labels for name, starts in SUBJECTS.items() if label.startswith(starts)]
        self.subjects = np.unique(subjects, return_inverse=True)[1]

    def telling(self, clusters: np.ndarray, number: int) -> list[list[str]]:
        """The words of every cluster with the largest share of p log(p/q), p of the cluster's counts, q of all."""
        members = sparse.csr_matrix(
            (np.ones(len(clusters)), (clusters, np.arange(len(clusters)))), (number, len(clusters))
        )
        counts = (members @ self.values["counts"]).toarray() + 1e-9
        shares, common = counts / counts.sum(axis=1, keepdims=True), counts.sum(axis=0) / counts.sum()
        best = np.argsort(-shares * np.log(shares / common), axis=1)[:, :TELLING]
        return self.words[best].tolist()


def experiment(posts: Posts, number: int, ascents: Ascents) -> list[dict[str, Any]]:
    """Every kind, as many clusters as groups and as subjects."""
    results = []
    for clusters in (int(posts.groups.max()) + 1, len(SUBJECTS)):
        for kind in KINDS:
            found = restarts(partial(kind.make, clusters), posts.values[kind.values], number)
            if kind.name == "mixture":
                for restart in found:
                    ascents.check(restart.model.bound_)
            results.append(
                {
                    "model": kind.name,
                    "values": kind.values,
                    "clusters": clusters,
                    "groups": judge(posts.groups, found),
                    "subjects": judge(posts.subjects, found),
                    "words": posts.telling(found[0].clusters, clusters),
                    "sizes": np.bincount(found[0].clusters, minlength=clusters).tolist(),
                }
            )
            print(f"{clusters} clusters, {kind.name}, {kind.values}: done", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 posts, two restarts")
    options = parser.parse_args()
    number = 2 if options.quick else RESTARTS
    ascents = Ascents()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that runs out of iterations is judged like the others
        results = experiment(Posts(2000 if options.quick else None), number, ascents)
    for against in ("groups", "subjects"):
        rows = [[f"{line['clusters']}: {line['model']}, {line['values']}", *cells(line[against])] for line in results]
        show(
            f"against the {against}, {number} restarts: the best by bound (mean ± deviation of all)",
            ["clusters", *COLUMNS],
            rows,
        )
    for line in results:
        if line["model"] == "mixture" and line["values"] == "scaled tf-idf":
            order = np.argsort(line["sizes"])[::-1]
            rows = [[line["sizes"][cluster], " ".join(line["words"][cluster])] for cluster in order]
            show(f"mixture, scaled tf-idf, {line['clusters']} clusters", ["posts", "words"], rows)
    print(ascents.report())
    save("coarse_topics", {"clusterings": results, "ascents": vars(ascents)})


if __name__ == "__main__":
    main()
