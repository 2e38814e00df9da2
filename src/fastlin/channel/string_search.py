"""Search for the source of an observed string, character by character, where edits come between.

Of every beginning of a source there is one node at each place of the observed string, which sums over all ways to edit
the one into the other. A beam keeps the best nodes of each place. In a row, at most so many characters of the source
leave no trace. p(not transposed) is due when the character behind is known.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.edit_costs import EditCosts
from fastlin.channel.source import ModelSource, listed
from fastlin.engine.core.interruption import look
from fastlin.lm.vocabulary import BEGIN, END, MARKS
from fastlin.runtime.parallel import WorkerPool

Floats = NDArray[np.float64]
MOST_PREFIXES = 1 << 18  # at one place of an observed string, where there is no beam


class Place(NamedTuple):
    """What ways to a node differ in."""

    dropped: int  # characters of the source that left no trace, since the last that was observed
    alone: bool  # whether the last character of the source was not transposed with the one before it


@dataclass
class Prefix:
    """The beginning of a source: what the source says of it, and the ways to edit it."""

    text: str
    last: int  # character, as the channel numbers it
    state: Any
    log_source: float
    ways: dict[Place, float] = field(default_factory=dict)

    @property
    def log_channel(self) -> float:
        """ln of the sum over the ways."""
        return float(np.logaddexp.reduce(list(self.ways.values())))

    def add(self, place: Place, log_prob: float) -> None:
        """Add a way."""
        self.ways[place] = float(np.logaddexp(self.ways[place], log_prob)) if place in self.ways else log_prob


Prefixes = dict[str, Prefix]
Step = tuple[float, Prefix, int]  # score, before, character


class StringSearch:
    """A search for sources of observed strings; `weight` is the power of p(source)."""

    def __init__(
        self, source: ModelSource, edits: EditCosts, max_dropped: int, beam: int | None, weight: float
    ) -> None:
        self._source, self._model, self._edits = source, source.word_model, edits
        self._max_dropped, self._beam, self._weight = max_dropped, beam, weight
        self._names = self._model.vocabulary.names
        self._numbers = edits.numbers("".join(self._names[MARKS:])).tolist()
        self._places = {name: place for place, name in enumerate(self._names[MARKS:])}

    def search(self, X: Any, n_jobs: int | None) -> list[tuple[str, list[tuple[float, str]]]]:
        """Every observed string, and what is found of it."""
        observed = ["".join(self._source.tokens(place, each)) for place, each in enumerate(listed(X))]
        with WorkerPool(n_jobs) as workers:
            return list(zip(observed, workers.map(self.run, [(each,) for each in observed]), strict=True))

    def run(self, observed: str) -> list[tuple[float, str]]:
        """(ln p of source and observed string, source) of the sources within the beam, best first."""
        numbers = self._edits.numbers(observed).tolist()
        fronts: list[Prefixes] = [{} for _ in range(len(observed) + 2)]
        fronts[0][""] = Prefix("", 0, self._model.start(), 0.0, {Place(0, False): 0.0})
        for j in range(len(observed) + 1):
            look()
            nodes = fronts[j] = self._pruned(self._with_dropped(self._pruned(fronts[j])))
            if j < len(observed):
                self._advance(nodes, numbers[j], fronts[j + 1])
            if j + 1 < len(observed):
                self._transpose(nodes, observed[j : j + 2], fronts[j + 2])
            if j < len(observed):
                fronts[j] = {}
        return sorted(self._ended(fronts[len(observed)]), key=lambda one: (-one[0], one[1]))

    # --- steps -------------------------------------------------------------------------------------------------------

    def _source_row(self, node: Prefix) -> Floats:
        """What the source says of each character next."""
        row = self._model.next_word(node.state)[MARKS - BEGIN - 1 :].astype(np.float64)
        return self._weight * row if self._weight else np.where(row > -np.inf, 0.0, -np.inf)

    def _with_dropped(self, nodes: Prefixes) -> Prefixes:
        """With characters that leave no trace."""
        for dropped in range(self._max_dropped):
            steps = []
            for node in list(nodes.values()):
                found = {place: p for place, p in node.ways.items() if place.dropped == dropped}
                if found:
                    steps.append((node, self._going_on(node, found) + self._edits.write(node.last, 0)))
            self._take(steps, Place(dropped + 1, True), nodes)
        return nodes

    def _advance(self, nodes: Prefixes, b: int, after: Prefixes) -> None:
        """Observe a character: inserted, or written for one of the source."""
        steps = []
        for node in nodes.values():
            for place, log_prob in node.ways.items():
                new = after.setdefault(node.text, Prefix(node.text, node.last, node.state, node.log_source))
                new.add(Place(0, place.alone), log_prob + self._edits.insert(node.last, b))
            steps.append((node, self._going_on(node, node.ways) + self._edits.write(node.last, b)))
        self._take(steps, Place(0, True), after)

    def _transpose(self, nodes: Prefixes, pair: str, after: Prefixes) -> None:
        """Observe two characters that stand the other way round in the source."""
        b, a = (self._places.get(character) for character in pair)
        if a is None or b is None or a == b:
            return
        for node in nodes.values():
            log_prob = float(self._going_on(node, node.ways)[a])
            log_prob += self._edits.swap(self._numbers[a], self._numbers[b])
            first = self._extended(node, a) if log_prob > -np.inf else None
            second = self._extended(first, b) if first is not None else None
            if second is not None:
                after.setdefault(second.text, second).add(Place(0, False), log_prob)

    def _going_on(self, node: Prefix, ways: dict[Place, float]) -> Floats:
        """ln p that the source goes on with each character, for the sum of some ways to a node."""
        alone = [p for place, p in ways.items() if place.alone]
        others = [p for place, p in ways.items() if not place.alone]
        total = np.logaddexp.reduce(alone, initial=-np.inf) + self._edits.stay(node.last)
        together: Floats = np.logaddexp(total, np.logaddexp.reduce(others, initial=-np.inf))
        return together + self._edits.stop(node.last)

    def _take(self, steps: list[tuple[Prefix, Floats]], place: Place, into: Prefixes) -> None:
        """The best steps from nodes by a character more, each with ln p of the ways to there."""
        for _, node, log_prob, character in self._best(steps):
            known = into.get(node.text + self._names[MARKS + character])
            new = self._extended(node, character) if known is None else known
            if new is not None:
                into.setdefault(new.text, new).add(place, log_prob)

    def _best(self, steps: list[tuple[Prefix, Floats]]) -> Iterator[tuple[float, Prefix, float, int]]:
        found = []
        for node, log_prob in steps:
            scores = log_prob + self._source_row(node) + node.log_source
            chosen = np.flatnonzero(scores > -np.inf)
            if self._beam is not None and len(chosen) > self._beam:
                chosen = np.argsort(-scores, kind="stable")[: self._beam]
            rest = zip(scores[chosen].tolist(), log_prob[chosen].tolist(), chosen.tolist(), strict=True)
            found += [(score, node, p, character) for score, p, character in rest]
            self._prove_few(len(found))
        if self._beam is not None:
            found = sorted(found, key=lambda one: -one[0])[: self._beam]
        return iter(found)

    def _extended(self, node: Prefix, character: int) -> Prefix | None:
        """A prefix with a character more, without ways; None: the source has none such."""
        log_prob, state = self._model.advance(node.state, MARKS + character)
        if log_prob == -np.inf:
            return None
        text = node.text + self._names[MARKS + character]
        return Prefix(text, self._numbers[character], state, node.log_source + self._weight * log_prob)

    # --- fronts ------------------------------------------------------------------------------------------------------

    def _pruned(self, nodes: Prefixes) -> Prefixes:
        """The best nodes, as many as the beam has room for."""
        self._prove_few(len(nodes))
        if self._beam is None or len(nodes) <= self._beam:
            return nodes
        best = sorted(nodes.values(), key=lambda node: -(node.log_source + node.log_channel))
        return {node.text: node for node in itertools.islice(best, self._beam)}

    def _prove_few(self, n: int) -> None:
        """ValueError: without a beam, their number grows with the power of the string's length, beyond any memory."""
        if self._beam is None and n > MOST_PREFIXES:
            raise ValueError(
                f"beam must be a number where the sources of a string are so many, such as 50, got None: more than "
                f"{MOST_PREFIXES:,} beginnings of sources would be kept"
            )

    def _ended(self, nodes: Prefixes) -> Iterator[tuple[float, str]]:
        """With the end of the source."""
        for node in nodes.values():
            log_prob = self._model.advance(node.state, END)[0]
            if log_prob > -np.inf:
                total = node.log_source + self._weight * log_prob + node.log_channel + self._edits.stop(node.last)
                if total > -np.inf:
                    yield total, node.text
