"""The n best derivations of a sentence, found one after the other (Huang & Chiang 2005, algorithm 3).

Over a span there are two kinds of items, as in `engine/chart/cky.pyx`: `Joined` is a symbol made of two children, or a
tag over its word, and `Chained` a symbol made of a joined one by a chain of unary rules, which may go in circles: since
each of these costs, there is always a next best. An item knows its derivations so far, and candidates for the next;
what a candidate needs of other items is asked for when it is its turn.

Items ask one another through `_ensure`, which keeps who waits on a list: sentences may have any length.
"""

import heapq
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from fastlin.engine.chart import cky
from fastlin.engine.core.interruption import look
from fastlin.grammar.binarize import BINARY, LEXICAL, UNARY, Derivation
from fastlin.grammar.charts import NO_SPANS, ChartGrammar
from fastlin.grammar.constraints import WHOLE, SpanStates, span_place
from fastlin.grammar.lexicon import TagScores

Request = tuple["Item", int]


class Item:
    """A symbol over a span, its derivations so far and the candidates for the next."""

    def __init__(self) -> None:
        self.found: list[tuple[float, Any]] = []  # score, and what it is made of
        self.candidates: list[tuple[float, int, Any]] = []  # −score, an order among equals, what it would be made of
        self._order = count()

    @property
    def best(self) -> float:
        """The score of the best derivation; −∞: there is none."""
        return float(self.found[0][0] if self.found else -self.candidates[0][0] if self.candidates else "-inf")

    def propose(self, score: float, made_of: Any) -> None:
        heapq.heappush(self.candidates, (-score, next(self._order), made_of))

    def advance(self) -> Iterator[Request]:
        """Find one more, or exhaust the candidates; yields what it has to know of others before."""
        raise TypeError("an item is joined or chained")


class Joined(Item):
    """A symbol made of two children, or a tag."""

    def __init__(self, forest: "Forest", i: int, j: int, symbol: int) -> None:
        super().__init__()
        self._forest, self._i, self._j = forest, i, j
        self._seen = set[tuple[int, int, int]]()
        self._edges = forest.edges(i, j, symbol)
        for number, (left, right, split, worth) in enumerate(self._edges):
            if split < 0:
                self.propose(worth, (number, 0, 0))
                continue
            below = forest.chart_score(left, i, split) + forest.chart_score(right, split, j)
            self._edges[number] = left, right, split, worth - below
            self.propose(worth, (number, 0, 0))

    def children(self, number: int) -> tuple["Chained", "Chained"] | None:
        left, right, split, _ = self._edges[number]
        if split < 0:
            return None
        return self._forest.chained(self._i, split, left), self._forest.chained(split, self._j, right)

    def advance(self) -> Iterator[Request]:
        minus_score, _, made_of = heapq.heappop(self.candidates)
        self.found.append((-minus_score, made_of))
        number, rank_left, rank_right = made_of
        children = self.children(number)
        if children is None:
            return
        left, right = children
        for ranks in ((rank_left + 1, rank_right), (rank_left, rank_right + 1)):
            if (number, *ranks) in self._seen:
                continue
            self._seen.add((number, *ranks))
            yield left, ranks[0]
            yield right, ranks[1]
            if len(left.found) > ranks[0] and len(right.found) > ranks[1]:
                score = self._edges[number][3] + left.found[ranks[0]][0] + right.found[ranks[1]][0]
                self.propose(score, (number, *ranks))


class Chained(Item):
    """A symbol made of a joined one by a chain, of no rule in most cases."""

    def __init__(self, forest: "Forest", i: int, j: int, symbol: int) -> None:
        super().__init__()
        self._forest, self._i, self._j = forest, i, j
        self.propose(forest.chart_score(symbol, i, j), ((symbol,), 0.0, None))

    def advance(self) -> Iterator[Request]:
        minus_score, _, (path, weight, rank) = heapq.heappop(self.candidates)
        joined = self._forest.joined(self._i, self._j, path[-1])
        if rank is None:  # the chain may end here, or go on
            for child, more in self._forest.unary_below(path[-1]):
                best = self._forest.worth((*path, child), self._i, self._j)
                if best > float("-inf"):
                    self.propose(weight + more + best, ((*path, child), weight + more, None))
            if not self._forest.may_end(path, self._i, self._j):
                return
            rank = -1
        else:
            self.found.append((-minus_score, (path, rank)))
        yield joined, rank + 1
        if len(joined.found) > rank + 1:
            self.propose(weight + joined.found[rank + 1][0], (path, weight, rank + 1))


