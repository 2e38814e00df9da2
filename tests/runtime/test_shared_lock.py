"""A readers–writer lock: who waits for whom, in threads, within one thread and across a fork."""

import os
import random
import signal
import sys
import threading
import time

import pytest

from fastlin.runtime.shared_lock import SharedLock


def in_thread(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_writer_is_alone_and_readers_share():
    lock, inside, most, wrong = SharedLock(), [0, 0], [0], []
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def read():
        for _ in range(1000):
            with lock.reading():
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                if inside[1]:
                    wrong.append("a reader beside a writer")
                inside[0] -= 1

    def write():
        for _ in range(1000):
            with lock.writing():
                inside[1] += 1
                if inside[1] > 1:
                    wrong.append("two writers")
                inside[1] -= 1

    threads = [in_thread(work) for work in (read, read, write, write)]
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    sys.setswitchinterval(switch)
    assert not wrong


def test_readers_are_inside_together():
    lock, both = SharedLock(), threading.Barrier(2, timeout=30)

    def read():
        with lock.reading():
            both.wait()

    thread = in_thread(read)
    read()
    thread.join(30)
    assert not thread.is_alive()


def test_a_waiting_writer_goes_before_new_readers():
    lock, order = SharedLock(), []

    def write():
        with lock.writing():
            order.append("writer")

    def read():
        with lock.reading():
            order.append("reader")

    with lock.reading():
        writer = in_thread(write)
        while not lock.queue:
            time.sleep(0.001)
        reader = in_thread(read)
        time.sleep(0.05)
        with lock.reading():  # who is inside already may go in again
            assert order == []
    writer.join(30), reader.join(30)
    assert order == ["writer", "reader"]


def test_it_is_reentrant():
    lock = SharedLock()
    with lock.writing(), lock.reading(), lock.writing():
        pass
    with lock.reading(), lock.writing(), lock.reading():
        pass
    assert not lock.readers
    assert lock.writer is None
    assert not lock.queue


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without timers")
@pytest.mark.parametrize("turn", ["reading", "writing"])
def test_an_interrupt_at_any_moment_leaves_it_free(turn):
    """Written in Python, every second interrupt left a lock that other threads would have waited for ever for."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before, moments, interrupted = signal.signal(signal.SIGALRM, interrupt), random.Random(0), 0
    try:
        for _ in range(500):
            lock = SharedLock()
            try:
                signal.setitimer(signal.ITIMER_REAL, moments.uniform(2e-5, 2e-4))
                for _ in range(10_000):  # milliseconds; a finaliser may swallow the one interrupt
                    with getattr(lock, turn)():
                        pass
            except KeyboardInterrupt:
                interrupted += 1
            assert not lock.readers
            assert lock.writer is None
            assert in_thread(lambda lock=lock: lock.start_writing(1)).join(30) is None
            assert lock.writer == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 400


def test_a_signal_handler_reads_in_the_middle_of_its_own_thread():
    lock, calls = SharedLock(), []

    def handle(*_):
        with lock.reading():
            calls.append(1)
        signal.setitimer(signal.ITIMER_REAL, 1e-4)  # again, but not before this one has ended

    def other():
        for _ in range(3000):
            with lock.writing():
                pass

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 1e-4)
    try:
        thread = in_thread(other)
        for _ in range(3000):
            with lock.writing():
                pass
            with lock.reading():
                pass
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # or a handler that is due would set the timer anew
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    thread.join(30)
    assert not thread.is_alive()
    assert calls


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("guards_arrays", [True, False])
def test_a_child_sees_whole_arrays_and_a_free_lock(guards_arrays):
    lock, pair, stop = SharedLock(guards_arrays), [0, 0], threading.Event()

    def write():
        while not stop.is_set():
            with lock.writing():
                pair[0] += 1
                time.sleep(1e-4)
                pair[1] += 1

    thread = in_thread(write)
    for _ in range(20):
        time.sleep(0.002)
        child = os.fork()
        if not child:
            signal.alarm(20)
            with lock.writing():  # in the child, where the thread that held it is not
                os._exit(0 if pair[0] == pair[1] or not guards_arrays else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    stop.set()
    thread.join(30)
    with lock.writing():
        pass


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_who_forks_while_holding_it_holds_it_in_the_child():
    lock = SharedLock()
    with lock.writing():
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if lock.writer == threading.get_ident() and lock.depth == 1 else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
