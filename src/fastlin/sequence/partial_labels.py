"""Labels of sequences of which some are not known."""

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.sequence.label_encoder import LabelEncoder
from fastlin.sequence.tokens import Tokens


@dataclass(frozen=True)
class _Known(Tokens):
    """The tokens whose labels are known, as one sequence that remembers where they were."""

    whole: Tokens
    places: NDArray[np.int64]

    def place(self, token: int) -> tuple[int, int]:
        return self.whole.place(int(self.places[token]))


def as_partly_labelled(y: Any, tokens: Tokens) -> tuple[NDArray[Any] | None, NDArray[np.int32]]:
    """(classes, codes): the sorted labels that are known, None if none is, and the code of each token, −1 for none.

    y is None; or a list with, for each sequence, None or a list of labels; or one vector for all tokens. A label that
    is not known is None, or −1 among numbers.
    """
    codes = np.full(tokens.n_tokens, -1, np.int32)
    if y is None:
        return None, codes
    y = y if isinstance(y, np.ndarray | list | tuple | str) or not hasattr(y, "__iter__") else list(y)
    flat = _flat(y, tokens)
    if flat is None or (None not in flat and -1 not in flat):  # what is no list of labels is refused for what it is
        labels = LabelEncoder()
        codes = labels.learn(y, tokens)
        return labels.classes_, codes
    there = np.array([not _is_hidden(label) for label in flat], bool)
    if not there.any():
        return None, codes
    places = np.flatnonzero(there)
    known = [label for label, is_there in zip(flat, there, strict=True) if is_there]
    labels = LabelEncoder()
    starts = np.array([0, len(known)])
    codes[there] = labels.learn(known, _Known(tokens.rows, starts, tokens.binary, tokens, places))
    return labels.classes_, codes


def _flat(y: Any, tokens: Tokens) -> list[Any] | None:
    """A label, or none, for each token; None if y is not of the right form."""
    if isinstance(y, str | bytes | dict) or not hasattr(y, "__iter__"):
        return None
    parts = y.tolist() if isinstance(y, np.ndarray) else list(y)
    lengths = tokens.lengths.tolist()
    of_sequences = any(_holds(part) for part in parts) or (
        len(parts) == len(lengths) and all(part is None for part in parts)
    )
    if not of_sequences:
        return parts if len(parts) == tokens.n_tokens else None
    if len(parts) != len(lengths) or not all(part is None or _holds(part) for part in parts):
        return None
    filled = [[None] * n if part is None else list(part) for part, n in zip(parts, lengths, strict=True)]
    return list(chain.from_iterable(filled)) if [*map(len, filled)] == lengths else None


def _holds(part: Any) -> bool:
    """Whether it may be the labels of a sequence."""
    return hasattr(part, "__iter__") and not isinstance(part, str | bytes | dict | set | frozenset)


def _is_hidden(label: Any) -> bool:
    return label is None or (isinstance(label, int | np.integer) and not isinstance(label, bool) and label == -1)
