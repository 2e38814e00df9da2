"""Which matrices are the benchmarks run on, and what exactly is in them?

==========  ====================================================================================
newsgroups  20 Newsgroups, complete posts: ``TfidfVectorizer()`` with its default settings (linear
            term frequency, smooth idf, rows of norm 1); 20 labels
imdb        Large Movie Review data: ``CountVectorizer(ngram_range=(1, 2))``, words and pairs of
            words, counts (not binary), every feature kept; 2 labels
zipf        generated: 100,000 x 500,000 with about 6.6 million non-zeros, 20 learnable labels
openings    the first 12 words of 4,500 posts of 20 Newsgroups, counts of words seen in two posts or
            more: a medium problem, whose small feature sums suit iterative scaling; 20 labels
imdb-tfidf  the same texts: ``TfidfVectorizer()``; imdb-bigrams: of words and pairs of words
bodies      20 Newsgroups without headers, quotes and signatures: ``TfidfVectorizer()``; 20 labels
acq         Reuters-21578, ModApte split: ``TfidfVectorizer()``; whether a story is about an acquisition
attachment  Ratnaparkhi's 20,801 training quadruples; indicators of the subsets of their words that
            five rows or more have; 2 labels
breast      scikit-learn's breast cancer data, 569 x 30, whose columns' scales differ by thousands; 2 labels
digits      scikit-learn's digits, 1,797 x 64, intensities from 0 to 16, unscaled; 10 labels
letters     the first 20,000 tokens of UD English EWT: the 200 most frequent indicators of their letters,
            lengths and neighbours' last letters; 2 labels, noun or not
==========  ====================================================================================

The texts come from the folder that ``FASTLIN_DATA`` names. The matrices are float64 CSR with int32
indices, sorted, and are kept in ``FASTLIN_CACHE`` (or the system's temporary folder), so that only
the first run pays for making them. A development part is split off the training rows by a hash of
the text; document frequencies are counted over training and development rows together.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

PARTS = ("train", "test")
FORMAT = 1  # raise it when the meaning of a cached matrix changes
DEV_SHARE = 5  # one training text in five is for development


@dataclass(frozen=True)
class Corpus:
    """Training rows with labels 0 … K-1, the test rows, and which training rows are for development."""

    name: str
    X: sparse.csr_matrix
    y: np.ndarray
    X_test: sparse.csr_matrix
    y_test: np.ndarray
    dev: np.ndarray

    def tuning_parts(self) -> tuple[sparse.csr_matrix, np.ndarray, sparse.csr_matrix, np.ndarray]:
        """X, y to learn from and X, y to choose settings on."""
        return self.X[~self.dev], self.y[~self.dev], self.X[self.dev], self.y[self.dev]

    def describe(self) -> dict[str, int | str]:
        rows, columns = self.X.shape
        return {
            "name": self.name,
            "rows": rows,
            "columns": columns,
            "non_zeros": int(self.X.nnz),
            "labels": len(np.unique(self.y)),
        }


def cache_folder() -> Path:
    folder = Path(os.environ.get("FASTLIN_CACHE") or Path(tempfile.gettempdir()) / "fastlin-bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def data_folder() -> Path:
    named = os.environ.get("FASTLIN_DATA")
    if not named:
        raise SystemExit("set FASTLIN_DATA to the folder that holds 20newsgroups/, imdb/ and the other corpora")
    folder = Path(named)
    if not folder.is_dir():
        raise SystemExit(f"FASTLIN_DATA names {named!r}, which is not a folder")
    return folder


def documents(folder: str, part: str) -> tuple[list[str], list[str]]:
    """Labels and texts of a ``label<TAB>text`` file in the data folder."""
    with gzip.open(data_folder() / folder / f"{part}.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        pairs = [line.rstrip("\n").split("\t", 1) for line in lines]
    return [label for label, _ in pairs], [text for _, text in pairs]


def canonical(X: sparse.spmatrix) -> sparse.csr_matrix:
    """What scikit-learn's kernels like best, so that no contender converts anything."""
    X = sparse.csr_matrix(X, dtype=np.float64)
    X.indices = X.indices.astype(np.int32, copy=False)
    X.indptr = X.indptr.astype(np.int32, copy=False)
    X.sort_indices()
    return X


