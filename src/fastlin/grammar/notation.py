"""Grammars written as rules, in NLTK's notation, and as binary rules with the same probabilities.

    S -> NP VP [1.0]
    NP -> 'John' [0.4] | Det N [0.5] | NP PP [0.1]

A right side of more than two is made from left to right: what is left of it is a symbol that knows the children before,
shared by all right sides that begin so, with the probability that they have together.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from fastlin.grammar.binarize import Symbol
from fastlin.grammar.rules import RuleCounts, RuleTable

_TOKEN = re.compile(
    r"""\s*(?:(?P<arrow>->|→)|(?P<bar>\|)|\[(?P<p>[^\]]*)\]
        |"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<name>[^\s|\[\]'"]+))""",
    re.VERBOSE,
)
MAX_ERROR = 0.01  # of the sum of the probabilities of a left side, as NLTK has it


class Terminal(str):
    """A word on a right side."""


class WrittenRule(NamedTuple):
    """A rule as it is written: right sides hold symbols and words."""

    left: str
    right: tuple[str, ...]
    probability: float


class BinaryGrammar(NamedTuple):
    """A grammar of binary and unary rules and tags, with log probabilities."""

    rules: RuleTable
    log_weights: RuleCounts
    words: dict[str, dict[int, float]]  # p(tag → word)


def read_rules(text: str) -> tuple[str, list[WrittenRule]]:
    """The start symbol and the rules that a text holds, one left side a line; # begins a comment."""
    if not isinstance(text, str):
        raise TypeError(f"text must be a string of rules, got {type(text).__name__}")
    start: str | None = None
    rules: list[WrittenRule] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("%start"):
            names = stripped.split()[1:]
            if len(names) != 1:
                raise ValueError(f"line {number}: %start wants one symbol")
            start = names[0]
        elif stripped and not stripped.startswith("#"):
            rules += _read_line(stripped, number)
    if not rules:
        raise ValueError("the text holds no rules")
    start = rules[0].left if start is None else start
    _check(start, rules)
    return start, rules


def _read_line(line: str, number: int) -> Iterator[WrittenRule]:
    tokens = _tokens(line, number)
    kinds = [kind for kind, _ in tokens[:2]]
    if kinds != ["name", "arrow"]:
        raise ValueError(f"line {number}: a rule begins with its left side and ->, this with {line[:40]!r}")
    left, right = tokens[0][1], list[str]()
    probability: float | None = None
    for kind, value in (*tokens[2:], ("bar", "|")):
        if kind == "bar":
            if not right:
                raise ValueError(f"line {number}: a right side of {left} is empty: a rule must make something")
            if probability is None:
                raise ValueError(f"line {number}: {left} -> {' '.join(right)} has no probability, as [0.5]")
            yield WrittenRule(left, tuple(right), probability)
            right, probability = [], None
        elif probability is not None or kind == "arrow":
            raise ValueError(f"line {number}: {value!r} stands where | or the end of the line is wanted")
        elif kind == "p":
            probability = _probability(value, number)
        else:
            right.append(Terminal(value) if kind == "word" else value)


def _tokens(line: str, number: int) -> list[tuple[str, str]]:
    found, place = list[tuple[str, str]](), 0
    while place < len(line.rstrip()):
        match = _TOKEN.match(line, place)
        if match is None:
            raise ValueError(f"line {number}, column {place + 1}: {line[place : place + 20]!r} is no part of a rule")
        kind, value = next((kind, value) for kind, value in match.groupdict().items() if value is not None)
        if kind in ("single", "double") and not value:
            raise ValueError(f"line {number}, column {match.start(kind)}: a word between quotes has a letter at least")
        found.append(("word" if kind in ("single", "double") else kind, value))
        place = match.end()
    return found


def _probability(text: str, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"line {number}: a probability is a number from 0 to 1, got [{text}]")
    return value


