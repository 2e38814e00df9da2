"""The words that may stand for those of a text, and the best of them in their context."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.base import Candidates
from fastlin.channel.beam_search import BeamSearch, BestWays, ObservedWords
from fastlin.channel.dictionary import Dictionary
from fastlin.channel.letters import as_letters
from fastlin.channel.source import Advanced, ModelSource
from fastlin.channel.text_words import case_of, folded, is_word
from fastlin.engine.channel.corrections import Corrections
from fastlin.engine.channel.word_lattice import Lattice
from fastlin.lm.backoff import BackoffModel
from fastlin.lm.base import LanguageModel
from fastlin.lm.ngram import NgramModel
from fastlin.lm.vocabulary import UNKNOWN, look_up

FLOOR = -230.0  # ln p of what a source takes for impossible, 10⁻¹⁰⁰: a text may hold anything
STAYS = -1  # in place of a word of the dictionary


@dataclass(frozen=True)
class TokenCandidates:
    """What may stand for each of some tokens, one behind the other: those of token i begin at starts[i].

    Attributes
    ----------
    entries : ndarray of int32
        The words of the dictionary; −1: the token stays as it is.
    numbers : ndarray of int32
        What the source calls them.
    log_prob : ndarray of float64
        ln p(token | word).
    """

    starts: NDArray[np.int64]
    entries: NDArray[np.int32]
    numbers: NDArray[np.int32]
    log_prob: NDArray[np.float64]


@dataclass(frozen=True)
class EditLimits:
    """How far words are looked for."""

    max_edits: int
    real_word_edits: int


@dataclass(frozen=True)
class CandidateFinder:
    """What may stand for a token: words of the dictionary, and the token itself.

    `log_right` is ln p that a word is written as it is spelt.
    """

    source: LanguageModel
    dictionary: Dictionary
    corrections: Corrections
    characters: NgramModel | None  # of the letters of words: how unknown ones are spelt
    limits: EditLimits
    source_weight: float
    log_right: float

    def find(self, tokens: Sequence[str], n_candidates: int) -> TokenCandidates:
        """The best words that may stand for each of some tokens, so many, and the token itself.

        What is no word, or has capitals in a way of its own, stays.
        """
        forms = [folded(token) for token in tokens]
        spelt = [is_word(form) and case_of(token) is not None for form, token in zip(forms, tokens, strict=True)]
        words = np.flatnonzero(spelt)
        limits = self.limits
        starts, entries, _, log_prob = self.corrections.best(
            *as_letters([forms[place] for place in words.tolist()]),
            limits.max_edits, limits.real_word_edits, n_candidates,
        )  # fmt: skip
        known = self.dictionary.known
        alone = [place for place, form in enumerate(forms) if not (spelt[place] and form in known)]
        token = np.concatenate([np.repeat(words, np.diff(starts)), alone]).astype(np.int64)
        order = np.argsort(token, kind="stable")
        return TokenCandidates(
            np.concatenate([[0], np.cumsum(np.bincount(token, minlength=len(tokens)))]),
            np.concatenate([entries, np.full(len(alone), STAYS, np.int32)])[order],
            np.concatenate([self.dictionary.numbers[entries], self._numbers([tokens[i] for i in alone])])[order],
            np.concatenate([log_prob, self._spelt([forms[i] if spelt[i] else "" for i in alone])])[order],
        )

    def _numbers(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        """What the source calls tokens that stay."""
        table = self.source._word_model.vocabulary.table
        found = look_up(table, tokens, False)
        found = np.where(found < 0, look_up(table, [folded(token) for token in tokens], False), found)
        return np.where(found <= UNKNOWN, UNKNOWN, found).astype(np.int32)

    def _spelt(self, forms: Sequence[str]) -> NDArray[np.float64]:
        """ln p that unknown words are spelt, and written, so; 0 for what is no word."""
        log_prob = np.zeros(len(forms))
        words = [place for place, form in enumerate(forms) if form]
        if self.characters is not None and words:
            spelling = self.characters.score_samples([forms[place] for place in words])
            log_prob[words] = self.log_right + self.source_weight * np.maximum(spelling, FLOOR)
        return log_prob


class FlooredSource(ModelSource):
    """A source for which nothing is impossible."""

    def advance(self, states: list[Any], keys: NDArray[Any]) -> Advanced:
        """(ln p, states after) of many states, each with a word of its own."""
        log_prob, after = super().advance(states, keys)
        return np.maximum(log_prob, FLOOR), after

    def end(self, states: list[Any]) -> NDArray[np.float64]:
        """ln p of the end of a sentence."""
        return np.maximum(super().end(states), FLOOR)


def decode(
    source: LanguageModel, rows: Sequence[Sequence[int]], candidates: TokenCandidates, weight: float, beam: int
) -> list[list[int]]:
    """Of sentences of tokens the candidate that is best for each token, by its place."""
    if source._reader().backward:
        turned = decode_forward(source, [row[::-1] for row in rows], candidates, weight, beam)
        return [row[::-1] for row in turned]
    return decode_forward(source, rows, candidates, weight, beam)


def decode_forward(
    source: LanguageModel, rows: Sequence[Sequence[int]], candidates: TokenCandidates, weight: float, beam: int
) -> list[list[int]]:
    """`decode` in the order in which the source reads."""
    model = source._word_model
    if not isinstance(model, BackoffModel):
        return _searched(source, rows, candidates, weight, beam)
    lattice = Lattice(candidates.starts, candidates.numbers, candidates.log_prob)
    sentences = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    tokens = np.fromiter((token for row in rows for token in row), np.int32)
    chosen = np.empty(len(tokens), np.int32)
    lattice.decode(model.queries, sentences, tokens, weight, FLOOR, beam, chosen)
    return [chosen[first:stop].tolist() for first, stop in itertools.pairwise(sentences.tolist())]


def _searched(
    source: LanguageModel, rows: Sequence[Sequence[int]], candidates: TokenCandidates, weight: float, beam: int
) -> list[list[int]]:
    """With a source that is no back-off model: word by word."""
    names = source._word_model.vocabulary.names
    words = Candidates(candidates.starts, [names[n] for n in candidates.numbers.tolist()], candidates.log_prob)
    search = BeamSearch(FlooredSource(source), BestWays(1), beam, weight)
    found = []
    for row, ways in zip(rows, search.run(ObservedWords([list(row) for row in rows], words)), strict=True):
        places = []
        for token, word in zip(row, ways[0].words(), strict=True):
            inside = range(int(candidates.starts[token]), int(candidates.starts[token + 1]))
            places.append(max((i for i in inside if words.sources[i] == word), key=lambda i: words.log_prob[i]))
        found.append(places)
    return found
