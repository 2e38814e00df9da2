"""Tag dictionaries: words that take only some labels (Ratnaparkhi 1996)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.sequence.column_selection import as_columns
from fastlin.sequence.partial_labels import LabelCodes
from fastlin.sequence.tokens import Tokens
from fastlin.validation import whole_number

LABEL_PENALTY = 1e6  # what a label costs that the dictionary does not have


@dataclass(frozen=True)
class TagDictionary:
    """For some columns, which labels a token with this feature has."""

    columns: NDArray[np.int64]
    masks: NDArray[np.bool_]  # [columns, K]

    @classmethod
    def learn(
        cls,
        chosen: Any,
        cutoff: Any,
        tokens: Tokens,
        known: LabelCodes,
        classes: NDArray[Any],
        names: list[str] | None,
    ) -> Self | None:
        """What the parameter `tag_dictionary` says: given entries, or the labels of words that `cutoff` tokens have.

        A token without a known label says nothing, one with a set that it may be each of these.

        Given names that no token has are left out; given labels that no token has are an error.
        """
        cutoff = whole_number("dictionary_cutoff", cutoff, 1)
        if chosen is None:
            return None
        if isinstance(chosen, dict):
            return cls._given(chosen, classes, names, tokens.rows.n_columns)
        rows, n = tokens.rows, tokens.n_tokens
        columns = as_columns(chosen, names, rows.n_columns, "tag_dictionary")
        present = (rows.values[: rows.nnz] != 0).astype(np.int64)
        words = sp.csr_array((present, rows.indices[: rows.nnz], rows.indptr), shape=(n, rows.n_columns))[:, columns]
        of_tokens, labels = known.said(tokens.starts, 1, cutoff)
        said = sp.csr_array((np.ones(len(labels), np.int64), (of_tokens, labels)), shape=(n, len(classes)))
        counts = (words.T @ said).toarray()
        seen = words.T @ said.max(axis=1).toarray().reshape(-1) >= cutoff
        return cls(columns[seen], counts[seen] > 0)

    @classmethod
    def _given(cls, entries: dict[Any, Any], classes: NDArray[Any], names: list[str] | None, n_columns: int) -> Self:
        places = {label: place for place, label in enumerate(classes.tolist())}
        known = dict(zip(range(n_columns) if names is None else names, range(n_columns), strict=True))
        found: dict[int, NDArray[np.bool_]] = {}
        for name, labels in entries.items():
            row = np.zeros(len(classes), bool)
            for label in [labels] if isinstance(labels, str) or not isinstance(labels, Iterable) else labels:
                if label not in places:
                    raise ValueError(
                        f"tag_dictionary gives {name!r:.60} the label {label!r:.60}, which y does not have"
                    )
                row[places[label]] = True
            if not row.any():
                raise ValueError(f"tag_dictionary gives {name!r:.60} no label")
            if name in known:
                found[known[name]] = row
        columns = np.array(sorted(found), np.int64)
        return cls(
            columns, np.array([found[column] for column in columns.tolist()]).reshape(len(columns), len(classes))
        )

    def entries(self, classes: NDArray[Any], names: list[str] | None) -> dict[Any, list[Any]]:
        """The labels of each name or, without names, column."""
        keys = self.columns.tolist() if names is None else [names[column] for column in self.columns.tolist()]
        return {key: classes[mask].tolist() for key, mask in zip(keys, self.masks, strict=True)}

    def penalty(self, n_columns: int) -> "DictionaryPenalty":
        return DictionaryPenalty(self, n_columns)


class DictionaryPenalty:
    """Lowers the scores of the labels that a dictionary does not have."""

    def __init__(self, dictionary: TagDictionary, n_columns: int) -> None:
        self._places = np.full(n_columns, -1, np.int32)
        self._places[dictionary.columns] = np.arange(len(dictionary.columns), dtype=np.int32)
        self._costs = np.where(dictionary.masks, 0.0, LABEL_PENALTY)

    def lower(self, tokens: Tokens, start: int, stop: int, scores: NDArray[np.float64]) -> None:
        """Scores of the tokens start to stop."""
        rows = tokens.rows
        block = slice(rows.indptr[start], rows.indptr[stop])
        places = self._places[rows.indices[block]]
        words = np.flatnonzero((places >= 0) & (rows.values[block] != 0))
        of_token = np.searchsorted(rows.indptr[start : stop + 1], words + rows.indptr[start], side="right") - 1
        if (np.diff(of_token) > 0).all():  # one word a token
            scores[of_token] -= self._costs[places[words]]
        else:
            np.subtract.at(scores, of_token, self._costs[places[words]])
