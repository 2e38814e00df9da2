"""A readers–writer lock: many threads read a state, or one changes it.

A thread that holds it may take it again in either way, as a signal handler or a finaliser does that runs in the middle
of the thread's own work. Who has to wait is served in the order of coming, so that nobody starves. (A thread that reads
may go on to write, as long as no other does the same.)

A fork waits for those who write to a state in place, so that the child's copy is whole; what other threads held is
free in the child, where these threads do not exist.
"""

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Self

_locks: "weakref.WeakSet[SharedLock]" = weakref.WeakSet()
_registry = threading.RLock()  # guards _locks


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
            if self._writer != me:
                if self._queue or not self._is_free(me):
                    self._wait_until(me, lambda: self._is_free(me))
                self._writer = me
            self._depth += 1

    def _is_free(self, me: int) -> bool:
        """Whether no other thread holds it."""
        return self._writer is None and not self._readers.keys() - {me}

    def _wait_until(self, me: int, possible: Callable[[], bool]) -> None:
        """Wait for one's turn; what interrupts a waiting thread has that thread's place in the queue."""
        self._queue.append(me)
        try:
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

    def _before_fork(self) -> None:
        if self.guards_arrays:
            self._start_reading(threading.get_ident())
        self._changed.acquire()

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


def _before_fork() -> None:
    _registry.acquire()
    for lock in list(_locks):
        lock._before_fork()
        _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop()._after_fork()
    _registry.release()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop()._after_fork_in_child()
    _registry.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
