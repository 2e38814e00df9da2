"""The n best derivations by a SpanCRF: `grammar/nbest.py` with scores of spans, and one unary step at most."""

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart.cky import ViterbiParser
from fastlin.grammar.lexicon import TagScores
from fastlin.grammar.nbest import Chained, Forest, Item, Request
from fastlin.grammar.rules import RuleTable
from fastlin.grammar.span_crf.scores import SpanScores, Weights
from fastlin.grammar.span_crf.sentences import SentenceFeatures

NOT_YET = -1  # a rank: the step has a bound, and no derivation so far


class OneStep(Chained):
    """A symbol made of two children or of a word, or by one unary step of such a one."""

    def __init__(self, forest: "SpanForest", i: int, j: int, symbol: int) -> None:
        Item.__init__(self)
        self._forest, self._i, self._j = forest, i, j
        for path, weight in forest.ways(symbol, i, j):
            bound = forest.chart_score(path[-1], i, j)
            if bound > -np.inf:
                self.propose(weight + bound, (path, weight, NOT_YET))

    def advance(self) -> Iterator[Request]:
        minus_score, _, (path, weight, rank) = heapq.heappop(self.candidates)
        joined = self._forest.joined(self._i, self._j, path[-1])
        if rank == NOT_YET:
            if joined.best > -np.inf:
                self.propose(weight + joined.best, (path, weight, 0))
            return
        yield joined, rank
        self.found.append((-minus_score, (path, rank)))
        yield joined, rank + 1
        if len(joined.found) > rank + 1:
            self.propose(weight + joined.found[rank + 1][0], (path, weight, rank + 1))


class SpanForest(Forest):
    """All derivations of a sentence, in a chart that is filled."""

    def __init__(
        self,
        parser: ViterbiParser,
        rules: RuleTable,
        columns: NDArray[np.int32],
        weights: Weights,
        sentence: SentenceFeatures,
        scores: SpanScores,
    ) -> None:
        of_tags = scores.tags[sentence.tag_words, sentence.tag_place]
        tags = TagScores(sentence.tag_start, rules.tags[sentence.tag_place], of_tags)
        self._begin(parser, tags, list(zip(rules.roots.tolist(), weights.roots.tolist(), strict=True)))
        self._columns, self._worth = columns, scores.spans
        self._unary: dict[int, list[tuple[int, float]]] = {}
        for (parent, child), weight in zip(rules.unary.tolist(), weights.unary.tolist(), strict=True):
            self._unary.setdefault(parent, []).append((child, weight))

    def span_score(self, symbol: int, i: int, j: int) -> float:
        """What a span is worth to a symbol."""
        column = self._columns[symbol]
        return float(self._worth[j * (j - 1) // 2 + i, column]) if column >= 0 else 0.0

    def ways(self, symbol: int, i: int, j: int) -> list[tuple[tuple[int, ...], float]]:
        """No unary step, or one: its symbols, and what it is worth."""
        above = self.span_score(symbol, i, j)
        steps = [((symbol, child), weight + above) for child, weight in self._unary.get(symbol, [])]
        return [((symbol,), 0.0), *steps]

    def chained(self, i: int, j: int, symbol: int) -> Chained:
        key = i, j, symbol
        if key not in self._chained:
            self._chained[key] = OneStep(self, i, j, symbol)
        return self._chained[key]

    def edges(self, i: int, j: int, symbol: int) -> list[tuple[int, int, int, float]]:
        own = self.span_score(symbol, i, j)
        return [(left, right, split, worth + own) for left, right, split, worth in super().edges(i, j, symbol)]
