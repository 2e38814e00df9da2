"""Memory of the rows and names that readers of Python objects write: see the declarations."""

from cpython cimport array
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from cython cimport final

import numpy as np

from fastlin.engine.core.allocation cimport reallocate


cdef class GrowingRows:
    def __cinit__(self):
        self.kept_indices, self.kept_values, self.kept_ends = array.array("i"), array.array("d"), array.array("q")
        self.grow(1024)
        self.lengthen(128)
        self.ends[0] = 0

    @final
    cdef int grow(self, Py_ssize_t room) except -1:
        array.resize(self.kept_indices, room)
        self.indices = <int32_t*>self.kept_indices.data.as_ints
        if self.values:
            array.resize(self.kept_values, room)
            self.values = self.kept_values.data.as_doubles
        self.room = room
        return 0

    @final
    cdef int lengthen(self, Py_ssize_t rooms) except -1:
        array.resize(self.kept_ends, rooms)
        self.ends, self.rooms = <int64_t*>self.kept_ends.data.as_longlongs, rooms
        return 0

    @final
    cdef int make_values(self) except -1:
        """From here on there are values; so far all were 1."""
        cdef Py_ssize_t p
        array.resize(self.kept_values, self.room)
        self.values = self.kept_values.data.as_doubles
        for p in range(self.n):
            self.values[p] = 1.0
        return 0

    @final
    cdef int sort_long(self) except -1:
        """Sort a row that insertion would take long for; stable, too."""
        indices = np.frombuffer(self.kept_indices, np.int32)[self.start:self.n]
        order = indices.argsort(kind="stable")
        indices[:] = indices[order]
        if self.values:
            values = np.frombuffer(self.kept_values, np.float64)[self.start:self.n]
            values[:] = values[order]
        return 0

    @final
    cdef tuple csr(self):
        """(indptr, indices, values; None: all are 1)"""
        self.grow(self.n)
        self.lengthen(self.rows + 1)
        return (np.frombuffer(self.kept_ends, np.int64), np.frombuffer(self.kept_indices, np.int32),
                np.frombuffer(self.kept_values, np.float64) if self.values else None)


@final
cdef class NameBuffer:
    def __dealloc__(self):
        free(self.text)

    cdef int reserve(self, Py_ssize_t room) except -1:
        cdef char* larger = <char*>reallocate(self.text, room, 1)
        if not larger:
            raise MemoryError
        self.text, self.room = larger, room
        return 0
