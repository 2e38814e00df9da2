"""How a batch learner lays its data out: columns by frequency, and the transpose.

Features that no row has take no room in the vectors of an optimiser, and those that many rows have lie side by side, so
that the cache keeps them. With the transpose at hand, Xᵀ R is a gather as X W is, by the same kernel: every weight's
sum stays in registers and is written once. Measured with K = 20 on 20 Newsgroups: see docs/engine.md.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport prefetch, real


cdef enum:
    PREFETCH_AHEAD = 64


def count_nonzeros(const int32_t[::1] indices, int64_t[::1] counts):
    """counts[j] += the number of non-zeros of column j."""
    cdef int64_t p, nnz = indices.shape[0]
    with nogil:
        for p in range(nnz):
            prefetch(&counts[indices[p + PREFETCH_AHEAD if p + PREFETCH_AHEAD < nnz else p]])
            counts[indices[p]] += 1


def renumber_columns(const int32_t[::1] indices, const int32_t[::1] rank, int32_t[::1] renamed):
    """renamed = rank[indices]."""
    cdef int64_t p, nnz = indices.shape[0]
    with nogil:
        for p in range(nnz):
            prefetch(&rank[indices[p + PREFETCH_AHEAD if p + PREFETCH_AHEAD < nnz else p]])
            renamed[p] = rank[indices[p]]


def add_magnitudes(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, Py_ssize_t start,
                   Py_ssize_t stop, const int32_t[::1] sides, const double[::1] weights, double[:, ::1] sums):
    """sums[j, side of i] += w_i |x_ij| of the rows [start, stop); no weights stand for ones."""
    cdef int64_t i, p, nnz = indptr[stop]
    cdef double w = 1
    with nogil:
        for i in range(start, stop):
            if weights.shape[0]:
                w = weights[i]
            for p in range(indptr[i], indptr[i + 1]):
                prefetch(&sums[indices[p + PREFETCH_AHEAD if p + PREFETCH_AHEAD < nnz else p], 0])
                sums[indices[p], sides[i]] += w * fabs(values[p])


def select_columns(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, Py_ssize_t start,
                   Py_ssize_t stop, const int32_t[::1] rank, int64_t[::1] ends, int32_t[::1] renamed, real[::1] kept):
    """The non-zeros of the rows [start, stop) whose column has a rank, under it; ends[i] says where row i begins.

    Every non-zero is written, where the next one that is kept will be: there has to be room for one more. Which columns
    have a rank is as good as random from one to the next, and a branch on it took three times as long.
    """
    cdef int64_t i, p, to = ends[start], nnz = indptr[stop]
    cdef int32_t j
    with nogil:
        for i in range(start, stop):
            for p in range(indptr[i], indptr[i + 1]):
                prefetch(&rank[indices[p + PREFETCH_AHEAD if p + PREFETCH_AHEAD < nnz else p]])
                j = rank[indices[p]]
                renamed[to] = j
                kept[to] = values[p]
                to += j >= 0
            ends[i + 1] = to


def transpose(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values, Py_ssize_t start,
              Py_ssize_t stop, int64_t[::1] cursor, int32_t[::1] rows, real[::1] columns):
    """Row numbers and values of the rows [start, stop), column by column; cursor[j] is where column j goes on."""
    cdef int64_t i, p, q, nnz = indptr[stop]
    cdef int32_t j
    with nogil:
        for i in range(start, stop):
            for p in range(indptr[i], indptr[i + 1]):
                prefetch(&cursor[indices[p + PREFETCH_AHEAD if p + PREFETCH_AHEAD < nnz else p]])
                j = indices[p]
                q = cursor[j]
                cursor[j] = q + 1
                rows[q] = <int32_t>i
                columns[q] = values[p]
