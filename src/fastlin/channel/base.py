"""Channels of words: which source words an observed word may stand for, and how probable it makes them."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.lm.vocabulary import BEGIN_NAME, END_NAME

Pair = tuple[str, float]
Function = Callable[[str], Iterable[Pair]]
ROUNDING = 1e-9  # of probabilities: a logarithm may be as much above 0


class Candidates(NamedTuple):
    """The source words of each of some observed words, one behind the other, and ln p(observed | source) of each.

    Those of word i begin at starts[i] and end before starts[i + 1].

    Attributes
    ----------
    starts : array of int64 of shape (n_words + 1,)
        Where each word's sources begin.
    sources : list of str
        Source words.
    log_prob : array of shape (n_sources,)
        ln p(observed | source).
    """

    starts: NDArray[np.int64]
    sources: list[str]
    log_prob: NDArray[np.float64]

    @classmethod
    def of(cls, found: Sequence[Sequence[Pair]]) -> Self:
        """Of a list of (source, ln p) for each word.

        Parameters
        ----------
        found : list of lists of (str, float)
            For each word, its sources, each with ln p(observed | source).

        Returns
        -------
        Candidates
            The same pairs, in flat arrays.
        """
        starts = np.cumsum([0, *map(len, found)])
        flat = list(itertools.chain.from_iterable(found))
        return cls(starts, [source for source, _ in flat], np.array([log_prob for _, log_prob in flat], np.float64))

    def of_word(self, i: int) -> list[Pair]:
        """(source, ln p) of each candidate of the word i.

        Parameters
        ----------
        i : int
            The number of the word, from 0 on.

        Returns
        -------
        list of (str, float)
            Source and ln p(observed | source).
        """
        inside = slice(int(self.starts[i]), int(self.starts[i + 1]))
        return list(zip(self.sources[inside], self.log_prob[inside].tolist(), strict=True))


class Channel(ABC):
    """A channel of words, p(observed | source): what `NoisyChannel` asks of one.

    A subclass has `candidates`, and `candidates_many` where many words together are found faster than one by one.
    Classes that are no subclass serve as well, if they have `candidates`.
    """

    @abstractmethod
    def candidates(self, observed: str) -> Iterable[Pair]:
        """(source, ln p(observed | source)) of every source word that an observed one may stand for.

        Parameters
        ----------
        observed : str
            A word as it is written, or heard.

        Returns
        -------
        iterable of (str, float)
            Sources with ln p(observed | source), in any order; none for a word that no source explains.
        """

    def candidates_many(self, observed: Sequence[str]) -> Candidates:
        """`candidates` of each of some words.

        Parameters
        ----------
        observed : sequence of str
            Words, each asked for by itself.

        Returns
        -------
        Candidates
            The sources of each word, in the order of the words.
        """
        return Candidates.of([list(self.candidates(word)) for word in observed])


class FunctionChannel(Channel):
    """A channel that a function describes: f(observed) → (source, ln p(observed | source)) of each source."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def candidates(self, observed: str) -> list[Pair]:
        """What the function says; TypeError, if that is no list of pairs."""
        found = self._function(observed)
        if isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
            raise _no_pairs(observed, found)
        return [_pair(observed, one) for one in found]


class TableChannel(Channel):
    """A channel of a table: {source: {observed: p(observed | source)}}, whose rows sum to no more than 1."""

    def __init__(self, table: Mapping[str, Mapping[str, float]]) -> None:
        self._sources: dict[str, list[Pair]] = {}
        for source, row in table.items():
            if not isinstance(source, str) or not isinstance(row, Mapping):
                raise TypeError(
                    f"channel must be a table {{source: {{observed: p}}}}, got {source!r:.60}: {row!r:.60} in it"
                )
            self._add(source, row)

    def _add(self, source: str, row: Mapping[str, float]) -> None:
        for observed, p in row.items():
            number = not isinstance(p, bool | str) and np.isscalar(p) and not np.iscomplexobj(p)
            if not isinstance(observed, str) or not number or not 0 <= p <= 1:
                raise ValueError(
                    f"channel must hold probabilities, from 0 to 1, of words, "
                    f"got {observed!r:.60}: {p!r:.60} for the source {source!r:.60}"
                )
            if p:
                self._sources.setdefault(observed, []).append((source, math.log(p)))
        total = math.fsum(row.values())
        if total > 1 + 1e-6:
            raise ValueError(f"channel must hold rows that sum to 1 or less, got {total:.9g} for {source!r:.60}")

    def candidates(self, observed: str) -> list[Pair]:
        """The sources in whose rows a word is, in the order of the table."""
        return self._sources.get(observed, [])


def _no_pairs(observed: str, found: Any) -> TypeError:
    return TypeError(f"channel must return pairs (source, ln p) for {observed!r:.60}, got {found!r:.60}")


def _pair(observed: str, found: Any) -> Pair:
    if not isinstance(found, list | tuple) or len(found) != 2:
        raise _no_pairs(observed, found)
    source, log_prob = found
    if not isinstance(source, str) or isinstance(log_prob, str | bytes) or not np.isscalar(log_prob):
        raise _no_pairs(observed, found)
    return source, float(log_prob)  # type: ignore[arg-type]


def as_channel(channel: Any, words: Callable[[], Sequence[str]]) -> Any:
    """A table, a function or an object with `candidates` as an object with `candidates`.

    One that finds its candidates among words it is told of, having a method `bound_to`, is told `words()`.
    """
    if isinstance(channel, Mapping):
        return TableChannel(channel)
    if hasattr(channel, "bound_to"):
        return channel.bound_to(words())
    if hasattr(channel, "candidates") and not isinstance(channel, type):
        return channel
    if callable(channel) and not isinstance(channel, type):
        return FunctionChannel(channel)
    raise TypeError(
        "channel must be a table {source: {observed: p}}, a function of an observed word, or an object with "
        f"`candidates`, got {channel!r:.60}"
    )


def find_candidates(channel: Any, observed: Sequence[str]) -> Candidates:
    """The candidates of words, proved: ValueError names a word and what is wrong about it."""
    if hasattr(channel, "candidates_many"):
        found = channel.candidates_many(observed)
    else:
        found = FunctionChannel(channel.candidates)
        found = found.candidates_many(observed)
    _prove(observed, found)
    return Candidates(found.starts, found.sources, np.minimum(found.log_prob, 0.0))


def _prove(observed: Sequence[str], found: Candidates) -> None:
    starts, n = found.starts, len(found.sources)
    if len(starts) != len(observed) + 1 or starts[0] != 0 or starts[-1] != n or len(found.log_prob) != n:
        raise ValueError("channel must return the candidates of every word")
    wrong = ~(found.log_prob <= ROUNDING)
    if wrong.any():
        place = int(np.argmax(wrong))
        word = observed[int(np.searchsorted(starts, place, side="right")) - 1]
        raise ValueError(
            f"channel must return logarithms of probabilities, at most 0, "
            f"got {found.log_prob[place]} for {word!r:.60} given {found.sources[place]!r:.60}"
        )
    for place, source in enumerate(found.sources):
        if type(source) is not str or source in (BEGIN_NAME, END_NAME):
            word = observed[int(np.searchsorted(starts, place, side="right")) - 1]
            raise ValueError(f"channel must return words as sources, got {source!r:.60} for {word!r:.60}")
