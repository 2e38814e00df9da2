"""Patterns of tokens as automata: what `re.findall` finds, at the speed of a look-up a character.

A pattern of character sets, alternatives, groups, bounds and word boundaries becomes the program of a Pike machine,
whose threads stand in the order in which a backtracking matcher would try them. The lists of threads that can be
reached are the states of the automaton (Cox 2010, "Regular expression matching in the wild"): a list is cut behind the
first thread that has matched, since no later one can win. Anything else that `re` knows has no automaton.
"""

import functools
import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_CODE_POINTS = 0x110000
MAX_INSTRUCTIONS = 500
MAX_STATES = 400
MAX_SETS = 30  # different ones of a pattern
MAX_CLASSES = 250  # of characters that no set tells apart
MAX_DEPTH = 50  # of groups in groups
FLAGS = re.compile(r"\(\?([aisu]+)\)")
BOUNDS = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")
CLASS = re.compile(r"\[\^?(?:[^\]\[\\]|\\.)(?:[^\]\[\\]|\\.)*\]", re.DOTALL)
ESCAPE = re.compile(r"\\(?:[wWdDsSntrfva]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^\w\s])")
SET_OPERATIONS = ("--", "&&", "~~", "||")  # which `re` warns of
SPECIAL = frozenset("^$*+?{}()|[]\\")


class _HasNoAutomatonError(Exception):
    """The pattern is beyond what an automaton is made of."""


class CharacterSet(NamedTuple):
    """One character of a set, which is the number of a piece of the pattern."""

    number: int


class WordBoundary(NamedTuple):
    """A place that is, or is not, the beginning or end of a word."""

    there: bool


class Concatenation(NamedTuple):
    parts: tuple["Node", ...]


class Alternation(NamedTuple):
    """Alternatives, the first tried first."""

    parts: tuple["Node", ...]


class Repetition(NamedTuple):
    body: "Node"
    least: int
    most: int | None
    greedy: bool


Node = CharacterSet | WordBoundary | Concatenation | Alternation | Repetition


@dataclass(frozen=True)
class TokenAutomaton:
    """Where a token that begins at a character ends.

    `transitions[state, class]` is twice the place of the next state in the flattened table, and one more where a token
    may end before the character; the first state has no way on. The last class is the end of the text.
    """

    classes: NDArray[np.uint8]  # of each code point
    transitions: NDArray[np.int32]
    starts: NDArray[np.int32]  # where the last character was no part of a word, and where it was
    words: NDArray[np.uint8]  # of each class: whether its characters are parts of words
    shortest_run: int  # tokens are all runs of a set, of so many characters and more; 0: they are not


@functools.lru_cache(16)
def automaton_of(pattern: str) -> TokenAutomaton | None:
    """The automaton of a pattern that `re` compiles; None: there is none, or a token may be empty or have a blank."""
    try:
        parser = _Parser(pattern)
        node = parser.parse()
        if _may_be_empty(node):
            return None
        program = _compile(node)
        members = [_members(parser.flags + source) for source in parser.sets]
        if any(found[ord(" ")] for found in members):
            return None
        return _determinise(program, members, _members(parser.flags + r"\w"), _shortest_run(node))
    except (_HasNoAutomatonError, re.error):
        return None


