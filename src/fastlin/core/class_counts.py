"""Counts of features under labels, and the probabilities that they and a prior say.

Counts are of one moment. Learning makes new ones, which stand in the same arrays if these have room: whoever adds to
the arrays holds their lock alone, for as long as a block of rows takes, and whoever looks at them shares it. What is
estimated once, log φ and log μ, stays what it is; what was not estimated in time is that of the latest block.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastlin import validation
from fastlin.engine.core import passes
from fastlin.engine.core import row_scores as row_kernels
from fastlin.engine.core.aligned import aligned_zeros
from fastlin.engine.core.csr_view import CSRView
from fastlin.runtime import parallel, thread_calls
from fastlin.runtime.made_once import made_once
from fastlin.runtime.passes import Passes
from fastlin.runtime.shared_lock import SharedLock
from fastlin.validation import CSRRows, LabelSets, real_number

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SmoothingPrior:
    """What is believed before counting. Arrays over the features have length 1 where all features are alike."""

    pseudo: Floats  # what is added to the counts: αVρ_j, or aρ_j − 1
    measure: Floats  # ρ
    labels: Floats | None  # log μ; None: by counts

    def estimates(self, features: Floats, labels: Floats) -> "Estimates":
        """What follows from counts of features under labels [V, K], and of the rows of each label."""
        logs, _, impossible = log_phi(features, self.pseudo, self.measure)
        return Estimates(logs, impossible, labels, self)

    def side_estimates(self, rest: Floats, own: Floats, labels: Floats) -> "Estimates":
        """The estimates of both sides of each label against the rest, from their counts [V, L]: [V, 2L], rest first."""
        return self.estimates(np.hstack([rest, own]), labels)

    def log_labels(self, labels: Floats) -> Floats:
        """log μ from the rows of each label."""
        return log_prior(labels, self)


@dataclass(frozen=True, eq=False)
class Estimates:
    """The estimates of counts and their prior at one moment."""

    logs: Floats  # log φ, [V, K]
    impossible: bool  # whether some φ may be 0
    labels: Floats  # rows of each label
    prior: SmoothingPrior

    @made_once
    def log_prior(self) -> Floats:
        """log μ."""
        return self.prior.log_labels(self.labels)

    @property
    def weights(self) -> Floats:
        """What the features of a row weigh in its scores, [V, K]."""
        return self.logs

    @property
    def bias(self) -> Floats:
        """The score of an empty row."""
        return self.log_prior

    @made_once
    def all_possible(self) -> bool:
        """Whether every label can produce every row."""
        return not (self.impossible or bool(np.isneginf(self.log_prior).any()))

    @property
    def undecided(self) -> Floats:
        """The scores of a row that no label can produce."""
        return self.log_prior

    def mask_impossible(self, scores: Floats) -> Floats:
        """The scores, with the class prior where no label can produce the row; in place."""
        if not self.all_possible:
            mask_impossible(scores, self.log_prior)
        return scores


class _CountArrays:
    """The state that counts in the same arrays share: a lock, the latest of them, and whether a snapshot holds them."""

    def __init__(self, newest: Any, shared: bool = False) -> None:
        self.lock, self.newest, self.shared = SharedLock(), newest, shared


@dataclass(eq=False)
class ClassCounts:
    """c: how much of each feature [V, K] and how many rows [K] were seen under each label."""

    features: Floats
    labels: Floats  # never changed in place
    prior: SmoothingPrior
    room: Floats | None = field(default=None, repr=False)  # that `features` are the first rows of
    columns: dict[str, Any] = field(
        default_factory=dict, repr=False
    )  # an estimator's attributes that say what these are
    _arrays: _CountArrays | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self._arrays is None:
            self._arrays = _CountArrays(self._alone())

    @classmethod
    def zeros(cls, n_features: int, n_labels: int, prior: SmoothingPrior) -> "ClassCounts":
        return cls(aligned_zeros((n_features, n_labels)), np.zeros(n_labels), prior)

    def resized(
        self, prior: SmoothingPrior, places: NDArray[np.int32], n_labels: int, n_features: int
    ) -> "ClassCounts":
        """The same counts under another prior, with more labels and features; in the same arrays if they have room.

        Features that come with time get twice the room at least.
        """
        V, room = len(self.features), self.features if self.room is None else self.room
        if n_labels > len(self.labels) or n_features > len(room) or not room.flags.writeable:  # those of a file are not
            room = aligned_zeros((n_features if n_features <= V else max(n_features, 2 * V), n_labels))
            labels = np.zeros(n_labels)
            room[:V, places], labels[places] = self.features, self.labels
            return ClassCounts(room[:n_features], labels, prior, room)
        return ClassCounts(room[:n_features], self.labels, prior, room, _arrays=self._arrays)

    def add(
        self,
        rows: CSRRows,
        codes: NDArray[np.int32],
        weights: Floats,
        n_jobs: int | None,
        keep: bool,
        sets: LabelSets | None = None,
    ) -> None:
        """Count rows; no weights stand for ones. To keep what was counted before Ctrl-C, it acts between blocks.

        With `sets`, codes are those of sets of labels, and the last column counts all rows.
        """
        for start, stop in parallel.row_blocks(rows, 1):
            block = partial(self._add_block, rows, start, stop, codes, weights, n_jobs, sets)
            if keep:
                thread_calls.run_uninterrupted(block)
            else:
                block()

    def count_segments(self, data: Passes, threshold: float | None = None, sets: LabelSets | None = None) -> None:
        """Count all rows of segments, or what exceeds a threshold, under their labels; for counts nobody reads yet."""
        features, labels = self._own_features(), self.labels.copy()
        data.sum(_count_segment, threshold, sets, into=(features, labels))
        self.labels = labels
        self._publish()

    def _add_block(
        self,
        rows: CSRRows,
        start: int,
        stop: int,
        codes: NDArray[np.int32],
        weights: Floats,
        n_jobs: int | None,
        sets: LabelSets | None,
    ) -> None:
        with self._owned().lock.writing(), parallel.WorkerPool(n_jobs) as workers:
            counted = _count_block(rows, (start, stop), codes, weights, self._own_features(), workers, sets)
            self.labels = self.labels + counted
            self._publish()

    def add_shares(self, rows: CSRRows, shares: Floats, n_jobs: int | None) -> None:
        """Count rows that belong to labels in shares, [n, K]."""
        with self._owned().lock.writing():
            parallel.backward(rows, shares, self._own_features(), n_jobs)
            self.labels = self.labels + shares.sum(axis=0)
            self._publish()

    def add_counts(self, others: "ClassCounts") -> None:
        """Add other counts of the same features and labels."""
        with self._owned().lock.writing():
            self._own_features()[:] += others.features
            self.labels = self.labels + others.labels
            self._publish()

    def settle(self) -> Self:
        """Let the prior and the width of these counts hold for their arrays, even if nothing was added."""
        arrays = self._owned()
        if arrays.newest.prior is not self.prior or len(arrays.newest.features) != len(self.features):
            with arrays.lock.writing():
                self._publish()
        return self

    def estimates(self) -> Estimates:
        """log φ and log μ of these counts or, if they were added to before anybody asked, of the latest block."""
        pinned: Estimates | None = self.__dict__.get("_pinned")
        if pinned is not None:
            return pinned
        arrays = self._owned()
        with arrays.lock.reading():
            newest = arrays.newest
            found = newest.__dict__.get("_pinned") or newest.__dict__.setdefault("_pinned", newest._estimated())
        made: Estimates = self.__dict__.setdefault("_pinned", found)
        return made

    def snapshot(self) -> Self:
        """The counts of a moment as an object of their own: who adds to them, or to these, copies the arrays first."""
        arrays = self._owned()
        with arrays.lock.reading():
            arrays.shared = True
            newest = arrays.newest
        other = newest._alone()
        other._part_from(newest)
        if "_pinned" in newest.__dict__:
            other.__dict__["_pinned"] = newest.__dict__["_pinned"]
        other._arrays = _CountArrays(other._alone(), shared=True)
        return other

    def copy_for_reading(self) -> Self:
        """A copy on write: its arrays are copied before something is added to them."""
        other = self._alone()
        other._arrays = _CountArrays(other._alone(), shared=True)
        return other

    def _part_from(self, other: Self) -> None:
        """Copy what the other counts would share and change, beside the arrays."""

    def log_prior(self) -> Floats:
        """log μ; uniform where there are no counts."""
        return self.prior.log_labels(self.labels)

    def log_phi(self) -> Floats:
        """log φ as [V, K]."""
        return self.estimates().logs

    def _estimated(self) -> Estimates:
        return self.prior.estimates(self.features, self.labels)

    def _owned(self) -> _CountArrays:
        assert self._arrays is not None
        return self._arrays

    def _own_features(self) -> Floats:
        """The features to add to, once the lock is held: copies, if a snapshot holds the arrays."""
        if self._owned().shared:
            old, V = self.features if self.room is None else self.room, len(self.features)
            self.room = aligned_zeros(old.shape)
            self.room[:V] = self.features
            self.features = self.room[:V]
            self._arrays = _CountArrays(self._alone())
        return self.features

    def _publish(self) -> None:
        """Say, with the lock held, that the arrays are now those of these counts."""
        self.__dict__.pop("_pinned", None)
        self._owned().newest = self._alone()

    def _alone(self) -> Self:
        """A view of these counts, which knows nothing of others in their arrays."""
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__.copy()
        other.__dict__.pop("_pinned", None)
        other._arrays = None
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = self.snapshot()._alone().__dict__
        return state | {"room": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.pop("_logs", None)  # of an earlier version
        self._arrays = _CountArrays(self._alone())


def _count_segment(
    part: Any, threshold: float | None, sets: LabelSets | None, features: Floats, labels: Floats
) -> None:
    """Add a segment's rows to the counts: block by block those of the first, as one sum those of the others."""
    rows = part.rows.binarized(threshold)
    own, own_labels = (features, labels) if part.starts_sums else (aligned_zeros(features.shape), np.zeros_like(labels))
    for block in parallel.row_blocks(rows, 1):
        own_labels += _count_block(rows, block, part.codes, part.weights, own, part.workers, sets)
    if own is not features:
        features += own
        labels += own_labels


