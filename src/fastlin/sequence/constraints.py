"""What labels may follow one another, and which a token may have: −∞ for everything else."""

import dataclasses
import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fastlin.sequence.chain import Chain
from fastlin.sequence.tokens import Tokens
from fastlin.validation import one_of
from fastlin.validation.choices import SpanScheme

Mask = NDArray[np.bool_]
PREFIXES = {"bio": "BI", "iob2": "BI", "iob1": "BI", "iobes": "BIES", "bilou": "BILU"}
MAX_SHOWN_LABELS = 8  # labels in an error
ALL: Any = None  # may be the first, or the last


@dataclass(frozen=True, eq=False)
class Constraints:
    """Which labels may be first, follow one another and be last.

    Parameters
    ----------
    labels : sequence of labels
        What rows and columns stand for; a model's labels must be among them.
    transitions : boolean array of shape (n_labels, n_labels)
        Whether the second may follow the first.
    start, end : boolean array of shape (n_labels,), optional
        Whether a label may be the first, or the last; all may if not given.

    Examples
    --------
    >>> from fastlin.sequence.constraints import Constraints
    >>> rules = Constraints.of_scheme("bio", ["B-NP", "I-NP", "O"])
    >>> rules.start.tolist()
    [True, False, True]
    >>> rules.transitions.tolist()
    [[True, True, True], [True, True, True], [True, False, True]]
    """

    labels: tuple[Any, ...]
    transitions: Mask
    start: Mask = ALL
    end: Mask = ALL

    def __post_init__(self) -> None:
        labels = tuple(self.labels.tolist() if isinstance(self.labels, np.ndarray) else self.labels)
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise ValueError(f"constraints: the label {twice!r} is there twice")
        K = len(labels)
        checked: dict[str, Any] = {"labels": labels, "transitions": _mask("transitions", self.transitions, (K, K))}
        for name, which in (("start", "first"), ("end", "last")):
            given = getattr(self, name)
            checked[name] = np.ones(K, bool) if given is None else _mask(name, given, (K,))
            if not checked[name].any():
                raise ValueError(f"constraints: no label may be the {which}")
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        allowed = int(self.transitions.sum())
        return f"<Constraints of {len(self.labels)} labels, {allowed} of {self.transitions.size} transitions>"

    @classmethod
    def of_scheme(cls, scheme: SpanScheme, labels: Iterable[Any]) -> "Constraints":
        """Those of tags of spans, made from their names.

        In "bio" (IOB2) an I-X follows B-X or I-X; in "iob1" it is B-X that does, and I-X may stand anywhere; in "iobes"
        and "bilou" an I-X or E-X (L-X) follows B-X or I-X, and neither of these can be followed by anything else.

        Parameters
        ----------
        scheme : {"bio", "iob2", "iob1", "iobes", "bilou"}
        labels : sequence of str
            The tags: O, or a prefix and a type, as in B-NP; B and I alone are of one type without a name.

        Returns
        -------
        Constraints
            Transitions, and labels that may be first or last.

        Raises
        ------
        ValueError
            If a label is no tag of the scheme.
        """
        prefixes = PREFIXES[one_of("constraints", scheme, PREFIXES)]
        labels = tuple(labels)
        parts = [("O", "") if label == "O" else _parts(label, scheme, prefixes) for label in labels]
        if len(prefixes) == 4 and {"B", "I"} & (there := {prefix for prefix, _ in parts}) and not there & set("ELSU"):
            raise ValueError(
                f"constraints={scheme!r}: no label begins with {prefixes[2]} or {prefixes[3]}, so no span could end; "
                "are they 'bio'?"
            )
        allowed = [[_may_follow(scheme, before, tag) for tag in parts] for before in parts]
        outside = ("O", "")
        start = [_may_follow(scheme, outside, tag) for tag in parts]
        end = [_may_follow(scheme, tag, outside) for tag in parts]
        return cls(labels, np.array(allowed), np.array(start), np.array(end))

    @classmethod
    def allowing(cls, pairs: Iterable[Any], labels: Iterable[Any]) -> "Constraints":
        """Nothing but these transitions.

        Parameters
        ----------
        pairs : iterable of (label, label)
            (None, label) says that the label may be the first, (label, None) that it may be the last; without such
            pairs, all may.
        labels : sequence of labels

        Returns
        -------
        Constraints
            These transitions.

        Raises
        ------
        ValueError
            If a label of a pair is none of the labels.
        """
        return cls._of_pairs(pairs, tuple(labels), True)

    @classmethod
    def forbidding(cls, pairs: Iterable[Any], labels: Iterable[Any]) -> "Constraints":
        """All transitions but these, with None for the start and the end as in `allowing`.

        Parameters
        ----------
        pairs : iterable of (label, label)
            Transitions that cannot be.
        labels : sequence of labels
            All labels of the model.

        Returns
        -------
        Constraints
            All other transitions.

        Raises
        ------
        ValueError
            If a label of a pair is none of the labels.
        """
        return cls._of_pairs(pairs, tuple(labels), False)

    @classmethod
    def _of_pairs(cls, pairs: Iterable[Any], labels: tuple[Any, ...], allowed: bool) -> "Constraints":
        K, places = len(labels), {label: place for place, label in enumerate(labels)}
        marked = np.zeros((K + 1, K + 1), bool)  # the last row is the start, the last column the end
        places[None] = K
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2 or (pair[0] is None and pair[1] is None):
                raise TypeError(f"constraints must hold pairs (label, label), got {pair!r:.60}")
            marked[tuple(_place(label, places, f"constraints: in {tuple(pair)!r:.80}") for label in pair)] = True
        if allowed:
            marked[K] |= not marked[K].any()
            marked[:, K] |= not marked[:K, K].any()
        else:
            marked = ~marked
        return cls(labels, marked[:K, :K], marked[K, :K], marked[:K, K])

    @classmethod
    def resolve(cls, constraints: Any, classes: NDArray[Any]) -> "Constraints | None":
        """What a model's parameter `constraints` says of its labels.

        Parameters
        ----------
        constraints : None, str, iterable of pairs, boolean array of shape (n_labels, n_labels), or Constraints
            The name of a scheme; the transitions that are allowed; an array whose rows and columns are as `classes`; or
            whatever says of all these labels what may follow them, and perhaps of others.
        classes : array of shape (n_labels,)

        Returns
        -------
        Constraints or None
            With the labels in the order of `classes`.
        """
        labels = classes.tolist()
        if constraints is None:
            return None
        if isinstance(constraints, str):
            return cls.of_scheme(cast("SpanScheme", constraints), labels)
        if isinstance(constraints, Constraints):
            return constraints._of(labels)
        if isinstance(constraints, np.ndarray):
            return cls(tuple(labels), constraints)
        if isinstance(constraints, set | frozenset | list | tuple):
            return cls.allowing(constraints, labels)
        raise TypeError(
            "constraints must be None, the name of a scheme, pairs of labels, a boolean array or Constraints, "
            f"got {constraints!r:.60}"
        )

    def _of(self, labels: list[Any]) -> "Constraints":
        """The same of some of the labels, in their order."""
        known = {label: place for place, label in enumerate(self.labels)}
        if missing := [label for label in labels if label not in known]:
            raise ValueError(f"constraints say nothing of {missing[0]!r}, which is a label of the model")
        places = [known[label] for label in labels]
        return Constraints(
            tuple(labels), self.transitions[np.ix_(places, places)], self.start[places], self.end[places]
        )

    def restrict(self, chain: Chain) -> Chain:
        """The same chain, where what is not allowed has −∞. In order 2, the last of a history counts.

        Parameters
        ----------
        chain : Chain
            Scores of starts, transitions and ends.

        Returns
        -------
        Chain
            A copy; the one that was given stays as it is.
        """
        return dataclasses.replace(
            chain,
            start=np.where(self.start, chain.start, -np.inf),
            transitions=np.where(self.transitions, chain.transitions, -np.inf),
            end=np.where(self.end, chain.end, -np.inf),
        )


