"""Calls of other threads: Ctrl-C does not cut them, signal handlers may make them, too, in the middle of one."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from fastlin.runtime import thread_calls
from fastlin.runtime.thread_calls import ThreadCall, ThreadCrew


def test_ctrl_c_waits_for_uninterrupted_work(ctrl_c):
    done = []

    def work():
        time.sleep(0.2)
        done.append(True)

    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            thread_calls.run_uninterrupted(work)
        assert done == [True]
    finally:
        timer.join()


def test_an_error_in_uninterrupted_work_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        thread_calls.run_uninterrupted(lambda: 1 / 0)


def test_uninterrupted_work_runs_in_the_main_thread_by_another_and_elsewhere_at_once():
    ran_in = []

    def note():
        ran_in.append(threading.get_ident())

    thread_calls.run_uninterrupted(note)
    other = threading.Thread(target=lambda: thread_calls.run_uninterrupted(note))
    other.start()
    ident = other.ident
    other.join()
    assert ran_in[0] != threading.get_ident()
    assert ran_in[1] == ident


def test_a_call_that_was_taken_back_never_begins():
    made = []
    call = ThreadCall(lambda: made.append(1))
    assert call.take_back()
    call.run()
    assert call.take_back()  # as often as one asks
    assert not made


def test_a_call_that_has_begun_is_not_taken_back():
    made = []
    call = ThreadCall(lambda: made.append(1))
    call.run()
    call.wait()
    call.wait()
    assert not call.take_back()
    call.result()
    assert made == [1]


def test_a_crew_leaves_no_thread_behind():
    before = threading.active_count()
    crew, calls = ThreadCrew(), [ThreadCall(lambda: time.sleep(0.001)) for _ in range(5)]
    for call in calls:
        crew.submit(call, 3)
    assert threading.active_count() == before + 3
    crew.dismiss()
    assert threading.active_count() == before
    for call in calls:
        call.wait()


HANDLER = """
import signal, sys, time
from fastlin.runtime import parallel, thread_calls

def work():
    done = []
    thread_calls.run_uninterrupted(lambda: done.append(1))
    parallel.run_jobs(lambda start, stop: done.append(start), ((i, i + 1) for i in range(20)), 3)
    assert sorted(done) == [0, 1, 1, *range(2, 20)], done

def handle(*_):
    work()
    calls.append(1)
    if len(calls) < 500:  # on a busy machine the thread would never have its turn
        signal.setitimer(signal.ITIMER_REAL, 1e-4)

calls = []
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 1e-4)
end = time.monotonic() + 1
while time.monotonic() < end or len(calls) < 30:
    work()
signal.signal(signal.SIGALRM, signal.SIG_IGN)
print(len(calls))
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without timers")
def test_a_signal_handler_starts_threads_while_its_own_thread_does():
    """With the executors of the standard library this waited for ever."""
    child = subprocess.run([sys.executable, "-c", HANDLER], check=False, capture_output=True, text=True, timeout=60)
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) >= 30
