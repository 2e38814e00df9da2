"""The thread pool where passes over rows run, and their division into blocks; threads never change a bit."""

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastlin.engine.core import interruption, passes
from fastlin.engine.core.csr_scores import LinearScorer
from fastlin.runtime.made_once import made_once
from fastlin.runtime.passes import PartitionSet, Passes
from fastlin.runtime.thread_calls import ThreadCall, ThreadCrew
from fastlin.validation import CSRRows

BLOCK_WORK = 1 << 21  # multiply–adds of a block: milliseconds


def _count_threads(n_jobs: int | None) -> int:
    """The number of threads asked for, but no more than help."""
    if (
        n_jobs is None and "joblib" not in sys.modules
    ):  # whose import takes as long as numpy's: nobody asked it for more
        return 1
    from joblib import effective_n_jobs

    threads = int(effective_n_jobs(n_jobs))
    return threads if threads == 1 else min(threads, 4 * (os.cpu_count() or 1))


def split_by_work(indptr: NDArray[np.int64], width: int) -> Iterator[tuple[int, int]]:
    """Divide lines where their non-zeros × width reach a fixed amount of work, whatever the number of threads."""
    return split_by_length(indptr, max(1, BLOCK_WORK // max(1, width)))


def split_by_length(starts: NDArray[np.int64], max_length: int) -> Iterator[tuple[int, int]]:
    """Divide lines where their entries, or the lines, would be more than `max_length`; a longer line is alone."""
    start, n = 0, len(starts) - 1
    while start < n:
        stop = int(np.searchsorted(starts, starts[start] + max_length, side="right")) - 1
        stop = min(max(stop, start + 1), start + max_length, n)
        yield start, stop
        start = stop


def row_blocks(rows: CSRRows, width: int) -> Iterator[tuple[int, int]]:
    """The rows in blocks of bounded work."""
    return split_by_work(rows.indptr, width)


class WorkerPool:
    """A pool of as many threads as `n_jobs` says, for as long as the `with` lasts.

    `stop` holds a one as soon as a job has failed or the caller was interrupted: a kernel that works for long may look
    at it (`engine/core/interruption.pyx`), and raise InterruptedError, which is not passed on. A pool within a job of
    another shares its `stop`.
    """

    def __init__(self, n_jobs: int | None, stop: NDArray[np.int32] | None = None) -> None:
        self._n_jobs = n_jobs
        self.stop = np.zeros(1, np.int32) if stop is None else stop

    @made_once
    def threads(self) -> int:
        """How many there are, which joblib takes longer to say than a row to predict."""
        return _count_threads(self._n_jobs)

    def __enter__(self) -> Self:
        self._crew = ThreadCrew()
        return self

    def __exit__(self, *_: object) -> None:
        self._crew.dismiss()

    def map(self, work: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]) -> list[Any]:
        """work(*job) of every job, in the order of the jobs.

        The caller works, too: all take the next job from one counter, which costs a call a thread, not a job.
        """
        if isinstance(jobs, list) and len(jobs) == 1:
            self._check_stop()
            return [work(*jobs[0])]
        if self.threads == 1:
            return list(self._map_in_caller(work, jobs))
        queue = list(jobs)
        results, counter = [None] * len(queue), itertools.count()

        def run_queue() -> None:
            try:
                with interruption.WatchedFlag(self.stop):
                    while not self.stop[0] and (index := next(counter)) < len(queue):
                        results[index] = work(*queue[index])
            except BaseException as error:
                if isinstance(error, InterruptedError) and self.stop[0]:
                    return  # another has failed, and raises what it failed with
                self.stop[0] = 1  # nobody begins another
                raise

        others = [ThreadCall(run_queue) for _ in range(min(self.threads, len(queue)) - 1)]
        try:
            for other in others:
                self._crew.submit(other, self.threads - 1)
            run_queue()
            others = [other for other in others if not other.take_back()]  # who has not begun is too late
            for other in others:
                other.wait()
        except BaseException:
            self.stop[0] = 1
            for other in others:
                if not other.take_back():
                    other.wait()
            raise
        for other in others:
            other.result()
        self._check_stop()
        return results

    def passes(self, partitions: PartitionSet) -> Passes:
        """Passes over partitions, by whoever works on them; a model asks nobody else for them."""
        return partitions.passes(self)

    def _map_in_caller(self, work: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for job in jobs:
            self._check_stop()
            yield work(*job)

    def _check_stop(self) -> None:
        if self.stop[0]:
            raise InterruptedError


def run_jobs(work: Callable[..., None], jobs: Iterable[tuple[Any, ...]], n_jobs: int | None) -> None:
    """Call work(*job) for every job, on as many threads as n_jobs says."""
    if n_jobs == 1:
        for job in jobs:
            work(*job)
        return
    with WorkerPool(n_jobs) as workers:
        workers.map(work, jobs)


def block_arrays(rows: CSRRows, start: int, stop: int, dtype: Any) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Indices and values of a block of rows, the values in the type of the weights they meet."""
    first, last = rows.indptr[start], rows.indptr[stop]
    return rows.indices[first:last], rows.values[first:last].astype(dtype, copy=False)


def forward(
    rows: CSRRows,
    weights: NDArray[Any],
    bias: NDArray[np.float64],
    infer: Callable[[NDArray[np.float64], int, int], None],
    n_jobs: int | None,
) -> None:
    """Score the rows in blocks; each block's scores go to `infer(scores, start, stop)` while they are in cache."""

    def work(start: int, stop: int) -> None:
        scores = np.empty((stop - start, weights.shape[1]))
        indices, values = block_arrays(rows, start, stop, weights.dtype)
        spare = np.empty(weights.shape[1], weights.dtype)
        passes.forward(rows.indptr, indices, values, start, stop, weights, bias, spare, scores)
        infer(scores, start, stop)

    run_jobs(work, list(row_blocks(rows, weights.shape[1])), n_jobs)


def score_matrix(
    X: Any,
    scorer: LinearScorer,
    width: int,
    n_jobs: int | None,
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> bool:
    """Fill the scores, or the labels, of a CSR as it lies; whether it is well formed. Blocks have as many rows each."""
    indptr, indices, values, n = X.indptr, X.indices, X.data, X.shape[0]
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    if (len(indices) + n) * width <= BLOCK_WORK:
        return scorer.score(indptr, indices, values, 0, n, scores, labels)
    size = max(1, BLOCK_WORK * n // ((len(indices) + n) * width))
    jobs = ((indptr, indices, values, start, min(start + size, n), scores, labels) for start in range(0, n, size))
    with WorkerPool(n_jobs) as workers:
        return all(workers.map(scorer.score, jobs))


def scores(rows: CSRRows, weights: NDArray[Any], bias: NDArray[np.float64], n_jobs: int | None) -> NDArray[np.float64]:
    """The scores of all rows, [n, K]."""
    whole = np.empty((len(rows), weights.shape[1]))
    forward(rows, weights, bias, lambda block, start, stop: np.copyto(whole[start:stop], block), n_jobs)
    return whole


def backward(rows: CSRRows, residual: NDArray[np.float64], gradient: NDArray[np.float64], n_jobs: int | None) -> None:
    """gradient += Xᵀ residual: each thread owns a range of columns and adds in the order of the rows."""

    def work(low: int, high: int) -> None:
        for start, stop in row_blocks(rows, gradient.shape[1]):
            indices, values = block_arrays(rows, start, stop, np.float64)
            passes.backward(rows.indptr, indices, values, start, stop, residual, low, high, gradient)

    run_jobs(work, _column_ranges(rows.n_columns, _count_threads(n_jobs)), n_jobs)


def count_features(
    rows: CSRRows,
    start: int,
    stop: int,
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    counts: NDArray[np.float64],
    workers: WorkerPool,
) -> None:
    """counts[j, y_i] += w_i x_ij over the rows of a block; no weights stand for ones. Shared like `backward`."""
    indices, values = block_arrays(rows, start, stop, rows.values.dtype)

    def work(low: int, high: int) -> None:
        passes.class_counts(rows.indptr, indices, values, start, stop, labels, weights, low, high, counts)

    workers.map(work, _column_ranges(rows.n_columns, workers.threads))


def _column_ranges(n_columns: int, threads: int) -> Iterator[tuple[int, int]]:
    threads = min(threads, n_columns)
    return itertools.pairwise(n_columns * thread // threads for thread in range(threads + 1))
