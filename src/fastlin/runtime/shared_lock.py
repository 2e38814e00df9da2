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
import time
import weakref
from collections.abc import Iterator

from fastlin.runtime.turns import Reading, Turns, Writing

_locks: "weakref.WeakSet[SharedLock]" = weakref.WeakSet()
_registry = threading.RLock()  # guards _locks
FORK_WAIT_SECONDS = 0.01  # seconds that a fork waits for a lock's own critical section before it lets all go on


class SharedLock(Turns):
    """A readers–writer lock, re-entrant in a thread.

    `guards_arrays`: what it protects is changed in place, so that a fork must wait for the writer; otherwise writers
    work on a copy, and what a child inherits is whole at any time.
    """

    def __init__(self, guards_arrays: bool = True) -> None:
        super().__init__()
        self.guards_arrays = guards_arrays
        with _registry:
            _locks.add(self)

    def reading(self) -> Reading:
        """Hold it beside other readers, for as long as a `with` lasts."""
        return Reading(self)

    def writing(self) -> "Turn":
        """Hold it alone, for as long as a `with` lasts."""
        return Turn(self)

    def __reduce__(self) -> tuple[type["SharedLock"], tuple[bool]]:
        return SharedLock, (self.guards_arrays,)  # a copy of what it guards has a lock of its own

    def is_written_here(self) -> bool:
        """Whether this thread holds it alone."""
        return self.writer == threading.get_ident()

    def _stop_for_fork(self, me: int, reading: bool) -> bool:
        """Stand still for a fork by this thread, which reads it already or has met it just now; whether it can be."""
        if not self.lock.acquire(timeout=FORK_WAIT_SECONDS):
            return False
        if self.guards_arrays and not reading:
            if self.writer not in (None, me):
                self.lock.release()
                return False
            self.readers[me] = self.readers.get(me, 0) + 1
        return True

    def _after_fork(self) -> None:
        self.lock.release()
        if self.guards_arrays:
            self.stop_reading(threading.get_ident())

    def _after_fork_in_child(self) -> None:
        me = threading.get_ident()
        readers, depth = self.readers.get(me), self.depth if self.is_written_here() else 0
        self.clear()
        if readers is not None:
            self.readers[me] = readers
        if depth:
            self.writer, self.depth = me, depth
        if self.guards_arrays:
            self.stop_reading(me)


class Turn(Writing):
    """A writer's turn, which it may interrupt."""

    @contextlib.contextmanager
    def released(self) -> Iterator[None]:
        """Let others have it, for as long as a `with` within the other lasts."""
        self.turns.stop_writing(threading.get_ident())
        try:
            yield
        finally:
            self.turns.start_writing(threading.get_ident())

    def pause(self) -> None:
        """Let those have it who wait for it now."""
        if self.turns.queue:
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
        lock.start_reading(me)
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
                lock.stop_reading(me)
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
