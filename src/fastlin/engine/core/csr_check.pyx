"""One pass that proves a CSR well formed: nothing reaches a kernel that this has not seen.

For every row 0 ≤ indptr[i] ≤ indptr[i+1] ≤ nnz, for every index 0 ≤ j < n_columns, for every value x finite.
On the way it learns what callers need to know: order and duplicates, signs, explicit zeros, the largest |x|.

The loops have no branch in a non-zero, so that gcc vectorises them; where a row fails it is searched again.
|x| is compared as an integer, which orders finite numbers < ∞ < NaN and, unlike a maximum of floats, vectorises.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fastlin.engine.core.allocation cimport allocate, allocate_zeros
from fastlin.engine.core.csr cimport real

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>
    static inline int64_t fastlin_size_double(double x) { int64_t b; memcpy(&b, &x, 8); return b & INT64_MAX; }
    static inline int64_t fastlin_size_float(float x) { int32_t b; memcpy(&b, &x, 4); return b & INT32_MAX; }
    static inline double fastlin_from_double(int64_t b) { double x; memcpy(&x, &b, 8); return x; }
    static inline double fastlin_from_float(int64_t b) { int32_t c = (int32_t)b; float x; memcpy(&x, &c, 4); return x; }
    """
    int64_t fastlin_size_double(double) noexcept
    int64_t fastlin_size_float(float) noexcept
    double fastlin_from_double(int64_t) noexcept
    double fastlin_from_float(int64_t) noexcept
    int trailing_zeros "__builtin_ctzll"(uint64_t) noexcept

VALID, INDPTR_START, INDPTR_ORDER, INDPTR_END, INDEX_RANGE, NOT_FINITE = range(6)


cdef inline int64_t size_of(real x) noexcept nogil:
    """The bits of |x|."""
    if real is float:
        return fastlin_size_float(x)
    else:
        return fastlin_size_double(x)


def validate_csr(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, int64_t n_columns):
    """Return (fault, row, position, canonical, negative, zeros, largest).

    `fault` is one of this module's constants, at non-zero number `position` of `row`. `canonical`: the indices of every
    row rise strictly. `negative`, `zeros`: some value is below 0, is an explicit 0.
    """
    cdef int64_t i, p, start, end = 0, rows = indptr.shape[0] - 1
    cdef int64_t nnz = indices.shape[0] if indices.shape[0] < values.shape[0] else values.shape[0]
    cdef int64_t largest = 0, size, infinite = 0x7FF0000000000000LL
    cdef uint32_t columns = <uint32_t>n_columns
    cdef int32_t disorder = 0, outside, negative = 0, zeros = 0
    cdef int fault = 0
    if real is float:
        infinite = 0x7F800000
    if indptr[0] != 0:
        return INDPTR_START, 0, 0, False, False, False, 0.0
    with nogil:
        for i in range(rows):
            start = end
            end = indptr[i + 1]
            if end < start:
                fault = 2
                break
            if end > nnz:
                fault = 3
                break
            outside = 0
            for p in range(start, end):
                outside |= <uint32_t>indices[p] >= columns
                size = size_of(values[p])
                largest = size if size > largest else largest
                negative |= values[p] < 0
                zeros |= size == 0
            for p in range(start + 1, end):
                disorder |= indices[p] <= indices[p - 1]
            if outside:
                fault = 4
                break
            if largest >= infinite:
                fault = 5
                break
    if fault:
        p = start
        if fault == 4:
            while <uint32_t>indices[p] < columns:
                p += 1
        elif fault == 5:
            while size_of(values[p]) < infinite:
                p += 1
        return fault, i, p, False, False, False, 0.0
    return (VALID, 0, 0, not disorder, bool(negative), bool(zeros),
            fastlin_from_float(largest) if real is float else fastlin_from_double(largest))


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
