"""Calls that other threads make, safe in signal handlers.

A signal handler runs in the middle of whatever its thread does, and may start threads itself. The executors of the
standard library hold a lock of the whole process while a thread starts, so a handler that came then waited for ever for
its own thread. Here claims and answers go through `dict.setdefault` and `SimpleQueue`, which nobody holds.

`Thread.start` has such a lock as well, which the thread that it starts wants, too: no signal comes meanwhile.
"""

import signal
import threading
from collections.abc import Callable
from queue import SimpleQueue

FAULTS = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS"}  # of the thread that has them
AWAITED = {number for number in signal.valid_signals() if getattr(number, "name", "") not in FAULTS}


def start_thread(thread: threading.Thread) -> None:
    """Start a thread while signals wait; those of the process never come to it, but to the main thread.

    Where a handler raises, the mask is as it was.
    """
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None or threading.current_thread() is not threading.main_thread():
        thread.start()
        return
    before = mask(signal.SIG_BLOCK, ())
    try:
        mask(signal.SIG_BLOCK, AWAITED)
        thread.start()
    finally:
        mask(signal.SIG_SETMASK, before)


class ThreadCall:
    """A call of a function that a thread makes, unless its caller takes it back before it begins."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._claim: dict[str, str] = {}  # "by": who came first, the caller or the thread
        self._outcome: list[BaseException | None] = []
        self._wakes: SimpleQueue[None] = SimpleQueue()

    def run(self) -> None:
        """Make the call, in the thread that this is, unless it was taken back."""
        if self._claim.setdefault("by", "thread") != "thread":
            return
        error = None
        try:
            self._work()
        except BaseException as raised:
            error = raised
        self._outcome.append(error)
        self._wakes.put(None)

    def take_back(self) -> bool:
        """Whether the call had not begun, and never will."""
        return self._claim.setdefault("by", "caller") == "caller"

    def wait(self) -> None:
        """Wait until the call, which has begun, has ended."""
        while not self._outcome:  # and not for an answer: an interrupt may come when it has just been taken
            self._wakes.get()

    def result(self) -> None:
        """Raise what the call, which has ended, raised."""
        if self._outcome[0] is not None:
            raise self._outcome[0]


class ThreadCrew:
    """Threads that make calls, as they come, until the crew is dismissed."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[ThreadCall | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, call: ThreadCall, most_threads: int) -> None:
        """Hand over a call, to a new thread where there are fewer than so many."""
        if len(self._threads) < most_threads:
            # A daemon: the end of other threads takes a lock of the whole process, for which a handler could wait.
            self._threads.append(thread := threading.Thread(target=self._run_calls, daemon=True))
            start_thread(thread)
        self._calls.put(call)

    def _run_calls(self) -> None:
        while (call := self._calls.get()) is not None:
            call.run()

    def dismiss(self) -> None:
        """End the threads, and wait until they have ended."""
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            if thread.is_alive():  # or has ended, or an interrupt came before it began
                thread.join()


def run_uninterrupted(work: Callable[[], None]) -> None:
    """Run `work` to its end even if Ctrl-C comes meanwhile: signals reach the main thread only, which waits."""
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    call = ThreadCall(work)
    try:
        start_thread(threading.Thread(target=call.run, daemon=True))
        call.wait()
    except BaseException:
        if not call.take_back():
            call.wait()
        raise
    call.result()
