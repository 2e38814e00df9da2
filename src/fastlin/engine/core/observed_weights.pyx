"""Weights of observed (feature, label) pairs only: which pairs there are, forward and backward.

Feature j owns the weights q in [starts[j], starts[j + 1]), and labels[q] says which label each speaks for, ascending.

    forward    s_k = Σ_j x_j Σ_{q of j: labels[q] = k} θ_q + b_k
    backward   g_q = Σ_i x_ij R[i, labels[q]]                     over the rows of column j
"""

from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport prefetch, real, number

cdef enum:
    MAX_LISTED = 64          # labels
    PREFETCH_AHEAD = 16      # non-zeros


def find_observed_pairs(const int64_t[::1] indptr, const int32_t[::1] rows, const int32_t[::1] codes,
                        const int64_t[::1] cutoff, int64_t[::1] seen, int64_t[::1] starts, int32_t[::1] labels):
    """Fill `starts` with the pairs seen in at least cutoff[j] rows and, where there is room, their labels.

    `seen` [K], zeros, is for counting. Called twice: to learn how much room is needed, and to fill it. A column with
    few labels looks at these only, in order; another at all.
    """
    cdef Py_ssize_t j, k, i, m, K = seen.shape[0]
    cdef int64_t p, q = 0
    cdef int32_t code
    cdef int32_t met[MAX_LISTED]
    cdef bint fill = labels.shape[0] > 0
    with nogil:
        starts[0] = 0
        for j in range(indptr.shape[0] - 1):
            m = 0
            for p in range(indptr[j], indptr[j + 1]):
                code = codes[rows[p]]
                if seen[code] == 0 and m < MAX_LISTED:
                    i = m
                    while i > 0 and met[i - 1] > code:
                        met[i] = met[i - 1]
                        i -= 1
                    met[i] = code
                    m += 1
                seen[code] += 1
            if m == MAX_LISTED:
                m = K
            for i in range(m):
                k = i if m == K else met[i]
                if seen[k] >= cutoff[j] and seen[k] > 0:
                    if fill:
                        labels[q] = <int32_t>k
                    q += 1
                seen[k] = 0
            starts[j + 1] = q


cdef inline void add_feature(const int64_t* starts, int32_t j, double x, const int32_t* labels, const real* theta,
                             double* s) noexcept nogil:
    """s_k += x θ_q over the labels k of feature j."""
    cdef int64_t q
    for q in range(starts[j], starts[j + 1]):
        s[labels[q]] += x * theta[q]


cdef void add_observed(const int32_t* indices, const double* values, int64_t m, const int64_t* starts,
                       const int32_t* labels, const double* theta, double* scores) noexcept nogil:
    """Add what the m features of a row say, in the bits of `forward`: builds of other modules may round otherwise."""
    cdef int64_t p
    for p in range(m):
        add_feature(starts, indices[p], values[p], labels, theta, scores)


def forward(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values,
            Py_ssize_t start, Py_ssize_t stop, const int64_t[::1] starts, const int32_t[::1] labels,
            const real[::1] theta, const double[::1] bias, double[:, ::1] scores):
    """scores[i − start] of the rows, where `values` and `indices` begin at row `start`."""
    cdef Py_ssize_t k, K = scores.shape[1]
    cdef int64_t i, p, q, base = indptr[start], end = indptr[stop] - base
    cdef const int32_t* pair_labels = &labels[0] if labels.shape[0] else NULL
    cdef const real* weights = &theta[0] if theta.shape[0] else NULL
    cdef double* s
    with nogil:
        for i in range(start, stop):
            s = &scores[i - start, 0]
            for k in range(K):
                s[k] = bias[k]
            for p in range(indptr[i] - base, indptr[i + 1] - base):
                if p + PREFETCH_AHEAD < end:
                    q = starts[indices[p + PREFETCH_AHEAD]]
                    if q < theta.shape[0]:
                        prefetch(&theta[q])
                        prefetch(&labels[q])
                    if p + 2 * PREFETCH_AHEAD < end:
                        prefetch(&starts[indices[p + 2 * PREFETCH_AHEAD]])
                add_feature(&starts[0], indices[p], values[p], pair_labels, weights, s)


def backward(const int64_t[::1] indptr, const int32_t[::1] rows, const number[::1] values,
             Py_ssize_t low, Py_ssize_t high, const int64_t[::1] starts, const int32_t[::1] labels,
             const real[:, ::1] R, double[::1] gradient, bint more=False):
    """gradient[q − starts[low]] for the features [low, high), where `values` and `rows` begin at feature `low`.

    `more`: what is there is added to.
    """
    cdef int64_t j, p, q, base = indptr[low], first = starts[low]
    cdef double x
    cdef const real* r
    with nogil:
        for q in range(0 if more else starts[high] - first):
            gradient[q] = 0
        for j in range(low, high):
            if starts[j] == starts[j + 1]:
                continue
            for p in range(indptr[j] - base, indptr[j + 1] - base):
                x = values[p]
                r = &R[rows[p], 0]
                for q in range(starts[j], starts[j + 1]):
                    gradient[q - first] += x * r[labels[q]]
