"""Tokens that a hidden Markov model counts, and the words among them that it has never seen."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.sequence.base import SequenceModel
from fastlin.sequence.hmm.state import HMMState
from fastlin.sequence.label_lists import as_lists
from fastlin.sequence.partial_labels import LabelCodes
from fastlin.sequence.tokens import Tokens, is_matrix


@dataclass(frozen=True)
class WordTokens(Tokens):
    """Tokens of which some are words that were never seen."""

    unknown: NDArray[np.int64]  # their places
    kinds: NDArray[np.int64]  # which word each is
    logs: NDArray[np.float64]  # log φ of each word, [n, K]


class WordReader(SequenceModel, ABC):
    """A model of sequences that learns features as they come, and knows words that it does not know."""

    _words: bool  # whether all tokens so far were words

    @abstractmethod
    def _known(self) -> HMMState:
        """The learnt state."""

    def _tokens(self, X: Any, lengths: Any) -> Tokens:
        """Tokens to predict for, and the words among them that were never seen."""
        self._check_fitted()
        X = listed(X)
        tokens = self._nonnegative(super()._tokens(X, lengths))
        if not self._words or is_matrix(X):
            return tokens
        places = np.flatnonzero(np.diff(tokens.rows.indptr) == 0)
        of_sequences = tokens.sequence_of(places)
        within = (places - tokens.starts[of_sequences]).tolist()
        found = [X[sequence][place] for sequence, place in zip(of_sequences.tolist(), within, strict=True)]
        there = [isinstance(word, str) for word in found]
        kinds: dict[str, int] = {}
        each = [kinds.setdefault(word, len(kinds)) for word in found if isinstance(word, str)]
        logs = self._known().emissions.of_unknown(list(kinds))
        return WordTokens(tokens.rows, tokens.starts, tokens.binary, places[there], np.array(each, np.int64), logs)

    def _tokens_to_learn(self, X: Any, lengths: Any, n_columns: int | None) -> Tokens:
        """Tokens to count."""
        tokens = super()._tokens_to_learn(X, lengths, n_columns)
        if not tokens.rows.n_columns:
            raise ValueError("X has no features: there is nothing to count")
        rows = self._nonnegative(tokens).rows
        if (
            is_matrix(X)
            and rows.n_columns == 1
            and (rows.nnz < tokens.n_tokens or (rows.values[: rows.nnz] != 1).any())
        ):
            raise ValueError(
                "X has one column, which is not all 1: for codes of observations give lists of words, or a "
                "column for each code, with a 1 in each row"
            )
        return replace(tokens, rows=rows)

    def _nonnegative(self, tokens: Tokens) -> Tokens:
        """Tokens whose features are counts, none of them written though it is 0."""
        return replace(tokens, rows=validation.check_values(tokens.rows, nonnegative=True).without_zeros())

    def _all_words(self, X: Any) -> bool:
        """Whether each token is a word, and nothing else."""
        return self.features_ is None and not is_matrix(X) and set(map(type, chain.from_iterable(X))) <= {str}


def some_of(tokens: Tokens, labels: LabelCodes, which: NDArray[np.bool_]) -> tuple[Tokens, LabelCodes]:
    """Some of the sequences."""
    if which.all():
        return tokens, labels
    lengths = tokens.lengths
    places_of = np.flatnonzero(np.repeat(which, lengths))
    starts = np.append(0, np.cumsum(lengths[which]))
    weights = labels.weights[which] if len(labels.weights) else labels.weights
    return Tokens(tokens.rows.take(places_of), starts, tokens.binary), replace(
        labels, codes=labels.codes[places_of], weights=weights
    )


def listed(X: Any) -> Any:
    """Sequences as tuples, which are read twice and are the same each time."""
    X = as_lists(X)
    if is_matrix(X) or isinstance(X, str | bytes | dict) or not hasattr(X, "__iter__"):
        return X
    return [
        sequence
        if isinstance(sequence, str | bytes | set | frozenset)
        or hasattr(sequence, "items")
        or not hasattr(sequence, "__iter__")
        or getattr(sequence, "ndim", 1) != 1
        else tuple(sequence)
        for sequence in X
    ]
