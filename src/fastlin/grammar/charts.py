"""A grammar as charts read it, and what they find: the best derivation, the sum over all, expected constituents."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart import cky, inside_outside
from fastlin.engine.chart.chart_rules import ChainTable, ChartRules, SpanConstraints
from fastlin.grammar.binarize import BINARY, LEXICAL, UNARY, Derivation
from fastlin.grammar.constraints import SpanStates, span_place
from fastlin.grammar.labelled_chains import LabelledChains
from fastlin.grammar.lexicon import TagScores
from fastlin.grammar.rules import Chains, RuleCounts, RuleTable, UnaryChains, children_index
from fastlin.runtime.made_once import made_once

Floats = NDArray[np.float64]
CELL_BYTES = 16  # of a symbol over a span; twice as many where constituents are expected
MAX_PAIRS = 1 << 26  # of states of chains through given labels, which are kept for other sentences: 512 MB
LEAST_LOG_P = np.log(1e-300)  # of a rule: in sums, one of less is none
NO_SPANS = np.empty((0, 0))
NOT_COUNTED = np.empty(0)


class ChartBeam(NamedTuple):
    """How far below the best of its span a symbol may be."""

    merit: Floats  # log of how often a symbol is there at all; none: whatever it is worth
    width: float


EVERYTHING = ChartBeam(np.empty(0), np.inf)


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
        self.labels = labels_of(rules)
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
        self._labelled = dict[frozenset[int], LabelledChains]()
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

    @made_once
    def best_rules(self) -> ChartRules:
        """What the best derivation is made of."""
        return self._bound(self.log_weights.binary, self.best_chains)

    @made_once
    def summed_rules(self) -> ChartRules:
        """What the sum over all derivations is made of; spans are scaled by the inverse of what is in them."""
        weights = self.log_weights.binary
        return self._bound(np.where(weights > LEAST_LOG_P, np.exp(weights), 0.0), self.chain_sums)

    def _bound(self, weights: Floats, chains: Chains) -> ChartRules:
        table = ChainTable(chains.start, chains.parent, chains.weight)
        return ChartRules(*self._children, weights, table, self._label)

    def viterbi_parser(self, beam: ChartBeam = EVERYTHING) -> cky.ViterbiParser:
        """A parser of its own chart, for one thread."""
        return cky.ViterbiParser(self.best_rules, *beam)

    def summing_parser(self, beam: ChartBeam = EVERYTHING) -> inside_outside.InsideOutside:
        """A parser of its own chart, for one thread."""
        return inside_outside.InsideOutside(self.summed_rules, True, *beam)

    def with_rules(self, tags: TagScores) -> TagScores:
        """The scores of tags with the probabilities of their being tags, and not something else."""
        return tags._replace(score=tags.score + self._tag_weight[tags.symbol])

    def is_constituent(self, symbol: int) -> bool:
        """Whether a symbol has a label, which those within a constituent have not."""
        return bool(self._label[symbol] >= 0)

    def labelled(self, wanted: frozenset[int]) -> LabelledChains:
        """The chains in which all of some labels are."""
        found = self._labelled.get(wanted)
        if found is None:
            found = self._labelled[wanted] = LabelledChains(self.rules, self.log_weights.unary, self._label, wanted)
            kept = list(self._labelled.items())
            n_pairs = sum(len(chains.states) ** 2 for _, chains in kept)
            for labels, chains in kept[:-1]:  # the oldest first
                if n_pairs > MAX_PAIRS:
                    self._labelled.pop(labels, None)
                    n_pairs -= len(chains.states) ** 2
        return found

    def best_constraints(self, spans: SpanStates | None) -> SpanConstraints | None:
        """What may stand over spans, for `viterbi_parser`."""
        if spans is None:
            return None
        return SpanConstraints(spans.states, [self.labelled(wanted).best_table for wanted in spans.labelled.values()])

    def summed_constraints(self, spans: SpanStates | None) -> SpanConstraints | None:
        """What may stand over spans, for `summing_parser`."""
        if spans is None:
            return None
        return SpanConstraints(spans.states, [self.labelled(wanted).sum_table for wanted in spans.labelled.values()])

    def best(
        self, parser: cky.ViterbiParser, words: Sequence[str], tags: TagScores, spans: SpanStates | None = None
    ) -> Derivation | None:
        """The best derivation of a sentence; None: there is none."""
        parser.fill(*self.with_rules(tags), NO_SPANS, self.best_constraints(spans))
        roots, n_words = self.rules.roots, len(words)
        scores = [
            weight + parser.score(root, 0, n_words) for root, weight in zip(roots, self.log_weights.roots, strict=True)
        ]
        place = int(np.argmax(scores))
        if scores[place] == -np.inf:
            return None
        symbols, kinds = parser.best(roots[place])
        return self._expanded(symbols, kinds, words, spans)

    def _expanded(
        self, symbols: list[int], kinds: list[int], words: Sequence[str], spans: SpanStates | None
    ) -> Derivation:
        """A derivation with all that its chains have inside."""
        steps = Derivation([], [], list(words))
        wanted = {} if spans is None else spans.labelled
        places = step_spans(kinds) if wanted else [(0, 0)] * len(kinds)
        for number, (symbol, kind, place) in enumerate(zip(symbols, kinds, places, strict=True)):
            if kind != UNARY:
                chain = [symbol]
            elif place in wanted:
                chain = self.labelled(wanted[place]).between(symbol, symbols[number + 1])[:-1]
            else:
                chain = [symbol, *self.best_chains.between(symbol, symbols[number + 1])]
            steps.symbols.extend(chain)
            steps.kinds.extend([kind] * len(chain))
        return steps

    def log_sum(
        self,
        parser: inside_outside.InsideOutside,
        tags: TagScores,
        spans: Floats = NO_SPANS,
        constraints: SpanConstraints | None = None,
    ) -> float:
        """log Σ of all derivations of a sentence that constraints allow, and whose spans have these scores."""
        return float(parser.inside(*self.with_rules(tags), spans, self._start, constraints))

    def expect(
        self, parser: inside_outside.InsideOutside, tags: TagScores, spans: SpanStates | None = None
    ) -> Expectations:
        """How often each label is expected over each span."""
        n_words = len(tags.start) - 1
        expected = np.zeros((n_words * (n_words + 1) // 2, len(self.labels)))
        log_sum = self.log_sum(parser, tags, NO_SPANS, self.summed_constraints(spans))
        if log_sum == -np.inf:
            return Expectations(log_sum, expected)
        wanted = {} if spans is None else spans.labelled
        sizes = [len(self.chain_sums.parent), *(self.labelled(labels).n_sums for labels in wanted.values())]
        chains = np.zeros(sum(sizes)) if wanted else NOT_COUNTED
        parser.outside(1.0, NOT_COUNTED, chains, NOT_COUNTED, expected)
        parts = np.split(chains, np.cumsum(sizes)) if wanted else []
        for (start, stop), labels, counts in zip(wanted, wanted.values(), parts[1:], strict=False):
            expected[span_place(start, stop)] = self.labelled(labels).expected_labels(counts, len(self.labels))
        return Expectations(log_sum, expected)


def step_spans(kinds: Sequence[int]) -> list[tuple[int, int]]:
    """The first word of each step of a derivation, and the one after its last, by the kinds of the steps."""
    stops: list[int] = []
    found: list[tuple[int, int]] = []
    first = sum(kind == LEXICAL for kind in kinds)
    for kind in reversed(kinds):  # the last word is done first; `stops` are those of what has no parent so far
        if kind == LEXICAL:
            stops.append(first)
            first -= 1
        elif kind == BINARY:
            stops[-2:] = stops[-2:-1]
        found.append((first, stops[-1]))
    return found[::-1]


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


def labels_of(rules: RuleTable) -> list[str]:
    """The labels of constituents and tags."""
    return sorted({symbol.label for symbol in rules.symbols if symbol.label is not None})


def check_size(n_words: int, n_symbols: int, max_bytes: int, halves: int) -> None:
    """Refuse a chart that would be larger than is allowed."""
    wanted = n_words * (n_words + 1) // 2 * n_symbols * CELL_BYTES * halves
    if wanted > max_bytes:
        raise MemoryError(
            f"a chart of {n_words} words and {n_symbols} symbols takes {wanted} bytes: max_memory allows {max_bytes}"
        )
