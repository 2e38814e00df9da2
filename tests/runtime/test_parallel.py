"""Where passes run: blocks that share out the rows, threads that end together."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastlin.engine.core.interruption import WatchedFlag, look
from fastlin.runtime import parallel
from fastlin.validation import as_rows
from support.estimators import interrupted_after
from support.strategies import sparse_matrices


@given(X=sparse_matrices(), width=st.sampled_from([1, 2, 30]), work=st.integers(1, 200))
def test_blocks_are_all_rows_in_order_and_bounded(X, width, work):
    rows, share = as_rows(X), max(1, work // width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "BLOCK_WORK", work)
        blocks = list(parallel.row_blocks(rows, width))
    assert [start for start, _ in blocks] + [len(rows)] == [0] + [stop for _, stop in blocks]
    for start, stop in blocks:
        assert start < stop <= start + share
        assert stop == start + 1 or rows.indptr[stop] - rows.indptr[start] <= share


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_an_error_in_a_thread_reaches_the_caller_and_ends_the_rest(n_jobs):
    done = []

    def work(start, stop):
        if start == 0:
            raise ValueError("no more")
        time.sleep(0.001)
        done.append(start)

    with pytest.raises(ValueError, match="no more"):
        parallel.run_jobs(work, ((i, i + 1) for i in range(1000)), n_jobs)
    assert len(done) < 500


@pytest.mark.parametrize("n_jobs", [None, 2, 5])
def test_scores_are_those_of_the_product(n_jobs, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(parallel, "BLOCK_WORK", 100)
    X, W, b = rng.poisson(0.3, size=(50, 20)).astype(float), rng.normal(size=(20, 3)), rng.normal(size=3)
    np.testing.assert_allclose(parallel.scores(as_rows(X), W, b, n_jobs), X @ W + b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_within_a_job_end_with_those_that_they_work_for(n_jobs):
    begun = []
    with parallel.WorkerPool(2) as outer, parallel.WorkerPool(n_jobs, outer.stop) as inner:

        def work(start, stop):
            begun.append(start)
            if start == 3:
                outer.stop[0] = 1
            return start

        assert inner.map(work, [(0, 1), (1, 2)]) == [0, 1]
        with pytest.raises(InterruptedError):
            inner.map(work, [(start, start + 1) for start in range(2, 100)])
        assert len(begun) < 10


def look_for_ever(seconds=30.0):
    """Look at what may end the job, until it does, or for so long."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        look()


@pytest.mark.parametrize("first", ["fails", "goes on"])
def test_a_job_that_looks_ends_with_one_that_fails(first):
    def work(kind):
        if kind == "fails":
            time.sleep(0.05)
            raise ValueError("no more")
        look_for_ever()

    kinds = [("fails",), ("goes on",)]
    started = time.perf_counter()
    with parallel.WorkerPool(2) as workers, pytest.raises(ValueError, match="no more"):
        workers.map(work, kinds if first == "fails" else kinds[::-1])
    assert time.perf_counter() - started < 10


def test_a_look_is_at_the_innermost_flag_of_its_own_thread():
    look()
    raised, lowered = np.ones(1, np.int32), np.zeros(1, np.int32)
    with WatchedFlag(raised):
        with WatchedFlag(lowered):
            look()
        with pytest.raises(InterruptedError):
            look()
        with parallel.WorkerPool(2) as workers:  # whose threads have the pool's flag, and no other
            workers.map(look, [() for _ in range(10)])
    look()
    with pytest.raises(ValueError, match="one number"):
        WatchedFlag(np.zeros(0, np.int32))


@pytest.mark.timing
def test_ctrl_c_ends_jobs_of_other_threads_that_look():
    with parallel.WorkerPool(3) as workers:
        assert interrupted_after(0.1, lambda: workers.map(look_for_ever, [() for _ in range(3)])) < 0.5
