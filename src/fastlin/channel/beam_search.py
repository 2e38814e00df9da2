"""Search through the states of a source, word by word, of many sentences at once.

What was said before a word matters only through the state of the source, so that paths that come to equal states are
one node: the best of them, or their sum. With all nodes kept this is dynamic programming, and exact; a beam keeps the
best nodes of each word.
"""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.base import Candidates
from fastlin.channel.source import Source
from fastlin.engine.core.interruption import look

TOGETHER = 1 << 16  # pairs of a state and a word that the source is asked at once


class ObservedWords(NamedTuple):
    """Sentences of observed words, as numbers, and the candidates of each number."""

    rows: list[list[int]]
    candidates: Candidates


class Hypothesis(NamedTuple):
    """A way to a node: its score, its last word, and how it came there."""

    log_prob: float
    word: str
    before: "Hypothesis | None"

    def words(self) -> list[str]:
        """All words on the way."""
        found, at = [], self
        while at.before is not None:
            found.append(at.word)
            at = at.before
        return found[::-1]


class Ways(Protocol):
    """What is known of the ways to a node. `W` is a number, or a list of hypotheses."""

    def begin(self) -> Any:
        """The way to where sentences begin."""

    def score(self, ways: Any) -> float:
        """By which a beam prefers."""

    def step(self, ways: Any, log_prob: float, word: str) -> Any:
        """The ways after one word more."""

    def join(self, ways: Any, others: Any) -> Any:
        """Those to one node by two."""

    def end(self, found: Sequence[Any]) -> Any:
        """Those to the end of a sentence."""


class BestWays:
    """The n best hypotheses."""

    def __init__(self, n: int) -> None:
        self._n = n

    def begin(self) -> list[Hypothesis]:
        """The empty hypothesis."""
        return [Hypothesis(0.0, "", None)]

    def score(self, ways: list[Hypothesis]) -> float:
        """The best of them."""
        return ways[0].log_prob

    def step(self, ways: list[Hypothesis], log_prob: float, word: str) -> list[Hypothesis]:
        """All with a word more."""
        return [Hypothesis(way.log_prob + log_prob, word, way) for way in ways]

    def join(self, ways: list[Hypothesis], others: list[Hypothesis]) -> list[Hypothesis]:
        """The best of both; among equals those that came first."""
        if self._n == 1:
            return others if others[0].log_prob > ways[0].log_prob else ways
        return sorted([*ways, *others], key=_by_score)[: self._n]

    def end(self, found: Sequence[tuple[float, list[Hypothesis]]]) -> list[Hypothesis]:
        """The best of all, scored with the end; none, if it is impossible."""
        last = [way._replace(log_prob=way.log_prob + log_prob) for log_prob, ways in found for way in ways]
        return sorted((way for way in last if way.log_prob > -np.inf), key=_by_score)[: self._n]


def _by_score(way: Hypothesis) -> float:
    return -way.log_prob


class SumOfWays:
    """The logarithm of the sum over all ways."""

    def begin(self) -> float:
        """One way, of probability one."""
        return 0.0

    def score(self, ways: float) -> float:
        """The sum."""
        return ways

    def step(self, ways: float, log_prob: float, word: str) -> float:  # noqa: ARG002
        """The sum, with a word more."""
        return ways + log_prob

    def join(self, ways: float, others: float) -> float:
        """The sum of both."""
        return float(np.logaddexp(ways, others))

    def end(self, found: Sequence[tuple[float, float]]) -> float:
        """The sum of all, with the end."""
        return float(np.logaddexp.reduce([log_prob + ways for log_prob, ways in found], initial=-np.inf))


class BeamSearch:
    """A search through the states of a source; `ways` says what is wanted of the ways to its end."""

    def __init__(self, source: Source, ways: Ways, beam: int | None, source_weight: float) -> None:
        self._source, self._ways, self._beam, self._weight = source, ways, beam, source_weight

    def run(self, tokens: ObservedWords) -> list[Any]:
        """What is known of the ways to the end of each sentence, in the order of the sentences."""
        start, candidates = self._source.start(), tokens.candidates
        keys = self._source.keys(candidates.sources)
        nodes: list[dict[Any, Any]] = [{start: self._ways.begin()} for _ in tokens.rows]
        for position in range(max(map(len, tokens.rows), default=0)):
            going_on = [place for place, row in enumerate(tokens.rows) if position < len(row) and nodes[place]]
            for part in self._parts(tokens, going_on, position, nodes):
                look()
                self._advance(tokens, part, position, nodes, keys)
        return self._ended(nodes)

    def _parts(
        self, tokens: ObservedWords, places: list[int], position: int, nodes: list[dict[Any, Any]]
    ) -> list[list[int]]:
        """Sentences in groups of a bounded number of questions; one with more is alone."""
        starts = tokens.candidates.starts
        parts: list[list[int]] = []
        asked = TOGETHER
        for place in places:
            token = tokens.rows[place][position]
            more = len(nodes[place]) * int(starts[token + 1] - starts[token])
            asked += more
            if asked > TOGETHER:
                parts.append([])
                asked = more
            parts[-1].append(place)
        return parts

    def _advance(
        self, tokens: ObservedWords, places: list[int], position: int, nodes: list[dict[Any, Any]], keys: NDArray[Any]
    ) -> None:
        """Take sentences one word further."""
        starts, sources, channel = tokens.candidates
        states: list[Any] = []
        chosen: list[NDArray[np.int64]] = []
        for place in places:
            token = tokens.rows[place][position]
            inside = np.arange(starts[token], starts[token + 1])
            for state in nodes[place]:
                states.extend(itertools.repeat(state, len(inside)))
                chosen.append(inside)
        candidate = np.concatenate(chosen)
        log_prob, after = self._source.advance(states, keys[candidate])
        gains = self._weighted(log_prob) + channel[candidate]
        rest = zip(gains.tolist(), after, candidate.tolist(), strict=True)
        for place in places:
            token = tokens.rows[place][position]
            found: dict[Any, Any] = {}
            for ways in nodes[place].values():
                for gain, state, at in itertools.islice(rest, int(starts[token + 1] - starts[token])):
                    if gain > -np.inf:
                        new = self._ways.step(ways, gain, sources[at])
                        found[state] = self._ways.join(found[state], new) if state in found else new
            nodes[place] = self._pruned(found)

    def _weighted(self, log_prob: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._weight * log_prob if self._weight else np.where(log_prob > -np.inf, 0.0, -np.inf)

    def _pruned(self, nodes: dict[Any, Any]) -> dict[Any, Any]:
        """The best nodes, as many as the beam has room for."""
        if self._beam is None or len(nodes) <= self._beam:
            return nodes
        score = self._ways.score
        return dict(sorted(nodes.items(), key=lambda node: -score(node[1]))[: self._beam])

    def _ended(self, nodes: list[dict[Any, Any]]) -> list[Any]:
        """With the end of each sentence."""
        states = [state for found in nodes for state in found]
        log_prob = iter(self._weighted(self._source.end(states)).tolist() if states else [])
        return [self._ways.end([(next(log_prob), ways) for ways in found.values()]) for found in nodes]