def _from_text(name: str, folder: str, vectoriser: CountVectorizer) -> Corpus:
    labels, texts = documents(folder, "train")
    test_labels, test_texts = documents(folder, "test")
    classes = np.unique(labels)
    dev = np.array([zlib.crc32(text.encode()) % DEV_SHARE == 0 for text in texts])
    return Corpus(
        name,
        canonical(vectoriser.fit_transform(texts)),
        np.searchsorted(classes, labels),
        canonical(vectoriser.transform(test_texts)),
        np.searchsorted(classes, test_labels),
        dev,
    )


def newsgroups() -> Corpus:
    return _from_text("newsgroups", "20newsgroups", TfidfVectorizer())


def imdb() -> Corpus:
    return _from_text("imdb", "imdb", CountVectorizer(ngram_range=(1, 2)))


def imdb_tfidf() -> Corpus:
    return _from_text("imdb-tfidf", "imdb", TfidfVectorizer())


def imdb_bigrams() -> Corpus:
    return _from_text("imdb-bigrams", "imdb", TfidfVectorizer(ngram_range=(1, 2)))


def bodies() -> Corpus:
    return _from_text("bodies", "20newsgroups_body", TfidfVectorizer())


def acq() -> Corpus:
    corpus = _from_text("acq", "reuters21578", TfidfVectorizer())
    parts = (np.array(["acq" in each.split(",") for each in documents("reuters21578", part)[0]]) for part in PARTS)
    y, y_test = (part.astype(np.int64) for part in parts)
    return Corpus("acq", corpus.X, y, corpus.X_test, y_test, corpus.dev)


def openings(rows: int = 4_500, words: int = 12) -> Corpus:
    word = re.compile(r"(?u)\b\w\w+\b")  # CountVectorizer's own
    parts = {}
    for part in PARTS:
        labels, texts = documents("20newsgroups", part)
        parts[part] = np.array(labels[:rows]), [word.findall(text.lower())[:words] for text in texts[:rows]]
    vectoriser = CountVectorizer(analyzer=lambda found: found, min_df=2)
    classes = np.unique(parts["train"][0])
    (y, texts), (y_test, test_texts) = parts["train"], parts["test"]
    return Corpus(
        "openings",
        canonical(vectoriser.fit_transform(texts)),
        np.searchsorted(classes, y),
        canonical(vectoriser.transform(test_texts)),
        np.searchsorted(classes, y_test),
        np.arange(len(y)) % DEV_SHARE == 0,
    )


def quadruples() -> tuple[list[str], list[dict[str, str]]]:
    """Ratnaparkhi's training rows: V or N, where the phrase belongs; and the 15 subsets of its four words."""
    labels, texts = documents("ppattach", "train")
    subsets = [chosen for size in range(1, 5) for chosen in combinations(range(4), size)]
    quadruple = [text.split("\t") for text in texts]
    return labels, [
        {" ".join(map(str, chosen)): " ".join(words[place] for place in chosen) for chosen in subsets}
        for words in quadruple
    ]


def attachment(cutoff: int = 5) -> Corpus:
    labels, dictionaries = quadruples()
    X = canonical(DictVectorizer().fit_transform(dictionaries))
    X = canonical(X[:, np.bincount(X.indices, minlength=X.shape[1]) >= cutoff])
    y = np.unique(labels, return_inverse=True)[1]
    dev = np.arange(len(y)) % DEV_SHARE == 0
    return Corpus("attachment", X, y, X[:0], y[:0], dev)


def letters(rows: int = 20_000, columns: int = 200) -> Corpus:
    """Many short rows of few columns, of which groups add up to one another."""
    with gzip.open(data_folder() / "ud_english_ewt" / "train.tsv.gz", "rt", encoding="utf-8") as lines:
        tokens = [line.rstrip("\n").split("\t") for line in lines if line.strip()][: rows + 2]
    words, tags = [each[0] for each in tokens], [each[1] for each in tokens]
    dictionaries = []
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        low = word.lower()
        found = {f"has {letter}": 1.0 for letter in low if letter.isalnum()}
        parts = {"last": low[-1:], "last 2": low[-2:], "last 3": low[-3:], "first": low[:1], "before": before[-1:],
                 "after": after[-1:], "after 2": after[-2:], "length": str(min(len(low), 10)),
                 "capital": str(word[:1].isupper())}  # fmt: skip
        dictionaries.append(found | {f"{name} {value}": 1.0 for name, value in parts.items()})
    X = canonical(DictVectorizer().fit_transform(dictionaries))
    X = canonical(X[:, np.argsort(-np.bincount(X.indices), kind="stable")[:columns]])
    y = np.array([tag == "NOUN" for tag in tags[1:-1]]).astype(np.int64)
    return Corpus("letters", X, y, X[:0], y[:0], np.arange(len(y)) % DEV_SHARE == 0)


