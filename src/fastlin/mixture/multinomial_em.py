"""EM for naive Bayes whose labels have components: forward and softmax, backward and normalise.

    p(x, c) = π_c Π_j φ_cj^{x_j}      c runs over the components, which stand in families, one a label
    E         q_ic = p(c | x_i), over the components of the row's label, or over all where it has none
    M         φ_cj = (αVρ_j + Σ_i w_i q_ic x_ij) / Σ_j the same,   π_c = Σ_i w_i q_ic / Σ_i w_i
    bound     Σ_i w_i log p(x_i) + Σ_cj αVρ_j log φ_cj, which neither step lowers

Rows whose label has a single component need no inference: they are counted once, and what they say stands beside the
prior from then on. An iteration passes over the other rows forward and over their columns backward, where the
logarithms of the new φ are taken while the counts are in cache. The totals of the components need no pass: they are the
lengths of the rows, shared out. See docs/engine.md for what that saves.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.core.checkpoint_reader import CheckpointReader, State
from fastlin.core.class_counts import ClassCounts, SmoothingPrior
from fastlin.engine.core import passes
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.engine.solvers import multinomial_em as kernels
from fastlin.mixture.merged_columns import MergedPartitions
from fastlin.optim.partitions import Blocks, Partition, PerRowArrays, row_blocks
from fastlin.optim.weight_layouts import DenseWeights
from fastlin.runtime import parallel
from fastlin.runtime.partition_sums import PartialSum, join_sums

Floats = NDArray[np.float64]
Fill = Callable[..., None]  # fill(partition, shares) writes the responsibilities of its rows, [n, M]
LOGARITHM = 8  # non-zeros
LOG_CHUNK = 1 << 10  # numbers: the part of a table whose logarithms are taken together
DEAD_SHARE = 1e-9  # of all mass: a component with less has no share of any row


@dataclass(frozen=True)
class RandomFill:
    """Responsibilities that are uniform on the simplex."""

    generator: np.random.Generator

    def __call__(self, part: Partition, shares: Floats, generator: np.random.Generator) -> None:  # noqa: ARG002
        generator.standard_exponential(out=shares)
        shares /= shares.sum(axis=1, keepdims=True)


class EMRows(NamedTuple):
    """What EM leaves with the rows."""

    lengths: PerRowArrays  # |x|
    shares: PerRowArrays  # w q, of one partition at a time


class _ReseedState(NamedTuple):
    """What components were before they were seeded again."""

    places: list[int]
    logs: Floats
    log_masses: Floats
    penalties: Floats
    masses: Floats
    counts: Floats


class MultinomialEM:
    """The parameters as they are, and the steps that better them."""

    def __init__(
        self,
        parts: MergedPartitions,
        families: NDArray[np.int64],
        prior: SmoothingPrior,
        known: ClassCounts | None,
        n_columns: int,
        workers: parallel.WorkerPool,
    ) -> None:
        self.parts, self.families, self.prior = parts, families, prior
        self.width, self.n_columns = int(families[-1]), n_columns
        self._known = ClassCounts(np.zeros((0, self.width)), np.zeros(self.width), prior) if known is None else known
        pseudo = np.broadcast_to(prior.pseudo, n_columns)
        self._pseudo = pseudo[parts.features]
        self._alpha, self._extra = self._pseudo_count_table(known)
        self._fixed_totals = self._known.features.sum(axis=0) + pseudo.sum()
        unseen = np.delete(pseudo, parts.members)  # of features that no row has: their φ is the prior's
        unseen = unseen[unseen > 0]
        self._unseen = float(unseen.sum()), float(unseen @ np.log(unseen))
        self._rare = int(np.argmax(np.append(parts.times, 2) > 1))  # columns of several features stand last
        self._others = parts.times[self._rare :] - 1
        self.data = workers.passes(parts)
        self._logs = aligned_zeros((parts.n_features, self.width))
        self._workers, self._is_alone = workers, len(parts) == 1
        self._sums = self._logs if self._is_alone else aligned_zeros(self._logs.shape)
        self._counts = np.empty((0, self.width))
        self._rows = EMRows(
            self.data.derive("lengths", 1, _write_lengths),
            self.data.allocate("responsibilities", self.width, transient=True),
        )
        self.total_weight = parts.total_weight + float(self._known.labels.sum())
        words = float(self._fixed_totals.sum()) + self.data.sum(_measure, self._rows)
        self.factors = self.total_weight + words  # what logarithms are multiplied with in the bound, in all

    # Steps

    def start(self, fill: Fill | None, keep: bool = False) -> None:
        """The M-step from responsibilities that `fill` writes; without it, from what is known alone."""
        self._masses, self._words = np.zeros(self.width), np.zeros(self.width)
        into = self._masses, self._words, self._sums
        if isinstance(fill, RandomFill):
            self._start_in_order(fill, into)
        elif self._is_alone:
            self.data.at(0, _start, self._rows, fill, into=into)
        else:
            self.data.sum(_start, self._rows, fill, into=into)
        self.maximise(keep)

    def _start_in_order(self, fill: RandomFill, into: tuple[Floats, ...]) -> None:
        """The sums of responsibilities that one generator draws for a partition after the other."""
        sums: list[PartialSum] = []
        n = len(self.parts)
        for index in range(n):
            arrays = tuple(map(np.zeros_like, into)) if index else into
            self.data.at(index, _start, self._rows, fill, into=(*arrays, fill.generator))
            sums = join_sums(sums, [PartialSum(index, index + 1, None, arrays)], n)

    def expect(self) -> float:
        """The E-step: what the rows say of the components. Returns the bound of the parameters."""
        known = self._known.labels @ np.where(self._known.labels > 0, self._log_masses, 0.0)
        likelihood = np.array([known if self._is_alone else 0.0])
        self._masses, self._words = np.zeros(self.width), np.zeros(self.width)
        sums = likelihood, self._masses, self._words, self._sums
        arguments = self._rows, self.families, self._logs, self._log_masses
        if self._is_alone:
            self.data.at(0, _expect, *arguments, into=sums)
        else:
            self.data.sum(_expect, *arguments, into=sums)
            likelihood += known
        return float(likelihood[0]) + float(self._penalties.sum())

    def maximise(self, keep: bool = False) -> None:
        """The M-step: the most likely parameters for what the rows said; `keep` their counts for `counts()`."""
        self._log_masses = self._mass_logarithms(self._masses + self._known.labels)
        totals = self._words + self._fixed_totals
        empty = totals <= 0
        log_totals = np.log(np.where(empty, 1.0, totals))
        self._counts = aligned_zeros(self._logs.shape) if keep else self._counts[:0]
        self._kept = self._masses + self._known.labels
        tile = np.tile(log_totals, (max(1, LOG_CHUNK // self.width), 1))
        tables = self._alpha, self._extra, tile
        if self._is_alone:
            found = self.data.at(0, _maximise, self._rows, *tables, into=(self._counts, self._sums))
        else:
            found = self._maximise_sums(*tables)
        self._logs, self._sums = self._sums, self._logs
        if empty.any():
            with np.errstate(divide="ignore"):
                self._logs[:, empty] = np.log(
                    np.broadcast_to(self.prior.measure, self.n_columns)[self.parts.features, None]
                )
        mass, entropy = self._unseen
        self._penalties = sum(found, np.where(mass > 0, entropy - mass * log_totals, 0.0))
        if self._alpha > 0:
            self._penalties += self._alpha * (self._others @ self._logs[self._rare :])

    def counts(self) -> ClassCounts:
        """The expected counts that the parameters are made of, if they were kept."""
        features = aligned_zeros((self.n_columns, self.width))
        features[self.parts.members] = self._counts[self.parts.places]
        if len(self._known.features):
            features += self._known.features
        return ClassCounts(features, self._kept.copy(), self.prior)

    # Checkpoints

    def state_dict(self) -> State:
        """The parameters."""
        return {
            "logs": self._logs, "log_masses": self._log_masses, "penalties": self._penalties, "masses": self._kept,
        }  # fmt: skip

    def load_state_dict(self, saved: CheckpointReader) -> None:
        """Become what `state_dict` said; there are no counts before the next M-step."""
        numbers = np.empty(self.width)
        saved.read_into("logs", self._logs, finite=False)
        self._log_masses = saved.array("log_masses", numbers, finite=False)
        self._penalties = saved.array("penalties", numbers, finite=False)
        self._kept = saved.array("masses", numbers)

    def export_counts(self, counts: ClassCounts) -> State:
        """What `counts` returned, for a checkpoint."""
        return {"features": counts.features, "labels": counts.labels}

    def restore_counts(self, saved: CheckpointReader) -> ClassCounts:
        """The counts that `export_counts` described."""
        counts = ClassCounts.zeros(self.n_columns, self.width, self.prior)
        saved.read_into("features", counts.features)
        saved.read_into("labels", counts.labels)
        return counts

    # Components that died

    def dead(self) -> list[int]:
        """The components that no row has a share of, as the last M-step saw it."""
        return np.flatnonzero((self._kept <= DEAD_SHARE * self.total_weight) & (self._known.labels == 0)).tolist()

    def reseed_components(self, places: list[int]) -> _ReseedState:
        """Give dead components the rows that are explained worst, one each.

        Returns what they were, for `restore`; rows may be fewer than components. The counts, if they are kept, become
        those of the rows.
        """
        logs, counts = self._logs[:, places], self._counts[:, places]
        before = _ReseedState(places, logs, self._log_masses, self._penalties.copy(), self._kept, counts)
        self._kept = self._kept.copy()
        for place, (index, row) in self._worst(places).items():
            columns, values, weight = self.data.at(index, _row, row)
            counts, times = np.zeros(self.parts.n_features), self.parts.times
            counts[columns] = np.multiply(weight, values, dtype=np.float64) / times[columns]
            self._kept[place] = weight
            if len(self._counts):
                self._counts[:, place] = counts
            counts += self._pseudo
            mass, entropy = self._unseen
            total = times @ counts + mass
            with np.errstate(divide="ignore"):
                logs = self._logs[:, place] = np.log(counts) - np.log(total)
            own = self._pseudo > 0
            self._penalties[place] = (times * self._pseudo)[own] @ logs[own] + entropy - mass * np.log(total)
        self._log_masses = self._mass_logarithms(self._kept)
        return before

    def restore(self, before: _ReseedState) -> None:
        """Take `seed` back."""
        self._logs[:, before.places] = before.logs
        self._counts[:, before.places] = before.counts
        self._log_masses, self._penalties, self._kept = before.log_masses, before.penalties, before.masses

    def _worst(self, places: list[int]) -> dict[int, tuple[int, int]]:
        """For a component each, a row of its label or of none, no row twice: those that gain most by it.

        With the words of a row for its own, w (Σ_j x_j log x_j/|x| − log p(x, c)) is gained, c its best component.
        """
        arguments = self._rows, self._logs, self._log_masses, self.parts.times, len(places)
        found = list(itertools.chain.from_iterable(self.data.each(_worst_rows, *arguments)))
        found.sort()
        chosen: dict[int, tuple[int, int]] = {}
        for place in places:
            label = int(np.searchsorted(self.families, place, side="right")) - 1
            for _, index, row, code in found:
                if code in (-1, label) and (index, row) not in chosen.values():
                    chosen[place] = index, row
                    break
        return chosen

    # Parts

    def _pseudo_count_table(self, known: ClassCounts | None) -> tuple[float, Floats]:
        """What is added to expected counts: a number, and a table unless all features and components are alike."""
        if len(self.prior.pseudo) > 1:
            pseudo = np.repeat(self._pseudo[:, np.newaxis], self.width, axis=1)
            return 0.0, pseudo if known is None else pseudo + known.features[self.parts.features]
        alpha = float(self.prior.pseudo[0])
        return alpha, np.empty((0, self.width)) if known is None else known.features[self.parts.features]

    def _maximise_sums(self, alpha: float, extra: Floats, tile: Floats) -> list[Floats]:
        """log φ from the sums of all partitions; returns Σ α log φ of blocks."""
        n, width = self._sums.shape
        indptr, nothing = np.zeros(n + 1, np.int64), np.zeros((1, width))

        def work(low: int, high: int) -> Floats:
            columns = CSRView(indptr, np.empty(0, np.int32), np.empty(0), low, high)
            prior = np.zeros(tile.shape)
            own = self._counts[low:high], self._sums[low:high]
            kernels.maximise(columns, nothing, alpha, extra, tile, True, *own, prior)
            return prior.sum(axis=0)

        blocks = parallel.split_by_work(indptr + LOGARITHM * np.arange(n + 1), width)
        return self._workers.map(work, list(blocks))

    def _mass_logarithms(self, masses: Floats) -> Floats:
        """log π; uniform where all masses are zero."""
        with np.errstate(divide="ignore"):
            if self.prior.labels is None:
                total = masses.sum()
                return np.log(masses) - np.log(total) if total > 0 else np.full(self.width, -np.log(self.width))
            sizes = np.diff(self.families)
            of_labels = np.repeat(np.add.reduceat(masses, self.families[:-1]), sizes)
            shares = np.where(
                of_labels > 0, masses / np.where(of_labels > 0, of_labels, 1.0), 1 / np.repeat(sizes, sizes)
            )
            return np.log(shares) + np.repeat(self.prior.labels, sizes)


# The work on a partition


def _logarithm_blocks(part: Partition, width: int) -> Blocks:
    """Blocks of columns of which each is as dear as its non-zeros and a logarithm."""
    indptr = part.design.column_indptr
    return list(parallel.split_by_work(indptr + LOGARITHM * np.arange(len(indptr)), width))


def _write_lengths(part: Partition, of_rows: Floats) -> None:
    """The length of each row, the words it has."""
    lengths, ones = of_rows[:, 0], np.ones(part.design.n_features)

    def work(start: int, stop: int) -> None:
        passes.column_dots(*part.design.rows(start, stop), start, stop, ones, lengths[start:stop])

    part.map_blocks(work, row_blocks, 1)


def _measure(part: Partition, rows: EMRows) -> float:
    """Σ w |x|."""
    lengths = part.map(rows.lengths)[:, 0]
    return float(lengths @ part.labels.weights if len(part.labels.weights) else lengths.sum())


def _start(
    part: Partition,
    rows: EMRows,
    fill: Fill | None,
    masses: Floats,
    words: Floats,
    sums: Floats,
    *drawn: np.random.Generator,
) -> None:
    """Take in the responsibilities that `fill` writes."""
    shares = part.map(rows.shares)
    shares[:] = 0
    if fill is not None:
        fill(part, shares, *drawn)
        if len(part.labels.weights):
            shares *= part.labels.weights[:, np.newaxis]
        masses += shares.sum(axis=0)
        words += part.map(rows.lengths)[:, 0] @ shares
    _gather(part, shares, sums)


def _expect(
    part: Partition,
    rows: EMRows,
    families: NDArray[np.int64],
    logs: Floats,
    log_masses: Floats,
    likelihood: Floats,
    masses: Floats,
    words: Floats,
    sums: Floats,
) -> None:
    """The E-step: adds up Σ w log p(x), the rows and words of each component, and its expected counts."""
    shares, lengths, width = part.map(rows.shares), part.map(rows.lengths)[:, 0], len(log_masses)
    codes, weights = part.labels.codes, part.labels.weights

    def infer(start: int, stop: int) -> tuple[float, Floats, Floats]:
        its_masses, its_words, block = np.zeros(width), np.zeros(width), slice(start, stop)
        found = kernels.posterior(
            _scores(part, logs, log_masses, start, stop), codes[block], weights[block], families, log_masses,
            lengths[block], shares[block], its_masses, its_words,
        )  # fmt: skip
        return found, its_masses, its_words

    total = likelihood, masses, words
    own = total if part.starts_sums else tuple(map(np.zeros_like, total))
    for found in part.map_blocks(infer, row_blocks, width):
        for mine, theirs in zip(own, found, strict=True):
            mine += theirs
    if own is not total:
        for mine, theirs in zip(total, own, strict=True):
            mine += theirs
    _gather(part, shares, sums)


def _gather(part: Partition, shares: Floats, sums: Floats) -> None:
    """Add the expected counts of a partition to the sums; those of the only one are the M-step's business."""
    if part.is_last and part.index == 0:
        return
    layout = DenseWeights(*sums.shape)

    def work(low: int, high: int) -> None:
        own = sums[low:high].reshape(-1)
        layout.backward(part.design, part.design.column_values, shares, low, high, own, not part.starts_sums)

    part.map_blocks(work, _logarithm_blocks, layout.width)