class Forest:
    """All derivations of a sentence."""

    def __init__(
        self, grammar: ChartGrammar, parser: cky.ViterbiParser, tags: TagScores, spans: SpanStates | None = None
    ) -> None:
        self._grammar, self._spans = grammar, spans
        roots = zip(grammar.rules.roots.tolist(), grammar.log_weights.roots.tolist(), strict=True)
        tags = grammar.with_rules(tags)
        self._begin(parser, tags, list(roots))
        self._completions: dict[tuple[int, int], dict[tuple[int, int], float]] = {}
        parser.fill(*tags, NO_SPANS, grammar.best_constraints(spans))

    def _begin(self, parser: cky.ViterbiParser, tags: TagScores, roots: list[tuple[int, float]]) -> None:
        """Begin with nothing found; `roots` are symbols of whole sentences, and what these are worth."""
        self._parser, self._tags, self._roots = parser, tags, roots
        self._n_words = len(tags.start) - 1
        self._joined: dict[tuple[int, int, int], Joined] = {}
        self._chained: dict[tuple[int, int, int], Chained] = {}

    def best(self, n: int, words: Sequence[str]) -> list[Derivation]:
        """The n best derivations of the sentence, or all, the best first."""
        heap: list[tuple[float, int, int, float]] = []
        for root, weight in self._roots:
            score = weight + self.chart_score(root, 0, self._n_words)
            if score > float("-inf"):
                heap.append((-score, root, 0, weight))
        heapq.heapify(heap)
        found = list[Derivation]()
        while heap and len(found) < n:
            look()
            _, root, rank, weight = heapq.heappop(heap)
            item = self.chained(0, self._n_words, root)
            _ensure(item, rank + 1)
            if len(item.found) > rank:
                found.append(self._derivation(item, rank, words))
            if len(item.found) > rank + 1:
                heapq.heappush(heap, (-(weight + item.found[rank + 1][0]), root, rank + 1, weight))
        return found

    def chart_score(self, symbol: int, i: int, j: int) -> float:
        return float(self._parser.score(symbol, i, j))

    def worth(self, path: tuple[int, ...], i: int, j: int) -> float:
        """The best that can be below a chain, from its last symbol on."""
        if self._spans is None or (i, j) not in self._spans.labelled:
            return self.chart_score(path[-1], i, j)
        chains = self._grammar.labelled(self._spans.labelled[i, j])
        if (i, j) not in self._completions:
            ends = [
                self.joined(i, j, symbol).best if self._grammar.is_constituent(symbol) else float("-inf")
                for symbol in chains.symbols
            ]
            self._completions[i, j] = chains.completions(np.array(ends))
        return self._completions[i, j].get((path[-1], chains.all & ~chains.seen_in(path[:-1])), float("-inf"))

    def may_end(self, path: tuple[int, ...], i: int, j: int) -> bool:
        """Whether what is over a span may have this chain, and no more."""
        if self._spans is None or self._spans.states[span_place(i, j)] < WHOLE:
            return True
        if not self._grammar.is_constituent(path[-1]):
            return False
        wanted = self._spans.labelled.get((i, j))
        return wanted is None or (chains := self._grammar.labelled(wanted)).seen_in(path) == chains.all

    def unary_below(self, symbol: int) -> list[tuple[int, float]]:
        return self._grammar.unary_below.get(symbol, [])

    def chained(self, i: int, j: int, symbol: int) -> Chained:
        key = i, j, symbol
        if key not in self._chained:
            self._chained[key] = Chained(self, i, j, symbol)
        return self._chained[key]

    def joined(self, i: int, j: int, symbol: int) -> Joined:
        key = i, j, symbol
        if key not in self._joined:
            self._joined[key] = Joined(self, i, j, symbol)
        return self._joined[key]

    def edges(self, i: int, j: int, symbol: int) -> list[tuple[int, int, int, float]]:
        """Left child, right child, split and score of all ways to make a symbol; of a tag over its word: no split."""
        if j > i + 1:
            return self._parser.edges(symbol, i, j)
        there = slice(self._tags.start[i], self._tags.start[j])
        scores = self._tags.score[there][self._tags.symbol[there] == symbol]
        return [(-1, -1, -1, score) for score in scores.tolist() if score > float("-inf")]

    def _derivation(self, item: Chained, rank: int, words: Sequence[str]) -> Derivation:
        steps, todo = Derivation([], [], list(words)), [(item, rank)]
        while todo:
            item, rank = todo.pop()
            _, (path, rank) = item.found[rank]
            joined = self.joined(item._i, item._j, path[-1])
            _, (number, rank_left, rank_right) = joined.found[rank]
            children = joined.children(number)
            steps.symbols.extend(path)
            steps.kinds.extend([UNARY] * (len(path) - 1))
            steps.kinds.append(LEXICAL if children is None else BINARY)
            if children is not None:
                todo += [(children[1], rank_right), (children[0], rank_left)]
        return steps


def _ensure(item: Item, rank: int) -> None:
    """Let an item find as many derivations as make this rank known, or all that there are."""
    waiting = [_finding(item, rank)]
    while waiting:
        request = next(waiting[-1], None)
        if request is None:
            waiting.pop()
        elif len(request[0].found) <= request[1]:
            waiting.append(_finding(*request))


def _finding(item: Item, rank: int) -> Iterator[Request]:
    while len(item.found) <= rank and item.candidates:
        yield from item.advance()
