"""What the states of a hidden Markov model emit: counts of features under labels, and of words never seen a guess."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.core.class_counts import SmoothingPrior
from fastlin.engine.core import row_scores as row_kernels
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.sequence.hmm.unknown_words import UnknownWordModel

Floats = NDArray[np.float64]
ROUNDING = 1e-6  # of the expected counts of a word, which add up to how often it is there
NO_PRIOR = SmoothingPrior(np.zeros(1), np.ones(1), None)  # the counts' own prior is not asked: it has no unknown words


@dataclass(frozen=True)
class EmissionPrior:
    """The prior of emissions: pseudo-counts, and how unknown words are emitted."""

    alpha: float
    words: list[str] | None  # the features, where each token has one; what is no such word is unknown
    unknown: str  # "uniform", "shape" or "suffix"


class Emissions:
    """log φ of features, and of words that were never seen, under each label.

    With the guess g(k | w), uniform or that of `UnknownWordModel`, φ_k(w) = (c_kw + αK g(k | w)) / Z_k for a word that
    was seen, and for one that was not, with N₁ words seen once,

        uniform       φ_k = α / Z_k,                   Z_k = Σ_w c_kw + α(V + 1)
        otherwise     φ_k(w) = N₁ g(k | w) / Z_k,      Z_k = Σ_w c_kw + αK Σ_w g(k | w) + N₁ g(k | some rare word)

    so that of all the words to come a share of N₁/N is new (Good and Turing), and the new ones have the labels of the
    rare ones. Where features are no words, unknown ones are left out, and Z_k = Σ_j c_kj + αV. A label without counts,
    if α is 0, emits all features alike.
    """

    def __init__(self, counts: Floats, vocabulary: EmissionPrior) -> None:
        n_features, n_labels = counts.shape
        words, alpha = vocabulary.words, vocabulary.alpha
        self.unknown_words: UnknownWordModel | None = None
        self.log_phi = aligned_zeros(counts.shape)
        totals, pseudo = np.empty(n_labels), np.full(n_features, alpha)
        if words is None or vocabulary.unknown == "uniform":
            unknown = np.full(n_labels, 0.0 if words is None else alpha)
        else:
            self.unknown_words = UnknownWordModel(vocabulary.unknown, words, counts)
            once = max(1.0, float(np.sum(np.abs(counts.sum(axis=1) - 1) < ROUNDING)))
            unknown = once * self.unknown_words.any_rare
            self._log_once = np.log(once)
            counts = counts + alpha * n_labels * self.unknown_words(words) if alpha > 0 else counts
            pseudo = np.zeros(n_features)
        row_kernels.smoothed_totals(counts, pseudo, totals)
        empty = totals == 0
        totals += unknown
        self._log_totals = np.log(np.where(totals == 0, 1.0, totals))
        row_kernels.smoothed_log_proba(counts, pseudo, self._log_totals, self.log_phi)
        self.log_phi[:, empty] = -np.log(n_features)
        with np.errstate(divide="ignore"):
            self.log_unknown = np.log(unknown) - self._log_totals

    def of_one_unknown(self, word: str) -> Floats:
        """log φ of one word that was never seen, [K]: the row of `of_unknown`."""
        if self.unknown_words is None:
            return self.log_unknown
        with np.errstate(divide="ignore"):
            return np.log(self.unknown_words.of_one(word)) + (self._log_once - self._log_totals)

    def of_unknown(self, words: list[str]) -> Floats:
        """log φ of words that were never seen, [n, K]."""
        if self.unknown_words is None:
            return np.tile(self.log_unknown, (len(words), 1))
        with np.errstate(divide="ignore"):
            return np.log(self.unknown_words(words)) + (self._log_once - self._log_totals)
