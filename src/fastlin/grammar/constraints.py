"""What is given of the trees of sentences: tags of some words, and brackets; proved, and as charts read it."""

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.binarize import Symbol
from fastlin.grammar.lexicon import TagScores

OPEN, CLOSED, WHOLE, LABELLED = range(4)  # what may stand over a span: `engine/chart/chart_rules.pxd`

Place = TypeVar("Place", int, NDArray[np.int64])


class Bracket(NamedTuple):
    """A constituent from a word to before another; its label, None: any."""

    start: int
    stop: int
    label: str | None = None


class Given(NamedTuple):
    """What is given of the tree of a sentence."""

    tags: tuple[str | None, ...] | None
    brackets: tuple[Bracket, ...]

    def labels(self) -> dict[tuple[int, int], set[str]]:
        """The labels that are given over each span of a bracket."""
        found: dict[tuple[int, int], set[str]] = {}
        for start, stop, label in self.brackets:
            found.setdefault((start, stop), set()).update([] if label is None else [label])
        return found


NOTHING_GIVEN = Given(None, ())


class SpanStates(NamedTuple):
    """What may stand over the spans of a sentence."""

    states: NDArray[np.int32]  # by last word and, of one, by first word: OPEN, CLOSED, WHOLE, or LABELLED and more
    labelled: dict[tuple[int, int], frozenset[int]]  # the columns of the labels of LABELLED, LABELLED + 1, …


def read_given(
    sentences: Sequence[Sequence[str]], tags: Any, brackets: Any, tag_labels: Iterable[str], labels: Iterable[str]
) -> list[Given | None]:
    """What is given of each sentence, proved; None: nothing.

    Parameters
    ----------
    sentences : sequence of sequences of words
    tags : None or iterable
        For each sentence None, or for each of its words a tag or None.
    brackets : None or iterable
        For each sentence None, or brackets (start, stop) or (start, stop, label).
    tag_labels, labels : iterable of str
        Those of the grammar.
    """
    tags, brackets = (
        _of_sentences(name, given, len(sentences)) for name, given in (("tags", tags), ("brackets", brackets))
    )
    known_tags, known = frozenset(tag_labels), frozenset(labels)
    found = list[Given | None]()
    for number, words in enumerate(sentences):
        of_words = _tags(number, words, tags[number], known_tags)
        of_spans = _brackets(number, len(words), brackets[number], known)
        found.append(Given(of_words, of_spans) if of_words or of_spans else None)
    return found


def _of_sentences(name: str, given: Any, n_sentences: int) -> list[Any]:
    """What is given of each sentence, or as many times None."""
    if given is None:
        return [None] * n_sentences
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list with an item for each sentence, got {given!r:.60}")
    found = list(given)
    if len(found) != n_sentences:
        raise ValueError(f"{name} are given of {len(found)} sentences, and X has {n_sentences}")
    return found


def _tags(number: int, words: Sequence[str], tags: Any, known: frozenset[str]) -> tuple[str | None, ...] | None:
    if tags is None:
        return None
    if isinstance(tags, str | bytes) or not isinstance(tags, Iterable):
        raise TypeError(f"tags of sentence {number} must be a list of tags, got {tags!r:.60}")
    found = tuple(tags)
    if len(found) != len(words):
        raise ValueError(f"sentence {number} has {len(words)} words, and {len(found)} tags are given")
    for place, tag in enumerate(found):
        if tag is not None and not (isinstance(tag, str) and tag in known):
            raise ValueError(f"tags of sentence {number}: {tag!r} over word {place} is no tag of the grammar")
    return found


def _brackets(number: int, n_words: int, brackets: Any, known: frozenset[str]) -> tuple[Bracket, ...]:
    if brackets is None:
        return ()
    if isinstance(brackets, str | bytes) or not isinstance(brackets, Iterable):
        raise TypeError(f"brackets of sentence {number} must be a list of (start, stop[, label]), got {brackets!r:.60}")
    found = [_bracket(number, n_words, bracket, known) for bracket in brackets]
    check_nested(found, f"brackets of sentence {number}")
    return tuple(found)


def _bracket(number: int, n_words: int, bracket: Any, known: frozenset[str]) -> Bracket:
    wrong = f"brackets of sentence {number}: {bracket!r:.60}"
    try:
        start, stop, *rest = bracket
        found = Bracket(index(start), index(stop), *rest)
    except (TypeError, ValueError):
        raise TypeError(f"{wrong} must be (start, stop) or (start, stop, label)") from None
    if not 0 <= found.start < found.stop <= n_words:
        raise ValueError(f"{wrong} must be from a word to after it, among {n_words} words")
    if found.label is not None and not (isinstance(found.label, str) and found.label in known):
        raise ValueError(f"{wrong} has a label that the grammar has not")
    return found


def check_nested(brackets: Iterable[Bracket], name: str) -> None:
    """Check that brackets do not cross."""
    around: list[Bracket] = []
    for bracket in sorted(brackets, key=lambda one: (one.start, -one.stop)):
        while around and around[-1].stop <= bracket.start:
            around.pop()
        if around and around[-1].stop < bracket.stop:
            a, b = around[-1][:2], bracket[:2]
            raise ValueError(f"{name}: {a} and {b} cross; one must be in the other, or they must not meet")
        around.append(bracket)


def span_states(n_words: int, given: Given, labels: Sequence[str]) -> SpanStates:
    """What may stand over each span: nothing where it crosses a bracket, only constituents where one is given.

    Parameters
    ----------
    n_words : int
    given : Given
    labels : sequence of str
        Those of the grammar, sorted.
    """
    states = np.full((n_words + 1, n_words + 1), OPEN, np.int32)  # by first word and last
    of_spans = given.labels()
    for start, stop in of_spans:
        states[:start, start + 1 : stop] = CLOSED
        states[start + 1 : stop, stop + 1 :] = CLOSED
    labelled: dict[tuple[int, int], frozenset[int]] = {}
    for (start, stop), wanted in of_spans.items():
        states[start, stop] = WHOLE if stop > start + 1 else OPEN
        if wanted:
            states[start, stop] = LABELLED + len(labelled)
            labelled[start, stop] = frozenset(np.searchsorted(labels, sorted(wanted)).tolist())
    return SpanStates(np.ascontiguousarray(states.T[1:, :n_words][np.tril_indices(n_words)]), labelled)


def restrict_tags(scores: TagScores, tags: Sequence[str | None], symbols: Sequence[Symbol]) -> TagScores:
    """The scores of the tags that are given, and of all tags of words of which none is."""
    word = np.repeat(np.arange(len(tags)), np.diff(scores.start))
    kept = np.array(
        [
            tags[place] is None or tags[place] == symbols[symbol].label
            for place, symbol in zip(word.tolist(), scores.symbol.tolist(), strict=True)
        ],
        bool,
    )
    start = np.append(0, np.cumsum(np.bincount(word[kept], minlength=len(tags)))).astype(np.int64)
    return TagScores(start, scores.symbol[kept], scores.score[kept])


def span_place(start: Place, stop: Place) -> Place:
    """The number of a span among all: by its last word and, of one, by its first."""
    return stop * (stop - 1) // 2 + start
