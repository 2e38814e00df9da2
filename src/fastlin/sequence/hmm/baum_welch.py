"""EM for hidden Markov models whose labels are hidden, all or some (Baum and Welch).

    E         what is expected of first labels, transitions, stops and emissions under p(y | x), y as far as it is known
    M         the probabilities that these counts and the pseudo-counts say
    bound     Σ log p(x, known y) + Σ α log φ + Σ α_s log p(first label) + Σ α_t log p(outcome | history)

No step lowers the bound. Sequences whose labels are all known are counted once, and need no inference.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.runtime import parallel
from fastlin.runtime.passes import PartitionSet
from fastlin.sequence.chain import Chain, NoPathError
from fastlin.sequence.hmm.emissions import EmissionPrior, Emissions
from fastlin.sequence.hmm.transitions import Smoothing, Transitions
from fastlin.sequence.partial_labels import FIRST_SET, LabelCodes
from fastlin.sequence.token_scores import dense_scores
from fastlin.sequence.tokens import Tokens

Floats = NDArray[np.float64]
TABLES = ("start", "steps", "ends")  # of transitions
BLOCK_TOKENS = 1 << 14  # tokens, at least one sequence


@dataclass
class HMMCounts:
    """Counts, seen or expected: of features under labels [V, K], of tokens of each label [K], and of transitions."""

    features: Floats
    labels: Floats
    transitions: Transitions

    @classmethod
    def none(cls, n_features: int, n_labels: int, order: int) -> "HMMCounts":
        return cls(aligned_zeros((n_features, n_labels)), np.zeros(n_labels), Transitions.none(n_labels, order))

    def __add__(self, other: "HMMCounts") -> "HMMCounts":
        transitions = Transitions(*(table.copy() for table in self.transitions.tables()))
        transitions.add(*other.transitions.tables())
        return HMMCounts(self.features + other.features, self.labels + other.labels, transitions)


@dataclass
class HMMParameters:
    """p of transitions, and log φ [V, K] with that of an unknown word."""

    transitions: Transitions
    log_phi: Floats
    log_unknown: Floats

    @classmethod
    def of(cls, sums: HMMCounts, vocabulary: EmissionPrior, smoothing: Smoothing) -> "HMMParameters":
        emissions = Emissions(sums.features, vocabulary)
        return cls(sums.transitions.probabilities(smoothing), emissions.log_phi, emissions.log_unknown)

    @classmethod
    def random(cls, words: Floats, n_labels: int, order: int, stop: bool, rng: np.random.Generator) -> "HMMParameters":
        """Uniform on the simplex; words as often as they are there, times exponential variates."""
        like = Transitions.none(n_labels, order)
        outcomes = rng.dirichlet(np.ones(n_labels + stop), like.ends.shape)
        ends = outcomes[..., n_labels] if stop else np.ones(like.ends.shape)
        shares = words[:, np.newaxis] * rng.exponential(size=(len(words), n_labels))
        total = shares.sum(axis=0)
        with np.errstate(divide="ignore"):
            logs = np.log(shares / np.where(total > 0, total, 1.0))
            unknown = np.full(n_labels, -np.inf)
        start = rng.dirichlet(np.ones(n_labels))
        return cls(Transitions(start, outcomes[..., :n_labels], ends), logs, unknown)


class SequenceBlock(NamedTuple):
    """A partition of sequences: their tokens, what is known of their labels, the number of each sequence."""

    tokens: Tokens
    codes: NDArray[np.int32]
    members: NDArray[np.uint8]  # of sets of labels, [n_sets, K]
    weights: Floats  # of sequences; of length 0: all are 1
    numbers: NDArray[np.int64]
    workers: Any


class SequenceBlocks(PartitionSet):
    """Some sequences at a time, with tokens up to a number; nothing is kept with them."""

    def __init__(self, tokens: Tokens, labels: LabelCodes, numbers: NDArray[np.int64]) -> None:
        self._tokens, self._labels, self._numbers = tokens, labels, numbers
        self._bounds = list(parallel.split_by_length(tokens.starts, BLOCK_TOKENS))

    def __len__(self) -> int:
        return len(self._bounds)

    @contextmanager
    def open(self, index: int, workers: Any = None) -> Iterator[SequenceBlock]:
        """One of them."""
        (first, last), starts = self._bounds[index], self._tokens.starts
        start, stop = int(starts[first]), int(starts[last])
        tokens = Tokens(self._tokens.rows.between(start, stop), starts[first : last + 1] - start, self._tokens.binary)
        labels, numbers = self._labels, self._numbers[first:last]
        codes, weights = labels.codes[start:stop], labels.weights[first:last]
        yield SequenceBlock(tokens, codes, labels.members, weights, numbers, workers)


class BaumWelch:
    """The parameters as they are, and the steps that better them, for an `EMRun`."""

    def __init__(
        self,
        tokens: Tokens,
        labels: LabelCodes,
        numbers: NDArray[np.int64],
        known: HMMCounts,
        vocabulary: EmissionPrior,
        smoothing: Smoothing,
        n_jobs: int | None,
    ) -> None:
        """Of tokens with their labels, of sequences with these numbers, beside what is `known` of others."""
        blocks = SequenceBlocks(replace(tokens, rows=tokens.rows.astype(np.dtype(np.float64))), labels, numbers)
        self._data, self._known = parallel.WorkerPool(n_jobs).passes(blocks), known
        self._vocabulary, self._smoothing = vocabulary, smoothing
        self.width = len(known.labels)
        n_known, weights = float(known.labels.sum()), labels.token_weights(tokens.starts)
        self.total_weight = (tokens.n_tokens if weights is None else float(weights.sum())) + n_known
        words = float(tokens.rows.values[: tokens.rows.nnz].sum(dtype=np.float64) + known.features.sum())
        self.factors = 2 * self.total_weight + words + 2 * len(tokens)

    def start(self, parameters: HMMParameters) -> None:
        self._now = parameters
        self._kept: HMMCounts | None = None

    def expect(self) -> float:
        """The E-step. Returns the bound of the parameters."""
        n_features, n_labels = self._known.features.shape
        sums, bound = HMMCounts.none(n_features, n_labels, self._known.transitions.order), self._of_known()
        total = np.array([bound])
        into = total, sums.features, sums.labels, *sums.transitions.tables()
        self._data.fold(_expect, self._now.transitions.chain(), self._now.log_phi, into=into)
        self._expected = sums
        return float(total[0]) + self._of_prior()

    def maximise(self, keep: bool = False) -> None:  # noqa: ARG002 - counts are always kept
        """The M-step: the most likely parameters for what was expected."""
        kept = self._kept = self._expected + self._known
        self._now = HMMParameters.of(kept, self._vocabulary, self._smoothing)

    def counts(self) -> HMMCounts:
        """The counts that the parameters are made of; those that the start expects, before the first M-step."""
        return self._expected + self._known if self._kept is None else self._kept

    # No state is seeded again: it may come back, as its history has not died.

    def dead(self) -> list[int]:
        return []

    def reseed_components(self, components: list[int]) -> None:
        """Nothing: none is dead."""

    def restore(self, before: None) -> None:
        """Nothing: none was seeded."""

    # Checkpoints

    def state_dict(self) -> State:
        """The parameters."""
        now = self._now
        return {**_named(now.transitions.tables()), "log_phi": now.log_phi, "log_unknown": now.log_unknown}

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said."""
        known, log_phi = self._known, aligned_zeros(self._known.features.shape)
        saved.read_into("log_phi", log_phi, finite=False)
        log_unknown = saved.array("log_unknown", known.labels, finite=False)
        self.start(HMMParameters(_tables_of(saved, known.transitions), log_phi, log_unknown))

    def export_counts(self, counts: HMMCounts) -> State:
        """What `counts` returned, for a checkpoint."""
        return {"features": counts.features, "labels": counts.labels, **_named(counts.transitions.tables())}

    def restore_counts(self, saved: CheckpointReader) -> HMMCounts:
        """The counts that `export_counts` described."""
        features = aligned_zeros(self._known.features.shape)
        saved.read_into("features", features)
        labels = saved.array("labels", self._known.labels)
        return HMMCounts(features, labels, _tables_of(saved, self._known.transitions))

    # Parts

    def _of_known(self) -> float:
        """log p(x, y) of the labelled sequences."""
        found = _weighted_sum(self._known.features, self._now.log_phi)
        for counts, p in zip(self._known.transitions.tables(), self._now.transitions.tables(), strict=True):
            with np.errstate(divide="ignore"):
                found += _weighted_sum(counts, np.log(p))
        return found

    def _of_prior(self) -> float:
        """Σ α log p of all probabilities that have pseudo-counts."""
        smoothing, now, found = self._smoothing, self._now, 0.0
        if self._vocabulary.alpha > 0:
            found += self._vocabulary.alpha * float(now.log_phi.sum())
            if self._vocabulary.words is not None:
                found += self._vocabulary.alpha * float(now.log_unknown.sum())
        start, steps, ends = now.transitions.tables()
        with np.errstate(divide="ignore"):
            if smoothing.start > 0:
                found += smoothing.start * float(np.log(start).sum())
            if smoothing.step > 0:
                found += smoothing.step * float(np.log(steps).sum() + np.log(ends).sum())
        return found


