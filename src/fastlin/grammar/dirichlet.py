"""Dirichlet distributions over the rules of each left side: pseudo-counts α ρ(rule), and what is drawn by them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.rules import RuleCounts, RuleTable

Floats = NDArray[np.float64]
Rule = tuple[str, tuple[str, ...]]
LARGEST = 1e290  # of the sum of α ρ
SMALLEST = 1e-300  # of α ρ that is not 0: of less, logarithms of what is drawn are no numbers


def pseudo_counts(rules: RuleTable, alpha: float, base_measure: Any) -> Floats:
    """α ρ of binary rules, unary ones and tags; ρ is 1 for None, or what a mapping or a function says."""
    measure = _function(base_measure)
    found = np.zeros(len(rules.binary) + len(rules.unary) + len(rules.tags))
    if alpha == 0:
        return found
    if isinstance(base_measure, Mapping):
        _check_keys(base_measure, rules)
    for place, (left, right) in enumerate(names_of(rules)):
        value = measure(left, right)
        if not isinstance(value, int | float | np.number) or not 0 <= float(value) < np.inf:
            raise ValueError(f"base_measure of {left} → {' '.join(right)} must be a number from 0, got {value!r:.40}")
        found[place] = alpha * float(value)
    if not found.sum() <= LARGEST:
        raise ValueError(f"alpha times base_measure must add up to {LARGEST} at most, got {found.sum()}")
    return found


def _check_keys(base_measure: Mapping[Any, Any], rules: RuleTable) -> None:
    """Refuse what is no rule: a name that is written wrong would be a rule without pseudo-counts."""
    known = set(names_of(rules))
    for key in base_measure:
        if key not in known:
            raise ValueError(f"base_measure: {key!r:.80} is no rule of the grammar, as (left side, right side)")


def _function(base_measure: Any) -> Callable[[str, tuple[str, ...]], Any]:
    if base_measure is None:
        return lambda *_: 1.0
    if isinstance(base_measure, Mapping):
        return lambda left, right: base_measure.get((left, right), 0.0)
    if not callable(base_measure):
        raise TypeError(f"base_measure must be a mapping, a function or None, got {base_measure!r:.60}")
    measure: Callable[[str, tuple[str, ...]], Any] = base_measure
    return measure


def names_of(rules: RuleTable) -> Iterator[Rule]:
    """Left and right side of each rule, binary, unary, tags; a tag has nothing on the right."""
    names = [str(symbol) for symbol in rules.symbols]
    for table in (rules.binary.tolist(), rules.unary.tolist(), rules.tags.reshape(-1, 1).tolist()):
        for left, *right in table:
            yield names[left], tuple(names[child] for child in right)


def draw_probabilities(rules: RuleTable, pseudo: Floats, roots: Floats, generator: np.random.Generator) -> RuleCounts:
    """log θ of the rules of each left side, of Dirichlet(α ρ); those of roots stay.

    θ are Gamma variates over their sum. Of those below 1 the logarithm is drawn, log G(a) = log G(a + 1) + log(U)/a,
    as for α ρ ≪ 1 nearly all are less than any number.
    """
    if ((pseudo > 0) & (pseudo < SMALLEST)).any():
        raise ValueError(f"alpha times base_measure must be 0 or at least {SMALLEST}, got {pseudo[pseudo > 0].min()}")
    left_sides = np.concatenate([rules.binary[:, 0], rules.unary[:, 0], rules.tags])
    bare = np.setdiff1d(left_sides, left_sides[pseudo > 0])
    if len(bare):
        raise ValueError(f"alpha times base_measure is 0 for all rules of {rules.symbols[bare[0]]}: none can be drawn")
    a = np.where(pseudo > 0, pseudo, 1.0)
    logs = np.log(generator.standard_gamma(a + 1)) - generator.standard_exponential(len(a)) / a
    logs[pseudo == 0] = -np.inf
    largest = np.full(len(rules.symbols), -np.inf)
    np.maximum.at(largest, left_sides, logs)
    logs -= largest[left_sides]
    totals = np.bincount(left_sides, np.exp(logs), len(rules.symbols))
    logs -= np.log(totals[left_sides])
    binary, unary, tags = np.split(logs, np.cumsum([len(rules.binary), len(rules.unary)]))
    return RuleCounts(binary, unary, tags, roots)
