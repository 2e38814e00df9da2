"""Sentences to learn a grammar from, with the tags that each word may have, and the brackets that some bring along."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.constraints import Bracket, Given, SpanStates, span_states
from fastlin.grammar.lexicon import TagScorer
from fastlin.grammar.trees import Tree

Floats = NDArray[np.float64]
OPEN_LABELS = ("", "_")  # of brackets that say where a constituent is, but not which


class TaggedWords(NamedTuple):
    """The tags that each of some words may have, word by word."""

    words: list[str]
    start: NDArray[np.int64]  # [V + 1] of the tags of a word
    tag: NDArray[np.int32]  # [E] symbols

    @classmethod
    def of(cls, words: list[str], lexicon: TagScorer) -> "tuple[TaggedWords, Floats]":
        """The tags that a lexicon has for words, and their log φ."""
        found = lexicon(words)
        return cls(words, found.start, found.symbol), found.score

    def entries(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the tags of words in turn start, and their places here."""
        sizes = self.start[ids + 1] - self.start[ids]
        start = np.concatenate([[0], np.cumsum(sizes)])
        return start, np.arange(start[-1]) + np.repeat(self.start[ids] - start[:-1], sizes)

    def counts(self, of_entries: Floats) -> dict[str, dict[int, float]]:
        """Numbers of tags as a lexicon reads them, without those that are none."""
        tags, numbers, bounds = self.tag.tolist(), of_entries.tolist(), self.start.tolist()
        found = {}
        for word, first, last in zip(self.words, bounds[:-1], bounds[1:], strict=True):
            there = {tags[place]: numbers[place] for place in range(first, last) if numbers[place] > 0}
            if there:
                found[word] = there
        return found

    def places(self, counts: dict[str, dict[int, float]]) -> Floats:
        """The numbers of tags that `counts` has; their words and tags are among these."""
        row = {word: number for number, word in enumerate(self.words)}
        found = np.zeros(len(self.tag))
        for word, tags in counts.items():
            first, last = self.start[row[word]], self.start[row[word] + 1]
            wanted = np.array(sorted(tags), np.int32)
            found[first + np.searchsorted(self.tag[first:last], wanted)] = [tags[tag] for tag in wanted.tolist()]
        return found


class TrainingSentences:
    """Sentences as numbers of words, and the brackets that are known of some."""

    def __init__(self, sentences: Sequence[list[str]], brackets: Sequence[Tree], more_words: Sequence[str]) -> None:
        texts = [*sentences, *(tree.leaves() for tree in brackets)]
        numbers: dict[str, int] = {}
        self.ids = [np.array([numbers.setdefault(word, len(numbers)) for word in text], np.int64) for text in texts]
        for word in more_words:
            numbers.setdefault(word, len(numbers))
        self.words = list(numbers)
        self._brackets, self._n_raw = list(brackets), len(sentences)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([len(ids) for ids in self.ids], np.int64)

    def text(self, number: int) -> str:
        """A sentence, to be shown."""
        return " ".join(self.words[word] for word in self.ids[number].tolist()[:20])

    def check_labels(self, labels: list[str]) -> None:
        """Refuse brackets with labels that the grammar has not."""
        known = {*labels, *OPEN_LABELS}
        for number, tree in enumerate(self._brackets):
            for label, _, _ in tree.spans():
                if label not in known:
                    raise ValueError(f"brackets, tree {number}: the grammar has no label {label!r:.40}")

    def spans(self, number: int, labels: list[str]) -> SpanStates | None:
        """What may stand over the spans of a sentence; None: whatever the grammar makes."""
        if number < self._n_raw:
            return None
        given = self._brackets[number - self._n_raw].spans()
        brackets = (Bracket(start, stop, None if label in OPEN_LABELS else label) for label, start, stop in given)
        return span_states(len(self.ids[number]), Given(None, tuple(brackets)), labels)

    def identity(self) -> dict[str, object]:
        """What tells these sentences from others."""
        text = np.concatenate([*self.ids, np.empty(0, np.int64)])
        return {"words": self.words, "text": text, "lengths": self.lengths, "brackets": list(map(str, self._brackets))}
