"""Forms of words that templates see: each distinct word is looked at once."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.text import templates as kernel
from fastlin.engine.text.string_numbering import StringNumbering
from fastlin.runtime.made_once import made_once
from fastlin.text.token_strings import decoded, encoded
from fastlin.text.vocabulary import new_seed

Ints = NDArray[np.int32]
Bytes = tuple[NDArray[np.uint8], NDArray[np.int64]]  # strings one behind the other, and where each begins and ends


class _Shapes(dict[int, str]):
    """From a code point to what stands for it in shapes."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        if c.isupper() or c.istitle():
            kind = "X"
        elif c.islower():
            kind = "x"
        elif c.isalpha():
            kind = "o"
        else:
            kind = "d" if c.isdigit() else c
        self[code] = kind
        return kind


_SHAPES = _Shapes()
_ASCII = "".join(_SHAPES[code] for code in range(128)).encode() + bytes(range(128, 256))
_RUN = re.compile(r"(.)\1+", re.DOTALL)
_FLAGS: dict[str, Callable[[str], bool]] = {  # of a word's shape
    "has_capital": lambda shape: "X" in shape,
    "initial_capital": lambda shape: shape.startswith("X"),
    "all_capitals": lambda shape: "X" in shape and "x" not in shape,
    "has_digit": lambda shape: "d" in shape,
    "all_digits": lambda shape: set(shape) == {"d"},
    "has_hyphen": lambda shape: not {"-", "\u2010", "\u2011"}.isdisjoint(shape),
}


def is_punctuation(word: str) -> bool:
    """Whether a word has no letter, digit or blank. Its shape does not say: ⓐ is a small letter, and none of them."""
    return bool(word) and not any(c.isalnum() or c.isspace() for c in word)


def number_names(strings: StringNumbering, names: Iterable[str], learn: bool) -> Ints:
    return strings.number(*encoded(names), learn)


class WordForms:
    """Words, and what the functions of templates make of them."""

    def __init__(self, words: Bytes) -> None:
        self._words = words

    def numbers(self, function: str, argument: Any, folded: bool, strings: StringNumbering, learn: bool) -> Ints:
        """For each word the number, among `strings`, of the string that a function makes of it; −1: none."""
        words = self._lower if folded else self._words
        if function == "word":
            return strings.number(*words, learn)
        if function in ("shape", "short_shape"):
            those, names = self._shapes
            short = function == "short_shape"
            found = number_names(strings, [_RUN.sub(r"\1", name) for name in names] if short else names, learn)
            return found[those] if len(those) else those
        starts, lengths = kernel.affixes(*words, argument, function == "suffix")
        there = np.flatnonzero(lengths >= 0)
        found = np.full(len(lengths), -1, np.int32)
        found[there] = strings.number_slices(words[0], starts[there], lengths[there], learn)
        return found

    def flags(self, function: str) -> Ints:
        """For each word 1 if it has a flag, 0 if not."""
        if function == "punctuation" and not self._is_ascii:
            return np.array([is_punctuation(word) for word in self._strings], np.int32)
        those, names = self._shapes
        has = _FLAGS.get(function, is_punctuation)
        return np.array([has(name) for name in names], np.int32)[those] if len(those) else those

    @made_once
    def _is_ascii(self) -> bool:
        return int(self._words[0].max(initial=0)) < 128

    @made_once
    def _strings(self) -> list[str]:
        return decoded(*self._words)

    @made_once
    def _lower(self) -> Bytes:
        if self._is_ascii:
            return np.frombuffer(self._words[0].tobytes().lower(), np.uint8), self._words[1]
        return encoded(word.lower() for word in self._strings)

    @made_once
    def _shapes(self) -> tuple[Ints, list[str]]:
        """(which of the different shapes each word has, these)"""
        if self._is_ascii:
            shapes = np.frombuffer(self._words[0].tobytes().translate(_ASCII), np.uint8), self._words[1]
        else:
            shapes = encoded(word.translate(_SHAPES) for word in self._strings)
        different = StringNumbering(new_seed())
        those = different.number(*shapes, True)
        return those, different.names(len(different))


def has_flag(word: str, function: str) -> bool:
    """Whether a word has a flag."""
    return is_punctuation(word) if function == "punctuation" else _FLAGS[function](word.translate(_SHAPES))


def form_of(word: str, function: str, argument: Any, folded: bool) -> str | None:
    """What a function makes of one word, as `WordForms.numbers` makes it of many; None: nothing."""
    if function in ("shape", "short_shape"):
        shape = word.translate(_SHAPES)
        return _RUN.sub(r"\1", shape) if function == "short_shape" else shape
    text = word.lower() if folded else word
    if function == "word":
        return text
    if len(text) < argument:
        return None
    return text[len(text) - argument :] if function == "suffix" else text[:argument]


class Gazetteer:
    """Entries of one word or several, as a tree: see `spans` of the kernel."""

    def __init__(self, name: str, entries: Any, folded: bool) -> None:
        self.words, self._tree = StringNumbering(new_seed()), kernel.PairNumbering(new_seed())
        listed = [(entry.lower() if folded else entry).split() for entry in entries]
        if not all(listed):
            raise ValueError(f"the gazetteer {name!r} has an entry without a word")
        lengths = np.array(list(map(len, listed)), np.int64)
        numbers = number_names(self.words, (word for entry in listed for word in entry), True)
        starts, state = np.cumsum(lengths) - lengths, np.zeros(len(listed), np.int32)
        ends: list[Ints] = []
        for depth in range(int(lengths.max(initial=0))):
            longer = np.flatnonzero(lengths > depth)
            pairs = np.empty(len(longer), np.int32)
            self._tree.number(state[longer], numbers[starts[longer] + depth], True, pairs)
            state[longer] = pairs + 1
            ends.append(pairs[lengths[longer] == depth + 1])
        self._ends = np.zeros(len(self._tree), np.uint8)
        self._ends[np.concatenate([*ends, np.empty(0, np.int32)])] = 1

    def spans(self, numbers: Ints, starts: NDArray[np.int64]) -> Ints:
        """0 where an entry begins, 1 inside of one, −1 elsewhere; `numbers` are those of the tokens' words here."""
        return kernel.match_spans(numbers, starts, self._tree, self._ends)


def as_gazetteers(gazetteers: Any) -> dict[str, Any]:
    """Those that a user gives: names and collections of strings."""
    if gazetteers is None:
        return {}
    if not hasattr(gazetteers, "items"):
        raise TypeError(f"gazetteers must be a dict from names to sets of words, got {type(gazetteers).__name__}")
    for name, entries in gazetteers.items():
        if not isinstance(name, str) or isinstance(entries, str | bytes) or not hasattr(entries, "__iter__"):
            raise TypeError(f"gazetteers must be a dict from names to sets of words, got {name!r:.40}: {entries!r:.40}")
        wrong = next((entry for entry in entries if not isinstance(entry, str)), None)
        if wrong is not None:
            raise TypeError(f"the gazetteer {name!r:.40} holds {wrong!r:.40}, which is no string")
    return dict(gazetteers)
