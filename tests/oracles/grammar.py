"""Grammars by enumeration: every derivation of a sentence whose chains of unary rules are not too long."""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Production(NamedTuple):
    """A rule of a small grammar: a right side of one or two symbols, or of one word."""

    left: str
    right: tuple[str, ...]
    is_word: bool
    p: float


def derivations(rules: list[Production], start: str, words: list[str], max_chain: int) -> list[tuple[float, str]]:
    """p and brackets of all derivations with at most so many unary rules in a row, the most probable first."""

    @cache
    def over(symbol: str, i: int, j: int, chain: int) -> tuple[tuple[float, str], ...]:
        return tuple(found(symbol, i, j, chain))

    def found(symbol: str, i: int, j: int, chain: int) -> Iterator[tuple[float, str]]:
        for rule in rules:
            if rule.left != symbol or rule.p == 0:
                continue
            if rule.is_word:
                if j == i + 1 and rule.right[0] == words[i]:
                    yield rule.p, f"({symbol} {words[i]})"
            elif len(rule.right) == 1:
                if chain < max_chain:
                    for p, text in over(rule.right[0], i, j, chain + 1):
                        yield rule.p * p, f"({symbol} {text})"
            else:
                for k in range(i + 1, j):
                    for p_left, left in over(rule.right[0], i, k, 0):
                        for p_right, right in over(rule.right[1], k, j, 0):
                            yield rule.p * p_left * p_right, f"({symbol} {left} {right})"

    return sorted(over(start, 0, len(words), 0), key=lambda one: (-one[0], one[1]))


def inside(rules: list[Production], start: str, words: list[str]) -> float:
    """Σ p of all derivations: over each span, what two children make, and a linear system for unary rules."""
    symbols = sorted({rule.left for rule in rules})
    place = {symbol: number for number, symbol in enumerate(symbols)}
    unary = np.zeros((len(symbols), len(symbols)))
    for rule in rules:
        if not rule.is_word and len(rule.right) == 1:
            unary[place[rule.left], place[rule.right[0]]] += rule.p
    values: dict[tuple[int, int], NDArray[np.float64]] = {}
    for length in range(1, len(words) + 1):
        for i in range(len(words) - length + 1):
            j, made = i + length, np.zeros(len(symbols))
            for rule in rules:
                if rule.is_word:
                    made[place[rule.left]] += rule.p * (length == 1 and rule.right[0] == words[i])
                elif len(rule.right) == 2:
                    b, c = (place[child] for child in rule.right)
                    made[place[rule.left]] += rule.p * sum(values[i, k][b] * values[k, j][c] for k in range(i + 1, j))
            values[i, j] = np.linalg.solve(np.eye(len(symbols)) - unary, made)
    return float(values[0, len(words)][place[start]])


def as_text(rules: list[Production]) -> str:
    """The rules in NLTK's notation."""
    return "\n".join(
        f"{rule.left} -> {repr(rule.right[0]) if rule.is_word else ' '.join(rule.right)} [{rule.p!r}]" for rule in rules
    )


def expected_counts(rules: list[Production], start: str, words: list[str]) -> list[float]:
    """How often each rule is expected in the derivations of a sentence: θ ∂ log p(sentence) / ∂ θ."""
    found = []
    for place, rule in enumerate(rules):
        step = 1e-6 * rule.p
        low, high = (
            math.log(inside([*rules[:place], rule._replace(p=rule.p + change), *rules[place + 1 :]], start, words))
            for change in (-step, step)
        )
        found.append(rule.p * (high - low) / (2 * step) if step else 0.0)
    return found


def em_iteration(
    rules: list[Production], start: str, sentences: list[list[str]], known: Sequence[float] | None = None
) -> list[Production]:
    """The rules that one iteration of EM makes: relative frequencies of what is expected, and of `known` counts."""
    counts = np.zeros(len(rules)) if known is None else np.array(known, float)
    for words in sentences:
        counts += expected_counts(rules, start, words)
    totals: dict[str, float] = {}
    for rule, count in zip(rules, counts, strict=True):
        totals[rule.left] = totals.get(rule.left, 0.0) + count
    return [
        rule._replace(p=count / totals[rule.left] if totals[rule.left] > 1e-9 else 0.0)
        for rule, count in zip(rules, counts, strict=True)
    ]


def agrees_with_brackets(spans: list[tuple[str, int, int]], brackets: list[tuple[str, int, int]]) -> bool:
    """Whether a tree has a constituent over each bracket, with its label unless this is "", and none that crosses."""
    for label, first, last in brackets:
        over = [name for name, *span in spans if span == [first, last]]
        if not over or (label and label not in over):
            return False
        if any(i < first < j < last or first < i < last < j for _, i, j in spans):
            return False
    return True


def loglinear_loss(
    theta: Sequence[float],
    counts: dict[tuple[str, tuple[str, ...]], float],
    features: dict[Any, list[int]],
    variance: float,
) -> float:
    """Σ counts · −log p(rule | left side) + ½ Σ θ²/σ², rule by rule."""
    scores = {rule: sum(theta[place] for place in features[rule]) for rule in counts}
    total = sum(weight * weight for weight in theta) / (2 * variance)
    for (left, right), count in counts.items():
        log_z = math.log(math.fsum(math.exp(score) for rule, score in scores.items() if rule[0] == left))
        total += count * (log_z - scores[left, right])
    return total
