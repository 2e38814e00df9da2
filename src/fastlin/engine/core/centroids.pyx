"""Rows beside the centroids of labels: how far they scatter, and how far they are in the Manhattan metric.

Σ_i w_i (x_ij − c_j)² over the rows of a label is a sum over non-zeros of these differences, and c_j² for the weight of
the rows that lack the feature, which a second pass adds: Σ w x² − N c² would lose the digits of a small spread. A row
is Σ_j |c_j| + Σ (|x_j − c_j| − |c_j|) from a centroid, over its non-zeros.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr_view cimport CSRView


def add_scatter(CSRView rows not None, const int32_t[::1] labels, const double[::1] weights,
                const double[:, ::1] centroids, double[::1] scatter, double[:, ::1] present):
    """scatter[j] += w (x_ij − c_yj)² and present[j, y] += w for the non-zeros of float64; no weights stand for ones."""
    cdef const int64_t* indptr = rows.indptr
    cdef const int32_t* indices = rows.indices
    cdef const double* values = <const double*>rows.values
    cdef int64_t i, p, j
    cdef double weight = 1.0, difference
    cdef Py_ssize_t y
    cdef bint weighted = weights.shape[0] > 0
    if rows.single:
        raise ValueError("rows of float64 are wanted")
    with nogil:
        for i in range(rows.start, rows.stop):
            y = labels[i]
            if weighted:
                weight = weights[i]
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                difference = values[p] - centroids[j, y]
                scatter[j] += weight * difference * difference
                present[j, y] += weight


def manhattan_distances(CSRView rows not None, const double[:, ::1] centroids, const double[::1] norms,
                        double[:, ::1] distances):
    """distances[i − start, k] = Σ_j |x_ij − c_jk| of rows of float64, where norms[k] = Σ_j |c_jk|."""
    cdef const int64_t* indptr = rows.indptr
    cdef const int32_t* indices = rows.indices
    cdef const double* values = <const double*>rows.values
    cdef int64_t i, p, j
    cdef Py_ssize_t k, K = centroids.shape[1]
    cdef double value
    cdef double* found
    if rows.single:
        raise ValueError("rows of float64 are wanted")
    with nogil:
        for i in range(rows.start, rows.stop):
            found = &distances[i - rows.start, 0]
            for k in range(K):
                found[k] = norms[k]
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                value = values[p]
                for k in range(K):
                    found[k] += fabs(value - centroids[j, k]) - fabs(centroids[j, k])
