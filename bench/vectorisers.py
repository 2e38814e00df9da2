"""Which vectoriser is asked what, on both sides, and when are two answers the same?

A side is a module: ours or scikit-learn's, with the same classes and the same parameters. A question makes a
vectoriser, hands it texts, and may want the names of the columns or the vocabulary dict as well, which cost as much
as the counting when there are many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from corpora import documents

SIDES = {"ours": "fastlin.text", "scikit-learn": "sklearn.feature_extraction.text"}
CORPORA = {"movie reviews": "movie_reviews", "newsgroups": "20newsgroups", "imdb": "imdb"}
TOLERANCE = 1e-6  # of values that are no counts

Answer = tuple[Any, Any]  # a matrix; names, a dict or None
Texts = Sequence[str]


@dataclass(frozen=True)
class Parts:
    """Texts to fit on and texts to transform."""

    train: Texts
    test: Texts

    @classmethod
    def of(cls, corpus: str, limit: int | None = None) -> Parts:
        train, test = (documents(CORPORA[corpus], part)[1][:limit] for part in ("train", "test"))
        return cls(train, test)


@dataclass(frozen=True)
class Question:
    """A class, its parameters, what is wanted afterwards, and the factors asked for and hoped for."""

    name: str
    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    wanted: str = ""  # names | vocabulary
    known: str = ""  # fitted: on the training texts, not timed | given: a vocabulary dict, to a new vectoriser
    asked: tuple[float, float] | None = None

    def make(self, side: str, **more: Any) -> Any:
        return getattr(import_module(SIDES[side]), self.kind)(**self.parameters, **more)

    def prepare(self, side: str, parts: Parts, **more: Any) -> Callable[[], Answer]:
        """What is timed: from texts to the answer."""
        fitted = self.make(side, **more).fit(parts.train) if self.known == "fitted" else None
        if self.known == "given":
            more["vocabulary"] = self.make("scikit-learn").fit(parts.train).vocabulary_

        def run() -> Answer:
            vectoriser = fitted or self.make(side, **more)
            X = vectoriser.transform(parts.test) if self.known else vectoriser.fit_transform(parts.train)
            if self.wanted == "names":
                return X, vectoriser.get_feature_names_out()
            return X, vectoriser.vocabulary_ if self.wanted else None

        return run

    def megabytes(self, parts: Parts) -> float:
        """UTF-8 bytes of what is read while the clock runs, in millions."""
        return sum(len(text.encode()) for text in (parts.test if self.known else parts.train)) / 1e6


PAIRS = {"ngram_range": (1, 2)}
INSIDE_WORDS = {"analyzer": "char_wb", "ngram_range": (2, 5)}
CHARACTERS = {"analyzer": "char", "ngram_range": (2, 4)}

QUESTIONS = (
    Question("words, names", "CountVectorizer", wanted="names", asked=(8, 15)),
    Question("words 1-2", "CountVectorizer", PAIRS, asked=(25, 40)),
    Question("words 1-2, names", "CountVectorizer", PAIRS, "names", asked=(8, 14)),
    Question("words 1-2, vocabulary_", "CountVectorizer", PAIRS, "vocabulary"),
    Question("char_wb 2-5", "CountVectorizer", INSIDE_WORDS),
    Question("char_wb 2-5, names", "CountVectorizer", INSIDE_WORDS, "names", asked=(15, 35)),
    Question("char 2-4, names", "CountVectorizer", CHARACTERS, "names"),
    Question("hashed words", "HashingVectorizer", asked=(10, 15)),
    Question("hashed words 1-2", "HashingVectorizer", PAIRS, asked=(10, 15)),
    Question("transform, vocabulary given", "CountVectorizer", known="given", asked=(8, 15)),
    Question("transform, fitted", "CountVectorizer", known="fitted", asked=(8, 15)),
    Question("transform, fitted 1-2", "CountVectorizer", PAIRS, known="fitted"),
    Question("tf-idf", "TfidfVectorizer", asked=(6, 12)),
    Question("tf-idf, names", "TfidfVectorizer", wanted="names", asked=(6, 12)),
)


def difference(left: Answer, right: Answer) -> str:
    """``equal`` for the same container with the same bits in the same order, else what is not the same."""
    (X, names), (Z, others) = left, right
    if type(X) is not type(Z) or X.shape != Z.shape or X.dtype != Z.dtype:
        return f"{type(X).__name__} {X.shape} {X.dtype}, not {type(Z).__name__} {Z.shape} {Z.dtype}"
    for array in ("indptr", "indices"):
        mine, theirs = getattr(X, array), getattr(Z, array)
        if mine.dtype != theirs.dtype or not np.array_equal(mine, theirs):
            return f"other {array}"
    if type(names) is not type(others):
        return "other names"
    same = list(names.items()) == list(others.items()) if isinstance(names, dict) else np.array_equal(names, others)
    if not same:
        return "other names"
    if np.array_equal(X.data, Z.data):
        return "equal"
    apart = float(np.max(np.abs(X.data - Z.data) / np.maximum(np.abs(Z.data), np.finfo(Z.dtype).tiny)))
    return f"to {apart:.0e}" if apart <= TOLERANCE else f"values differ by {apart:.0e}"
