"""EM for channels of characters: how often each edit is expected in pairs of words, and what that makes of it.

Each context, a gap behind a character, a character behind another, two characters, has a multinomial over what comes
of it, with a Dirichlet prior whose mean says what is known without it: four rates, and of characters behind others
what comes of them behind any. These means are found first, from where the rates are guesses, and stay as they are.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastlin.channel.edit_model import (
    ALONE,
    CONSUME,
    INSERT,
    TRANSPOSE,
    EditModel,
    EditRates,
    code_points,
    numbered,
)
from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.channel.edit_lattice import LARGEST_LATTICE, EditLattice, EncodedWords
from fastlin.runtime.parallel import WorkerPool, split_by_length

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
GUESS = EditRates(0.02, 0.02, 0.03, 0.01)
CELLS_OF_A_CALL = 1 << 19
PARTS = 16  # with counts of their own, which are added in their order


@dataclass(frozen=True)
class WordPairs:
    """Pairs of words, as characters, one behind the other, and their weights."""

    source: NDArray[np.int32]
    source_starts: Integers
    observed: NDArray[np.int32]
    observed_starts: Integers
    weights: Floats
    alphabet: NDArray[np.int32]

    @classmethod
    def of(cls, sources: list[str], observed: list[str], weights: Floats) -> "WordPairs":
        for place, (source, word) in enumerate(zip(sources, observed, strict=True)):
            if (len(source) + 1) * (len(word) + 1) > LARGEST_LATTICE:
                raise ValueError(
                    f"X[{place}] has words of {len(source)} and {len(word)} characters, which are too long: the "
                    f"product of their lengths must be at most {LARGEST_LATTICE}"
                )
        (x, x_starts), (y, y_starts) = code_points(sources), code_points(observed)
        alphabet = np.unique(np.concatenate([x, y]))
        return cls(numbered(x, alphabet), x_starts, numbered(y, alphabet), y_starts, weights, alphabet)

    @property
    def cells(self) -> Integers:
        """Cells of the lattice of each pair."""
        return (np.diff(self.source_starts) + 1) * (np.diff(self.observed_starts) + 1)


class Events:
    """The events that there may be in pairs: what may come of each context.

    Every array has an entry for each event; contexts are numbered, as are characters behind any others.
    """

    def __init__(self, pairs: WordPairs) -> None:
        self.N = N = len(pairs.alphabet) + 2
        cuts = split_by_length(np.concatenate([[0], np.cumsum(pairs.cells)]), CELLS_OF_A_CALL)
        found = [np.empty(0, np.int64)]
        for start, stop in cuts:
            found.append(np.unique(np.concatenate(list(_keys(pairs, start, stop, N)))))
        self.keys = np.unique(np.concatenate(found))
        self.outcome = self.keys % N
        self.context_keys, self.context = np.unique(self.keys // N, return_inverse=True)
        contexts = self.keys // N
        self.kind, self.second = contexts // N**2, contexts % N
        consumed = self.kind == CONSUME
        self.consumed = np.flatnonzero(consumed)
        alone = (ALONE * N**2 + self.second[consumed]) * N + self.outcome[consumed]
        self.alone_keys, self.alone = np.unique(alone, return_inverse=True)
        self.alone_context_keys, self.alone_context = np.unique(self.alone_keys // N, return_inverse=True)

    def base(self, rates: EditRates, alone: Floats) -> Floats:
        """The probabilities that rates give events, and `alone` characters behind any."""
        known = 1 / (self.N - 1)
        nothing = self.outcome == 0
        p = np.where(nothing, 1 - rates.insertion, rates.insertion * known)
        p = np.where(self.kind == TRANSPOSE, np.where(nothing, 1 - rates.transposition, rates.transposition), p)
        p[self.consumed] = alone[self.alone]
        return p

    def base_alone(self, rates: EditRates) -> Floats:
        """p(b | a) by the rates."""
        known = 1 / (self.N - 1)
        a, b = self.alone_keys // self.N % self.N, self.alone_keys % self.N
        changed = np.where(b == 0, rates.deletion, rates.substitution * known / (1 - known) if known < 1 else 0.0)
        return np.where(a == b, 1 - rates.deletion - rates.substitution, changed)

    def rates(self, counts: Floats) -> EditRates:
        """Rates by expected counts, and one more of what was guessed."""
        nothing = self.outcome == 0
        inserts, transposes, consumes = (self.kind == kind for kind in (INSERT, TRANSPOSE, CONSUME))
        kept = consumes & (self.outcome == self.second)
        inserted, stopped = counts[inserts & ~nothing].sum(), counts[inserts & nothing].sum()
        deleted, consumed = counts[consumes & nothing].sum(), counts[consumes].sum()
        substituted = consumed - deleted - counts[kept].sum()
        swapped, all_pairs = counts[transposes & ~nothing].sum(), counts[transposes].sum()
        found = ((inserted, inserted + stopped), (deleted, consumed), (substituted, consumed), (swapped, all_pairs))
        return EditRates(*(float((n + guess) / (of + 1)) for (n, of), guess in zip(found, GUESS, strict=True)))


def _keys(pairs: WordPairs, start: int, stop: int, N: int) -> Iterator[Integers]:
    """Keys of the events in some pairs, many of them more than once."""
    x_starts, y_starts = pairs.source_starts[start : stop + 1], pairs.observed_starts[start : stop + 1]
    lengths, widths = np.diff(x_starts), np.diff(y_starts)
    gaps = np.repeat(np.arange(stop - start), lengths + 1)  # the pair of each gap
    before = np.zeros(len(gaps), np.int64)
    first = np.zeros(len(gaps), bool)
    first[np.cumsum(lengths + 1) - lengths - 1] = True
    x = pairs.source[x_starts[0] : x_starts[-1]].astype(np.int64)
    before[~first] = x
    of = np.repeat(np.arange(stop - start), lengths)
    c = before[np.flatnonzero(~first) - 1]
    yield from _with_outcomes((INSERT * N) * N + before, pairs, y_starts, widths, gaps, N)
    yield from _with_outcomes((CONSUME * N + c) * N + x, pairs, y_starts, widths, of, N)
    a, b = x[:-1], x[1:]
    two = (TRANSPOSE * N + a[(of[:-1] == of[1:]) & (a != b)]) * N + b[(of[:-1] == of[1:]) & (a != b)]
    yield two * N
    yield two * N + 1


def _with_outcomes(
    contexts: Integers, pairs: WordPairs, y_starts: Integers, widths: Integers, of: NDArray[np.intp], N: int
) -> Iterator[Integers]:
    """Contexts with every character of the observed words of their pairs, and with none."""
    yield contexts * N
    width = widths[of]
    ends = np.cumsum(width)
    places = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - width, width) + np.repeat(y_starts[of], width)
    yield np.repeat(contexts, width) * N + pairs.observed[places]


class EditEM:
    """The parameters as they are, and the steps that better them, for an `EMRun`."""

    width = 0  # components that may die

    def __init__(self, pairs: WordPairs, alpha: float, workers: WorkerPool) -> None:
        self._pairs, self._alpha, self._workers = pairs, alpha, workers
        self._events = events = Events(pairs)
        self._x = EncodedWords(pairs.source, pairs.source_starts, pairs.alphabet)
        self._y = EncodedWords(pairs.observed, pairs.observed_starts, pairs.alphabet)
        self.total_weight = float(pairs.weights.sum())
        self.factors = self.total_weight + alpha * len(events.context_keys)
        self._jobs = self._cut()
        self._p = events.base(GUESS, events.base_alone(GUESS))
        self._lattice = EditLattice(events.keys, self._p, np.array(GUESS), len(pairs.alphabet))
        self.expect_counts()
        self._rates = events.rates(self._counts)
        self._p[:] = events.base(self._rates, events.base_alone(self._rates))
        self.expect_counts()
        self._learn_alone()
        self._base = events.base(self._rates, self._alone)

    def _cut(self) -> list[tuple[list[NDArray[np.int32]]]]:
        """Parts of the pairs, each in pieces of bounded work; they depend on the pairs alone."""
        cells = np.concatenate([[0], np.cumsum(self._pairs.cells)])
        pieces = [np.arange(*cut, dtype=np.int32) for cut in split_by_length(cells, CELLS_OF_A_CALL)]
        cuts = np.linspace(0, len(pieces), min(PARTS, len(pieces)) + 1).astype(int)
        return [(pieces[start:stop],) for start, stop in itertools.pairwise(cuts)]

    def _learn_alone(self) -> None:
        """p(b | a), by expected counts and the rates."""
        events, alpha = self._events, self._alpha
        counts = _sums(events.alone, self._counts[events.consumed], len(events.alone_keys))
        totals = _sums(events.alone_context, counts, len(events.alone_context_keys))
        base = events.base_alone(self._rates)
        self._alone = _mixed(counts, totals[events.alone_context], base, alpha)
        self._alone_rest = _rest(totals, alpha)

    def begin(self) -> None:
        """Start where no context differs from what is known without it."""
        self._p[:] = self._base
        self._rest = np.ones(len(self._events.context_keys))

    def expect_counts(self) -> float:
        """The expected counts; returns the logarithm of the likelihood."""

        def expected(pieces: list[NDArray[np.int32]]) -> tuple[float, Floats]:
            counts, total = np.zeros(len(self._p)), 0.0
            for which in pieces:
                total += self._lattice.expect(self._x, self._y, which, self._pairs.weights, counts)
            return total, counts

        found = self._workers.map(expected, self._jobs)
        self._counts = np.zeros(len(self._p))
        for _, counts in found:
            self._counts += counts
        return sum(total for total, _ in found)

    def expect(self) -> float:
        """The E-step; returns the logarithm of the likelihood, and of the prior but for a constant."""
        found = self.expect_counts()
        return found + self._alpha * self._log_prior() if self._alpha else found

    def _log_prior(self) -> float:
        """−Σ KL(what is known without a context ‖ its probabilities)."""
        events = self._events
        gains = self._base * np.log(self._p / self._base)
        unseen = 1 - _sums(events.context, self._base, len(events.context_keys))
        return float(gains.sum() + (np.maximum(unseen, 0.0) * np.log(self._rest)).sum())

    def maximise(self, keep: bool = False) -> None:  # noqa: ARG002 - the parameters are all there is
        """The M-step."""
        context = self._events.context
        totals = _sums(context, self._counts, len(self._events.context_keys))
        self._p[:] = _mixed(self._counts, totals[context], self._base, self._alpha)
        self._rest = _rest(totals, self._alpha)

    def counts(self) -> EditModel:
        """The parameters, as a model."""
        events, N = self._events, self._events.N
        falls_back = events.context_keys // N**2 != TRANSPOSE
        parts = (
            (events.keys, self._p),
            (events.alone_keys, self._alone),
            (events.context_keys[falls_back] * N + N - 1, self._rest[falls_back]),
            (events.alone_context_keys * N + N - 1, self._alone_rest),
        )
        keys, p = (np.concatenate([part[of] for part in parts]) for of in range(2))
        order = np.argsort(keys)
        return EditModel(self._pairs.alphabet, keys[order], p[order], self._rates)

    def dead(self) -> list[int]:
        """Components that lost all pairs: there are none."""
        return []

    def reseed_components(self, components: list[int]) -> None:
        """Nothing: none is dead."""

    def restore(self, before: None) -> None:
        """Nothing: none was seeded."""

    # Checkpoints

    def state_dict(self) -> State:
        """The parameters that iterations change."""
        return {"p": self._p, "rest": self._rest}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        self._p[:] = saved.array("p", np.empty(len(self._p)))
        self._rest = saved.array("rest", np.empty(len(self._events.context_keys)))

    def export_counts(self, counts: EditModel) -> State:
        """Nothing: no checkpoint holds the end of a run, as there is only one."""
        del counts
        return {}

    def restore_counts(self, saved: CheckpointReader) -> EditModel:
        """The parameters as they are."""
        del saved
        return self.counts()


def _sums(of: NDArray[np.intp], values: Floats, n: int) -> Floats:
    """The sums of values over what they are of."""
    return np.bincount(of, values, n).astype(np.float64, copy=False)


def _mixed(counts: Floats, totals: Floats, base: Floats, alpha: float) -> Floats:
    """(n + α base) / (N + α); base where both are 0."""
    of = totals + alpha
    return np.where(of > 0, (counts + alpha * base) / np.where(of > 0, of, 1.0), base)


def _rest(totals: Floats, alpha: float) -> Floats:
    """α / (N + α); 1 where both are 0."""
    of = totals + alpha
    return np.where(of > 0, alpha / np.where(of > 0, of, 1.0), 1.0)