def _named(tables: Sequence[Floats]) -> State:
    """The tables of transitions by their names."""
    return dict(zip(TABLES, tables, strict=True))


def _tables_of(saved: CheckpointReader, like: Transitions) -> Transitions:
    return Transitions(*(saved.array(name, table) for name, table in zip(TABLES, like.tables(), strict=True)))


def _expect(
    block: SequenceBlock,
    chain: Chain,
    log_phi: Floats,
    bound: Floats,
    features: Floats,
    labels: Floats,
    *transitions: Floats,
) -> None:
    """Add what is expected of some sequences to the counts, and Σ log p to the bound."""
    tokens, codes, n_jobs = block.tokens, block.codes, block.workers.threads
    scores = dense_scores(tokens, log_phi, 0, tokens.n_tokens)
    there = np.flatnonzero(codes >= 0)
    own = scores[there, codes[there]]
    scores[there] = -np.inf
    scores[there, codes[there]] = own
    if (some := np.flatnonzero(codes <= FIRST_SET)).size:
        scores[some] = np.where(block.members[FIRST_SET - codes[some]], scores[some], -np.inf)
    try:
        found = chain.expected(scores, tokens.starts, weights=block.weights, n_jobs=n_jobs)
    except NoPathError as error:
        number = block.numbers[error.sequence]
        raise ValueError(f"sequence {number} cannot come about with the probabilities of init") from None
    marginals, log_z = found.marginals, found.log_z
    if len(block.weights):
        marginals = marginals * np.repeat(block.weights, tokens.lengths)[:, np.newaxis]
        log_z = log_z * block.weights
    bound += float(log_z.sum())
    parallel.backward(tokens.rows, marginals, features, n_jobs)
    labels += marginals.sum(axis=0)
    Transitions(*transitions).add(found.starts, found.transitions, found.ends)


