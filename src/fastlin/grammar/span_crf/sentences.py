"""Sentences as a SpanCRF reads them: the tags that their words may have, and the columns of their features."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.binarize import LEXICAL, UNARY, Derivation
from fastlin.grammar.rules import RuleTable
from fastlin.grammar.span_crf.features import NONE, Columns, FeaturesByKind, Numbering, names_of
from fastlin.grammar.span_crf.words import TreebankWords

Integers = NDArray[np.int64]


class Places(NamedTuple):
    """The weights that a derivation has: places among those of each kind, as often as it uses them."""

    binary: tuple[Integers, ...]
    unary: tuple[Integers, ...]
    roots: tuple[Integers, ...]
    tags: tuple[Integers, ...]  # words, and places of their tags
    spans: tuple[Integers, ...]  # spans, and labels


@dataclass(frozen=True)
class SentenceFeatures:
    """What is known of a sentence before there are weights.

    Columns are places in `tag_columns` and `span_columns`, which are those that the sentence has, and rise.
    """

    tag_start: Integers  # [n + 1]
    tag_place: Columns  # of each tag of each word, among all tags
    tag_columns: Integers
    span_columns: Integers
    features: FeaturesByKind[Columns]

    @property
    def n_words(self) -> int:
        return len(self.tag_start) - 1

    @property
    def tag_words(self) -> Integers:
        """The word of each tag."""
        return np.repeat(np.arange(self.n_words), np.diff(self.tag_start))


@dataclass(frozen=True)
class FeatureReader:
    """Maker of sentences."""

    words: TreebankWords
    tag_features: Numbering
    span_features: Numbering

    def __call__(self, words: Sequence[str], given: Sequence[str | None] | None = None) -> SentenceFeatures:
        """A sentence; `given` are the tags of some of its words."""
        tags = [self.words.tags_of(word) for word in words]
        for place, label in enumerate(given or ()):
            if label is not None:
                tags[place] = [tag for tag, name in enumerate(self.words.tags) if name == label]
        names = names_of(self.words.columns(words))
        tag_columns, (of_tags,) = _renumbered(self.tag_features(names.tags))
        ends = self.span_features(names.left), self.span_features(names.right)
        span_columns, (left, right, joint) = _renumbered(*ends, self.span_features(names.joint))
        return SentenceFeatures(
            np.cumsum([0, *map(len, tags)]).astype(np.int64),
            np.array([tag for of_word in tags for tag in of_word], np.int32),
            tag_columns,
            span_columns,
            FeaturesByKind(of_tags, left, right, joint),
        )


def _renumbered(*parts: Columns) -> tuple[Integers, list[Columns]]:
    """The columns that there are, and the places of all among these."""
    found, places = np.unique(np.concatenate([part.reshape(-1) for part in parts]), return_inverse=True)
    n_none = int(len(found) > 0 and found[0] == NONE)
    renumbered: Columns = (places.reshape(-1) - n_none).astype(np.int32)  # NONE stays what it is
    pieces, first = list[Columns](), 0
    for part in parts:
        pieces.append(renumbered[first : first + part.size].reshape(part.shape))
        first += part.size
    return found[n_none:].astype(np.int64), pieces


class DerivationPlaces:
    """Where derivations have their weights."""

    def __init__(self, rules: RuleTable, label: NDArray[np.int32]) -> None:
        self._label = label
        self._binary, self._unary = (
            {tuple(rule): place for place, rule in enumerate(table.tolist())} for table in (rules.binary, rules.unary)
        )
        self._roots = {symbol: place for place, symbol in enumerate(rules.roots.tolist())}
        self._tags = {symbol: place for place, symbol in enumerate(rules.tags.tolist())}

    def of(self, steps: Derivation) -> Places | None:
        """The places of a derivation; None where a rule, a tag or a root is not of the grammar."""
        done: list[tuple[int, int, int]] = []  # symbol, first word, the one after the last
        binary, unary = list[int](), list[int]()
        tags, spans = list[tuple[int, int]](), list[tuple[int, int]]()
        word = len(steps.words)
        try:
            for symbol, kind in zip(reversed(steps.symbols), reversed(steps.kinds), strict=True):
                if kind == LEXICAL:
                    word -= 1
                    start, stop = word, word + 1
                    tags.append((word, self._tags[symbol]))
                elif kind == UNARY:
                    below, start, stop = done.pop()
                    unary.append(self._unary[symbol, below])
                else:
                    left, start, _ = done.pop()
                    right, _, stop = done.pop()
                    binary.append(self._binary[symbol, left, right])
                if self._label[symbol] >= 0:
                    spans.append((stop * (stop - 1) // 2 + start, int(self._label[symbol])))
                done.append((symbol, start, stop))
            root = self._roots[done[0][0]]
        except KeyError:
            return None
        return Places(
            (np.array(binary, np.int64),),
            (np.array(unary, np.int64),),
            (np.array([root], np.int64),),
            tuple(np.array(tags, np.int64).reshape(-1, 2).T),
            tuple(np.array(spans, np.int64).reshape(-1, 2).T),
        )