def _check(start: str, rules: list[WrittenRule]) -> None:
    """Check that left sides have probabilities that add up to 1, and that all symbols are left sides."""
    totals: dict[str, float] = {}
    for rule in rules:
        totals[rule.left] = totals.get(rule.left, 0.0) + rule.probability
    for left, total in totals.items():
        if abs(total - 1) > MAX_ERROR:
            raise ValueError(f"the rules of {left} have probabilities that add up to {total:.6g}, not to 1")
    if start not in totals:
        raise ValueError(f"the start symbol {start} has no rules")
    for rule in rules:
        for name in rule.right:
            if not isinstance(name, Terminal) and name not in totals:
                raise ValueError(f"{rule.left} -> {' '.join(rule.right)}: {name} has no rules; words stand in quotes")


def binary_grammar(start: str, rules: Iterable[WrittenRule]) -> BinaryGrammar:
    """The same grammar with at most two symbols on a right side."""
    places: dict[Symbol, int] = {}
    binary: dict[tuple[int, int, int], float] = {}
    unary: dict[tuple[int, int], float] = {}
    words: dict[str, dict[int, float]] = {}

    def place_of(symbol: Symbol) -> int:
        return places.setdefault(symbol, len(places))

    def child(name: str) -> int:
        if not isinstance(name, Terminal):
            return place_of(Symbol(name))
        place = place_of(Symbol(None, (str(name),)))
        words.setdefault(str(name), {})[place] = 1.0
        return place

    root = place_of(Symbol(start))
    for left, right, probability in rules:
        parent = place_of(Symbol(left))
        if len(right) == 1 and isinstance(right[0], Terminal):
            tags = words.setdefault(str(right[0]), {})
            tags[parent] = tags.get(parent, 0.0) + probability
            continue
        if len(right) == 1:
            chain = parent, child(right[0])
            unary[chain] = unary.get(chain, 0.0) + probability
            continue
        for done in range(1, len(right) - 1):
            before = tuple(repr(str(name)) if isinstance(name, Terminal) else name for name in right[:done])
            rest = place_of(Symbol(left, (), before))
            rule = parent, child(right[done - 1]), rest
            binary[rule] = binary.get(rule, 0.0) + probability
            parent = rest
        rule = parent, child(right[-2]), child(right[-1])
        binary[rule] = binary.get(rule, 0.0) + probability
    return _normalized(tuple(places), root, binary, unary, words)


def _normalized(
    symbols: tuple[Symbol, ...],
    root: int,
    binary: dict[tuple[int, int, int], float],
    unary: dict[tuple[int, int], float],
    words: dict[str, dict[int, float]],
) -> BinaryGrammar:
    """The rules sorted; those of symbols for the rest of a right side are divided by what these have together."""
    tag_totals: dict[int, float] = {}
    for of_word in words.values():
        for tag, probability in of_word.items():
            tag_totals[tag] = tag_totals.get(tag, 0.0) + probability
    together = np.zeros(len(symbols))
    for (parent, *_), probability in binary.items():
        together[parent] += probability
    unfinished = np.array([symbol.before is not None for symbol in symbols], bool)
    scale = np.where(unfinished & (together > 0), together, 1.0)
    sorted_binary = sorted(binary, key=lambda rule: (rule[1], rule[2], rule[0]))
    sorted_unary = sorted(unary, key=lambda rule: (rule[1], rule[0]))
    tags = sorted(tag_totals)
    rules = RuleTable(
        symbols,
        np.array(sorted_binary, np.int32).reshape(-1, 3),
        np.array(sorted_unary, np.int32).reshape(-1, 2),
        np.array(tags, np.int32),
        np.array([root], np.int32),
    )
    with np.errstate(divide="ignore"):
        weights = RuleCounts(
            np.log(np.array([binary[rule] / scale[rule[0]] for rule in sorted_binary], np.float64)),
            np.log(np.array([unary[rule] for rule in sorted_unary], np.float64)),
            np.log(np.array([tag_totals[tag] for tag in tags], np.float64)),
            np.zeros(1),
        )
    return BinaryGrammar(rules, weights, words)
