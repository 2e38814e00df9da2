"""A hidden Markov model as a grammar: what is left of a sequence, from a state on, is a constituent.

    i→ : i j→  [p(j | i)]       i→ : i  [p(stop | i)]       i : word  [p(word | i)]

With order 2 what is left knows the state before, too. Without a stop, all lengths have the probability 1.
"""

from typing import Any

import numpy as np

from fastlin.grammar.binarize import Symbol
from fastlin.grammar.lexicon import TagScores
from fastlin.grammar.rules import RuleCounts, RuleTable
from fastlin.sequence.hmm.emissions import Emissions
from fastlin.sequence.hmm.model import HMM


class HMMLexicon:
    """The emissions of a hidden Markov model as the lexicon of a grammar, with a tag for each state."""

    def __init__(self, hmm: HMM) -> None:
        self.hmm = hmm._working_copy()  # of one moment
        self._emissions: Emissions = hmm._state.emissions
        self._rows = {word: row for row, word in enumerate(hmm.attributes_ or ())}
        self._n_states = len(hmm.classes_)

    @property
    def words(self) -> list[str]:
        return list(self._rows)

    def seen(self) -> TagScores:
        """The tags of all words that were seen, and their log φ."""
        return self(self.words)

    def __call__(self, words: Any) -> TagScores:
        rows = [self._rows.get(word) for word in words]
        found = np.empty((len(rows), self._n_states))
        unknown = [place for place, row in enumerate(rows) if row is None]
        found[unknown] = self._emissions.of_unknown([words[place] for place in unknown])
        known = [place for place, row in enumerate(rows) if row is not None]
        found[known] = self._emissions.log_phi[[row for row in rows if row is not None], : self._n_states]
        there = found > -np.inf
        ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
        return TagScores(ends, np.nonzero(there)[1].astype(np.int32), found[there])


def hmm_rules(hmm: HMM) -> tuple[RuleTable, RuleCounts, HMMLexicon]:
    """The rules of a fitted model whose tokens are words, their log probabilities, and its lexicon."""
    if not isinstance(hmm, HMM):
        raise TypeError(f"hmm must be a fastlin.sequence.HMM, got {type(hmm).__name__}")
    states = [str(label) for label in hmm.classes_]
    if hmm.attributes_ is None or not hmm._words:
        raise ValueError("hmm emits features, and a grammar words: fit it on lists of words")
    n = len(states)
    order2 = hmm.transmat_.ndim == 3
    stop = hmm.stopprob_ if hmm.stop else np.ones(hmm.stopprob_.shape)
    befores = [*range(n), n] if order2 else [n]  # the state before, n: none, or not known
    symbols = [Symbol(name) for name in states]
    rest = {}
    for before in befores:
        for state in range(n):
            rest[before, state] = len(symbols)
            symbols.append(Symbol(f"{states[state]}→", (states[before],) if before < n else ()))
    binary, unary = list[tuple[tuple[int, int, int], float]](), list[tuple[tuple[int, int], float]]()
    for (before, state), symbol in rest.items():
        history = (before, state) if order2 else (state,)
        unary.append(((symbol, state), float(stop[history])))
        for following in range(n):
            target = rest[state if order2 else n, following]
            binary.append(((symbol, state, target), float(hmm.transmat_[(*history, following)])))
    binary.sort(key=lambda rule: (rule[0][1], rule[0][2], rule[0][0]))
    unary.sort(key=lambda rule: (rule[0][1], rule[0][0]))
    roots = [rest[n, state] for state in range(n)]
    rules = RuleTable(
        tuple(symbols),
        np.array([rule for rule, _ in binary], np.int32).reshape(-1, 3),
        np.array([rule for rule, _ in unary], np.int32).reshape(-1, 2),
        np.arange(n, dtype=np.int32),
        np.array(roots, np.int32),
    )
    with np.errstate(divide="ignore"):
        weights = RuleCounts(
            np.log([p for _, p in binary]), np.log([p for _, p in unary]), np.zeros(n), np.log(hmm.startprob_)
        )
    return rules, weights, HMMLexicon(hmm)