class AllBut:
    """Any label but these, as an entry of `allowed`.

    Parameters
    ----------
    *labels : labels
        Those that a token cannot have.

    Examples
    --------
    >>> from fastlin.sequence.constraints import AllBut
    >>> [None, AllBut("O"), "B-NP", {"I-NP", "O"}]
    [None, AllBut('O'), 'B-NP', {...}]
    """

    def __init__(self, *labels: Any) -> None:
        self.labels = labels

    def __repr__(self) -> str:
        return f"AllBut({', '.join(map(repr, self.labels))})"


def as_allowed(allowed: Any, tokens: Tokens, classes: NDArray[Any]) -> Mask | None:
    """Which labels each token may have, [n_tokens, K]; None if all may have all.

    Parameters
    ----------
    allowed : list, optional
        For each sequence None; or a list that says of each token None (any label), a label, a set or list of labels, or
        `AllBut` some labels; or a boolean array of shape (length, n_labels), columns as `classes`.
    tokens : Tokens
    classes : array of shape (n_labels,)
    """
    if allowed is None:
        return None
    if isinstance(allowed, str) or not isinstance(allowed, Iterable):
        raise TypeError(f"allowed must be a list with an entry for each sequence, got {allowed!r:.60}")
    sequences = list(allowed)
    if len(sequences) != len(tokens):
        raise ValueError(f"allowed has {len(sequences)} sequences, X has {len(tokens)}")
    masks = np.ones((tokens.n_tokens, len(classes)), bool)
    rows = _MaskBuilder(classes)
    starts = tokens.starts.tolist()
    for place, sequence in enumerate(sequences):
        if sequence is None:
            continue
        own, where = masks[starts[place] : starts[place + 1]], f"allowed: sequence {place}"
        if isinstance(sequence, str) or not isinstance(sequence, Iterable):
            raise TypeError(f"{where} must be None or have an entry for each token, got {sequence!r:.60}")
        if isinstance(sequence, np.ndarray) and sequence.ndim == 2:
            own[:] = _mask(where, sequence, own.shape)
            continue
        entries = list(sequence)
        if len(entries) != len(own):
            raise ValueError(f"{where} has {len(entries)} entries, and the sequence {len(own)} tokens")
        for token, entry in enumerate(entries):
            if entry is not None:
                own[token] = rows.of(entry, f"{where}, token {token}")
    empty = np.flatnonzero(~masks.any(axis=1))
    if len(empty):
        place, token = tokens.place(int(empty[0]))
        raise ValueError(f"allowed: sequence {place}, token {token} may have no label")
    return masks


