"""A grammar as charts read it, and what they find: the best derivation, the sum over all, expected constituents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart import cky, inside_outside
from fastlin.grammar.binarize import LEXICAL, UNARY, Derivation
from fastlin.grammar.lexicon import TagScores
from fastlin.grammar.rules import Chains, RuleCounts, RuleTable, UnaryChains, children_index
from fastlin.runtime.made_once import made_once

Floats = NDArray[np.float64]
CELL_BYTES = 16  # of a symbol over a span; twice as many where constituents are expected
NO_SPANS = np.empty((0, 0))
NOT_COUNTED = np.empty(0)


class Expectations(NamedTuple):
    """What is expected of the derivations of a sentence."""

    log_sum: float
    constituents: Floats  # [spans, labels], spans by last and first word


class ChartGrammar:
    """Rules and their log weights, for parsers.

    Parameters
    ----------
    rules : RuleTable
    log_weights : RuleCounts
        One for each rule; those of `tags` belong to every word.
    """

    def __init__(self, rules: RuleTable, log_weights: RuleCounts) -> None:
        self.rules, self.log_weights = rules, log_weights
        self.labels = sorted({symbol.label for symbol in rules.symbols if symbol.label is not None})
        column = {label: place for place, label in enumerate(self.labels)}
        self._label = np.array(
            [-1 if symbol.before is not None else column.get(symbol.label or "", -1) for symbol in rules.symbols],
            np.int32,
        )
        self._tag_weight = np.full(len(rules.symbols), -np.inf)
        self._tag_weight[rules.tags] = log_weights.tags
        self._start = np.zeros(len(rules.symbols))
        self._start[rules.roots] = np.exp(log_weights.roots)
        self._children = children_index(rules)
        self.unary = UnaryChains(rules, log_weights.unary)

    @made_once
    def best_chains(self) -> Chains:
        return self.unary.best()

    @made_once
    def chain_sums(self) -> Chains:
        return self.unary.sums()

    @made_once
    def unary_below(self) -> dict[int, list[tuple[int, float]]]:
        """The unary rules of each symbol: child and log weight."""
        found: dict[int, list[tuple[int, float]]] = {}
        for (parent, child), weight in zip(self.rules.unary.tolist(), self.log_weights.unary.tolist(), strict=True):
            if weight > -np.inf:
                found.setdefault(parent, []).append((child, weight))
        return found

    def viterbi_parser(self) -> cky.ViterbiParser:
        """A parser of its own chart, for one thread."""
        chains = self.best_chains
        return cky.ViterbiParser(
            *self._children, self.log_weights.binary, chains.start, chains.parent, chains.weight, self._label
        )

    def summing_parser(self) -> inside_outside.InsideOutside:
        """A parser of its own chart, for one thread."""
        chains = self.chain_sums
        return inside_outside.InsideOutside(
            *self._children,
            np.exp(self.log_weights.binary),
            chains.start,
            chains.parent,
            chains.weight,
            self._label,
            True,
        )

    def with_rules(self, tags: TagScores) -> TagScores:
        """The scores of tags with the probabilities of their being tags, and not something else."""
        return tags._replace(score=tags.score + self._tag_weight[tags.symbol])

    def best(self, parser: cky.ViterbiParser, words: Sequence[str], tags: TagScores) -> Derivation | None:
        """The best derivation of a sentence; None: there is none."""
        parser.fill(*self.with_rules(tags), NO_SPANS)
        roots, n_words = self.rules.roots, len(words)
        scores = [
            weight + parser.score(root, 0, n_words) for root, weight in zip(roots, self.log_weights.roots, strict=True)
        ]
        place = int(np.argmax(scores))
        if scores[place] == -np.inf:
            return None
        symbols, kinds = parser.best(roots[place])
        return self._expanded(symbols, kinds, words)

    def _expanded(self, symbols: list[int], kinds: list[int], words: Sequence[str]) -> Derivation:
        """A derivation with all that its chains have inside."""
        steps = Derivation([], [], list(words))
        for place, (symbol, kind) in enumerate(zip(symbols, kinds, strict=True)):
            steps.symbols.append(symbol)
            steps.kinds.append(kind)
            if kind == UNARY:
                inner = self.best_chains.between(symbol, symbols[place + 1])
                steps.symbols.extend(inner)
                steps.kinds.extend([UNARY] * len(inner))
        return steps

    def log_sum(self, parser: inside_outside.InsideOutside, tags: TagScores) -> float:
        """log Σ of all derivations of a sentence."""
        return float(parser.inside(*self.with_rules(tags), NO_SPANS, self._start))

    def expect(self, parser: inside_outside.InsideOutside, tags: TagScores) -> Expectations:
        """How often each label is expected over each span."""
        n_words = len(tags.start) - 1
        expected = np.zeros((n_words * (n_words + 1) // 2, len(self.labels)))
        log_sum = self.log_sum(parser, tags)
        if log_sum > -np.inf:
            parser.outside(1.0, NOT_COUNTED, NOT_COUNTED, NOT_COUNTED, expected)
        return Expectations(log_sum, expected)


class DerivationScorer:
    """log weights of derivations, rule by rule."""

    def __init__(self, rules: RuleTable, log_weights: RuleCounts) -> None:
        self._binary = dict(zip(map(tuple, rules.binary.tolist()), log_weights.binary.tolist(), strict=True))
        self._unary = dict(zip(map(tuple, rules.unary.tolist()), log_weights.unary.tolist(), strict=True))
        self._tags = dict(zip(rules.tags.tolist(), log_weights.tags.tolist(), strict=True))
        self._roots = dict(zip(rules.roots.tolist(), log_weights.roots.tolist(), strict=True))

    def score(self, steps: Derivation, tags: TagScores) -> float:
        """log p of a derivation and its words; −∞ where a rule is not of the grammar."""
        done: list[int] = []
        total, word = 0.0, len(steps.words)
        for symbol, kind in zip(reversed(steps.symbols), reversed(steps.kinds), strict=True):
            if kind == LEXICAL:
                word -= 1
                there = slice(tags.start[word], tags.start[word + 1])
                found = tags.score[there][tags.symbol[there] == symbol]
                total += self._tags.get(symbol, -np.inf) + (float(found[0]) if len(found) else -np.inf)
            elif kind == UNARY:
                total += self._unary.get((symbol, done.pop()), -np.inf)
            else:
                total += self._binary.get((symbol, done.pop(), done.pop()), -np.inf)
            done.append(symbol)
        return total + self._roots.get(done[0], -np.inf)


def check_size(n_words: int, n_symbols: int, max_bytes: int, halves: int) -> None:
    """Refuse a chart that would be larger than is allowed."""
    wanted = n_words * (n_words + 1) // 2 * n_symbols * CELL_BYTES * halves
    if wanted > max_bytes:
        raise MemoryError(
            f"a chart of {n_words} words and {n_symbols} symbols takes {wanted} bytes: max_memory allows {max_bytes}"
        )
