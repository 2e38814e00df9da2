"""What the readers of Python objects write: a CSR that grows row by row, and the bytes of names.

Two read such objects: `features/dict_rows` samples, `sequence/attributes` tokens. What they accept and say differs;
what becomes of a column and a value is here. Methods are inlined into both.
"""

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsEncodedString
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t
from libc.string cimport memcpy
from cython cimport final

from fastlin.engine.text.row_entries cimport sort_row, sum_duplicates

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object) noexcept
    void* PyUnicode_DATA(object) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object) noexcept

cdef enum:
    MAX_INSERTION_SORT = 64  # entries of a row that are sorted by insertion


cdef inline void sort_ones(int32_t* indices, Py_ssize_t m) noexcept nogil:
    """By insertion."""
    cdef Py_ssize_t p, q
    cdef int32_t index
    for p in range(1, m):
        index, q = indices[p], p
        while q and indices[q - 1] > index:
            indices[q] = indices[q - 1]
            q -= 1
        indices[q] = index


cdef inline bint repeats(const int32_t* indices, Py_ssize_t m) noexcept nogil:
    """Whether a sorted row has two entries of one index."""
    cdef Py_ssize_t p
    for p in range(1, m):
        if indices[p] == indices[p - 1]:
            return True
    return False


cdef inline uint32_t check_length(Py_ssize_t n) except? 0:
    """The bytes of a name."""
    if n > INT32_MAX:
        raise OverflowError(f"the name of a feature has {n} bytes; at most {INT32_MAX} are supported")
    return <uint32_t>n


cdef inline bytes utf8(object name):
    return PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass")


cdef class GrowingRows:
    """A CSR that grows. Its values are made with the first that is not 1."""

    cdef array.array kept_indices, kept_values, kept_ends  # own the memory of
    cdef int32_t* indices
    cdef double* values  # NULL while all are 1
    cdef int64_t* ends
    cdef Py_ssize_t n, room, rows, rooms, start  # entries, rows, and where the row begins that is being written

    @final
    cdef int grow(self, Py_ssize_t room) except -1

    @final
    cdef int lengthen(self, Py_ssize_t rooms) except -1

    @final
    cdef int make_values(self) except -1

    @final
    cdef int sort_long(self) except -1

    @final
    cdef tuple csr(self)

    cdef inline int append(self, int32_t column, double value) except -1:
        if self.n == self.room:
            self.grow(2 * self.room)
        if value != 1.0 and not self.values:
            self.make_values()
        self.indices[self.n] = column
        if self.values:
            self.values[self.n] = value
        self.n += 1
        return 0

    cdef inline bint sort_short(self) noexcept:
        """Sort the row by insertion, which is stable; False: it is too long."""
        cdef Py_ssize_t m = self.n - self.start
        if m > MAX_INSERTION_SORT:
            return False
        if self.values:
            sort_row(self.indices + self.start, self.values + self.start, m)
        else:
            sort_ones(self.indices + self.start, m)
        return True

    cdef inline int sum_up(self) except -1:
        """Entries of one column become their sum, if the row is sorted."""
        cdef Py_ssize_t m = self.n - self.start
        if repeats(self.indices + self.start, m):
            if not self.values:
                self.make_values()
            self.n = self.start + sum_duplicates(self.indices + self.start, self.values + self.start, m)
        return 0

    cdef inline int end(self) except -1:
        """The row is complete."""
        self.rows += 1
        if self.rows == self.rooms:
            self.lengthen(2 * self.rooms)
        self.ends[self.rows] = self.start = self.n
        return 0


@final
cdef class NameBuffer:
    """UTF-8, one string behind the other."""

    cdef char* text
    cdef Py_ssize_t n, room

    cdef int reserve(self, Py_ssize_t room) except -1

    cdef inline int append_bytes(self, const void* text, Py_ssize_t n) except -1:
        if self.n + n >= self.room:  # an empty string, too, has a place
            self.reserve(2 * (self.n + n) + 64)
        memcpy(self.text + self.n, text, n)
        self.n += n
        return 0

    cdef inline int append(self, object name) except -1:
        """A string, lone surrogates and all."""
        cdef bytes encoded
        if PyUnicode_IS_COMPACT_ASCII(name):
            return self.append_bytes(PyUnicode_DATA(name), PyUnicode_GET_LENGTH(name))
        encoded = utf8(name)
        return self.append_bytes(PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded))
