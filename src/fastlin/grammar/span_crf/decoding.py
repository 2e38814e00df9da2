"""Decoders of sentences by a SpanCRF, each one thread's own."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart.cky import ViterbiParser
from fastlin.grammar.binarize import Binarizer, Derivation, restore_tree
from fastlin.grammar.constraints import Given
from fastlin.grammar.decoding import NO_WORDS, UNKNOWN_LABEL, Constituent, Decoded, constituents_of
from fastlin.grammar.recall import RecallParser
from fastlin.grammar.span_crf.nbest import SpanForest
from fastlin.grammar.span_crf.scores import SpanScores, SumParser, chart_rules, score, score_derivation
from fastlin.grammar.span_crf.sentences import SentenceFeatures
from fastlin.grammar.span_crf.state import SpanState
from fastlin.grammar.span_crf.training import best_of, own_weights
from fastlin.grammar.trees import Tree

Floats = NDArray[np.float64]


class SpanDecoder:
    """A reader of sentences, and of what the weights say of them."""

    def __init__(self, state: SpanState, binarizer: Binarizer) -> None:
        self._state, self._grammar, self._weights = state, state.grammar, state.weights
        self._binarizer = binarizer

    def read(self, words: Sequence[str], given: Given | None = None) -> tuple[SentenceFeatures, SpanScores]:
        """A sentence, of which perhaps tags are given, and its scores."""
        sentence = self._grammar.reader(words, None if given is None else given.tags)
        own = own_weights(self._weights, sentence)
        return sentence, score(sentence, own.tags, own.spans)

    def score_tree(self, tree: Tree, scores: SpanScores) -> float:
        """θ·f of a tree; −∞ where it has a step that the grammar has not."""
        steps = self._grammar.chains.collapse(self._binarizer.derive(tree))
        places = self._grammar.places.of(steps)
        return -np.inf if places is None else score_derivation(places, self._weights, scores)

    def flat_tree(self, words: Sequence[str], sentence: SentenceFeatures, scores: SpanScores) -> Tree:
        """The tree of a sentence that has none: the most usual labels, and each word's most likely tag."""
        children = []
        for place, word in enumerate(words):
            tags = sentence.tag_place[sentence.tag_start[place] : sentence.tag_start[place + 1]]
            best = self._grammar.rules.tags[tags[int(np.argmax(scores.tags[place, tags]))]] if len(tags) else -1
            label = self._grammar.symbols[best].label if best >= 0 else None
            children.append(Tree(label or UNKNOWN_LABEL, [word]))
        for label in reversed(self._grammar.flat):
            children = [Tree(label, children)]
        return children[0]


class SpanBestDecoder(SpanDecoder):
    """A decoder with a chart of best derivations."""

    def __init__(self, state: SpanState, binarizer: Binarizer) -> None:
        super().__init__(state, binarizer)
        rules = chart_rules(self._grammar.rules, self._grammar.columns, self._weights.binary, self._weights.unary)
        self._parser = ViterbiParser(rules)

    def fill(self, sentence: SentenceFeatures, scores: SpanScores) -> None:
        """Fill the chart of a sentence."""
        tags = scores.tags[sentence.tag_words, sentence.tag_place]
        self._parser.fill(sentence.tag_start, self._grammar.rules.tags[sentence.tag_place], tags, scores.spans)

    def decoded(self, steps: Derivation, words: Sequence[str], scores: SpanScores) -> Decoded:
        """A derivation of chains as a tree with its score."""
        grammar, places = self._grammar, self._grammar.places.of(steps)
        assert places is not None, "a chart has the steps of its grammar"
        tree = restore_tree(grammar.chains.expand(steps._replace(words=list(words))), grammar.symbols)
        return Decoded(tree, score_derivation(places, self._weights, scores), True)


class SpanViterbiDecoder(SpanBestDecoder):
    """The tree whose score is highest."""

    def __call__(self, words: Sequence[str], given: Given | None) -> Decoded:
        if not words:
            return NO_WORDS
        sentence, scores = self.read(words, given)
        self.fill(sentence, scores)
        steps = best_of(self._parser, self._grammar.rules, self._weights.roots, len(words))
        if steps is None:
            return Decoded(self.flat_tree(words, sentence, scores), -np.inf, False)
        return self.decoded(steps, words, scores)


class SpanNBestDecoder(SpanBestDecoder):
    """The n trees whose scores are highest, or all there are."""

    def __init__(self, state: SpanState, binarizer: Binarizer, n: int) -> None:
        super().__init__(state, binarizer)
        self._n = n

    def __call__(self, words: Sequence[str], given: Given | None) -> list[Decoded]:
        if not words:
            return []
        sentence, scores = self.read(words, given)
        self.fill(sentence, scores)
        grammar = self._grammar
        forest = SpanForest(self._parser, grammar.rules, grammar.columns, self._weights, sentence, scores)
        return [self.decoded(steps, words, scores) for steps in forest.best(self._n, words)]


class SpanSumDecoder(SpanDecoder):
    """Sums over trees, and what is expected of them."""

    def __init__(self, state: SpanState, binarizer: Binarizer) -> None:
        super().__init__(state, binarizer)
        self._parser = SumParser(self._grammar.rules, self._grammar.columns)
        self._parser.bind(self._weights)

    def log_proba(self, tree: Tree | None, words: Sequence[str]) -> float:
        """log p(tree | words)."""
        if tree is None or not words or tree.leaves() != list(words):
            return -np.inf
        sentence, scores = self.read(words)
        of_tree = self.score_tree(tree, scores)
        return of_tree - self._parser.log_sum(sentence, scores) if of_tree > -np.inf else -np.inf

    def expect(self, sentence: SentenceFeatures, scores: SpanScores) -> Floats | None:
        """How often each label is expected over each span, [spans, labels]; None: there is no tree."""
        if self._parser.log_sum(sentence, scores) == -np.inf:
            return None
        grammar, counts = self._grammar, self._parser.expect(sentence, scores)
        found = counts.spans @ grammar.labels_of_columns
        ends = np.arange(1, sentence.n_words + 1)
        named = grammar.labels_of_tags >= 0
        of_words = found[ends * (ends + 1) // 2 - 1]
        np.add.at(of_words.T, grammar.labels_of_tags[named], counts.tags[:, named].T)
        found[ends * (ends + 1) // 2 - 1] = of_words
        return found

    def constituents(self, words: Sequence[str], given: Given | None, least: float) -> list[Constituent]:
        """The constituents that are expected more than `least` times."""
        expected = self.expect(*self.read(words, given)) if words else None
        return [] if expected is None else constituents_of(expected, self._grammar.labels, len(words), least)


class SpanRecallDecoder(SpanSumDecoder):
    """The tree of the constituents that are expected most, which need not be one of the grammar."""

    def __init__(self, state: SpanState, binarizer: Binarizer, threshold: float) -> None:
        super().__init__(state, binarizer)
        grammar = state.grammar
        self._recall = RecallParser(grammar.labels, grammar.tag_labels, grammar.above, grammar.root_labels, threshold)

    def __call__(self, words: Sequence[str], given: Given | None) -> Decoded:
        if not words:
            return NO_WORDS
        sentence, scores = self.read(words, given)
        expected = self.expect(sentence, scores)
        if expected is None:
            return Decoded(self.flat_tree(words, sentence, scores), -np.inf, False)
        tree = self._recall.tree(words, expected)
        return Decoded(tree, self.score_tree(tree, scores), True)