def _count_block(
    rows: CSRRows,
    block: tuple[int, int],
    codes: NDArray[np.int32],
    weights: Floats,
    features: Floats,
    workers: parallel.WorkerPool,
    sets: LabelSets | None = None,
) -> Floats:
    """Add a block of rows to the counts of features; returns how much they weigh under each label.

    A row of a set of labels counts under each of them, and once in the last column, that of all rows. A feature that
    only rows of a label have is added up there as it is in the last column, so that what is left for the rest is 0.
    """
    start, stop = block
    own = weights[start:stop] if len(weights) else weights
    if sets is None:
        parallel.count_features(rows, start, stop, codes, weights, features, workers)
        return np.bincount(codes[start:stop], own if len(own) else None, features.shape[1]).astype(np.float64)
    those, (which, labels) = rows.between(start, stop), sets.pairs(codes[start:stop])
    everyone = np.full(len(those), sets.n_labels, np.int32)
    counted = _count_block(those, (0, len(those)), everyone, own, features, workers)
    if len(which):
        having = own[which] if len(own) else own
        counted = counted + _count_block(those.take(which), (0, len(which)), labels, having, features, workers)
    return counted


def log_prior(labels: Floats, prior: SmoothingPrior) -> Floats:
    """log μ from the rows of each label; uniform where there are none."""
    if prior.labels is not None:
        return prior.labels
    if not labels.any():
        return np.full(len(labels), -np.log(len(labels)))
    with np.errstate(divide="ignore"):
        return np.log(labels) - np.log(labels.sum())


