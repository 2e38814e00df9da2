"""What charts sum and find is what the definition says, constrained or not; what they count is its derivative."""

import numpy as np
import pytest

from fastlin.engine.chart import cky, inside_outside
from fastlin.engine.chart.chart_rules import ChainTable, ChartRules, SpanConstraints

N_SYMBOLS, N_WORDS, N_LABELS = 4, 6, 3
N_SPANS = N_WORDS * (N_WORDS + 1) // 2
OPEN, CLOSED, WHOLE, LABELLED = range(4)  # what may stand over a span
TABLES = (  # of constraints: chains from each symbol to itself; from the first two to others, too
    (np.arange(N_SYMBOLS + 1), np.arange(N_SYMBOLS, dtype=np.int32)),
    (np.array([0, 2, 3, 3, 3]), np.array([0, 2, 0], np.int32)),
)


def span(i, j):
    return j * (j - 1) // 2 + i


class SmallGrammar:
    """Random rules over few symbols, chains of one rule, and tags of a sentence, all with log weights."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        rules = sorted({(*rng.integers(N_SYMBOLS, size=2).tolist(), int(rng.integers(N_SYMBOLS))) for _ in range(14)})
        pairs = sorted({rule[:2] for rule in rules})
        left = np.array([pair[0] for pair in pairs])
        self.index = (
            np.searchsorted(left, np.arange(N_SYMBOLS + 1)).astype(np.int64),
            np.array([pair[1] for pair in pairs], np.int32),
            np.searchsorted([pairs.index(rule[:2]) for rule in rules], np.arange(len(pairs) + 1)).astype(np.int64),
            np.array([rule[2] for rule in rules], np.int32),
        )
        chains = sorted({tuple(rng.permutation(N_SYMBOLS)[:2].tolist()) for _ in range(4)})
        self.chains = (
            np.searchsorted([child for child, _ in chains], np.arange(N_SYMBOLS + 1)).astype(np.int64),
            np.array([parent for _, parent in chains], np.int32),
        )
        self.label = np.array([0, 1, 2, -1], np.int32)
        self.tags = np.arange(0, 2 * N_WORDS + 1, 2), np.tile([0, 3], N_WORDS).astype(np.int32)
        sizes = {"rules": len(rules), "chains": len(chains), "tags": 2 * N_WORDS}
        self.weights = {name: rng.normal(size=size) for name, size in sizes.items()}
        self.weights["spans"] = rng.normal(size=(N_SPANS, N_LABELS))
        self.weights["constrained"] = rng.normal(size=sum(len(parents) for _, parents in TABLES))
        self.start = np.exp(rng.normal(size=N_SYMBOLS))
        self.merit = 3 * rng.normal(size=N_SYMBOLS)
        self.states = rng.choice([OPEN, OPEN, OPEN, CLOSED, WHOLE, LABELLED, LABELLED + 1], N_SPANS).astype(np.int32)
        self.states[span(0, N_WORDS)] = rng.choice([OPEN, WHOLE, LABELLED + 1])

    def bound(self, weights, states, function):
        """Rules and constraints for a parser, whose weights are functions of these."""
        chains = ChainTable(*self.chains, function(weights["chains"]))
        parts = np.split(function(weights["constrained"]), [len(TABLES[0][1])])
        tables = [ChainTable(*table, part) for table, part in zip(TABLES, parts, strict=True)]
        rules = ChartRules(*self.index, function(weights["rules"]), chains, self.label)
        return rules, None if states is None else SpanConstraints(states, tables)

    def summing(self, weights, states=None, beam=()):
        rules, constraints = self.bound(weights, states, np.exp)
        parser = inside_outside.InsideOutside(rules, False, *beam)
        return parser, parser.inside(*self.tags, weights["tags"], weights["spans"], self.start, constraints)

    def best(self, weights, states=None, beam=()):
        return self.filled(weights, states, beam)[1]

    def filled(self, weights, states, beam):
        rules, constraints = self.bound(weights, states, np.array)
        parser = cky.ViterbiParser(rules, *beam)
        parser.fill(*self.tags, weights["tags"], weights["spans"], constraints)
        return parser, max(parser.score(symbol, 0, N_WORDS) for symbol in range(N_SYMBOLS))

    def by_definition(self, weights, states, add, beam=np.inf):
        """The value of each symbol over the sentence, where `add` adds up what is made in several ways."""
        self.n_pruned = 0
        pair_start, pair_right, rule_start, parent = self.index
        left = np.repeat(np.arange(N_SYMBOLS), np.diff(pair_start))
        tables = [(*self.chains, np.exp(weights["chains"]))]
        parts = np.split(np.exp(weights["constrained"]), [len(TABLES[0][1])])
        tables += [(*table, part) for table, part in zip(TABLES, parts, strict=True)]
        whole = {}
        for j in range(1, N_WORDS + 1):
            for i in reversed(range(j)):
                state = OPEN if states is None else states[span(i, j)]
                worth = np.append(np.exp(weights["spans"][span(i, j)]), 1.0)[self.label]
                made = [[] for _ in range(N_SYMBOLS)]
                if j == i + 1:
                    for tag in range(self.tags[0][i], self.tags[0][j]):
                        made[self.tags[1][tag]].append(np.exp(weights["tags"][tag]))
                for k in range(i + 1, j):
                    for pair, C in enumerate(pair_right):
                        both = whole[i, k][left[pair]] * whole[k, j][C]
                        for rule in range(rule_start[pair], rule_start[pair + 1]):
                            made[parent[rule]].append(both * np.exp(weights["rules"][rule]))
                cell = np.array([add(ways) if ways else 0.0 for ways in made]) * worth
                if state == CLOSED:
                    cell[:] = 0
                if state >= WHOLE:
                    cell[self.label < 0] = 0
                ways = [[] if state >= LABELLED else [value] for value in cell]
                starts, parents, values = tables[max(0, state - LABELLED + 1)]
                for B in range(N_SYMBOLS):
                    for chain in range(starts[B], starts[B + 1]):
                        A = parents[chain]
                        ways[A].append(cell[B] * values[chain] * (1.0 if A == B else worth[A]))
                values = whole[i, j] = np.array([add(of_symbol) if of_symbol else 0.0 for of_symbol in ways])
                if j - i < N_WORDS:
                    worth = values * np.exp(self.merit)
                    pruned = (worth < worth.max() * np.exp(-beam)) & (values > 0)
                    values[pruned] = 0
                    self.n_pruned += pruned.sum()
        return whole[0, N_WORDS]


@pytest.mark.parametrize("seed", range(40))
def test_sums_and_the_best_are_what_the_definition_says(seed):
    grammar = SmallGrammar(seed)
    for states in (None, grammar.states):
        with np.errstate(divide="ignore"):
            total = np.log(grammar.by_definition(grammar.weights, states, sum) @ grammar.start)
            best = np.log(grammar.by_definition(grammar.weights, states, max).max())
        assert grammar.summing(grammar.weights, states)[1] == pytest.approx(total, rel=1e-12)
        assert grammar.best(grammar.weights, states) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("beam", [0.5, 3.0])
def test_a_beam_leaves_out_what_is_far_below_the_best_of_a_span(seed, beam):
    grammar = SmallGrammar(seed)
    with np.errstate(divide="ignore"):
        total = np.log(grammar.by_definition(grammar.weights, None, sum, beam) @ grammar.start)
        n_pruned = grammar.n_pruned
        best = np.log(grammar.by_definition(grammar.weights, None, max, beam).max())
    parser, found = grammar.filled(grammar.weights, None, (grammar.merit, beam))
    assert found == pytest.approx(best, rel=1e-12)
    assert parser.n_pruned == grammar.n_pruned
    parser, found = grammar.summing(grammar.weights, None, (grammar.merit, beam))
    assert found == pytest.approx(total, rel=1e-12)
    assert parser.n_pruned == n_pruned
    assert n_pruned > 0 or beam > 1


def constrained_sum(seed):
    grammar = SmallGrammar(seed)
    return grammar.summing(grammar.weights, grammar.states)[1]


def with_derivations():
    """Small grammars without constraints, and with some that leave derivations."""
    constrained = [seed for seed in range(200) if np.isfinite(constrained_sum(seed))]
    return [(seed, False) for seed in range(6)] + [(seed, True) for seed in constrained[:12]]


@pytest.mark.parametrize(("seed", "constrained"), with_derivations())
def test_expected_counts_are_derivatives_of_the_log_sum(seed, constrained):
    grammar = SmallGrammar(seed)
    states = grammar.states if constrained else None
    parser, log_sum = grammar.summing(grammar.weights, states)
    assert np.isfinite(log_sum)
    counts = {name: np.zeros_like(weights) for name, weights in grammar.weights.items()}
    n_chains = len(counts["chains"])
    chains = np.zeros(n_chains + (len(counts["constrained"]) if constrained else 0))
    parser.outside(1.0, counts["rules"], chains, counts["tags"], counts["spans"])
    counts["chains"] = chains[:n_chains] * np.exp(grammar.weights["chains"])
    if constrained:
        counts["constrained"] = chains[n_chains:] * np.exp(grammar.weights["constrained"])
    roots = np.zeros(N_SYMBOLS)
    parser.count_roots(1.0, roots)
    assert roots.sum() == pytest.approx(1, rel=1e-12)
    for symbol, found in enumerate(roots):
        kept, grammar.start[symbol] = grammar.start[symbol], 0.0
        without = np.exp(grammar.summing(grammar.weights, states)[1] - log_sum)
        grammar.start[symbol] = kept
        assert found == pytest.approx(1 - without, abs=1e-12)
    assert counts["rules"].sum() == pytest.approx(N_WORDS - 1, rel=1e-12)
    assert counts["tags"].sum() == pytest.approx(N_WORDS, rel=1e-12)
    step = 1e-5
    for name, found in counts.items():
        for place in np.ndindex(found.shape):
            sums = []
            for sign in (1, -1):
                moved = {key: value.copy() for key, value in grammar.weights.items()}
                moved[name][place] += sign * step
                sums.append(grammar.summing(moved, states)[1])
            assert found[place] == pytest.approx((sums[0] - sums[1]) / (2 * step), abs=1e-8), (name, place)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_score_is_the_sum_of_weights_that_are_large(seed):
    grammar, factor = SmallGrammar(seed), 60.0
    large = {name: factor * weights for name, weights in grammar.weights.items()}
    log_sum = grammar.summing(large)[1] / factor
    best = grammar.best(grammar.weights)
    assert best - 0.2 < log_sum < best + 0.2
    assert grammar.best(large) / factor == pytest.approx(best, rel=1e-12)