class _MaskBuilder:
    """The row of a mask for what is said of a token; of single labels, made once."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self._places = {label: place for place, label in enumerate(classes.tolist())}
        self._single = np.eye(len(classes), dtype=bool)

    def of(self, entry: Any, where: str) -> Mask:
        if isinstance(entry, AllBut):
            return ~self._of_all(entry.labels, where)
        if isinstance(entry, set | frozenset | list | tuple):
            return self._of_all(entry, where)
        row: Mask = self._single[_place(entry, self._places, where)]
        return row

    def _of_all(self, labels: Iterable[Any], where: str) -> Mask:
        places = [_place(label, self._places, where) for label in labels]
        return np.isin(np.arange(len(self._single)), places)


def _place(label: Any, places: dict[Any, int], where: str) -> int:
    """The number of a label, or an error that says where it stands and what may have been meant."""
    try:
        return places[label]
    except (KeyError, TypeError):  # TypeError: nothing that can be hashed is no label
        known = [str(one) for one in places if one is not None]
        close = difflib.get_close_matches(str(label), known, n=1)
        more = ", …" if len(known) > MAX_SHOWN_LABELS else ""
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known[:MAX_SHOWN_LABELS])}{more}"
        raise ValueError(f"{where}, the label {label!r:.60} is unknown; {hint}") from None


def _mask(name: str, values: Any, shape: tuple[int, ...]) -> Mask:
    """Booleans of this shape."""
    array = np.asarray(values)
    if array.dtype != bool:
        raise TypeError(f"{name} must be booleans, got {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {array.shape}")
    return array


def _parts(label: Any, scheme: str, prefixes: str) -> tuple[str, str]:
    """The prefix, with E and S for L and U, and the type."""
    prefix, _, kind = label.partition("-") if isinstance(label, str) else ("", "", "")
    if len(prefix) != 1 or prefix not in prefixes:
        known = " nor ".join(prefixes)
        raise ValueError(f"constraints={scheme!r}: the label {label!r} is neither O nor begins with {known}")
    return {"L": "E", "U": "S"}.get(prefix, prefix), kind


def _may_follow(scheme: str, before: tuple[str, str], tag: tuple[str, str]) -> bool:
    """Whether a tag may stand behind another; O is what stands before the first and behind the last."""
    same = before[1] == tag[1]
    if scheme == "iob1":
        return tag[0] != "B" or (same and before[0] != "O")
    if scheme in ("bio", "iob2"):
        return tag[0] != "I" or (same and before[0] != "O")
    if before[0] in "BI":
        return same and tag[0] in "IE"
    return tag[0] in "OBS"