def mask_impossible(scores: Floats, prior: Floats) -> Floats:
    """The scores, with the prior where none is possible; in place."""
    scores[np.isneginf(scores.max(axis=1))] = prior
    return scores


def as_measure(base_measure: Any, n_features: int) -> Floats:
    """ρ, from what a user gives: it sums to 1, uniform where nothing is given."""
    if base_measure is None:
        return np.full(1, 1.0 / n_features)
    measure = validation.as_vector(base_measure, "base_measure")
    if len(measure) != n_features:
        raise ValueError(f"base_measure has {len(measure)} entries, X has {n_features} features")
    if (measure < 0).any() or not 0 < measure.sum() < np.inf:
        raise ValueError("base_measure must be non-negative with a positive, finite sum")
    return measure / measure.sum()


def as_alpha(alpha: Any, n_features: int, base_measure: Any) -> Floats:
    """α of every feature, from what a user gives: a number, or one for each where there is no base measure."""
    if np.ndim(alpha) == 0:
        return np.full(1, real_number("alpha", alpha, at_least=0, at_most=1e100))
    alphas = validation.as_vector(alpha, "alpha")
    if base_measure is not None:
        raise ValueError("alpha as an array excludes base_measure: it is the prior of each feature already")
    if len(alphas) != n_features:
        raise ValueError(f"alpha has {len(alphas)} entries, X has {n_features} features")
    if (alphas < 0).any():
        raise ValueError(f"alpha must not be negative, got {alphas.min():g}")
    if (alphas > 1e100).any():
        raise ValueError(f"alpha holds {alphas.max():g}; at most 1e100 is supported")
    return alphas


