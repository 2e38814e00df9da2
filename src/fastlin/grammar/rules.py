"""The rules of a grammar, how often each was used, and the chains that unary rules make."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from fastlin.grammar.binarize import LEXICAL, UNARY, Derivation, Symbol

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]
CERTAIN = 1 - 1e-12  # what adds up to more is a probability of 1
MAX_CHAINED = 1 << 13  # symbols in unary rules, of whose pairs there are some tables: of 512 MB each


@dataclass(frozen=True)
class RuleTable:
    """The rules of a grammar: binary ones A → B C and unary ones A → B, sorted by children; tags; whole sentences."""

    symbols: tuple[Symbol, ...]
    binary: Integers  # [n, 3] A, B, C
    unary: Integers  # [n, 2] A, B
    tags: Integers  # symbols over words, sorted
    roots: Integers  # symbols of whole sentences, sorted


class RuleCounts(NamedTuple):
    """A number for each rule, how often it was used or a log probability; of tags, over any word."""

    binary: Floats
    unary: Floats
    tags: Floats
    roots: Floats


class RuleCounter:
    """Counter of the rules in derivations."""

    def __init__(self) -> None:
        self._binary, self._unary = dict[tuple[int, int, int], int](), dict[tuple[int, int], int]()
        self._words, self._roots = dict[tuple[str, int], int](), dict[int, int]()

    def add(self, steps: Derivation) -> None:
        """Count what a derivation uses."""
        done: list[int] = []
        words = iter(reversed(steps.words))
        for symbol, kind in zip(reversed(steps.symbols), reversed(steps.kinds), strict=True):
            if kind == LEXICAL:
                word = next(words), symbol
                self._words[word] = self._words.get(word, 0) + 1
            elif kind == UNARY:
                chain = symbol, done.pop()
                self._unary[chain] = self._unary.get(chain, 0) + 1
            else:
                rule = symbol, done.pop(), done.pop()
                self._binary[rule] = self._binary.get(rule, 0) + 1
            done.append(symbol)
        (root,) = done
        self._roots[root] = self._roots.get(root, 0) + 1

    def result(self, symbols: Sequence[Symbol]) -> tuple[RuleTable, RuleCounts, dict[str, dict[int, float]]]:
        """The rules, how often each was used, and how often each word had each of its tags."""
        words: dict[str, dict[int, float]] = {}
        for (word, tag), count in self._words.items():
            words.setdefault(word, {})[tag] = float(count)
        tags = sorted({tag for _, tag in self._words})
        totals = dict.fromkeys(tags, 0.0)
        for (_, tag), count in self._words.items():
            totals[tag] += count
        binary = sorted(self._binary, key=lambda rule: (rule[1], rule[2], rule[0]))
        unary = sorted(self._unary, key=lambda rule: (rule[1], rule[0]))
        roots = sorted(self._roots)
        rules = RuleTable(
            tuple(symbols), _table(binary, 3), _table(unary, 2), np.array(tags, np.int32), np.array(roots, np.int32)
        )
        counts = RuleCounts(
            np.array([self._binary[rule] for rule in binary], np.float64),
            np.array([self._unary[rule] for rule in unary], np.float64),
            np.array([totals[tag] for tag in tags], np.float64),
            np.array([self._roots[root] for root in roots], np.float64),
        )
        return rules, counts, words


def _table(rules: Sequence[tuple[int, ...]], width: int) -> Integers:
    return np.array(rules, np.int32).reshape(len(rules), width)


def log_probabilities(rules: RuleTable, counts: RuleCounts, pseudo_counts: Floats | float) -> RuleCounts:
    """log p of each rule given its left side, with pseudo-counts of binary rules, unary ones, tags; of roots without.

    A symbol that has no counts has rules of probability zero.
    """
    n_symbols = len(rules.symbols)
    left_sides = np.concatenate([rules.binary[:, 0], rules.unary[:, 0], rules.tags])
    values = np.concatenate([counts.binary, counts.unary, counts.tags]) + pseudo_counts
    totals = np.bincount(left_sides, values, n_symbols)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(values > 0, np.log(values / totals[left_sides]), -np.inf)
        roots = np.where(counts.roots > 0, np.log(counts.roots / counts.roots.sum()), -np.inf)
    ends = np.cumsum([len(counts.binary), len(counts.unary)])
    binary, unary, tags = np.split(found, ends)
    return RuleCounts(binary, unary, tags, roots)


class UnaryChains:
    """All chains of unary rules A ⇒ B: the best of each pair, and their sum."""

    def __init__(self, rules: RuleTable, log_weight: Floats) -> None:
        self._symbols = np.unique(rules.unary)
        if len(self._symbols) > MAX_CHAINED:
            raise MemoryError(
                f"unary rules join {len(self._symbols)} symbols, of whose pairs there would be tables: at most "
                f"{MAX_CHAINED} are possible"
            )
        places = np.searchsorted(self._symbols, rules.unary)
        size, self._n_symbols = len(self._symbols), len(rules.symbols)
        self._direct = np.full((size, size), -np.inf)
        self._direct[places[:, 0], places[:, 1]] = log_weight
        self._rules = rules

    def best(self) -> "Chains":
        """The best chain of each pair of different symbols (Floyd and Warshall)."""
        best, via = self._direct.copy(), np.full(self._direct.shape, -1, np.int32)
        for middle in range(len(best)):
            through = best[:, middle, None] + best[None, middle]
            better = through > best
            best[better], via[better] = through[better], middle
        np.fill_diagonal(best, -np.inf)
        return self._chains(best, best > -np.inf, via)

    def sums(self) -> "Chains":
        """Σ over all chains of at least one rule, (1 − U)⁻¹ − 1; a circle that nothing leaves has no sum."""
        U = np.exp(self._direct)
        n_parts, part = connected_components(U > 0, connection="strong")
        for number in range(n_parts):
            inside = np.flatnonzero(part == number)
            within = U[np.ix_(inside, inside)].sum(axis=1)
            if within.min(initial=1.0) >= CERTAIN and within.any():
                names = " → ".join(str(self._rules.symbols[self._symbols[place]]) for place in (*inside, inside[0]))
                raise ValueError(f"unary rules go in a circle of probability 1: {names}")
        total = np.linalg.inv(np.eye(len(U)) - U) - np.eye(len(U))
        reachable = total > np.finfo(float).tiny
        return self._chains(total, reachable, np.full(U.shape, -1, np.int32))

    def expected_rules(self, sums: "Chains", counts: Floats) -> Floats:
        """How often each unary rule is expected, of what charts count for chains.

        With N = (1 − U)⁻¹, the chains that have a rule A → B in them are all A' ⇒ A and B ⇒ B' around it: its count is
        u(A → B) (Nᵀ C Nᵀ)(A, B), where C(A', B') = Σ O(A') b(B') over the spans.
        """
        child = np.searchsorted(self._symbols, np.repeat(np.arange(self._n_symbols), np.diff(sums.start)))
        parent = np.searchsorted(self._symbols, sums.parent)
        size = len(self._symbols)
        N, C = np.eye(size), np.zeros((size, size))
        N[parent, child] += sums.weight
        C[parent, child] = counts
        a, b = np.searchsorted(self._symbols, self._rules.unary).T
        expected: Floats = np.exp(self._direct[a, b]) * (N.T @ C @ N.T)[a, b]
        return expected

    def _chains(self, weights: Floats, there: NDArray[np.bool_], via: Integers) -> "Chains":
        child, parent = np.nonzero(there.T)
        start = np.searchsorted(self._symbols[child], np.arange(self._n_symbols + 1)).astype(np.int64)
        return Chains(start, self._symbols[parent].astype(np.int32), weights[parent, child], self._symbols, via)


@dataclass(frozen=True)
class Chains:
    """Chains A ⇒ B, sorted by B and A."""

    start: NDArray[np.int64]  # [S + 1] of the chains from B
    parent: Integers  # A
    weight: Floats
    symbols: Integers  # those of unary rules
    via: Integers  # a symbol between A and B, −1: none

    def between(self, top: int, bottom: int) -> list[int]:
        """The symbols strictly inside the best chain from one symbol to another, from above."""
        found: list[int] = []
        a, b = np.searchsorted(self.symbols, [top, bottom]).tolist()
        todo = [(a, b, False)]
        while todo:
            a, b, is_symbol = todo.pop()
            middle = int(self.via[a, b]) if not is_symbol else -1
            if is_symbol:
                found.append(int(self.symbols[a]))
            elif middle >= 0:
                todo += [(middle, b, False), (middle, middle, True), (a, middle, False)]
        return found


def children_index(rules: RuleTable) -> tuple[NDArray[np.int64], Integers, NDArray[np.int64], Integers]:
    """pair_start, pair_right, rule_start and parent of `engine/chart/chart.pxd`."""
    parents, left, right = rules.binary.T
    fresh = np.ones(len(rules.binary), bool)
    fresh[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    first = np.flatnonzero(fresh)
    pair_start = np.searchsorted(left[first], np.arange(len(rules.symbols) + 1)).astype(np.int64)
    rule_start = np.append(first, len(rules.binary)).astype(np.int64)
    return pair_start, np.ascontiguousarray(right[first]), rule_start, np.ascontiguousarray(parents)