class _Parser:
    """Reads a pattern; its sets are numbered as they come."""

    def __init__(self, pattern: str) -> None:
        flags = FLAGS.match(pattern)
        self.flags = flags[0] if flags else ""
        self._pattern, self._place, self._depth = pattern, len(self.flags), 0
        self.sets: list[str] = []

    def parse(self) -> Node:
        node = self._choice()
        if self._place < len(self._pattern):
            raise _HasNoAutomatonError
        return node

    def _next(self) -> str:
        return self._pattern[self._place : self._place + 1]

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _HasNoAutomatonError
        parts = [self._sequence()]
        while self._next() == "|":
            self._place += 1
            parts.append(self._sequence())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else Alternation(tuple(parts))

    def _sequence(self) -> Node:
        parts = []
        while self._next() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return Concatenation(tuple(parts))

    def _atom(self) -> Node:
        if self._pattern.startswith("(?:", self._place):
            self._place += 3
            node = self._choice()
            if self._next() != ")":
                raise _HasNoAutomatonError
            self._place += 1
            return node
        for boundary in (r"\b", r"\B"):
            if self._pattern.startswith(boundary, self._place):
                self._place += 2
                return WordBoundary(boundary == r"\b")
        return self._set()

    def _set(self) -> CharacterSet:
        character = self._next()
        if character == "[":
            source = self._matched(CLASS)
            if any(operation in source for operation in SET_OPERATIONS):
                raise _HasNoAutomatonError
        elif character == "\\":
            source = self._matched(ESCAPE)
        elif character in SPECIAL:
            raise _HasNoAutomatonError
        else:
            self._place += 1
            source = character if character == "." else re.escape(character)
        if source not in self.sets:
            self.sets.append(source)
        if len(self.sets) > MAX_SETS:
            raise _HasNoAutomatonError
        return CharacterSet(self.sets.index(source))

    def _matched(self, expression: re.Pattern[str]) -> str:
        found = expression.match(self._pattern, self._place)
        if found is None:
            raise _HasNoAutomatonError
        self._place = found.end()
        return found[0]

    def _repeated(self, node: Node) -> Node:
        least, most = self._bounds()
        if (least, most) == (1, 1):
            return node
        greedy = self._next() != "?"
        self._place += not greedy
        if self._next() in ("+", "*", "?", "{") or _may_be_empty(node):  # possessive, or endless
            raise _HasNoAutomatonError
        return Repetition(node, least, most, greedy)

    def _bounds(self) -> tuple[int, int | None]:
        simple: dict[str, tuple[int, int | None]] = {"+": (1, None), "*": (0, None), "?": (0, 1)}
        if (bounds := simple.get(self._next())) is not None:
            self._place += 1
            return bounds
        if self._next() != "{":
            return 1, 1
        low, comma, high = self._matched_bounds()
        if not comma:
            return int(low), int(low)
        return int(low or 0), int(high) if high else None

    def _matched_bounds(self) -> tuple[str, str | None, str | None]:
        found = BOUNDS.match(self._pattern, self._place)
        if found is None or not (found[1] or found[3]) or max(len(found[1]), len(found[3] or "")) > 4:
            raise _HasNoAutomatonError  # too large, or the characters themselves
        self._place = found.end()
        return found[1], found[2], found[3]


def _may_be_empty(node: Node) -> bool:
    match node:
        case CharacterSet():
            return False
        case WordBoundary():
            return True
        case Concatenation(parts):
            return all(map(_may_be_empty, parts))
        case Alternation(parts):
            return any(map(_may_be_empty, parts))
        case Repetition(body, least):
            return least == 0 or _may_be_empty(body)


def _shortest_run(node: Node) -> int:
    """How long the runs of one set are at least that are all tokens; 0: tokens are something else."""
    parts = node.parts if isinstance(node, Concatenation) else (node,)
    match parts[-1]:
        case Repetition(CharacterSet(number), least, None, True) if all(
            part == CharacterSet(number) for part in parts[:-1]
        ):
            return least + len(parts) - 1
    return 0


# Programs of a Pike machine: what a thread at an instruction does

MATCH = ("match", 0, 0)
Instruction = tuple[str, int, int]  # "set", its number, the next; "boundary", whether there, the next; "split", the two


def _compile(node: Node) -> list[Instruction]:
    """The program, from its last instruction to the first: each knows where what comes after it begins."""
    program: list[Instruction] = [MATCH]

    def add(kind: str, what: int, after: int) -> int:
        if len(program) == MAX_INSTRUCTIONS:
            raise _HasNoAutomatonError
        program.append((kind, what, after))
        return len(program) - 1

    def split(one: int, other: int, greedy: bool) -> int:
        return add("split", *((one, other) if greedy else (other, one)))

    def loop(body: Node, after: int, greedy: bool) -> int:
        place = split(after, after, greedy)
        inside = compile_before(body, place)
        program[place] = ("split", *((inside, after) if greedy else (after, inside)))
        return place

    def compile_before(node: Node, after: int) -> int:
        """The first instruction of a node behind which the program goes on at `after`."""
        match node:
            case CharacterSet(number):
                return add("set", number, after)
            case WordBoundary(there):
                return add("boundary", there, after)
            case Concatenation(parts):
                for part in reversed(parts):
                    after = compile_before(part, after)
                return after
            case Alternation(parts):
                first = compile_before(parts[-1], after)
                for part in reversed(parts[:-1]):
                    first = split(compile_before(part, after), first, True)
                return first
            case Repetition(body, least, most, greedy):
                end = after
                if most is None:
                    after = loop(body, after, greedy)
                elif most < least:
                    raise _HasNoAutomatonError
                else:
                    for _ in range(most - least):
                        after = split(compile_before(body, after), end, greedy)
                for _ in range(least):
                    after = compile_before(body, after)
                return after

    start = compile_before(node, 0)
    program.append(("split", start, start))  # the last one is where threads begin
    return program


