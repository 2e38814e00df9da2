"""A row of a CSR: its entries in the order of their indices, those of one index added up."""

from libc.stdint cimport int32_t


cdef inline void sort_row(int32_t* indices, double* values, Py_ssize_t m) noexcept nogil:
    """By insertion: entries of one index keep their order."""
    cdef Py_ssize_t p, q
    cdef int32_t index
    cdef double value
    for p in range(1, m):
        index, value, q = indices[p], values[p], p
        while q and indices[q - 1] > index:
            indices[q], values[q] = indices[q - 1], values[q - 1]
            q -= 1
        indices[q], values[q] = index, value


cdef inline Py_ssize_t sum_duplicates(int32_t* indices, double* values, Py_ssize_t m) noexcept nogil:
    """Entries of one index become their sum; sums of 0 stay."""
    cdef Py_ssize_t p, kept = 0
    for p in range(1, m):
        if indices[p] == indices[kept]:
            values[kept] += values[p]
        else:
            kept += 1
            indices[kept], values[kept] = indices[p], values[p]
    return kept + 1 if m else 0