def as_prior(alpha: Any, base_measure: Any, n_features: int, labels: Floats | None = None) -> SmoothingPrior:
    """Pseudo-counts αVρ_j from what a user gives, and log μ where it is given."""
    measure = as_measure(base_measure, n_features)
    pseudo = as_alpha(alpha, n_features, base_measure)
    return SmoothingPrior(pseudo if base_measure is None else pseudo * n_features * measure, measure, labels)


def log_phi(counts: Floats, pseudo: Floats, measure: Floats) -> tuple[Floats, Floats, bool]:
    """log φ as [V, K] for φ ∝ max(0, c + pseudo), the totals, and whether some φ may be 0.

    A label whose total is 0 gets the base measure.
    """
    pseudo = np.broadcast_to(pseudo, len(counts)).copy()
    totals, logs = np.empty(counts.shape[1]), aligned_zeros(counts.shape)
    row_kernels.smoothed_totals(counts, pseudo, totals)
    empty = totals == 0
    impossible = row_kernels.smoothed_log_proba(counts, pseudo, np.log(np.where(empty, 1.0, totals)), logs)
    with np.errstate(divide="ignore"):
        logs[:, empty] = np.log(measure)[:, None]
    return logs, totals, impossible or bool(empty.any())


def leave_one_out_correct(
    rows: CSRRows, codes: NDArray[np.int32], weights: Floats, counts: ClassCounts, alpha: float, n_jobs: int | None
) -> Floats:
    """1 for each row that the counts of all other rows give its label under pseudo-counts αVρ, else 0."""
    measure = np.broadcast_to(counts.prior.measure, rows.n_columns).copy()
    pseudo = alpha * rows.n_columns * measure
    logs, totals, _ = log_phi(counts.features, pseudo, measure)
    fixed = counts.prior.labels
    right = np.zeros(len(rows))

    def judge(scores: Floats, start: int, stop: int) -> None:
        """The label's own score and prior without the row; the others as they are."""
        mine, label, weight = np.arange(stop - start), codes[start:stop], weights[start:stop]
        own = np.empty(stop - start)
        indices, values = parallel.block_arrays(rows, start, stop, np.float64)
        view = CSRView(rows.indptr, indices, values, start, stop)
        passes.leave_one_out_scores(view, codes, weights, counts.features, totals, pseudo, measure, own)
        if fixed is None:
            rest = np.tile(counts.labels, (stop - start, 1))
            rest[mine, label] = np.maximum(0.0, rest[mine, label] - weight)
            with np.errstate(divide="ignore"):
                prior = np.log(rest)
        else:
            prior = np.tile(fixed, (stop - start, 1))
        scores[mine, label] = own
        scores += prior
        hopeless = np.isneginf(scores.max(axis=1))
        scores[hopeless] = prior[hopeless]
        right[start:stop] = scores.argmax(axis=1) == label

    parallel.forward(rows, logs, np.zeros(len(counts.labels)), judge, n_jobs)
    return right