def _members(source: str) -> NDArray[np.bool_]:
    """Which code points `re` says are in a set."""
    everything = np.arange(N_CODE_POINTS, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    found = np.zeros(N_CODE_POINTS, np.bool_)
    flags = FLAGS.match(source)
    prefix = flags[0] if flags else ""
    for run in re.finditer(f"{prefix}(?:{source[len(prefix) :]})+", everything):
        found[run.start() : run.end()] = True
    return found


def _determinise(
    program: list[Instruction], members: list[NDArray[np.bool_]], words: NDArray[np.bool_], shortest_run: int
) -> TokenAutomaton:
    """Number the lists of threads that there can be, and where each goes on each class of characters."""
    classes, is_word, signatures = _classes(words, members)
    inputs = [*signatures, frozenset[int]()]  # the end of the text is in no set
    states: dict[tuple[tuple[int, ...], bool], int] = {((), False): 0}
    begin = len(program) - 1

    def number_of(threads: tuple[int, ...], after_word: bool) -> int:
        key = (threads, after_word) if threads else ((), False)
        if len(states) == MAX_STATES and key not in states:
            raise _HasNoAutomatonError
        return states.setdefault(key, len(states))

    starts = [number_of((begin,), False), number_of((begin,), True)]
    table: list[list[int]] = []
    while len(table) < len(states):
        threads, after_word = list(states)[len(table)]
        row = []
        for signature, in_word in zip(inputs, is_word, strict=True):
            waiting, matched = _advance(program, threads, after_word != in_word)
            on = dict.fromkeys(program[each][2] for each in waiting if program[each][1] in signature)
            row.append(number_of(tuple(on), in_word) << 1 | matched)
        table.append(row)
    transitions = np.array(table, np.int32)
    transitions = (transitions >> 1) * transitions.shape[1] << 1 | transitions & 1
    return TokenAutomaton(
        classes,
        np.ascontiguousarray(transitions),
        np.array(starts, np.int32) * np.int32(transitions.shape[1]),
        np.array(is_word, np.uint8),
        shortest_run,
    )


def _classes(
    words: NDArray[np.bool_], members: list[NDArray[np.bool_]]
) -> tuple[NDArray[np.uint8], list[bool], list[frozenset[int]]]:
    """The class of each code point; of each class, and of the end, whether it is of words; in which sets a class is."""
    classes = np.zeros(N_CODE_POINTS, np.uint8)
    for found in [words, *members]:
        finer = classes.astype(np.uint16) << 1 | found
        there = np.flatnonzero(np.bincount(finer))
        if len(there) > MAX_CLASSES:
            raise _HasNoAutomatonError
        numbers = np.zeros(int(there[-1]) + 1, np.uint8)
        numbers[there] = np.arange(len(there))
        classes = numbers[finer]
    examples = [int(np.argmax(classes == number)) for number in range(int(classes.max()) + 1)]
    signatures = [frozenset(n for n, found in enumerate(members) if found[example]) for example in examples]
    return classes, [*(bool(words[example]) for example in examples), False], signatures


def _advance(program: list[Instruction], threads: tuple[int, ...], at_boundary: bool) -> tuple[list[int], bool]:
    """The threads that wait for a character, in order, up to the first that has matched; and whether one has."""
    waiting, seen = list[int](), set[int]()
    stack = list(reversed(threads))
    while stack:
        place = stack.pop()
        if place in seen:
            continue
        seen.add(place)
        kind, what, after = program[place]
        if kind == "match":
            return waiting, True
        if kind == "set":
            waiting.append(place)
        elif kind == "split":
            stack += [after, what]
        elif bool(what) == at_boundary:
            stack.append(after)
    return waiting, False
