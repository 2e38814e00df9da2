"""Decoders of sentences: the most probable tree, the tree of the most expected constituents, or a flat one."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from fastlin.engine.chart.inside_outside import InsideOutside
from fastlin.grammar.binarize import Binarizer, Symbol, restore_tree
from fastlin.grammar.lexicon import TagScores
from fastlin.grammar.nbest import Forest
from fastlin.grammar.recall import RecallParser
from fastlin.grammar.state import GrammarState
from fastlin.grammar.trees import Child, Tree


class Decoded(NamedTuple):
    """The tree of a sentence, log p(words, tree), and whether the grammar has one at all."""

    tree: Tree | None
    log_joint: float
    found: bool


UNKNOWN_TAG = "X"  # of a word that has none
NO_WORDS = Decoded(None, -np.inf, False)


class Decoder(Protocol):
    """A decoder of one thread's own."""

    def __call__(self, words: Sequence[str], /) -> Decoded: ...


class ViterbiDecoder:
    """The most probable tree."""

    def __init__(self, state: GrammarState) -> None:
        self._state, self._parser = state, state.charts.viterbi_parser()

    def __call__(self, words: Sequence[str]) -> Decoded:
        if not words:
            return NO_WORDS
        state, tags = self._state, self._state.lexicon(words)
        steps = state.charts.best(self._parser, words, tags)
        if steps is None:
            return Decoded(flat_tree(state, words, tags), -np.inf, False)
        return Decoded(restore_tree(steps, state.rules.symbols), state.scorer.score(steps, tags), True)


class NBestDecoder:
    """The n most probable trees, or all there are."""

    def __init__(self, state: GrammarState, n: int) -> None:
        self._state, self._n, self._parser = state, n, state.charts.viterbi_parser()

    def __call__(self, words: Sequence[str]) -> list[Decoded]:
        if not words:
            return []
        state, tags = self._state, self._state.lexicon(words)
        return [
            Decoded(restore_tree(steps, state.rules.symbols), state.scorer.score(steps, tags), True)
            for steps in Forest(state.charts, self._parser, tags).best(self._n, words)
        ]


class RecallDecoder:
    """The tree of the most expected constituents, which need not be one of the grammar: then its log p is −∞."""

    def __init__(self, state: GrammarState, binarizer: Binarizer, threshold: float) -> None:
        self._state, self._binarizer, self._parser = state, binarizer, state.charts.summing_parser()
        labels = state.charts.labels
        self._recall = RecallParser(labels, state.tag_labels, state.above, threshold)

    def __call__(self, words: Sequence[str]) -> Decoded:
        if not words:
            return NO_WORDS
        state, tags = self._state, self._state.lexicon(words)
        expected = state.charts.expect(self._parser, tags)
        if expected.log_sum == -np.inf:
            return Decoded(flat_tree(state, words, tags), -np.inf, False)
        tree = self._recall.tree(words, expected.constituents, state.flat[0])
        return Decoded(tree, state.scorer.score(self._binarizer.derive(tree), tags), True)


class Constituent(NamedTuple):
    """A label over some words, and how often it is expected there."""

    label: str
    start: int
    stop: int
    expected: float


def expected_constituents(
    state: GrammarState, parser: InsideOutside, words: Sequence[str], least: float
) -> list[Constituent]:
    """The constituents that are expected in the tree of a sentence."""
    if not words:
        return []
    expected = state.charts.expect(parser, state.lexicon(words)).constituents
    found = list[Constituent]()
    for start in range(len(words)):
        for stop in range(start + 1, len(words) + 1):
            row = expected[stop * (stop - 1) // 2 + start]
            columns = np.flatnonzero(row > least)
            for column in columns[np.argsort(-row[columns], kind="stable")]:
                found.append(Constituent(state.charts.labels[column], start, stop, float(row[column])))
    return found


def flat_tree(state: GrammarState, words: Sequence[str], tags: TagScores) -> Tree:
    """The tree of a sentence that has none: the most usual labels, and each word's most likely tag."""
    children: list[Child] = []
    for place, word in enumerate(words):
        there = slice(tags.start[place], tags.start[place + 1])
        symbols = tags.symbol[there]
        tag = state.rules.symbols[symbols[int(np.argmax(tags.score[there]))]] if len(symbols) else Symbol(UNKNOWN_TAG)
        children.append(Tree(tag.label or UNKNOWN_TAG, [word]))
    for label in reversed(state.flat):
        children = [Tree(label, children)]
    (tree,) = children
    assert isinstance(tree, Tree)
    return tree
