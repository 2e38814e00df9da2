"""Decoders of sentences: the most probable tree, the tree of the most expected constituents, or a flat one."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from fastlin.grammar.binarize import Binarizer, Symbol, restore_tree
from fastlin.grammar.lexicon import TagScores
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