def _maximise(
    part: Partition, rows: EMRows, alpha: float, extra: Floats, tile: Floats, counts: Floats, sums: Floats
) -> list[Floats]:
    """The only partition's expected counts, and log φ while they are in cache; returns Σ α log φ of blocks."""
    width = sums.shape[1]
    shares = part.map(rows.shares) if part.design.n_rows else np.zeros((1, width))

    def work(low: int, high: int) -> Floats:
        columns = CSRView(*part.design.columns(low, high, part.design.column_values), low, high)
        prior = np.zeros(tile.shape)
        kernels.maximise(columns, shares, alpha, extra, tile, False, counts[low:high], sums[low:high], prior)
        return prior.sum(axis=0)

    return part.map_blocks(work, _logarithm_blocks, width)


def _row(part: Partition, row: int) -> tuple[NDArray[np.int32], NDArray[Any], float]:
    """Columns and values of a row, and its weight."""
    _, columns, values = part.design.rows(row, row + 1)
    return columns, values, float(part.labels.weights[row]) if len(part.labels.weights) else 1.0


def _worst_rows(
    part: Partition, rows: EMRows, logs: Floats, log_masses: Floats, times: Floats, n: int
) -> list[tuple[float, int, int, int]]:
    """Of each label and of none, so many rows that gain most: less the gain, the partition, the row, the label."""
    lengths, gains = part.map(rows.lengths)[:, 0], np.empty(part.design.n_rows)

    def judge(start: int, stop: int) -> None:
        indptr, columns, values = part.design.rows(start, stop)
        own = values * np.log(values / times[columns])
        of_rows = np.repeat(np.arange(stop - start), np.diff(indptr[start : stop + 1]))
        gains[start:stop] = np.bincount(of_rows, own, minlength=stop - start)
        gains[start:stop] -= _scores(part, logs, log_masses, start, stop).max(axis=1)

    part.map_blocks(judge, row_blocks, len(log_masses))
    some = np.flatnonzero(lengths > 0)
    gains = gains[some] - lengths[some] * np.log(lengths[some])
    if len(part.labels.weights):
        gains *= part.labels.weights[some]
    codes = part.labels.codes[some]
    found = []
    for label in np.unique(codes):
        own = np.flatnonzero(codes == label)
        best = own[np.argsort(-gains[own], kind="stable")[:n]]
        found += [(-float(gains[row]), part.index, int(some[row]), int(label)) for row in best]
    return found


def _scores(part: Partition, logs: Floats, log_masses: Floats, start: int, stop: int) -> Floats:
    return DenseWeights(*logs.shape).forward(part.design, logs.reshape(-1), log_masses, start, stop)
