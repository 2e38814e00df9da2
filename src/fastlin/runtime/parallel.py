"""Where passes run: one thread, or several that share the blocks. The bits are the same."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from fastlin.engine.core import passes
from fastlin.validation import CSRRows

WORK = 1 << 21  # multiply–adds of a block: milliseconds


def _threads(n_jobs: int | None) -> int:
    """As many as asked for, but no more than help."""
    return int(min(effective_n_jobs(n_jobs), 4 * (os.cpu_count() or 1)))


def cuts(indptr: NDArray[np.int64], width: int) -> Iterator[tuple[int, int]]:
    """Cut lines where their non-zeros × width reach a fixed amount of work, whatever the number of threads."""
    return stretches(indptr, max(1, WORK // max(1, width)))


def stretches(starts: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Cut lines where their entries, or the lines, would be more than so many; a longer line is alone."""
    start, n = 0, len(starts) - 1
    while start < n:
        stop = int(np.searchsorted(starts, starts[start] + most, side="right")) - 1
        stop = min(max(stop, start + 1), start + most, n)
        yield start, stop
        start = stop


def blocks(rows: CSRRows, width: int) -> Iterator[tuple[int, int]]:
    """The rows in blocks of bounded work."""
    return cuts(rows.indptr, width)


class Workers:
    """As many threads as `n_jobs` says, for as long as the `with` lasts.

    `stop` holds a one as soon as a job has failed or the caller was interrupted: a kernel that works for long may look
    at it, and raise InterruptedError, which is not passed on. Workers within a job of others share their `stop`.
    """

    def __init__(self, n_jobs: int | None, stop: NDArray[np.int32] | None = None) -> None:
        self.threads = _threads(n_jobs)
        self.stop = np.zeros(1, np.int32) if stop is None else stop

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)  # after Ctrl-C nobody waits for what has not begun

    def map(self, work: Callable[..., Any], jobs: Iterable[tuple[Any, Any]]) -> list[Any]:
        """work(*job) of every job, in the order of the jobs.

        The caller works, too: all take the next job from one counter, which costs a future a thread, not a job.
        """
        if self._pool is None:
            return [work(*job) for job in jobs if self._goes_on()]
        waiting = list(jobs)
        results, places = [None] * len(waiting), itertools.count()

        def drain() -> None:
            try:
                while not self.stop[0] and (place := next(places)) < len(waiting):
                    results[place] = work(*waiting[place])
            except BaseException as error:
                if isinstance(error, InterruptedError) and self.stop[0]:
                    return  # another has failed, and raises what it failed with
                self.stop[0] = 1  # nobody begins another
                raise

        others = [self._pool.submit(drain) for _ in range(min(self.threads, len(waiting)) - 1)]
        try:
            drain()
            others = [other for other in others if not other.cancel()]  # who has not begun is too late
            wait(others)
        except BaseException:
            self.stop[0] = 1
            wait([other for other in others if not other.cancel()])
            raise
        for other in others:
            other.result()
        self._goes_on()
        return results

    def _goes_on(self) -> bool:
        if self.stop[0]:
            raise InterruptedError
        return True


def in_threads(work: Callable[..., None], jobs: Iterable[tuple[int, int]], n_jobs: int | None) -> None:
    """Call work(*job) for every job, on as many threads as n_jobs says."""
    with Workers(n_jobs) as workers:
        workers.map(work, jobs)


def part(rows: CSRRows, start: int, stop: int, dtype: Any) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Indices and values of a block, its values in the type of the weights they meet."""
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
        indices, values = part(rows, start, stop, weights.dtype)
        spare = np.empty(weights.shape[1], weights.dtype)
        passes.forward(rows.indptr, indices, values, start, stop, weights, bias, spare, scores)
        infer(scores, start, stop)

    in_threads(work, blocks(rows, weights.shape[1]), n_jobs)


def scores(rows: CSRRows, weights: NDArray[Any], bias: NDArray[np.float64], n_jobs: int | None) -> NDArray[np.float64]:
    """The scores of all rows, [n, K]."""
    whole = np.empty((len(rows), weights.shape[1]))
    forward(rows, weights, bias, lambda block, start, stop: np.copyto(whole[start:stop], block), n_jobs)
    return whole


def backward(rows: CSRRows, residual: NDArray[np.float64], gradient: NDArray[np.float64], n_jobs: int | None) -> None:
    """gradient += Xᵀ residual: each thread owns a range of columns and adds in the order of the rows."""

    def work(low: int, high: int) -> None:
        for start, stop in blocks(rows, gradient.shape[1]):
            indices, values = part(rows, start, stop, np.float64)
            passes.backward(rows.indptr, indices, values, start, stop, residual, low, high, gradient)

    in_threads(work, _column_ranges(rows.n_columns, n_jobs), n_jobs)


def count(
    rows: CSRRows,
    start: int,
    stop: int,
    labels: NDArray[np.int32],
    weights: NDArray[np.float64],
    counts: NDArray[np.float64],
    n_jobs: int | None,
) -> None:
    """counts[j, y_i] += w_i x_ij over the rows of a block; no weights stand for ones. Shared like `backward`."""
    indices, values = part(rows, start, stop, rows.values.dtype)

    def work(low: int, high: int) -> None:
        passes.count(rows.indptr, indices, values, start, stop, labels, weights, low, high, counts)

    in_threads(work, _column_ranges(rows.n_columns, n_jobs), n_jobs)


def _column_ranges(n_columns: int, n_jobs: int | None) -> Iterator[tuple[int, int]]:
    threads = min(_threads(n_jobs), n_columns)
    return itertools.pairwise(n_columns * thread // threads for thread in range(threads + 1))


def uninterrupted(work: Callable[[], None]) -> None:
    """Run `work` to its end even if Ctrl-C comes meanwhile: signals reach the main thread only, which waits."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
