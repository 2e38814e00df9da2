"""Labels of tokens as codes, and back."""

import reprlib
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.sequence.tokens import Tokens


class LabelEncoder:
    """The labels of a model, sorted: strings or integers, coded by their place.

    Labels of tokens are a list for each sequence, or one flat vector for all tokens.

    Parameters
    ----------
    classes : iterable of labels, optional
        Given, not learnt.
    """

    classes_: NDArray[Any]
    places: dict[Any, int]

    def __init__(self, classes: Any = None) -> None:
        if classes is not None:
            if isinstance(classes, str | bytes) or not isinstance(classes, Iterable):
                raise TypeError(f"classes must be a list of labels, got {_shown(classes)}")
            given = _plain(list(classes), "classes", lambda place: f"at place {place}")
            if not given:
                raise ValueError("classes must hold at least one label")
            self._set(set(given))

    def __len__(self) -> int:
        return len(self.classes_)

    def learn(self, y: Any, tokens: Tokens) -> NDArray[np.int32]:
        """Take in the labels of some tokens, and only these, and return their codes."""
        labels = _flat(y, tokens)
        if not labels:
            raise ValueError("y holds no label: there is no token to learn from")
        self._set(set(labels))
        return self._coded(labels)

    def codes(self, y: Any, tokens: Tokens, unseen: str | int = "error") -> NDArray[np.int32]:
        """The codes of the labels of some tokens; −1 for a label that is not there, should `unseen` be −1."""
        labels = _flat(y, tokens)
        codes = self._coded(labels)
        if unseen == "error" and len(codes) and codes.min() < 0:
            token = int(np.argmin(codes))
            raise ValueError(
                f"y holds the label {labels[token]!r} {_where(tokens, token)}, which the model has not seen"
            )
        return codes

    def lists(self, codes: NDArray[np.integer[Any]], starts: NDArray[np.int64]) -> list[list[Any]]:
        """The labels that codes stand for, a list for each sequence."""
        labels = self.classes_[codes].tolist()
        return [labels[start:stop] for start, stop in pairwise(starts.tolist())]

    def _set(self, labels: set[Any]) -> None:
        ordered = sorted(labels)
        if isinstance(ordered[0], str):
            classes = np.empty(len(ordered), object)
            classes[:] = ordered
        else:
            outside = next((label for label in ordered if not -(2**63) <= label < 2**63), None)
            if outside is not None:
                raise ValueError(f"the label {outside} is too large: integer labels have at most 64 bits")
            classes = np.array(ordered, np.int64)
        self.classes_, self.places = classes, {label: code for code, label in enumerate(ordered)}

    def _coded(self, labels: list[Any]) -> NDArray[np.int32]:
        get = self.places.get
        return np.fromiter((get(label, -1) for label in labels), np.int32, len(labels))


def _flat(y: Any, tokens: Tokens) -> list[Any]:
    """The label of each token: all str, or all int."""
    if y is None:
        raise ValueError("y is None; give a list of labels for each sequence")
    table = getattr(y, "ndim", 1) == 0 or (hasattr(y, "iloc") and y.ndim == 2)
    if isinstance(y, str | bytes | Mapping | set | frozenset) or table or sp.issparse(y) or not isinstance(y, Iterable):
        raise TypeError(f"y must hold a list of labels for each sequence, got {_shown(y)}")
    parts = y.tolist() if isinstance(y, np.ndarray) and y.dtype.kind in "iuU" else list(y)
    if parts and len(parts) == len(tokens) != tokens.n_tokens and all(part is None for part in parts):
        raise ValueError(
            "y holds no labels, but None for each sequence; those of read_conll have some if label= is given"
        )
    if parts and all(_single(kind) for kind in set(map(type, parts))):
        if len(parts) != tokens.n_tokens:
            raise ValueError(
                f"y is flat and has {len(parts)} labels, but the {len(tokens)} sequences of X have {tokens.n_tokens} "
                "tokens"
            )
        return _plain(parts, "y", lambda token: _where(tokens, token))
    if len(parts) != len(tokens):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {len(tokens)} sequences, "
            f"y has {len(parts)}"
        )
    parts = [  # which nobody changes between counting and reading
        tuple(part) if type(part) is list or type(part) is tuple else _listed(part, s) for s, part in enumerate(parts)
    ]
    lengths, found = tokens.lengths, np.fromiter(map(len, parts), np.int64, len(parts))
    if (wrong := np.flatnonzero(found != lengths)).size:
        s = wrong[0]
        raise ValueError(f"sequence {s} has {lengths[s]} tokens in X, but {found[s]} labels in y")
    return _plain(list(chain.from_iterable(parts)), "y", lambda token: _where(tokens, token))


def _single(kind: type) -> bool:
    """Whether what is of this type may be one label, right or wrong, rather than those of a sequence."""
    return issubclass(kind, str | bytes) or not issubclass(kind, Iterable)


def _listed(part: Any, s: int) -> list[Any]:
    """The labels of a sequence in a container that is no list."""
    if _single(type(part)) or isinstance(part, Mapping | set | frozenset) or getattr(part, "ndim", 1) == 0:
        raise TypeError(f"y must hold a list of labels for each sequence, but that of sequence {s} is {_shown(part)}")
    return part.tolist() if isinstance(part, np.ndarray) and part.dtype.kind in "iuU" else list(part)


def _plain(labels: list[Any], name: str, where: Callable[[int], str]) -> list[Any]:
    """The same labels as str or int themselves, if they are all strings or all integers."""
    kinds = set(map(type, labels))
    if kinds <= {str} or kinds == {int}:
        return labels
    if all(issubclass(kind, str) for kind in kinds):
        return [str.__str__(label) for label in labels]
    if bool not in kinds and all(issubclass(kind, Integral) for kind in kinds):
        return [int(label) for label in labels]
    for place, label in enumerate(labels):
        if not isinstance(label, str | Integral) or isinstance(label, bool):
            raise TypeError(f"{name} holds {_shown(label)} {where(place)}; labels are strings or integers")
    strings = isinstance(labels[0], str)
    place = next(place for place, label in enumerate(labels) if isinstance(label, str) is not strings)
    raise TypeError(
        f"{name} holds {_shown(labels[0])} {where(0)} and {_shown(labels[place])} {where(place)}; "
        "labels are all strings or all integers"
    )


def _where(tokens: Tokens, token: int) -> str:
    sequence, place = tokens.place(token)
    return f"at sequence {sequence}, token {place}"


def _shown(value: Any) -> str:
    return f"{reprlib.repr(value)} ({type(value).__name__})"
