"""Weights of tokens' features in two layouts, and the scores of a sequence with them.

    S_t = Σ_j x_tj θ_j

The first D features, which were seen with many labels, have rows of a dense table [D, K]; the others have weights of
the few labels that they were seen with, those from `single` on of one. The features of a token are in ascending order,
so it has those of the table first and the single ones last, and no loop has to ask.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport number, prefetch, score_row

cdef enum:
    PREFETCH_AHEAD = 8       # single features

cdef struct HybridWeights:
    Py_ssize_t K
    int64_t D, single
    const double* table      # [D, K]
    const int64_t* starts    # the first weight of every feature
    const int32_t* labels    # of the weights behind the table
    const double* theta      # these


cdef class TokenWeights:
    """Such weights of K labels, bound once for many sequences; see `hybrid_weights.pyx`."""

    cdef HybridWeights weights
    cdef const double[:, ::1] table
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] labels
    cdef const double[::1] theta


cdef inline int64_t count_tabled(const int32_t* indices, int64_t m, int64_t D) noexcept nogil:
    """How many of a token's features have a row of the table."""
    while m > 0 and indices[m - 1] >= D:
        m -= 1
    return m


cdef inline void score_tokens(const HybridWeights* weights, const int64_t* indptr, const int32_t* indices,
                              const number* values, Py_ssize_t T, Py_ssize_t P, double* S) noexcept nogil:
    """S [T, P] of tokens whose features begin at `indices` and `values`; −∞ in the padding."""
    cdef int64_t p = 0, q, end, many, ahead, last = indptr[T] - indptr[0]
    cdef int64_t of_table = weights.starts[weights.D]
    cdef int64_t alone = weights.starts[weights.single] - of_table - weights.single
    cdef const int32_t* labels = weights.labels
    cdef const double* theta = weights.theta
    cdef Py_ssize_t t, k, K = weights.K
    cdef double* s = S
    ahead = count_tabled(indices, indptr[1] - indptr[0], weights.D)
    for t in range(T):
        end, many = indptr[t + 1] - indptr[0], ahead
        ahead = count_tabled(indices + end, indptr[t + 2] - indptr[t + 1], weights.D) if t + 1 < T else 0
        if many > 0:
            score_row(s, weights.table, K, indices + p, values + p, many, indices + end, ahead)
        for k in range(0 if many == 0 else K, P):
            s[k] = 0.0 if k < K else -INFINITY
        p += many
        while p < end and indices[p] < weights.single:
            for q in range(weights.starts[indices[p]] - of_table, weights.starts[indices[p] + 1] - of_table):
                s[labels[q]] += values[p] * theta[q]
            p += 1
        while p < end:
            q = indices[p] + alone
            if p + PREFETCH_AHEAD < last:
                prefetch(&labels[indices[p + PREFETCH_AHEAD] + alone])
                prefetch(&theta[indices[p + PREFETCH_AHEAD] + alone])
            s[labels[q]] += values[p] * theta[q]
            p += 1
        s += P
