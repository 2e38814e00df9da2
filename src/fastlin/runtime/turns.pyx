"""Turns of a readers–writer lock, taken and given back without a moment at which Ctrl-C could come between.

A signal handler runs between two instructions of Python. In a lock written in Python one instruction has taken the turn
and a later one says that it must be given back: of interrupts that came while turns were taken, every second left a
lock that other threads would have waited for ever for. Here the only calls of Python that may be interrupted are the
waits, which give back what they hold.
"""

from _thread import allocate_lock, get_ident
from collections import deque
from threading import RLock


cdef class Turns:
    """Who reads, who writes, and who waits, in the order of coming."""

    cdef readonly object lock  # of what follows
    cdef public dict readers  # how often each thread holds it
    cdef public object writer  # the thread that writes, or None
    cdef public Py_ssize_t depth  # how often the writer holds it
    cdef readonly object queue  # the threads that wait
    cdef list _wakes  # a lock for each of them, released when something has changed

    def __init__(self):
        self.clear()

    cpdef clear(self):
        """Begin with a lock that nobody holds."""
        self.lock = RLock()
        self.readers, self.writer, self.depth = {}, None, 0
        self.queue, self._wakes = deque(), []

    cpdef start_reading(self, me):
        self.lock.acquire()
        try:
            if self.writer != me and me not in self.readers and (self.writer is not None or self.queue):
                self._wait(me, False)
            self.readers[me] = self.readers.get(me, 0) + 1
        finally:
            self.lock.release()

    cpdef stop_reading(self, me):
        self.lock.acquire()
        try:
            if self.readers[me] == 1:
                del self.readers[me]
                self._wake_all()
            else:
                self.readers[me] -= 1
        finally:
            self.lock.release()

    cpdef start_writing(self, me):
        self.lock.acquire()
        try:
            if self.writer == me:
                self.depth += 1
                return
            if self.queue or not self._is_free(me):
                self._wait(me, True)
            self.writer, self.depth = me, 1
        finally:
            self.lock.release()

    cpdef stop_writing(self, me):
        """Give a turn back; a thread that was interrupted while its turn was released has none."""
        self.lock.acquire()
        try:
            if self.writer != me:
                return
            self.depth -= 1
            if not self.depth:
                self.writer = None
                self._wake_all()
        finally:
            self.lock.release()

    cdef bint _is_free(self, me):
        """Whether no other thread holds it."""
        return self.writer is None and (not self.readers or (len(self.readers) == 1 and me in self.readers))

    cdef _wait(self, me, bint to_write):
        """Wait for one's turn; what interrupts a waiting thread has that thread's place in the queue.

        Whoever is first is woken before: what waits may be a signal handler, in the middle of its thread's leaving.
        """
        self.queue.append(me)
        try:
            self._wake_all()
            while self.queue[0] != me or not (self._is_free(me) if to_write else self.writer is None):
                wake = allocate_lock()
                wake.acquire()
                self._wakes.append(wake)
                held = self.lock._release_save()
                try:
                    wake.acquire()
                finally:
                    self.lock._acquire_restore(held)
        finally:
            self.queue.remove(me)
            self._wake_all()

    cdef _wake_all(self):
        for wake in self._wakes:
            wake.release()
        self._wakes.clear()


cdef class Reading:
    """A reader's turn, for as long as a `with` lasts.

    From CPython 3.14 on an interrupt may come when a turn has been taken and the `with` has not begun to watch over it;
    then the turn is given back when it is deleted, as the interrupt leaves.
    """

    cdef Turns _turns
    cdef object _holder  # the thread that has the turn

    def __init__(self, Turns turns):
        self._turns = turns

    def __enter__(self):
        me = get_ident()
        self._turns.start_reading(me)
        self._holder = me

    def __exit__(self, *_):
        me, self._holder = self._holder, None
        self._turns.stop_reading(me)

    def __del__(self):
        if self._holder is not None:
            self.__exit__()


cdef class Writing:
    """A writer's turn, for as long as a `with` lasts, given back as a reader's is."""

    cdef readonly Turns turns
    cdef object _holder  # the thread that has the turn

    def __init__(self, Turns turns):
        self.turns = turns

    def __enter__(self):
        me = get_ident()
        self.turns.start_writing(me)
        self._holder = me
        return self

    def __exit__(self, *_):
        me, self._holder = self._holder, None
        self.turns.stop_writing(me)

    def __del__(self):
        if self._holder is not None:
            self.__exit__()