def _from_table(name: str, table: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Corpus:
    X, y = table(return_X_y=True)
    X = canonical(X)
    return Corpus(name, X, y.astype(np.int64), X[:0], y[:0], np.arange(len(y)) % DEV_SHARE == 0)


def breast() -> Corpus:
    return _from_table("breast", load_breast_cancer)


def digits() -> Corpus:
    return _from_table("digits", load_digits)


def zipf(
    rows: int = 100_000,
    columns: int = 500_000,
    labels: int = 20,
    draws: int = 77,
    held_out: int = 10_000,
    seed: int = 1,
) -> Corpus:
    """Documents of words drawn by Zipf's law, with labels from a sparse linear model and noise.

    A document has 1 + Poisson(``draws`` - 1) words, word r with probability ∝ 1/r, and columns are
    numbered in a random order, as alphabetical vocabularies are in effect. Values are 1 + log(count),
    rows of norm 1. Half of the common words (ranks 50 to 2,000) tell about the label:
    y = argmax_k (x·W_k + Gumbel noise).
    """
    generator = np.random.default_rng(seed)
    total = rows + held_out
    lengths = 1 + generator.poisson(draws - 1, total)  # no row is empty
    mass = np.cumsum(1.0 / np.arange(1, columns + 1))
    ranks = np.searchsorted(mass, generator.random(lengths.sum()) * mass[-1])
    column_of_rank = generator.permutation(columns)
    words = column_of_rank[ranks]
    owners = np.repeat(np.arange(total), lengths)
    counts = sparse.coo_matrix((np.ones(len(words)), (owners, words)), shape=(total, columns))
    X = canonical(counts.tocsr())
    X.data = 1.0 + np.log(X.data)
    norms = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(norms, np.diff(X.indptr))
    informative = generator.choice(column_of_rank[50:2_000], 1_000, replace=False)
    truth = np.zeros((columns, labels))
    truth[informative] = generator.normal(scale=60.0, size=(len(informative), labels))
    y = np.argmax(X @ truth + generator.gumbel(size=(total, labels)), axis=1)
    dev = np.zeros(rows, dtype=bool)
    dev[:: 2 * DEV_SHARE] = True
    return Corpus("zipf", X[:rows], y[:rows], X[rows:], y[rows:], dev)


MAKERS: dict[str, Callable[[], Corpus]] = {
    "newsgroups": newsgroups,
    "imdb": imdb,
    "imdb-tfidf": imdb_tfidf,
    "imdb-bigrams": imdb_bigrams,
    "bodies": bodies,
    "acq": acq,
    "zipf": zipf,
    "openings": openings,
    "attachment": attachment,
    "letters": letters,
    "breast": breast,
    "digits": digits,
}


def load(name: str) -> Corpus:
    """The corpus called ``name``: from the cache, or made and put there."""
    path = cache_folder() / f"{name}-{FORMAT}.npz"
    if not path.exists():
        print(f"making the {name} matrices ...", flush=True)
        _save(MAKERS[name](), path)
    with np.load(path) as arrays:
        matrices = [
            sparse.csr_matrix(
                tuple(arrays[f"{part}_{array}"] for array in ("data", "indices", "indptr")),
                shape=tuple(arrays[f"{part}_shape"]),
            )
            for part in PARTS
        ]
        return Corpus(name, matrices[0], arrays["y"], matrices[1], arrays["y_test"], arrays["dev"])


def _save(corpus: Corpus, path: Path) -> None:
    arrays = {"y": corpus.y, "y_test": corpus.y_test, "dev": corpus.dev}
    for part, X in (("train", corpus.X), ("test", corpus.X_test)):
        arrays |= {f"{part}_{array}": getattr(X, array) for array in ("data", "indices", "indptr")}
        arrays[f"{part}_shape"] = np.array(X.shape)
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, **arrays)
    os.replace(unfinished, path)


if __name__ == "__main__":
    for corpus_name in MAKERS:
        print(load(corpus_name).describe())
