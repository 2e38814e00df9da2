"""Chains of unary rules that pass through given labels: the best of each pair of symbols, and their sum.

A state is a symbol and which of the labels are at or below it. A rule A → B leads from (B, q) to (A, q ∪ {label of A});
a chain of symbol B begins in (B, {label of B}), and a chain that has all labels ends in (A, all).
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chart.chart_rules import ChainTable
from fastlin.grammar.rules import RuleTable
from fastlin.runtime.made_once import made_once

Floats = NDArray[np.float64]
MAX_STATES = 4096  # whose pairs are 128 MB


class LabelledChains:
    """All chains of unary rules A ⇒ B, that of no rule included, with each of some labels in them.

    Parameters
    ----------
    rules : RuleTable
    log_weight : array
        Of each unary rule.
    column : array
        The label of each symbol, −1: none.
    wanted : frozenset of int
        Labels.
    """

    def __init__(self, rules: RuleTable, log_weight: Floats, column: NDArray[np.int32], wanted: frozenset[int]) -> None:
        self.column, self.n_symbols = column, len(rules.symbols)
        bit = {label: 1 << place for place, label in enumerate(sorted(wanted))}
        self.all = (1 << len(wanted)) - 1
        self.symbols = np.union1d(rules.unary, np.flatnonzero(np.isin(column, sorted(wanted)))).tolist()
        if len(self.symbols) << len(wanted) > MAX_STATES:
            raise ValueError(
                f"{len(wanted)} labels are given over one span, which {len(self.symbols)} symbols in unary rules "
                f"make {len(self.symbols) << len(wanted)} states of: at most {MAX_STATES} are possible"
            )
        self.seen = {symbol: bit.get(int(column[symbol]), 0) for symbol in self.symbols}
        self.states = [
            (symbol, q) for symbol in self.symbols for q in range(self.all + 1) if not self.seen[symbol] & ~q
        ]
        self.place = {state: number for number, state in enumerate(self.states)}
        self.bottoms = np.array([self.place[symbol, self.seen[symbol]] for symbol in self.symbols], np.intp)
        self.tops = np.array([self.place[symbol, self.all] for symbol in self.symbols], np.intp)
        self.steps = [
            (self.place[a, q | self.seen[a]], self.place[b, q], weight, rule)
            for rule, ((a, b), weight) in enumerate(zip(rules.unary.tolist(), log_weight.tolist(), strict=True))
            for q in range(self.all + 1)
            if weight > -np.inf and not self.seen[b] & ~q
        ]

    def seen_in(self, path: Iterable[int]) -> int:
        """Which labels are in a chain."""
        found = 0
        for symbol in path:
            found |= self.seen.get(symbol, 0)
        return found

    @made_once
    def best(self) -> tuple[Floats, NDArray[np.int32]]:
        """log p of the best chain from each symbol to each state, [states, symbols], and the state below; −1: none."""
        best = np.full((len(self.states), len(self.symbols)), -np.inf)
        below = np.full(best.shape, -1, np.int32)
        best[self.bottoms, np.arange(len(self.symbols))] = 0.0
        changed = True
        while changed:
            changed = False
            for upper, lower, weight, _ in self.steps:
                through = best[lower] + weight
                better = through > best[upper]
                if better.any():
                    changed = True
                    best[upper, better], below[upper, better] = through[better], lower
        return best, below

    @made_once
    def sums(self) -> Floats:
        """Σ over all chains from each state to each, [states, states]."""
        moves = np.zeros((len(self.states), len(self.states)))
        for upper, lower, weight, _ in self.steps:
            moves[upper, lower] += np.exp(weight)
        total: Floats = np.asarray(np.linalg.inv(np.eye(len(moves)) - moves), np.float64)
        total[total <= np.finfo(float).tiny] = 0.0
        return total

    @made_once
    def best_table(self) -> ChainTable:
        return self._table(self.best[0][self.tops], -np.inf)

    @made_once
    def sum_table(self) -> ChainTable:
        return self._table(self.sums[np.ix_(self.tops, self.bottoms)], 0.0)

    @property
    def n_sums(self) -> int:
        """Chains of `sum_table`."""
        return int(np.count_nonzero(self.sums[np.ix_(self.tops, self.bottoms)]))

    def _table(self, weights: Floats, nothing: float) -> ChainTable:
        child, parent = np.nonzero(np.greater(weights.T, nothing))
        symbols = np.array(self.symbols, np.int32)
        start = np.searchsorted(symbols[child], np.arange(self.n_symbols + 1)).astype(np.int64)
        return ChainTable(start, symbols[parent], weights[parent, child])

    def between(self, top: int, bottom: int) -> list[int]:
        """The symbols of the best chain from one symbol to another, both included, from above."""
        _, below = self.best
        column = self.symbols.index(bottom)
        found, state = [top], int(below[self.place[top, self.all], column])
        while state >= 0:
            found.append(self.states[state][0])
            state = int(below[state, column])
        return found

    def completions(self, worth: Floats) -> dict[tuple[int, int], float]:
        """The best of a symbol from which some labels are still to come, where each bottom is worth so much."""
        reached = (self.best[0] + worth).max(axis=1, initial=-np.inf)
        found: dict[tuple[int, int], float] = {}
        for (symbol, q), value in zip(self.states, reached.tolist(), strict=True):
            for wanted in range(self.all + 1):
                if not wanted & ~q:
                    found[symbol, wanted] = max(found.get((symbol, wanted), -np.inf), value)
        return found

    def expected_labels(self, counts: Floats, n_labels: int) -> Floats:
        """How often each label is expected in chains that are, by the counts of `sum_table`, to be multiplied by p."""
        pairs = self._pairs(counts)
        passes = np.einsum("sa,as->s", self.sums[:, self.bottoms] @ pairs.T, self.sums[self.tops])
        labels = self.column[[symbol for symbol, _ in self.states]]
        found: Floats = np.bincount(labels[labels >= 0], passes[labels >= 0], n_labels).astype(np.float64)
        return found

    def expected_rules(self, counts: Floats, n_rules: int) -> Floats:
        """How often each unary rule is expected in chains, by the counts of `sum_table`.

        A chain that has a step in it is one from its top to the step, and one from there to its bottom.
        """
        around = self.sums[self.tops].T @ self._pairs(counts) @ self.sums[:, self.bottoms].T
        found = np.zeros(n_rules)
        for upper, lower, weight, rule in self.steps:
            found[rule] += np.exp(weight) * around[upper, lower]
        return found

    def _pairs(self, counts: Floats) -> Floats:
        """The counts of `sum_table` as [parents, children]."""
        weights = self.sums[np.ix_(self.tops, self.bottoms)]
        child, parent = np.nonzero(weights.T)
        pairs = np.zeros(weights.shape)
        pairs[parent, child] = counts
        return pairs
