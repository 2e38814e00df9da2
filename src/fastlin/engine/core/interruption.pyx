"""Whether a job is to end before it is done: work that takes long looks now and then.

Python hears of Ctrl-C in the main thread alone: in the others of a pool, `PyErr_CheckSignals` finds nothing. What tells
them is the pool's flag, of which each thread keeps the place for as long as it does the pool's jobs.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t

cdef extern from *:
    """
    static __thread const volatile int32_t *fastlin_stop_flag;  /* of the jobs that this thread does; NULL: of none */
    """
    const int32_t* stop_flag "fastlin_stop_flag"


@cython.final
cdef class WatchedFlag:
    """A context in which `look` ends what this thread does as soon as stop[0] is not zero."""

    cdef const int32_t[::1] _stop
    cdef const int32_t* _before

    def __init__(self, const int32_t[::1] stop):
        if stop.shape[0] != 1:
            raise ValueError("a flag is one number")
        self._stop = stop

    def __enter__(self):
        global stop_flag
        self._before, stop_flag = stop_flag, &self._stop[0]

    def __exit__(self, *_):
        global stop_flag
        stop_flag = self._before


cpdef int look() except -1:
    """Raise what a signal handler raises, or InterruptedError in a job whose pool is to stop."""
    PyErr_CheckSignals()
    if stop_flag != NULL and stop_flag[0] != 0:
        raise InterruptedError
    return 0
