"""What charts count is the derivative of what they sum; and the best is the sum where nothing else counts."""

import numpy as np
import pytest

from fastlin.engine.chart import cky, inside_outside

N_SYMBOLS, N_WORDS, N_LABELS = 4, 6, 3


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
        self.weights["spans"] = rng.normal(size=(N_WORDS * (N_WORDS + 1) // 2, N_LABELS))
        self.start = np.exp(rng.normal(size=N_SYMBOLS))

    def summing(self, weights):
        parser = inside_outside.InsideOutside(
            *self.index, np.exp(weights["rules"]), *self.chains, np.exp(weights["chains"]), self.label, False
        )
        return parser, parser.inside(*self.tags, weights["tags"], weights["spans"], self.start)

    def best(self, weights):
        parser = cky.ViterbiParser(*self.index, weights["rules"], *self.chains, weights["chains"], self.label)
        parser.fill(*self.tags, weights["tags"], weights["spans"])
        return max(parser.score(symbol, 0, N_WORDS) for symbol in range(N_SYMBOLS))


@pytest.mark.parametrize("seed", range(6))
def test_expected_counts_are_derivatives_of_the_log_sum(seed):
    grammar = SmallGrammar(seed)
    parser, log_sum = grammar.summing(grammar.weights)
    assert np.isfinite(log_sum)
    counts = {name: np.zeros_like(weights) for name, weights in grammar.weights.items()}
    parser.outside(1.0, counts["rules"], counts["chains"], counts["tags"], counts["spans"])
    counts["chains"] *= np.exp(grammar.weights["chains"])
    assert counts["rules"].sum() == pytest.approx(N_WORDS - 1, rel=1e-12)
    assert counts["tags"].sum() == pytest.approx(N_WORDS, rel=1e-12)
    step = 1e-5
    for name, found in counts.items():
        for place in np.ndindex(found.shape):
            sums = []
            for sign in (1, -1):
                moved = {key: value.copy() for key, value in grammar.weights.items()}
                moved[name][place] += sign * step
                sums.append(grammar.summing(moved)[1])
            assert found[place] == pytest.approx((sums[0] - sums[1]) / (2 * step), abs=1e-8), (name, place)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_score_is_the_sum_of_weights_that_are_large(seed):
    grammar, factor = SmallGrammar(seed), 60.0
    large = {name: factor * weights for name, weights in grammar.weights.items()}
    log_sum = grammar.summing(large)[1] / factor
    best = grammar.best(grammar.weights)
    assert best - 0.2 < log_sum < best + 0.2
    assert grammar.best(large) / factor == pytest.approx(best, rel=1e-12)
