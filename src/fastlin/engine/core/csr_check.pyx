"""Rows of a CSR that are not as kernels want them: what is wrong with them, and where; in order, or copied elsewhere.

For every row 0 ≤ indptr[i] ≤ indptr[i+1] ≤ nnz, for every index 0 ≤ j < n_columns, for every value x finite:
`csr_scores.validate_csr` says whether that is so, and is the pass that all rows take.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fastlin.engine.core.allocation cimport allocate, allocate_zeros
from fastlin.engine.core.csr cimport real

cdef extern from * nogil:
    int trailing_zeros "__builtin_ctzll"(uint64_t) noexcept

VALID, INDPTR_START, INDPTR_ORDER, INDPTR_END, INDEX_RANGE, NOT_FINITE = range(6)


def find_fault(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, int64_t n_columns):
    """Return (fault, row, position): the first one of this module's faults, at non-zero number `position` of `row`."""
    cdef int64_t i, p, start, end = 0, rows = indptr.shape[0] - 1
    cdef int64_t nnz = indices.shape[0] if indices.shape[0] < values.shape[0] else values.shape[0]
    cdef int32_t columns = <int32_t>(n_columns if n_columns < INT32_MAX else INT32_MAX)
    cdef int outside, infinite
    if indptr[0] != 0:
        return INDPTR_START, 0, 0
    for i in range(rows):
        start = end
        end = indptr[i + 1]
        if end < start:
            return INDPTR_ORDER, i, start
        if end > nnz:
            return INDPTR_END, i, start
        outside = infinite = False
        for p in range(start, end):                       # loops without an end of their own, which vectorise
            outside |= (indices[p] < 0) | (indices[p] >= columns)
        for p in range(start, end):
            infinite |= not fabs(values[p]) < INFINITY
        p = start
        if outside:
            while 0 <= indices[p] < columns:
                p += 1
            return INDEX_RANGE, i, p
        if infinite:
            while fabs(values[p]) < INFINITY:
                p += 1
            return NOT_FINITE, i, p
    return VALID, 0, 0


def find_repeated_index(const int64_t[::1] indptr, const int32_t[::1] indices, uint64_t[::1] seen):
    """The first row with an index twice, or −1; for rows in any order. `seen`: a bit a column, all 0, and so left."""
    cdef int64_t i, p, end, fault = -1, rows = indptr.shape[0] - 1
    cdef uint64_t bit
    with nogil:
        for i in range(rows):
            end = indptr[i + 1]
            for p in range(indptr[i], end):
                bit = 1ULL << (indices[p] & 63)
                if seen[indices[p] >> 6] & bit:
                    fault = i
                seen[indices[p] >> 6] |= bit
            for p in range(indptr[i], end):
                seen[indices[p] >> 6] = 0
            if fault >= 0:
                break
    return fault


def sort_rows(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, int64_t n_columns,
              int32_t[::1] sorted_indices, real[::1] sorted_values):
    """Rows of a proved CSR with their indices rising; returns whether no row has one twice, else they are no good.

    A row marks its columns in a set of bits that knows which of its words are not empty, and which of those words; it
    is read off from there, which costs a fifth of sorting at the widths of texts.
    """
    cdef Py_ssize_t words = n_columns // 64 + 1, groups = words // 64 + 1
    cdef uint64_t* bits = <uint64_t*>allocate_zeros(words, sizeof(uint64_t))
    cdef uint64_t* full = <uint64_t*>allocate_zeros(groups, sizeof(uint64_t))
    cdef int32_t* places = <int32_t*>allocate(n_columns, sizeof(int32_t))
    cdef bint distinct = True
    cdef int64_t i, p, q = 0, start, end, g, low, high
    cdef int32_t j
    cdef uint64_t of_group, of_word
    cdef Py_ssize_t word
    if bits == NULL or full == NULL or places == NULL:
        free(bits)
        free(full)
        free(places)
        raise MemoryError
    with nogil:
        for i in range(indptr.shape[0] - 1):
            start = indptr[i]
            end = indptr[i + 1]
            low = groups
            high = -1
            for p in range(start, end):
                j = indices[p]
                distinct &= not bits[j >> 6] >> (j & 63) & 1
                bits[j >> 6] |= 1ULL << (j & 63)
                g = j >> 12
                full[g] |= 1ULL << (j >> 6 & 63)
                low = g if g < low else low
                high = g if g > high else high
                places[j] = <int32_t>(p - start)
            if not distinct:
                break
            for g in range(low, high + 1):
                of_group = full[g]
                full[g] = 0
                while of_group:
                    word = g << 6 | trailing_zeros(of_group)
                    of_group &= of_group - 1
                    of_word = bits[word]
                    bits[word] = 0
                    while of_word:
                        j = <int32_t>(word << 6 | trailing_zeros(of_word))
                        of_word &= of_word - 1
                        sorted_indices[q] = j
                        sorted_values[q] = values[start + places[j]]
                        q += 1
    free(bits)
    free(full)
    free(places)
    return distinct


def copy_rows(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, const int64_t[::1] rows,
              const int64_t[::1] starts, int32_t[::1] taken_indices, real[::1] taken_values):
    """Copy the entries of some rows, row rows[i] to where starts[i] says."""
    cdef Py_ssize_t i
    cdef int64_t first, n
    with nogil:
        for i in range(rows.shape[0]):
            first = indptr[rows[i]]
            n = indptr[rows[i] + 1] - first
            if n:
                memcpy(&taken_indices[starts[i]], &indices[first], n * sizeof(int32_t))
                memcpy(&taken_values[starts[i]], &values[first], n * sizeof(real))
