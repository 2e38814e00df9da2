"""One evaluation of a CRF on a block of sequences, fused: scores, inference and residuals of a sequence while they are
in cache.

    S_t = Σ_j x_tj θ_j        −log p(y | x) = log Z − s(y)        R_t = p(y_t | x) − e_{y_t}

The gradient of the features' weights is Xᵀ R, a gather over columns for which `passes` and `pairs` have the loops;
that of the transitions are the expected transitions less those observed.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fastlin.engine.core.allocation cimport checked_product
from fastlin.engine.chain.chain cimport (
    Chain, Trellis, chain_from_arrays, free_trellis, longest_sequence, allocate_trellis, check_starts, allocate_doubles,
    path_score
)
from fastlin.engine.core.csr cimport number
from fastlin.engine.chain.hybrid_weights cimport HybridWeights, hybrid_from_arrays, score_tokens
from fastlin.engine.chain.chain_inference cimport chain_marginals


def evaluate(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values,
             const int64_t[::1] sequences, Py_ssize_t first, Py_ssize_t last, const double[:, ::1] table,
             const int64_t[::1] starts, Py_ssize_t single, const int32_t[::1] labels, const double[::1] theta,
             tuple padded, const int32_t[::1] y, double[:, ::1] R, double[:, ::1] counts,
             double[:, :, ::1] edges):
    """Σ −log p(y | x) of the sequences first … last − 1, whose tokens' `indices`, `values`, `y` and R are given.

    R receives the residuals, `counts` [size, P] is added the expected transitions. Edges [n, K, K], if there are any,
    come as scores and leave as residuals. Returns −∞ where scores have left the numbers.
    """
    cdef Py_ssize_t K = R.shape[1], s, t, k, T, begin, longest_, n
    cdef int64_t offset = 0, base
    cdef Chain chain = chain_from_arrays(padded, K)
    cdef HybridWeights weights = hybrid_from_arrays(table, starts, single, labels, theta, K)
    cdef Py_ssize_t P = chain.P
    cdef bint conditioned = edges.shape[0] > 0
    cdef Trellis trellis
    cdef double* on_edges = NULL
    cdef double* own_edges = NULL
    cdef double* scores = NULL
    cdef const int32_t* features = &indices[0] if indices.shape[0] else NULL
    cdef const number* amounts = &values[0] if values.shape[0] else NULL
    cdef double log_z, own, loss = 0
    check_starts(sequences, first, last, indptr.shape[0] - 1)
    longest_ = longest_sequence(sequences, first, last)
    base, n = indptr[sequences[first]], sequences[last] - sequences[first]
    if y.shape[0] != n or R.shape[0] != n or counts.shape[0] != chain.size or counts.shape[1] != P:
        raise ValueError(f"labels, residuals or counts do not fit {n} tokens of {K} labels")
    if conditioned and not (edges.shape[0] == n and edges.shape[1] == edges.shape[2] == K):
        raise ValueError(f"edges do not fit {n} tokens of {K} labels")
    for t in range(n):
        if not 0 <= y[t] < K:
            raise ValueError(f"token {t} has the label {y[t]}, of {K}")
    try:
        scores = allocate_doubles(checked_product(longest_, P))
        allocate_trellis(&trellis, &chain, longest_, False, conditioned)
        if conditioned:
            on_edges = allocate_doubles(checked_product(longest_, K * K))
        with nogil:
            trellis.S = scores
            for s in range(first, last):
                begin, T = sequences[s], sequences[s + 1] - sequences[s]
                if T == 0:
                    continue
                score_tokens(&weights, &indptr[begin], features + (indptr[begin] - base),
                             amounts + (indptr[begin] - base), T, P, scores)
                if conditioned:
                    own_edges = &edges[offset, 0, 0]
                own = path_score(&chain, scores, T, own_edges, NULL, &y[offset])
                log_z = chain_marginals(&chain, &trellis, T, own_edges, NULL, &counts[0, 0], on_edges)
                if not -INFINITY < log_z < INFINITY:
                    loss = -INFINITY
                    break
                loss += max(log_z - own, 0.0)        # p is at most 1, whatever rounding says
                for t in range(T):
                    trellis.p[t * P + y[offset + t]] -= 1
                    memcpy(&R[offset + t, 0], trellis.p + t * P, K * sizeof(double))
                if conditioned:
                    memcpy(own_edges + K * K, on_edges + K * K, (T - 1) * K * K * sizeof(double))
                    for t in range(1, T):
                        edges[offset + t, y[offset + t - 1], y[offset + t]] -= 1
                offset += T
            for t in range(chain.size):
                for k in range(P):
                    counts[t, k] += trellis.Q[t * P + k] * chain.M[t * P + k]
    finally:
        free_trellis(&trellis)
        free(scores)
        free(on_edges)
    return loss
