"""Labels of sequences of which some are not known, or known to be one of several."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chain.token_labels import TokenLabels
from fastlin.sequence.label_encoder import LabelEncoder
from fastlin.sequence.label_lists import as_lists
from fastlin.sequence.sample_weights import NO_WEIGHTS
from fastlin.sequence.tokens import Tokens

NOT_KNOWN = -1  # the code of a label that may be any
FIRST_SET = -2  # the code of the first set; that of the next is −3, and so on
NO_SETS = np.zeros((0, 0), np.uint8)
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class LabelCodes:
    """The codes of tokens' labels: −1 for one that is not known, −2 − m for one of those that members[m] marks."""

    codes: NDArray[np.int32]  # [n_tokens]
    n_labels: int
    members: NDArray[np.uint8] = field(default_factory=lambda: NO_SETS)  # [n_sets, K]
    weights: NDArray[np.float64] = field(default_factory=lambda: NO_WEIGHTS)  # of sequences; of length 0: all are 1

    @property
    def complete(self) -> bool:
        """Whether each token has one label."""
        return bool((self.codes >= 0).all())

    @property
    def identity(self) -> tuple[NDArray[Any], ...]:
        """The arrays that a checkpoint is known by."""
        return tuple(array for array in (self.codes, self.members, self.weights) if array is self.codes or len(array))

    def bind(self) -> TokenLabels:
        """The codes as the kernels take them."""
        return TokenLabels(self.codes, self.n_labels, self.members, self.weights)

    def with_classes(self, places: NDArray[np.int32], n_labels: int) -> "LabelCodes":
        """The same among more labels, where the present ones have these places."""
        codes = self.codes.copy()
        codes[codes >= 0] = places[codes[codes >= 0]]
        members = np.zeros((len(self.members), n_labels), np.uint8)
        members[:, places] = self.members.reshape(-1, self.n_labels)
        return LabelCodes(codes, n_labels, members, self.weights)

    def token_weights(self, starts: Numbers) -> NDArray[np.float64] | None:
        """The weight of each token, that of its sequence; None: all are 1."""
        return np.repeat(self.weights, np.diff(starts)) if len(self.weights) else None

    def in_complete(self, starts: Numbers) -> NDArray[np.bool_]:
        """Whether each token is in a sequence whose labels are all known."""
        unknown = np.append(0, np.cumsum(self.codes < 0))[starts]
        return np.repeat(np.diff(unknown) == 0, np.diff(starts))

    def any_label(self) -> "LabelCodes":
        """Codes that say the same of all tokens."""
        return LabelCodes(np.zeros(len(self.codes), np.int32), self.n_labels, weights=self.weights)

    def masks(self) -> NDArray[np.bool_]:
        """Which labels each token may have, [n_tokens, K]."""
        rows = np.concatenate([np.eye(self.n_labels, dtype=bool), self._sets(), np.ones((1, self.n_labels), bool)])
        return rows[self._kinds()]

    def log_choices(self, starts: Numbers) -> float:
        """Σ log (K / labels that the token may have): −log p(y | x) where all labels are equally likely."""
        weights = self.token_weights(starts)
        if self.complete:
            return (len(self.codes) if weights is None else float(weights.sum())) * float(np.log(self.n_labels))
        sizes = self._sizes()
        sizes[-1] = self.n_labels
        logs = np.log(self.n_labels / sizes[self._kinds()])
        return float(logs.sum() if weights is None else logs @ weights)

    def said(self, starts: Numbers, length: int = 1, cutoff: int = 1) -> tuple[Numbers, Numbers]:
        """The paths of so many labels that are known or, where sets say so, possible: (last token, place) of each.

        The labels (i, j) have the place i · K + j. No path goes over a token of which nothing is said. Where a cutoff
        counts them, those of a sequence of weight w are there ⌊w⌋ times, once at least.
        """
        kinds, sizes, K = self._kinds(), self._sizes(), self.n_labels
        labels = np.concatenate([np.arange(K), np.nonzero(self._sets())[1]])  # of all kinds, one behind the other
        first = (np.cumsum(sizes) - sizes)[kinds]
        own = sizes[kinds]
        ends = np.flatnonzero(np.arange(len(kinds)) - np.repeat(starts[:-1], np.diff(starts)) >= length - 1)
        counts = np.ones(len(ends), np.int64)
        for back in range(length):
            counts *= own[ends - back]
        tokens = np.repeat(ends, counts)
        rank = np.arange(len(tokens)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.zeros(len(tokens), np.int64)
        for back in range(length):  # the digits of the rank choose the labels, the last one first
            share = own[tokens - back]
            places += K**back * labels[first[tokens - back] + rank % share]
            rank //= share
        if len(self.weights) and cutoff > 1:
            times = np.repeat(np.clip(np.floor(self.weights), 1, cutoff).astype(np.int64), np.diff(starts))[tokens]
            return np.repeat(tokens, times), np.repeat(places, times)
        return tokens, places

    def _sets(self) -> NDArray[np.bool_]:
        return self.members.reshape(-1, self.n_labels).astype(bool)

    def _sizes(self) -> Numbers:
        """How many labels are said by each kind of entry: a label, a set, nothing."""
        return np.concatenate([np.ones(self.n_labels), self._sets().sum(axis=1), [0]]).astype(np.int64)

    def _kinds(self) -> Numbers:
        """Which of these kinds each token has."""
        codes = self.codes.astype(np.int64)
        last = self.n_labels + len(self.members)
        return np.where(codes >= 0, codes, np.where(codes == NOT_KNOWN, last, self.n_labels + FIRST_SET - codes))


@dataclass(frozen=True)
class _Known(Tokens):
    """The labels that are said, as tokens of one sequence, each of which remembers where it was."""

    whole: Tokens
    places: Numbers

    def place(self, token: int) -> tuple[int, int]:
        return self.whole.place(int(self.places[token]))


def as_partly_labelled(y: Any, tokens: Tokens) -> tuple[NDArray[Any] | None, LabelCodes]:
    """(classes, codes): the sorted labels that are known, None if none is, and what is said of each token.

    y is None; or a list with, for each sequence, None or a list of labels; or one vector for all tokens. A label that
    is not known is None, or −1 among numbers; a set of labels says that it is one of these.
    """
    nothing = LabelCodes(np.full(tokens.n_tokens, NOT_KNOWN, np.int32), 1)
    if y is None:
        return None, nothing
    y = as_lists(y)
    y = y if isinstance(y, np.ndarray | list | tuple | str) or not hasattr(y, "__iter__") else list(y)
    if isinstance(y, list | tuple):  # it is read more than once
        y = [list(part) if isinstance(part, Iterator) else part for part in y]
    flat = None if _are_strings(y) else _flat(y, tokens)
    if flat is None or not _partial(flat):  # what is no list of labels is refused for what it is
        labels = LabelEncoder()
        beside_none = flat and any(part is None for part in y)  # None says of an empty sequence what an empty list does
        codes = labels.learn(flat if beside_none else y, tokens)
        return labels.classes_, LabelCodes(codes, len(labels))
    said = [_said(label, tokens, place) for place, label in enumerate(flat)]
    sizes = np.fromiter(map(len, said), np.int64, len(said))
    known = list(chain.from_iterable(said))
    if not known:
        return None, nothing
    places, labels = np.repeat(np.arange(len(said)), sizes), LabelEncoder()
    whole = _Known(tokens.rows, np.array([0, len(known)]), tokens.binary, tokens, places)
    found = labels.learn(known, whole)
    return labels.classes_, _grouped(found, sizes, len(labels))


def _grouped(found: NDArray[np.int32], sizes: Numbers, n_labels: int) -> LabelCodes:
    """What is said of tokens, from so many codes for each."""
    codes = np.full(len(sizes), NOT_KNOWN, np.int32)
    ends = np.cumsum(sizes)
    codes[sizes == 1] = found[ends[sizes == 1] - 1]
    sets: dict[tuple[int, ...], int] = {}
    for token in np.flatnonzero(sizes > 1).tolist():
        chosen = tuple(sorted(found[ends[token] - sizes[token] : ends[token]].tolist()))
        codes[token] = FIRST_SET - sets.setdefault(chosen, len(sets))
    members = np.zeros((len(sets), n_labels), np.uint8)
    for chosen, place in sets.items():
        members[place, list(chosen)] = 1
    return LabelCodes(codes, n_labels, members)


def _are_strings(y: Any) -> bool:
    """Whether all labels are strings, as far as a quick look tells: flat, or in lists."""
    if isinstance(y, np.ndarray):
        return y.dtype.kind == "U"
    kinds = set(map(type, y)) if isinstance(y, list | tuple) else {object}
    return kinds == {str} or (kinds <= {list, tuple} and set(map(type, chain.from_iterable(y))) <= {str})


def _flat(y: Any, tokens: Tokens) -> list[Any] | None:
    """A label, a set, or nothing, for each token; None if y is not of the right form."""
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


def _partial(flat: list[Any]) -> bool:
    """Whether something is not known."""
    kinds = set(map(type, flat))
    if kinds <= {str}:
        return False
    return any(issubclass(kind, set | frozenset | type(None)) for kind in kinds) or any(map(_is_hidden, flat))


def _said(label: Any, tokens: Tokens, place: int) -> list[Any]:
    """The labels that a token may have; none: any."""
    if not isinstance(label, set | frozenset):
        return [] if _is_hidden(label) else [label]
    if not label or any(map(_is_hidden, label)):
        sequence, token = tokens.place(place)
        wrong = "no label" if not label else "what stands for a label that is not known"
        raise ValueError(
            f"y holds a set of {wrong} at sequence {sequence}, token {token}; give labels, or None for any"
        )
    return list(label)


def _is_hidden(label: Any) -> bool:
    return label is None or (isinstance(label, int | np.integer) and not isinstance(label, bool) and label == NOT_KNOWN)
