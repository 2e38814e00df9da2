"""A readers–writer lock: many threads read a state, or one changes it.

A thread that holds it may take it again in either way, as a signal handler or a finaliser does that runs in the middle
of the thread's own work. Who has to wait is served in the order of coming, so that nobody starves. (A thread that reads
may go on to write, as long as no other does the same.)

A fork waits for those who write to a state in place, so that the child's copy is whole; what other threads held is
free in the child, where these threads do not exist.
"""

import concurrent.futures.thread  # noqa: F401 - so that a fork takes its lock after those here: learners need it to end
import contextlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Self

_locks: "weakref.WeakSet[SharedLock]" = weakref.WeakSet()
_registry = threading.RLock()  # guards _locks
FORK_WAIT_SECONDS = 0.01  # seconds that a fork waits for a lock's own critical section before it lets all go on


class SharedLock:
    """A readers–writer lock, re-entrant in a thread.

    `guards_arrays`: what it protects is changed in place, so that a fork must wait for the writer; otherwise writers
    work on a copy, and what a child inherits is whole at any time.
    """

    def __init__(self, guards_arrays: bool = True) -> None:
        self.guards_arrays = guards_arrays
        self._changed = threading.Condition(threading.RLock())
        self._readers: dict[int, int] = {}  # how often each thread holds it
        self._writer: int | None = None
        self._depth = 0  # how often the writer holds it
        self._queue: deque[int] = deque()  # the threads that wait
        with _registry:
            _locks.add(self)

    def reading(self) -> "_Reading":
        """Hold it beside other readers, for as long as a `with` lasts."""
        return _Reading(self)

    def writing(self) -> "Turn":
        """Hold it alone, for as long as a `with` lasts."""
        return Turn(self)

    def __reduce__(self) -> tuple[type["SharedLock"], tuple[bool]]:
        return SharedLock, (self.guards_arrays,)  # a copy of what it guards has a lock of its own

    def is_written_here(self) -> bool:
        """Whether this thread holds it alone."""
        return self._writer == threading.get_ident()

    def _start_reading(self, me: int) -> None:
        with self._changed:
            if self._writer != me and me not in self._readers and (self._writer is not None or self._queue):
                self._wait_until(me, lambda: self._writer is None)
            self._readers[me] = self._readers.get(me, 0) + 1

    def _stop_reading(self, me: int) -> None:
        with self._changed:
            if self._readers[me] == 1:
                del self._readers[me]
                self._changed.notify_all()
            else:
                self._readers[me] -= 1

    def _start_writing(self, me: int) -> None:
        with self._changed:
            if self._writer == me:
                self._depth += 1
                return
            if self._queue:
                self._wait_until(me, lambda: self._is_free(me))
            while self._writer != me:
                if not self._is_free(me):
                    self._wait_until(me, lambda: self._is_free(me))
                self._writer, self._depth = me, 1  # no signal comes between the two
                if self._readers.keys() - {me}:  # let in by a signal handler that waited, just before
                    self._writer, self._depth = None, 0

    def _is_free(self, me: int) -> bool:
        """Whether no other thread holds it."""
        return self._writer is None and not self._readers.keys() - {me}

    def _wait_until(self, me: int, possible: Callable[[], bool]) -> None:
        """Wait for one's turn; what interrupts a waiting thread has that thread's place in the queue.

        Whoever is first is woken before: what waits may be a signal handler, in the middle of its thread's leaving.
        """
        self._queue.append(me)
        try:
            self._changed.notify_all()
            while self._queue[0] != me or not possible():
                self._changed.wait()
        finally:
            self._queue.remove(me)
            self._changed.notify_all()

    def _stop_writing(self) -> None:
        with self._changed:
            self._depth -= 1
            if not self._depth:
                self._writer = None
                self._changed.notify_all()

    def _stop_for_fork(self, me: int, reading: bool) -> bool:
        """Stand still for a fork by this thread, which reads it already or has met it just now; whether it can be."""
        if not self._changed.acquire(timeout=FORK_WAIT_SECONDS):
            return False
        if self.guards_arrays and not reading:
            if self._writer not in (None, me):
                self._changed.release()
                return False
            self._readers[me] = self._readers.get(me, 0) + 1
        return True

    def _after_fork(self) -> None:
        self._changed.release()
        if self.guards_arrays:
            self._stop_reading(threading.get_ident())

    def _after_fork_in_child(self) -> None:
        me = threading.get_ident()
        readers, writes = self._readers.get(me), self._writer == me
        self._changed = threading.Condition(threading.RLock())
        self._readers, self._queue = {} if readers is None else {me: readers}, deque()
        self._writer, self._depth = (me, self._depth) if writes else (None, 0)
        if self.guards_arrays:
            self._stop_reading(me)


class _Reading:
    __slots__ = ("_lock",)

    def __init__(self, lock: SharedLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock._start_reading(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        self._lock._stop_reading(threading.get_ident())


class Turn:
    """A writer's turn, which it may interrupt."""

    __slots__ = ("_lock",)

    def __init__(self, lock: SharedLock) -> None:
        self._lock = lock

    def __enter__(self) -> Self:
        self._lock._start_writing(threading.get_ident())
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock.is_written_here():  # else it was interrupted while it was released
            self._lock._stop_writing()

    @contextlib.contextmanager
    def released(self) -> Iterator[None]:
        """Let others have it, for as long as a `with` within the other lasts."""
        self._lock._stop_writing()
        try:
            yield
        finally:
            self._lock._start_writing(threading.get_ident())

    def pause(self) -> None:
        """Let those have it who wait for it now."""
        if self._lock._queue:
            with self.released():
                pass


_held: list[SharedLock] = []  # by the thread that forks
_forking = threading.RLock()  # held by it


def _before_fork() -> None:
    _forking.acquire()
    while not _hold_all():
        time.sleep(FORK_WAIT_SECONDS / 10)


def _hold_all() -> bool:
    """Wait for all who write to arrays, and then stop every lock; False where another has to go on first."""
    me = threading.get_ident()
    with _registry:
        read = [lock for lock in _locks if lock.guards_arrays]
    for lock in read:  # which a writer may end for that needs other locks, or a new one
        lock._start_reading(me)
    known = {id(lock) for lock in read}
    stopped = registered = _registry.acquire(timeout=FORK_WAIT_SECONDS)
    for lock in list(_locks) if registered else []:
        if not lock._stop_for_fork(me, id(lock) in known):
            stopped = False
            break
        known.discard(id(lock))
        _held.append(lock)
    if not stopped:
        while _held:
            _held.pop()._after_fork()
        if registered:
            _registry.release()
        for lock in read:
            if id(lock) in known:
                lock._stop_reading(me)
    return stopped


def _after_fork() -> None:
    while _held:
        _held.pop()._after_fork()
    _registry.release()
    _forking.release()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop()._after_fork_in_child()
    _registry.release()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
