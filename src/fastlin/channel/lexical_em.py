"""EM for `LexicalChannel`: the parameters as they are, and the steps that better them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.lexical_model import WordTable
from fastlin.channel.sentence_pairs import SentencePairs
from fastlin.channel.word_alignment import Alignment, Shapes, probabilities, start_alignment
from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.channel.cooccurrence import Cooccurrences
from fastlin.lm.vocabulary import MARKS
from fastlin.runtime.parallel import WorkerPool, split_by_length

Floats = NDArray[np.float64]

BLOCK_PLACES = 1 << 20  # of a word beside a word, of a job: milliseconds
JOBS_TOGETHER = 32  # whose expected alignments are held before they are added up
OUTSIDE = MARKS - 1  # words of a vocabulary that are never observed: the marks of sentences


@dataclass(frozen=True)
class LexicalParameters:
    """What EM learns."""

    table: WordTable
    alignment: Alignment


class LexicalEM:
    """EM of Models 1 and 2, for an `EMRun`.

    Parameters
    ----------
    pairs : SentencePairs
    n_source, n_observed : int
        Words of the vocabularies, marks included.
    alpha : float
        Pseudo-counts of each observed word for each source word.
    alignment : {"uniform", "table", "diagonal"}
    null : bool
        Whether each source begins with NULL.
    workers : WorkerPool
    """

    width = 1

    def __init__(
        self, pairs: SentencePairs, n_source: int, n_observed: int, alpha: float, alignment: str, null: bool,
        workers: WorkerPool,
    ) -> None:  # fmt: skip
        self._pairs = pairs = pairs.sorted_by_length()
        self._alpha, self._n_words, self._workers = alpha, n_observed - OUTSIDE, workers
        self._shapes, self._shape = Shapes.of(pairs.source_lengths, pairs.observed_lengths, null)
        sides = pairs.source, pairs.source_starts, pairs.observed, pairs.observed_starts
        self._places = Cooccurrences(*sides, n_source, n_observed)
        self._word_jobs = list(split_by_length(self._places.work(), BLOCK_PLACES))
        self._starts, self._words = self._find_entries(n_source, n_observed)
        self._tables = self._shapes.starts[self._shape]  # where the table of each pair lies
        self._pair_jobs = self._cut_pairs()
        self._lengths = float(pairs.observed_lengths @ np.log(np.maximum(pairs.source_lengths, 1)))
        self.total_weight = float(len(pairs.observed))
        seen = np.bincount(pairs.source, minlength=n_source) > 0
        self._n_unseen = np.where(seen, self._n_words - np.diff(self._starts), 0)
        self.factors = self.total_weight + alpha * float(seen.sum()) * self._n_words
        self._alignment: Alignment = start_alignment(alignment, Shapes(self._shapes.n, self._shapes.m, null))
        self.start_uniform()

    def _find_entries(self, n_source: int, n_observed: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Which words are beside which, as a CSR; and its entry for each place."""
        counts, work = np.zeros(n_source + 1, np.int64), self._places.work()

        def find(first: int, last: int) -> NDArray[np.int64]:
            keys = np.empty(work[last] - work[first], np.int64)
            return np.sort(keys[: self._places.distinct(first, last, keys, counts)])

        keys = np.concatenate([np.empty(0, np.int64), *self._workers.map(find, self._word_jobs)])
        if len(keys) >= 2**31:
            raise ValueError(f"pairs have {len(keys)} different words beside words; at most {2**31 - 1} are supported")
        starts, words = np.cumsum(counts), (keys % n_observed).astype(np.int32)
        self._places.bind(np.empty(self._places.n_places, np.int32), self._alpha, self._alpha * self._n_words)
        self._workers.map(lambda first, last: self._places.number(first, last, starts, words), self._word_jobs)
        return starts, words

    def _cut_pairs(self) -> list[tuple[int, int]]:
        """Blocks of pairs with bounded work; pairs of a shape lie together, so that a block has few tables."""
        places = self._pairs.source_lengths * self._pairs.observed_lengths
        return list(split_by_length(np.concatenate([[0], np.cumsum(places)]), BLOCK_PLACES))

    # --- parameters --------------------------------------------------------------------------------------------------

    def start_uniform(self) -> None:
        """All observed words alike."""
        self._t, self._rest = np.empty(len(self._words)), np.full(len(self._starts) - 1, 1 / self._n_words)
        self._t.fill(1 / self._n_words)

    def start(self, n_iterations: int) -> None:
        """Model 1's parameters after so many iterations from the uniform ones: where Model 2 begins."""
        self.start_uniform()
        for _ in range(n_iterations):
            self.expect()
            self._maximise_words()

    def set_words(self, t: Floats, rest: Floats) -> None:
        """Set t(f | e) of words beside each other, and of all others."""
        self._t, self._rest = t, rest

    def counts(self) -> LexicalParameters:
        """The parameters."""
        return LexicalParameters(WordTable(self._starts, self._words, self._t, self._rest), self._alignment)

    # --- steps -------------------------------------------------------------------------------------------------------

    def expect(self) -> float:
        """The E-step; returns Σ log p(f | e, m) + α Σ log t."""
        self._inverse = np.empty(len(self._pairs.observed))
        self._a = self._alignment.tables(self._shapes)
        self._expected = np.zeros(len(self._a))
        likelihood = self._log_prior() if len(self._a) else self._log_prior() - self._lengths
        for first in range(0, len(self._pair_jobs), JOBS_TOGETHER):
            jobs = self._pair_jobs[first : first + JOBS_TOGETHER]
            for of_block, origin, expected in self._workers.map(self._expect_block, jobs):
                self._expected[origin : origin + len(expected)] += expected
                likelihood += of_block
        return likelihood

    def _expect_block(self, first: int, last: int) -> tuple[float, int, Floats]:
        origin, size = 0, 0
        if len(self._a):
            origin = int(self._tables[first])
            size = int(self._shapes.starts[self._shape[last - 1] + 1]) - origin
        expected = np.zeros(size)
        likelihood = self._places.expect(first, last, self._t, self._a, self._tables, self._inverse, expected, origin)
        return likelihood, origin, expected

    def _log_prior(self) -> float:
        if not self._alpha:
            return 0.0
        unseen = self._n_unseen > 0
        others = float(self._n_unseen[unseen] @ np.log(self._rest[unseen]))
        return self._alpha * (float(np.log(self._t).sum()) + others)

    def maximise(self, keep: bool = False) -> None:  # noqa: ARG002 - the parameters are all there is
        """The M-step."""
        self._maximise_words()
        self._alignment = self._alignment.improved(self._shapes, self._expected)

    def _maximise_words(self) -> None:
        t, rest = self._t.copy(), self._rest.copy()

        def work(first: int, last: int) -> None:
            self._places.maximise(
                first, last, self._starts, self._words, t, rest, self._a, self._tables, self._inverse
            )  # fmt: skip

        self._workers.map(work, self._word_jobs)
        self._t, self._rest = t, rest

    def dead(self) -> list[int]:
        """No components die."""
        return []

    def reseed_components(self, components: list[int]) -> None:
        """Nothing: none is dead."""

    def restore(self, before: None) -> None:
        """Nothing: none was seeded."""

    # --- checkpoints -------------------------------------------------------------------------------------------------

    def state_dict(self) -> State:
        """The parameters."""
        return self.export_counts(self.counts())

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        found = self.restore_counts(saved)
        self._t, self._rest, self._alignment = found.table.t, found.table.rest, found.alignment

    def export_counts(self, counts: LexicalParameters) -> State:
        """The parameters, for a checkpoint: what is beside what, the pairs say."""
        state: State = {"t": counts.table.t, "rest": counts.table.rest}
        return state | counts.alignment.state_dict()

    def restore_counts(self, saved: CheckpointReader) -> LexicalParameters:
        """The parameters that `export_counts` described."""
        t, rest = (probabilities(saved, name, like) for name, like in (("t", self._t), ("rest", self._rest)))
        return LexicalParameters(WordTable(self._starts, self._words, t, rest), self._alignment.restored(saved))
