"""The lexicon of a grammar: how likely a tag is to stand over a word, known or never seen."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastlin.grammar.binarize import Symbol
from fastlin.sequence.hmm.unknown_words import UnknownWordModel

Floats = NDArray[np.float64]
ROUNDING = 1e-6  # of expected counts, which add up to whole numbers


class TagScores(NamedTuple):
    """The tags of the words of a sentence, as charts read them."""

    start: NDArray[np.int64]  # [n + 1]
    symbol: NDArray[np.int32]
    score: Floats


class TagScorer(Protocol):
    """What knows which tags stand over words."""

    @property
    def words(self) -> list[str]:
        """The words that were seen."""

    def __call__(self, words: Sequence[str], /) -> TagScores:
        """The tags of each word, and their log φ."""

    def seen(self) -> TagScores:
        """The tags of all words that were seen, and log φ, of which those of a tag add up to 1 at most."""


class LexiconOptions(NamedTuple):
    """How words are smoothed, and unknown ones guessed."""

    unknown: str | None  # "signature", "suffix", "shape"; None: a word that was never seen has no tag
    rare_count: int  # words no more frequent are guessed, too
    alpha: float  # pseudo-counts of a known word, for the tags that it is guessed to have
    tag_alpha: float  # pseudo-counts of a tag, for the words of the tag that it was split from


class Lexicon:
    """log φ of words under tags.

    With g(k | w) the guess of `UnknownWordModel`, learnt from the N₁ words that are rare, and c̃ the counts smoothed by
    those of the tag l(k) without what was split from it,

        c̃_kw = n_k (c_kw + β c_lw/n_l) / (n_k + β)
        φ_k(w) = (c̃_kw + α g(k | w)) / Z_k     if w is known and not rare
        φ_k(w) = N₁ g(k | w) / Z_k              otherwise
        Z_k = Σ_known (c̃_kw + α g(k | w)) + N₁ g(k | some rare word)

    Rare words have left the known ones: what they say is said by those that are like them, once.
    """

    def __init__(
        self,
        counts: Mapping[str, Mapping[int, float]],
        symbols: Sequence[Symbol],
        tags: NDArray[np.int32],
        options: LexiconOptions,
    ) -> None:
        self.counts, self.tags, self.options = counts, tags, options
        place = {int(tag): number for number, tag in enumerate(tags)}
        words = list(counts)
        table = np.zeros((len(words), len(tags)))
        for row, word in enumerate(words):
            for tag, count in counts[word].items():
                table[row, place[tag]] = count
        totals = table.sum(axis=1)
        rare = totals <= (options.rare_count + ROUNDING if options.unknown else 0)
        self._guess: UnknownWordModel | None = None
        unknown = np.zeros(len(tags))
        if options.unknown is not None:
            chosen = rare if rare.any() else totals > 0
            self._guess = UnknownWordModel(
                options.unknown, [word for word, is_rare in zip(words, chosen, strict=True) if is_rare], table[chosen]
            )
            self._n_rare = max(1, int(rare.sum()))
            unknown = self._n_rare * self._guess.any_rare
        known = self._spread(table, symbols)[~rare]
        self._rows = {
            word: row for row, word in enumerate(word for word, is_rare in zip(words, rare, strict=True) if not is_rare)
        }
        if self._guess is not None and options.alpha > 0:
            known += options.alpha * self._guess(list(self._rows))
        with np.errstate(divide="ignore"):
            of_tags = known.sum(axis=0) + unknown
            self._log_totals = np.log(np.where(of_tags > 0, of_tags, 1.0))
            self._log_phi = np.log(known) - self._log_totals

    @property
    def words(self) -> list[str]:
        return list(self.counts)

    def _spread(self, table: Floats, symbols: Sequence[Symbol]) -> Floats:
        """c̃."""
        beta = self.options.tag_alpha
        labels = [symbols[tag].label for tag in self.tags]
        _, whole = np.unique([label or "" for label in labels], return_inverse=True)
        if beta == 0 or len(set(whole.tolist())) == len(whole):
            return table
        totals = table.sum(axis=0)
        member = np.zeros((len(self.tags), whole.max() + 1))
        member[np.arange(len(whole)), whole] = 1
        of_labels = totals @ member
        of_whole = (table @ member) / np.where(of_labels > 0, of_labels, 1.0)
        spread: Floats = (table + beta * of_whole[:, whole]) * (totals / (totals + beta))
        return spread

    def __call__(self, words: Sequence[str]) -> TagScores:
        """The tags of each word, and their log φ."""
        unknown = [word for word in words if word not in self._rows]
        guessed = dict(zip(unknown, self._log_guess(unknown), strict=True)) if unknown else {}
        symbols, scores, ends = list[NDArray[np.int32]](), list[Floats](), [0]
        for word in words:
            row = self._rows.get(word)
            log_phi = guessed[word] if row is None else self._log_phi[row]
            there = np.flatnonzero(log_phi > -np.inf)
            symbols.append(self.tags[there])
            scores.append(log_phi[there])
            ends.append(ends[-1] + len(there))
        empty = [np.empty(0, np.int32)], [np.empty(0)]
        return TagScores(
            np.array(ends, np.int64), np.concatenate(symbols or empty[0]), np.concatenate(scores or empty[1])
        )

    def seen(self) -> TagScores:
        """The tags of all words that were seen, and log φ; rare ones share what unknown ones have."""
        words = self.words
        found = self(words)
        rare = np.array([word not in self._rows for word in words], bool)
        shared = np.repeat(rare * np.log(max(1, rare.sum())), np.diff(found.start))
        return found._replace(score=found.score - shared)

    def _log_guess(self, words: Sequence[str]) -> Floats:
        """log φ of unknown words, [n, K]."""
        if self._guess is None:
            return np.full((len(words), len(self.tags)), -np.inf)
        with np.errstate(divide="ignore"):
            found: Floats = np.log(self._n_rare * self._guess(words)) - self._log_totals
        return found
