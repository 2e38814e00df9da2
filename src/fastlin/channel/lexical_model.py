"""p(f | e) of sentences, as it was learnt: Σ over alignments, the best alignment, posteriors of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.word_alignment import Alignment
from fastlin.engine.channel import lexical_table
from fastlin.lm.sentences import SentenceReader
from fastlin.lm.vocabulary import BEGIN, MARKS, WordVocabulary
from fastlin.runtime.made_once import FieldsOnly, made_once

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]
Links = list[tuple[int, int]]


@dataclass(frozen=True)
class WordTable(FieldsOnly):
    """t(f | e): a CSR by source word, words in order, and for each source word t of every word that is not in it."""

    starts: NDArray[np.int64]
    words: Numbers
    t: Floats
    rest: Floats

    def lookup(self, source: Numbers, observed: Numbers) -> Floats:
        """t(f | e) of all words of two sentences, [n, m]."""
        found = np.empty((len(source), len(observed)))
        lexical_table.probabilities(self.starts, self.words, self.t, self.rest, source, observed, found)
        return found

    def row(self, source: int) -> tuple[Numbers, Floats]:
        """The words that were beside a source word, and t of each."""
        inside = slice(int(self.starts[source]), int(self.starts[source + 1]))
        return self.words[inside], self.t[inside]

    @made_once
    def by_observed(self) -> "WordTable":
        """The same turned round: a row for each observed word, which holds source words."""
        n_source, n_observed = len(self.starts) - 1, int(self.words.max(initial=-1)) + 1
        order = np.argsort(self.words, kind="stable")
        sources = np.repeat(np.arange(n_source, dtype=np.int32), np.diff(self.starts))
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.words, minlength=n_observed))])
        return WordTable(starts, sources[order], self.t[order], np.zeros(n_observed))


@dataclass(frozen=True)
class LexicalModel:
    """A learnt channel. Sources are numbers of words, NULL first if there is one.

    `ratio` is how many words are observed for each word of a source, NULL included; `counts` has how often each word of
    the sources' vocabulary was seen.
    """

    source: WordVocabulary
    observed: WordVocabulary
    table: WordTable
    alignment: Alignment
    reader: SentenceReader
    null: bool
    ratio: float
    counts: NDArray[np.int64]

    def joint(self, source: Numbers, observed: Numbers) -> Floats:
        """p(f_j, a_j = i) of all places, [n, m]."""
        found = self.table.lookup(source, observed)
        found *= self.alignment.table(*found.shape)
        return found

    def log_prob_of_words(self, source: Numbers, observed: Numbers) -> float:
        """ln p(f | e, m)."""
        if not len(observed):
            return 0.0
        with np.errstate(divide="ignore"):
            return float(np.log(self.joint(source, observed).sum(axis=0)).sum())

    def log_prob_of_length(self, n: int, m: int) -> float:
        """ln p(m | n): Poisson's, of n · ratio words."""
        mean = self.ratio * n
        if not mean:
            return -math.inf if m else 0.0
        return m * math.log(mean) - mean - math.lgamma(m + 1)

    def best_links(self, source: Numbers, observed: Numbers) -> Links:
        """The most probable alignment: (i, j) of each observed word that is not NULL's; among equals the first."""
        if not len(source):
            return []
        joint = self.joint(source, observed)
        best = joint.argmax(axis=0)
        linked = (joint.max(axis=0) > 0) & (best >= self.null)
        return [(int(best[j]) - self.null, j) for j in np.flatnonzero(linked).tolist()]

    def posteriors(self, source: Numbers, observed: Numbers) -> Floats:
        """p(a_j = i | e, f), [n, m]; where nothing explains a word, 0."""
        joint = self.joint(source, observed)
        totals = joint.sum(axis=0)
        return np.divide(joint, totals, out=np.zeros(joint.shape), where=totals > 0)

    def sources_of(self, observed: int, most: int | None) -> tuple[Numbers, Floats]:
        """Source words that were seen beside an observed one, and t(observed | source) of each.

        At most so many, by t times how often the source word was seen; in the order of their numbers.
        """
        turned = self.table.by_observed
        if observed >= len(turned.starts) - 1:
            return np.empty(0, np.int32), np.empty(0)
        words, t = turned.row(observed)
        kept = (words >= MARKS) & (t > 0)
        words, t = words[kept], t[kept]
        if most is not None and len(words) > most:
            best = np.sort(np.argsort(-t * self.counts[words], kind="stable")[:most])
            words, t = words[best], t[best]
        return words, t

    def frequent_sources(self, most: int) -> Numbers:
        """The source words that were seen most often, so many at most."""
        order = np.argsort(-self.counts[MARKS:], kind="stable")[:most]
        return (order + MARKS).astype(np.int32)

    def with_null(self, words: Sequence[int] | Numbers) -> Numbers:
        """The numbers of a source, NULL before them if there is one."""
        return np.array([BEGIN, *words] if self.null else list(words), np.int32)
