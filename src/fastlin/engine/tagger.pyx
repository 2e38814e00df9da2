"""One evaluation of a CRF on a block of sequences, fused: scores, inference and residuals of a sequence while they are in
cache.

    S_t = Σ_j x_tj θ_j        −log p(y | x) = log Z − s(y)        R_t = p(y_t | x) − e_{y_t}

The gradient of the features' weights is Xᵀ R, a gather over columns for which `passes` and `pairs` have the loops;
that of the transitions are the expected transitions less those observed.

Weights are a hybrid: the first D features, which were seen with many labels, have rows of a dense table; the others
have weights of the few labels that they were seen with. The features of a token are in ascending order, so a token has
those of the table first.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from fastlin.engine.chain cimport Chain, Room, chain_of, close_room, infer, longest, open_room, reserve, value_of
from fastlin.engine.csr cimport number, prefetch, real, score_row

ctypedef fused residual:
    float
    double

cdef enum:
    AHEAD = 8                # features with few labels


cdef inline int64_t tabled(const int32_t* indices, int64_t m, int64_t D) noexcept nogil:
    """How many of a token's features have a row of the table."""
    while m > 0 and indices[m - 1] >= D:
        m -= 1
    return m


cdef inline void score(const int64_t[::1] indptr, const int32_t* indices, const number* values, Py_ssize_t begin,
                       Py_ssize_t T, const real[:, ::1] table, const int64_t[::1] starts, const int32_t* labels,
                       const double* theta, Py_ssize_t K, Py_ssize_t P, real* raw, double* S) noexcept nogil:
    """S [T, P] of the tokens begin … begin + T − 1, −∞ in the padding."""
    cdef int64_t p, q, m, end, many, many_ahead = 0, D = table.shape[0], first = indptr[begin]
    cdef int64_t of_table = starts[D]
    cdef Py_ssize_t t, k
    cdef double x
    cdef double* s
    if T > 0:
        many_ahead = tabled(indices, indptr[begin + 1] - first, D)
    for t in range(T):
        p, end, many, s = indptr[begin + t] - first, indptr[begin + t + 1] - first, many_ahead, S + t * P
        m = end - p
        many_ahead = tabled(indices + end, indptr[begin + t + 2] - first - end, D) if t + 1 < T else 0
        for k in range(P):
            s[k] = 0.0 if k < K else -INFINITY
        if many > 0:
            score_row(raw, &table[0, 0], K, indices + p, values + p, many, indices + end, many_ahead)
            for k in range(K):
                s[k] = raw[k]
        for p in range(p + many, end):
            if p + AHEAD < end:
                prefetch(&starts[indices[p + AHEAD]])
            x = values[p]
            for q in range(starts[indices[p]] - of_table, starts[indices[p] + 1] - of_table):
                s[labels[q]] += x * theta[q]


def scores(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values, Py_ssize_t begin,
           const real[:, ::1] table, const int64_t[::1] starts, const int32_t[::1] labels, const double[::1] theta,
           double[:, ::1] S):
    """S of the tokens from `begin` on, whose `indices` and `values` are given.

    `labels` and `theta` are those of the features behind the table, where starts[D] is their first.
    """
    cdef Py_ssize_t K = S.shape[1]
    cdef real* raw = <real*>reserve(K)
    with nogil:
        if indices.shape[0] == 0:
            S[:, :] = 0
        else:
            score(indptr, &indices[0], &values[0], begin, S.shape[0], table, starts,
                  &labels[0] if labels.shape[0] else NULL, &theta[0] if theta.shape[0] else NULL, K, K, raw, &S[0, 0])
    free(raw)


def evaluate(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values,
             const int64_t[::1] sequences, Py_ssize_t first, Py_ssize_t last,
             const real[:, ::1] table, const int64_t[::1] starts, const int32_t[::1] labels, const double[::1] theta,
             const double[::1] start, const double[:, ::1] A, const double[:, ::1] M, const double[:, ::1] MT,
             const double[::1] end, double shift, const int32_t[::1] y, residual[:, ::1] R, double[:, ::1] counts,
             double[:, :, ::1] edges):
    """Σ −log p(y | x) of the sequences first … last − 1, whose tokens' `indices`, `values`, `y` and R are given.

    R receives the residuals, `counts` [size, P] is added the expected transitions. Edges [n, K, K], if there are any,
    come as scores and leave as residuals. Returns −∞ where scores have left the numbers.
    """
    cdef Py_ssize_t K = R.shape[1], s, t, k, T, begin, offset, longest_ = longest(sequences, first, last)
    cdef Chain chain = chain_of(start, A, M, MT, end, shift, K)
    cdef Py_ssize_t P = chain.P
    cdef bint conditioned = edges.shape[0] > 0
    cdef Room room
    cdef double* on_edges = NULL
    cdef double log_z, own, loss = 0
    cdef double* scored = reserve(longest_ * P)
    cdef real* raw = <real*>reserve(K)
    cdef const int32_t* few = &labels[0] if labels.shape[0] else NULL
    cdef const double* weights = &theta[0] if theta.shape[0] else NULL
    try:
        open_room(&room, &chain, longest_, False, conditioned)
        if conditioned:
            on_edges = reserve(longest_ * K * K)
        with nogil:
            room.S = scored
            for s in range(first, last):
                begin, T = sequences[s], sequences[s + 1] - sequences[s]
                if T == 0:
                    continue
                offset = begin - sequences[first]
                if indices.shape[0] > 0:
                    t = indptr[begin] - indptr[sequences[first]]
                    t = t if t < indices.shape[0] else 0
                    score(indptr, &indices[0] + t, &values[0] + t, begin, T, table, starts, few, weights, K, P, raw,
                          scored)
                else:
                    for t in range(T):
                        for k in range(P):
                            scored[t * P + k] = 0.0 if k < K else -INFINITY
                own = value_of(&chain, scored, T, &edges[offset, 0, 0] if conditioned else NULL, NULL, &y[offset])
                log_z = infer(&chain, &room, T, &edges[offset, 0, 0] if conditioned else NULL, NULL,
                              &counts[0, 0], on_edges)
                if not -INFINITY < log_z < INFINITY:
                    loss = -INFINITY
                    break
                loss += log_z - own
                for t in range(T):
                    for k in range(K):
                        R[offset + t, k] = <residual>room.p[t * P + k]
                    R[offset + t, y[offset + t]] -= 1
                if conditioned:
                    for t in range(T):
                        for k in range(K * K):
                            (&edges[offset + t, 0, 0])[k] = on_edges[t * K * K + k] if t > 0 else 0.0
                        if t > 0:
                            edges[offset + t, y[offset + t - 1], y[offset + t]] -= 1
            for t in range(chain.size):
                for k in range(P):
                    counts[t, k] += room.Q[t * P + k] * M[t, k]
    finally:
        close_room(&room)
        free(scored)
        free(raw)
        free(on_edges)
    return loss
