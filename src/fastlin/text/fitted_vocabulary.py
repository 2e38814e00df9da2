"""Vocabulary that a counting vectoriser has learnt, or was given: terms and their columns."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.text.vocabulary import TermVocabulary
from fastlin.validation import whole_number


@dataclass
class FittedVocabulary:
    """The terms, and the column of each; −1: it has none."""

    terms: TermVocabulary
    columns: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))  # how many documents had each term
    n_columns: int = 0
    n_documents: int = 0
    given: dict[Any, int] | None = None  # a vocabulary of the user's, as it was given
    frequencies: NDArray[np.int64] | None = None  # how many documents had the term of each of its columns
    cached: dict[Any, int] | None = field(default=None, repr=False)

    @property
    def vocabulary(self) -> dict[Any, int]:
        """{term: column}, in the order of first appearance; made when it is asked for."""
        if self.given is not None:
            return self.given
        if self.cached is None:
            numbers = np.flatnonzero(self.columns >= 0).astype(np.int32)
            self.cached = dict(zip(self.terms.names(numbers).tolist(), self.columns[numbers].tolist(), strict=True))
        return self.cached

    def check_terms(self) -> None:
        """Refuse a `vocabulary_` whose dict has got other terms: columns were made of those that it had."""
        shown = self.cached if self.given is None else self.given
        if shown is not None and len(shown) != self.n_columns:
            raise ValueError(
                f"vocabulary_ was changed: it has {len(shown)} terms for {self.n_columns} columns; set another "
                "dict as vocabulary_ instead"
            )

    def names(self) -> NDArray[np.object_]:
        """The terms in the order of their columns."""
        self.check_terms()
        if self.given is not None:
            names = np.empty(self.n_columns, object)
            names[columns_of(self.given)] = list(self.given)
            return names
        numbers = np.empty(self.n_columns, np.int32)
        known = np.flatnonzero(self.columns >= 0)
        numbers[self.columns[known]] = known
        return self.terms.names(numbers)

    def documents(self) -> NDArray[np.int64]:
        """How many documents had the term of each column."""
        if self.frequencies is not None:
            return self.frequencies
        documents = np.zeros(self.n_columns, np.int64)
        known = np.flatnonzero(self.columns >= 0)
        documents[self.columns[known]] = self.rows[known]
        return documents

    @classmethod
    def of(cls, terms: TermVocabulary, given: dict[Any, int]) -> "FittedVocabulary":
        """A vocabulary that was given, in terms that are still empty."""
        places, numbers = columns_of(given), terms.add(list(given))
        columns = np.full(len(terms), -1, np.int32)
        known = numbers >= 0
        columns[numbers[known]] = places[known]
        return cls(terms, columns, n_columns=len(given), given=given)


def checked_vocabulary(vocabulary: Any) -> dict[Any, int]:
    """A vocabulary of the user's as {term: column}, once it is found to be one."""
    if isinstance(vocabulary, (str, bytes)) or not isinstance(vocabulary, Iterable):
        raise ValueError(f"vocabulary must be a mapping of terms to columns, or terms; got {vocabulary!r:.50}")
    if isinstance(vocabulary, Mapping):
        given = dict(vocabulary)
    else:
        given = {}
        for column, term in enumerate(sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else vocabulary):
            if given.setdefault(term, column) != column:
                raise ValueError(f"Duplicate term in vocabulary: {term!r}")
    if not given:
        raise ValueError("empty vocabulary passed to fit")
    return given


def columns_of(given: dict[Any, Any]) -> NDArray[np.int64]:
    """The columns of the terms in the order of a mapping, which have to be 0, 1, … in some order."""
    n, values = len(given), given.values()
    if not set(map(type, values)) <= {int}:
        for term, column in given.items():
            whole_number(f"the column of {term!r:.50} in vocabulary", column, 0)
    with suppress(OverflowError):  # of a number that no column has
        columns = np.fromiter(values, np.int64, n)
        if n == 0 or (columns.min() == 0 and columns.max() == n - 1 and (np.bincount(columns) == 1).all()):
            return columns
    found = set(values)
    if len(found) < n:
        raise ValueError("Vocabulary contains repeated indices: vocabulary_ must give each term a column of its own")
    missing = next(column for column in range(n) if column not in found)
    raise ValueError(f"Vocabulary of size {n} doesn't contain index {missing}: vocabulary_ must have columns 0, 1, …")


def has_capitals(given: dict[Any, int], mark: str) -> bool:
    """Whether a term has a capital letter beside the mark that the vectoriser itself puts before a word."""
    terms = list(given)
    try:
        text = "".join(terms)
    except TypeError:
        terms = [term for term in terms if isinstance(term, str)]
        text = "".join(terms)
    if text.isascii() and text == text.lower():
        return False
    return any(any(map(str.isupper, term.removeprefix(mark))) for term in terms)
