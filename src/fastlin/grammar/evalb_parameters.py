"""What EVALB counts: its settings, with those of COLLINS.prm as the default, and its parameter files."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastlin.data.errors import ReadError
from fastlin.grammar.binarize import TRACE
from fastlin.validation import whole_number

Pair = tuple[str, str]


@dataclass(frozen=True)
class EvalbParameters:
    """EVALB's settings; the default is that of COLLINS.prm.

    Parameters
    ----------
    labeled : bool
        Whether a bracket is right only with its label (LABELED).
    cutoff_length : int
        The length of the longest sentences of the figures of short ones (CUTOFF_LEN).
    delete_labels : sequence of str
        Tags whose words are left out, and labels whose brackets are not counted (DELETE_LABEL).
    delete_labels_for_length : sequence of str
        Tags whose words do not count for a sentence's length (DELETE_LABEL_FOR_LENGTH).
    quote_labels : sequence of str
        Tags that a quotation mark (' " or /) may have (QUOTE_LABEL): where just one of gold and predicted tree leaves
        it out, it stays in both.
    equal_labels, equal_words : sequence of pairs of str
        Labels, tags and words that count as the same, in both directions (EQ_LABEL, EQ_WORD).
    max_errors, debug : int
        MAX_ERROR and DEBUG, which change no figure: sentences that do not fit are counted, and counting never stops.

    Examples
    --------
    >>> from fastlin.grammar.evalb_parameters import EvalbParameters
    >>> EvalbParameters(labeled=False).equal_labels
    (('ADVP', 'PRT'),)
    """

    labeled: bool = True
    cutoff_length: int = 40
    delete_labels: tuple[str, ...] = ("TOP", TRACE, ",", ":", "``", "''", ".")
    delete_labels_for_length: tuple[str, ...] = (TRACE,)
    quote_labels: tuple[str, ...] = ()
    equal_labels: tuple[Pair, ...] = (("ADVP", "PRT"),)
    equal_words: tuple[Pair, ...] = ()
    max_errors: int = field(default=10, kw_only=True)
    debug: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.labeled, bool):
            raise TypeError(f"labeled must be True or False, got {self.labeled!r}")
        whole_number("cutoff_length", self.cutoff_length, 0)
        for name in ("delete_labels", "delete_labels_for_length", "quote_labels"):
            object.__setattr__(self, name, _strings(name, getattr(self, name)))
        for name in ("equal_labels", "equal_words"):
            object.__setattr__(self, name, _pairs(name, getattr(self, name)))

    @classmethod
    def from_file(cls, path: Any) -> "EvalbParameters":
        """The settings of a parameter file, as COLLINS.prm; a keyword that is not in it has EVALB's own default.

        Lines that begin with # are comments. EVALB's own default deletes nothing and knows no equal labels.
        """
        name = os.fspath(path)
        found: dict[str, Any] = {"delete_labels": [], "delete_labels_for_length": [], "quote_labels": []}
        found |= {"equal_labels": [], "equal_words": []}
        text = Path(name).read_text(encoding="utf-8")
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            keyword, *values = line.split() if not line[0].isspace() else ["", *line.split()]
            try:
                _set(found, keyword, values)
            except ValueError as error:
                raise ReadError(name, number, str(error)) from None
        return cls(**found)


def as_evalb_parameters(parameters: Any) -> EvalbParameters:
    """The settings that stand for themselves, in a file, or None: the default."""
    if parameters is None:
        return EvalbParameters()
    if isinstance(parameters, EvalbParameters):
        return parameters
    if isinstance(parameters, str | os.PathLike):
        return EvalbParameters.from_file(parameters)
    raise TypeError(f"parameters must be an EvalbParameters or the path of a parameter file, got {parameters!r:.60}")


def _strings(name: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of strings, got {values!r:.60}")
    found = tuple(values)
    for value in found:
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a sequence of strings; one of them is {value!r:.60}")
    return found


def _pairs(name: str, values: Any) -> tuple[Pair, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a sequence of pairs of strings, got {values!r:.60}")
    found = []
    for value in values:
        pair = _strings(name, value) if isinstance(value, list | tuple) else ()
        if len(pair) != 2:
            raise ValueError(f"{name} must be a sequence of pairs of strings; one of them is {value!r:.60}")
        found.append((pair[0], pair[1]))
    return tuple(found)


# --- keywords of parameter files --------------------------------------------------------------------------------------


def _number(keyword: str, values: list[str]) -> int:
    try:
        (value,) = map(int, values)
    except ValueError:
        raise ValueError(f"{keyword} must be followed by one whole number, got {' '.join(values)!r}") from None
    return value


def _length(keyword: str, values: list[str]) -> int:
    length = _number(keyword, values)
    if length < 0:
        raise ValueError(f"{keyword} must be at least 0, got {length}")
    return length


def _label(keyword: str, values: list[str]) -> str:
    if len(values) != 1:
        raise ValueError(f"{keyword} must be followed by one label, got {' '.join(values)!r}")
    return values[0]


def _pair(keyword: str, values: list[str]) -> Pair:
    if len(values) != 2:
        raise ValueError(f"{keyword} must be followed by two values, got {' '.join(values)!r}")
    return values[0], values[1]


_SINGLE: dict[str, tuple[str, Callable[[str, list[str]], Any]]] = {
    "DEBUG": ("debug", _number),
    "MAX_ERROR": ("max_errors", _number),
    "CUTOFF_LEN": ("cutoff_length", _length),
    "LABELED": ("labeled", lambda keyword, values: _number(keyword, values) != 0),
}
_LISTED: dict[str, tuple[str, Callable[[str, list[str]], Any]]] = {
    "DELETE_LABEL": ("delete_labels", _label),
    "DELETE_LABEL_FOR_LENGTH": ("delete_labels_for_length", _label),
    "QUOTE_LABEL": ("quote_labels", _label),
    "QUOTE_TERM": ("quote_labels", _label),
    "EQ_LABEL": ("equal_labels", _pair),
    "EQ_WORD": ("equal_words", _pair),
}
DISCONTINUOUS = "DISC_ONLY"  # of descendants of EVALB that count crossing branches; these trees have none


def _set(found: dict[str, Any], keyword: str, values: list[str]) -> None:
    """Take in one line of a parameter file."""
    if keyword in _SINGLE:
        name, read = _SINGLE[keyword]
        found[name] = read(keyword, values)
    elif keyword in _LISTED:
        name, read = _LISTED[keyword]
        found[name].append(read(keyword, values))
    elif keyword == DISCONTINUOUS:
        if _number(keyword, values):
            raise ValueError(f"{keyword} must be 0: there are no discontinuous constituents in trees of brackets")
    elif not keyword:
        raise ValueError(f"a keyword must stand at the line's beginning, got {' '.join(values)!r} after a space")
    else:
        known = ", ".join([*_SINGLE, *_LISTED, DISCONTINUOUS])
        raise ValueError(f"the keyword {keyword[:40]!r} is unknown; known are {known}")