def _weighted_sum(counts: Floats, logs: Floats) -> float:
    """Σ c log p; 0 · log 0 = 0."""
    there = counts > 0
    return float(counts[there] @ logs[there])


def as_start(given: Any, n_features: int, n_labels: int, order: int, stop: bool) -> HMMParameters:
    """Parameters that a user gives to start from."""
    names = ("startprob", "transmat", "emissionprob")
    wanted = f"init must be 'random', 'labels' or a dict of {', '.join(names)} (and stopprob)"
    if not isinstance(given, dict):
        raise ValueError(f"{wanted}, got {given!r:.80}")
    if unknown := [name for name in given if name not in (*names, "stopprob")]:
        raise ValueError(f"{wanted}; it has {unknown[0]!r}")
    if missing := [name for name in names if name not in given]:
        raise ValueError(f"{wanted}; it has no {missing[0]}")
    like = Transitions.none(n_labels, order)
    shapes = {"startprob": like.start.shape, "transmat": like.steps.shape, "stopprob": like.ends.shape}
    shapes["emissionprob"] = (n_labels, n_features)
    arrays = {}
    for name, values in given.items():
        array = np.array(values, np.float64)
        if array.shape != shapes[name]:
            raise ValueError(f"init[{name!r}] has the shape {array.shape}, but must have {shapes[name]}")
        if not (array >= 0).all() or not (array <= 1 + 1e-6).all():
            raise ValueError(f"init[{name!r}] must hold probabilities")
        arrays[name] = array
    steps = arrays["transmat"]
    ends = np.ones(like.ends.shape)
    if stop:
        ends = arrays.get("stopprob", np.maximum(0.0, 1 - steps.sum(axis=-1)))
    elif "stopprob" in arrays:
        raise ValueError("init has a stopprob, but stop is False")
    sums = {"startprob": arrays["startprob"].sum(), "transmat": steps.sum(axis=-1) + (ends if stop else 0)}
    sums["emissionprob"] = arrays["emissionprob"].sum(axis=1)
    for name, total in sums.items():
        if not np.allclose(total, 1, rtol=0, atol=1e-6):
            whole = " with stopprob" if stop and name == "transmat" else ""
            raise ValueError(f"the rows of init[{name!r}]{whole} must sum to 1")
    if not (ends > 0).any():
        raise ValueError(
            "with the probabilities of init no sequence ends: give a stopprob that adds up to 1 with the rows of "
            "transmat, or set stop=False"
        )
    with np.errstate(divide="ignore"):
        log_phi = np.log(arrays["emissionprob"].T)
    return HMMParameters(
        Transitions(arrays["startprob"], steps, ends), np.ascontiguousarray(log_phi), np.full(n_labels, -np.inf)
    )
