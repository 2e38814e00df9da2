"""Decoders of sentences: the most probable tree, the tree of the most expected constituents, or a flat one."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart.inside_outside import InsideOutside
from fastlin.grammar.binarize import Binarizer, restore_tree
from fastlin.grammar.charts import EVERYTHING, NO_SPANS, ChartBeam
from fastlin.grammar.constraints import NOTHING_GIVEN, Given, span_place
from fastlin.grammar.lexicon import TagScores
from fastlin.grammar.nbest import Forest
from fastlin.grammar.recall import RecallParser
from fastlin.grammar.state import GrammarState
from fastlin.grammar.trees import Tree, tree_of_events
from fastlin.runtime.made_once import made_once

Floats = NDArray[np.float64]


class Decoded(NamedTuple):
    """The tree of a sentence, log p(words, tree), whether the grammar has one, and whether nothing was pruned."""

    tree: Tree | None
    log_joint: float
    found: bool
    exact: bool = True


UNKNOWN_LABEL = "X"  # of a word that has no tag, and of a constituent of which nothing else is known
NO_WORDS = Decoded(None, -np.inf, False)


class Decoder(Protocol):
    """A decoder of one thread's own."""

    def __call__(self, words: Sequence[str], given: Given | None, /) -> Decoded: ...


class Unpruned:
    """The decoder of sentences of which pruning leaves no tree, made when it is first asked."""

    def __init__(self, make: Callable[[], Decoder]) -> None:
        self._make = make

    @made_once
    def _decoder(self) -> Decoder:
        return self._make()

    def __call__(self, words: Sequence[str], given: Given | None) -> Decoded:
        return self._decoder(words, given)


class ViterbiDecoder:
    """The most probable tree."""

    def __init__(self, state: GrammarState, beam: ChartBeam = EVERYTHING) -> None:
        self._state, self._parser = state, state.charts.viterbi_parser(beam)
        self._unpruned = Unpruned(lambda: ViterbiDecoder(state))

    def __call__(self, words: Sequence[str], given: Given | None) -> Decoded:
        if not words:
            return NO_WORDS
        state = self._state
        tags, spans = state.read(words, given)
        steps = state.charts.best(self._parser, words, tags, spans)
        exact = self._parser.n_pruned == 0
        if steps is None and not exact:
            return self._unpruned(words, given)
        if steps is None:
            return Decoded(flat_tree(state, words, tags, given), -np.inf, False)
        return Decoded(restore_tree(steps, state.rules.symbols), state.scorer.score(steps, tags), True, exact)


class NBestDecoder:
    """The n most probable trees, or all there are."""

    def __init__(self, state: GrammarState, n: int) -> None:
        self._state, self._n, self._parser = state, n, state.charts.viterbi_parser()

    def __call__(self, words: Sequence[str], given: Given | None) -> list[Decoded]:
        if not words:
            return []
        state = self._state
        tags, spans = state.read(words, given)
        return [
            Decoded(restore_tree(steps, state.rules.symbols), state.scorer.score(steps, tags), True)
            for steps in Forest(state.charts, self._parser, tags, spans).best(self._n, words)
        ]


class RecallDecoder:
    """The tree of the most expected constituents, which need not be one of the grammar: then its log p is −∞."""

    def __init__(
        self, state: GrammarState, binarizer: Binarizer, threshold: float, beam: ChartBeam = EVERYTHING
    ) -> None:
        self._state, self._binarizer, self._parser = state, binarizer, state.charts.summing_parser(beam)
        self._unpruned = Unpruned(lambda: RecallDecoder(state, binarizer, threshold))
        labels = state.charts.labels
        self._recall = RecallParser(labels, state.tag_labels, state.above, state.root_labels, threshold)

    def __call__(self, words: Sequence[str], given: Given | None) -> Decoded:
        if not words:
            return NO_WORDS
        state = self._state
        tags, spans = state.read(words, given)
        expected = state.charts.expect(self._parser, tags, spans)
        exact = self._parser.n_pruned == 0
        if expected.log_sum == -np.inf and not exact:
            return self._unpruned(words, given)
        if expected.log_sum == -np.inf:
            return Decoded(flat_tree(state, words, tags, given), -np.inf, False)
        tree = self._recall.tree(words, expected.constituents, given or NOTHING_GIVEN)
        return Decoded(tree, state.scorer.score(self._binarizer.derive(tree), tags), True, exact)


class LogSum:
    """log p of a sentence, the sum over its trees."""

    def __init__(self, state: GrammarState) -> None:
        self._state, self._parser = state, state.charts.summing_parser()

    def __call__(self, words: Sequence[str], given: Given | None) -> float:
        if not words:
            return -np.inf
        charts = self._state.charts
        tags, spans = self._state.read(words, given)
        return charts.log_sum(self._parser, tags, NO_SPANS, charts.summed_constraints(spans))


class Constituent(NamedTuple):
    """A label over some words, and how often it is expected there."""

    label: str
    start: int
    stop: int
    expected: float


def expected_constituents(
    state: GrammarState, parser: InsideOutside, words: Sequence[str], given: Given | None, least: float
) -> list[Constituent]:
    """The constituents that are expected in the tree of a sentence."""
    if not words:
        return []
    expected = state.charts.expect(parser, *state.read(words, given)).constituents
    return constituents_of(expected, state.charts.labels, len(words), least)


def constituents_of(expected: Floats, labels: Sequence[str], n_words: int, least: float) -> list[Constituent]:
    """The constituents that are expected more than `least` times, of how often each label is over each span."""
    found = list[Constituent]()
    for start in range(n_words):
        for stop in range(start + 1, n_words + 1):
            row = expected[span_place(start, stop)]
            columns = np.flatnonzero(row > least)
            for column in columns[np.argsort(-row[columns], kind="stable")]:
                found.append(Constituent(labels[column], start, stop, float(row[column])))
    return found


def flat_tree(state: GrammarState, words: Sequence[str], tags: TagScores, given: Given | None) -> Tree:
    """The tree of a sentence that has none: the most usual labels, what is given, and each word's most likely tag."""
    likely = [_likely_tag(state, place, tags, given) for place in range(len(words))]
    opening, closing = defaultdict[int, list[str]](list), defaultdict[int, list[str]](list)
    wanted = (given or NOTHING_GIVEN).labels()
    for start, stop in sorted(wanted, key=lambda span: (span[0], -span[1])):  # from outside
        there = set(state.flat) if stop - start == len(words) else {likely[start]} if stop == start + 1 else set()
        labels = sorted(wanted[start, stop] - there) or [UNKNOWN_LABEL] * (not there)
        opening[start] += labels
        closing[stop] = labels[::-1] + closing[stop]
    events = [("open", label) for label in state.flat]
    for place, word in enumerate(words):
        events += [("open", label) for label in opening[place]]
        events += [("open", likely[place]), ("word", word), ("close", likely[place])]
        events += [("close", label) for label in closing[place + 1]]
    return tree_of_events([*events, *(("close", label) for label in reversed(state.flat))])


def _likely_tag(state: GrammarState, place: int, tags: TagScores, given: Given | None) -> str:
    if given is not None and given.tags is not None and (tag := given.tags[place]) is not None:
        return tag
    there = slice(tags.start[place], tags.start[place + 1])
    if there.start == there.stop:
        return UNKNOWN_LABEL
    return state.rules.symbols[tags.symbol[there][int(np.argmax(tags.score[there]))]].label or UNKNOWN_LABEL
