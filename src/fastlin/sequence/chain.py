"""What a model says of the labels of a sequence, and what follows: the best paths, sums over all paths, marginals.

    s(y) = Σ_t S[t, y_t] + start[y_0] + Σ_{t≥1} A[history, y_t] + end[history]

Scores are logarithmic, and −∞ forbids. Sequences go to the kernels in blocks of bounded work, which threads share; sums
over blocks are taken in their order, so that nothing depends on the number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.chain import chain as kernels
from fastlin.runtime import parallel
from fastlin.runtime.made_once import made_once
from fastlin.sequence.sample_weights import NO_WEIGHTS

Floats = NDArray[np.float64]
Path = tuple[NDArray[np.int32], float]
NO_SCORES = np.empty((0, 0, 0))
MOST_PATHS = 1_000_000  # of a sequence


class Expected(NamedTuple):
    """Sums over sequences of what is expected under p(y | x)."""

    marginals: Floats  # [n_tokens, K]
    log_z: Floats  # [n_sequences]
    starts: Floats  # [K]: first labels
    transitions: Floats  # of the shape of the chain's
    ends: Floats  # of the shape of the chain's


class NoPathError(ValueError):
    """What is forbidden leaves a sequence without a path."""

    def __init__(self, sequence: int) -> None:
        super().__init__(sequence)
        self.sequence = sequence

    def __str__(self) -> str:
        return f"sequence {self.sequence}: the constraints allow no path"


@dataclass(frozen=True, eq=False)
class Chain:
    """The scores of paths that do not depend on the tokens.

    With order 2 a history is (last but one, last), and K stands for the label before the first. The methods' `edges`
    [n_tokens, K, K] are added to the transitions into a token (order 1), `offsets` [n_tokens, K] or
    [n_tokens, K + 1, K] to those out of a history into a token. Both are unused at the first token of a sequence.
    """

    start: Floats  # [K]
    transitions: Floats  # [K, K] (from, to), or [K + 1, K, K]
    end: Floats  # [K], or [K + 1, K]

    @property
    def n_labels(self) -> int:
        return len(self.start)

    @property
    def order(self) -> int:
        return self.transitions.ndim - 1

    def viterbi(
        self, scores: Floats, starts: NDArray[np.int64], *, edges: Any = None, offsets: Any = None,
        n_jobs: int | None = None,
    ) -> tuple[NDArray[np.int32], Floats]:  # fmt: skip
        """The best path of every sequence, as the labels of all tokens, and its score.

        Of paths that are equally good, the one with the lowest last label, then the lowest last but one, and so on.
        """
        labels, values = np.empty(len(scores), np.int32), np.empty(len(starts) - 1)
        given = self.given(scores, edges, offsets)

        def work(first: int, last: int) -> None:
            kernels.best_paths(self.padded, *given, starts, first, last, labels, values)

        self._run(work, starts, n_jobs)
        _refuse_impossible(values)
        return labels, values

    def marginals(
        self, scores: Floats, starts: NDArray[np.int64], *, edges: Any = None, offsets: Any = None,
        n_jobs: int | None = None,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """p(y_t = k | x) of every token, and log Z = log Σ_y e^{s(y)} of every sequence."""
        found = self._sum(scores, starts, edges, offsets, n_jobs, counting=False)
        return found.marginals, found.log_z

    def expected(
        self, scores: Floats, starts: NDArray[np.int64], *, edges: Any = None, offsets: Any = None,
        weights: Floats = NO_WEIGHTS, n_jobs: int | None = None,
    ) -> Expected:  # fmt: skip
        """The same, with the expected numbers of first labels, of transitions and of last histories.

        These are multiplied by the weights of sequences, if there are any.
        """
        return self._sum(scores, starts, edges, offsets, n_jobs, counting=True, weights=weights)

    def nbest(
        self, scores: Floats, starts: NDArray[np.int64], n: int, *, edges: Any = None, offsets: Any = None,
        n_jobs: int | None = None,
    ) -> list[list[Path]]:  # fmt: skip
        """The n best paths of every sequence with their scores, best first; all, if there are fewer."""
        found: list[list[Path]] = [[]] * (len(starts) - 1)
        whole = self.given(scores, edges, offsets)

        def work(first: int, last: int) -> None:
            for place in range(first, last):
                start, stop = int(starts[place]), int(starts[place + 1])
                if start == stop:
                    found[place] = [(np.empty(0, np.int32), 0.0)]
                    continue
                room = as_many_paths(n, self.n_labels, stop - start)
                if room > MOST_PATHS:
                    raise ValueError(f"n={n}: of a sequence of {stop - start} tokens, {MOST_PATHS} paths at most")
                paths, values = np.empty((room, stop - start), np.int32), np.empty(room)
                own, of_edges, of_offsets = (array[start:stop] if len(array) else array for array in whole)
                made = kernels.nbest_paths(self.padded, own, of_edges, of_offsets, paths, values)
                found[place] = [(path.copy(), float(value)) for path, value in zip(paths[:made], values, strict=False)]

        self._run(work, starts, n_jobs)
        _refuse_impossible(np.array([0.0 if paths else -np.inf for paths in found]))
        return found

    def values(
        self, scores: Floats, starts: NDArray[np.int64], labels: NDArray[np.int32], *, edges: Any = None,
        offsets: Any = None, n_jobs: int | None = None,
    ) -> Floats:  # fmt: skip
        """s(y) of one path of every sequence."""
        values = np.empty(len(starts) - 1)
        given = self.given(scores, edges, offsets)

        def work(first: int, last: int) -> None:
            kernels.path_scores(self.padded, *given, starts, first, last, labels, values)

        self._run(work, starts, n_jobs)
        return values

    # Parts

    def _sum(
        self, scores: Floats, starts: NDArray[np.int64], edges: Any, offsets: Any, n_jobs: int | None, counting: bool,
        weights: Floats = NO_WEIGHTS,
    ) -> Expected:  # fmt: skip
        p, log_z = np.empty(scores.shape), np.empty(len(starts) - 1)
        given = self.given(scores, edges, offsets)
        size, P = len(self.padded[1]), len(self.padded[0])

        def none() -> tuple[Floats, Floats, Floats]:
            return np.zeros(P), np.zeros((size if counting else 0, P)), np.zeros(size)

        def count(first: int, last: int) -> tuple[Floats, Floats, Floats]:
            counts = none()
            kernels.marginals(self.padded, *given, starts, first, last, p, log_z, kernels.ChainCounts(*counts))
            return counts

        def work(first: int, last: int) -> tuple[Floats, Floats, Floats]:
            if not len(weights):
                return count(first, last)
            changes = first + 1 + np.flatnonzero(np.diff(weights[first:last]))  # of one weight at a time
            sums = none()
            for start, stop in pairwise([first, *changes.tolist(), last]):
                for total, part in zip(sums, count(start, stop), strict=True):
                    total += weights[start] * part
            return sums

        found = self._run(work, starts, n_jobs)
        _refuse_impossible(log_z)
        first, transitions, last = totals = none()
        for counts in found:
            for total, part in zip(totals, counts, strict=True):
                total += part
        K = self.n_labels
        ends = last.reshape(-1, P)[:, :K]
        inner = self.unpad(transitions) if counting else np.empty(0)
        return Expected(p, log_z, first[:K], inner, ends[0] if self.order == 1 else ends)

    def unpad(self, counts: Floats) -> Floats:
        """Counts [size, P] of a kernel in the shape of the transitions."""
        K, P = self.n_labels, counts.shape[1]
        every = counts.reshape(-1, P, P)[:, :K, :K]
        return every[0] if self.order == 1 else every

    def given(self, scores: Floats, edges: Any, offsets: Any) -> tuple[Floats, Floats, Floats]:
        """Scores, edges and offsets as the kernels take them."""
        if scores.shape[1] != self.n_labels:
            raise ValueError(f"scores of {scores.shape[1]} labels do not fit a chain of {self.n_labels}")
        if edges is not None and self.order > 1:
            raise ValueError("edges belong to chains of order 1")
        if offsets is not None:
            offsets = offsets.reshape(len(scores), 1 if self.order == 1 else self.n_labels + 1, self.n_labels)
        return scores, NO_SCORES if edges is None else edges, NO_SCORES if offsets is None else offsets

    def _run(self, work: Callable[[int, int], Any], starts: NDArray[np.int64], n_jobs: int | None) -> list[Any]:
        with parallel.WorkerPool(n_jobs) as workers:
            return workers.map(work, parallel.split_by_work(starts, self.padded[1].size))

    @made_once
    def padded(self) -> tuple[Floats, Floats, Floats, Floats, Floats, float]:
        """start [P], A [size, P], M [size, P], Mᵀ [P, P], end [size] and the shift of `engine/chain/chain.pxd`."""
        K = self.n_labels
        P = -(-K // kernels.LABEL_PADDING) * kernels.LABEL_PADDING
        rows = 1 if self.order == 1 else K + 1
        start, end = np.full(P, -np.inf), np.full((rows, P), -np.inf)
        A = np.full((rows * P, P), -np.inf)
        start[:K], end[:, :K], A.reshape(rows, P, P)[:, :K, :K] = self.start, self.end, self.transitions
        top = float(A.max())
        shift = top if top > -np.inf else 0.0
        M = np.exp(A - shift)
        turned = np.ascontiguousarray(M.T) if rows == 1 else np.zeros((1, 1))
        return start, A, M, turned, end.reshape(-1), shift


def as_many_paths(n: int, n_labels: int, length: int) -> int:
    """n, but no more than there are paths."""
    return n if length * np.log2(n_labels) > 62 else min(n, n_labels**length)


def _refuse_impossible(values: Floats) -> None:
    """Every sequence has a path."""
    wrong = np.flatnonzero(values == -np.inf)
    if len(wrong):
        raise NoPathError(int(wrong[0]))
