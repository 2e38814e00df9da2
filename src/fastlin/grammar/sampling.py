"""Trees drawn from a grammar: from the root down, each symbol by one of its rules, each tag by one of its words."""

from bisect import bisect_right
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastlin.grammar.binarize import BINARY, LEXICAL, UNARY, Derivation, restore_tree
from fastlin.grammar.rules import RuleCounts, RuleTable
from fastlin.grammar.state import GrammarState
from fastlin.grammar.trees import Tree

Floats = NDArray[np.float64]
MAX_REJECTED = 10_000  # trees in a row that are too long


class Choice(NamedTuple):
    """What may be drawn: Σ p up to and with each outcome, and the outcomes."""

    cumulative: list[float]
    outcomes: list[tuple[int, ...]]

    @classmethod
    def of(cls, p: Floats, outcomes: list[tuple[int, ...]]) -> "Choice":
        return cls(np.cumsum(p).tolist(), outcomes)

    def draw(self, generator: np.random.Generator) -> tuple[int, ...]:
        place = bisect_right(self.cumulative, generator.random() * self.cumulative[-1])
        return self.outcomes[min(place, len(self.outcomes) - 1)]


class TreeSampler:
    """Draws trees by the rules of a grammar, and words among those seen.

    Words that are rare, or alike to the grammar, have in equal parts what unknown ones have.
    """

    def __init__(self, state: GrammarState, max_length: int | None) -> None:
        rules, weights = state.rules, state.log_weights
        _ = state.charts.chain_sums  # refuses circles of probability 1, which no tree leaves
        self._symbols, self._words, self._max_length = rules.symbols, state.lexicon.words, max_length
        self._root = Choice.of(np.exp(weights.roots), [(root,) for root in rules.roots.tolist()])
        self._rules = _choices(rules, weights)
        self._tags = _words_of_tags(state)
        if max_length is None:
            check_ends(rules, weights)

    def draw(self, generator: np.random.Generator) -> Tree:
        for _ in range(MAX_REJECTED):
            steps = self._derivation(generator)
            if steps is not None:
                return restore_tree(steps, self._symbols)
        raise ValueError(
            f"{MAX_REJECTED} trees in a row have more than max_length={self._max_length} words: raise max_length"
        )

    def _derivation(self, generator: np.random.Generator) -> Derivation | None:
        """A derivation; None: it would have too many words."""
        steps, todo = Derivation([], [], []), list(self._root.draw(generator))
        while todo:
            symbol = todo.pop()
            children = self._outcome(self._rules, symbol, "rule").draw(generator)
            steps.symbols.append(symbol)
            if children:
                steps.kinds.append(UNARY if len(children) == 1 else BINARY)
                todo.extend(reversed(children))
            else:
                steps.kinds.append(LEXICAL)
                (word,) = self._outcome(self._tags, symbol, "word").draw(generator)
                steps.words.append(self._words[word])
            if self._max_length is not None and len(steps.words) + len(todo) > self._max_length:
                return None
        return steps

    def _outcome(self, choices: dict[int, Choice], symbol: int, kind: str) -> Choice:
        if symbol not in choices:
            raise ValueError(
                f"{self._symbols[symbol]} has no {kind} of probability above 0, and no tree can end with it"
            )
        return choices[symbol]


def _choices(rules: RuleTable, weights: RuleCounts) -> dict[int, Choice]:
    """The children that each symbol may have; none of a tag."""
    found: dict[int, tuple[list[float], list[tuple[int, ...]]]] = {}
    sides = [*rules.binary.tolist(), *rules.unary.tolist(), *rules.tags.reshape(-1, 1).tolist()]
    for (left, *children), p in zip(sides, np.exp(np.concatenate(weights[:3])).tolist(), strict=True):
        if p > 0:
            chances, outcomes = found.setdefault(left, ([], []))
            chances.append(p)
            outcomes.append(tuple(children))
    return {left: Choice.of(np.array(chances), outcomes) for left, (chances, outcomes) in found.items()}


def _words_of_tags(state: GrammarState) -> dict[int, Choice]:
    """The words that each tag may have."""
    seen = state.lexicon.seen()
    words = np.repeat(np.arange(len(seen.start) - 1), np.diff(seen.start))
    order = np.argsort(seen.symbol, kind="stable")
    tags, starts = np.unique(seen.symbol[order], return_index=True)
    found = {}
    for tag, of_tag in zip(tags.tolist(), np.split(order, starts)[1:], strict=True):
        found[tag] = Choice.of(np.exp(seen.score[of_tag]), [(word,) for word in words[of_tag].tolist()])
    return found


def check_ends(rules: RuleTable, weights: RuleCounts) -> None:
    """Refuse a grammar whose trees have no expected size.

    With M(A, B), how often B is expected among the children of A, trees are finite and their expected number of steps
    x = 1 + M x is, too, if the largest eigenvalue of M is below 1, and only then does this x exist, all of it at least
    1. Symbols that no sentence has do not count.
    """
    size = len(rules.symbols)
    binary, unary = np.exp(weights.binary), np.exp(weights.unary)
    parents = np.concatenate([rules.binary[:, 0], rules.binary[:, 0], rules.unary[:, 0]])
    children = np.concatenate([rules.binary[:, 1], rules.binary[:, 2], rules.unary[:, 1]])
    totals = np.bincount(
        np.concatenate([rules.binary[:, 0], rules.unary[:, 0], rules.tags]), np.exp(np.concatenate(weights[:3])), size
    )
    p = np.concatenate([binary, binary, unary]) / np.where(totals > 0, totals, 1.0)[parents]
    M = sp.csr_array((p, (parents, children)), shape=(size, size))
    M.eliminate_zeros()
    there = np.flatnonzero(_reachable(M, rules.roots[weights.roots > -np.inf]))
    inside = M[there][:, there].toarray()
    try:
        steps = np.linalg.solve(np.eye(len(there)) - inside, np.ones(len(there)))
    except np.linalg.LinAlgError:
        steps = np.full(len(there), np.inf)
    if not (np.isfinite(steps) & (steps >= 1 - 1e-9)).all():
        largest = np.abs(np.linalg.eigvals(inside)).max()
        raise ValueError(
            f"trees of this grammar may never end: its symbols have {largest:.6g} times as many with every step down; "
            "give max_length"
        )


def _reachable(M: sp.csr_array, roots: NDArray[np.int32]) -> NDArray[np.bool_]:
    """The symbols below roots, and these."""
    found = np.zeros(M.shape[0], bool)
    found[roots] = True
    todo = roots.tolist()
    while todo:
        symbol = todo.pop()
        below = M.indices[M.indptr[symbol] : M.indptr[symbol + 1]]
        fresh = below[~found[below]]
        found[fresh] = True
        todo += fresh.tolist()
    return found
