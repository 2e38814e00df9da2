"""One evaluation of a CRF on a block of sequences, fused: scores, inference and residuals of a sequence while they are
in cache.

    S_t = Σ_j x_tj θ_j        −log p(y | x) = log Z − s(y)        R_t = p(y_t | x) − e_{y_t}

The gradient of the features' weights is Xᵀ R, a gather over columns for which `passes` and `pairs` have the loops;
that of the transitions are the expected transitions less those observed.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastlin.engine.core.allocation cimport checked_product
from fastlin.engine.chain.chain cimport (
    Chain, Trellis, chain_from_arrays, free_trellis, longest_sequence, allocate_trellis, check_starts, allocate_doubles,
    path_score
)
from fastlin.engine.core.csr cimport number
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.chain.hybrid_weights cimport HybridWeights, TokenWeights, score_tokens
from fastlin.engine.chain.chain_inference cimport chain_marginals


def evaluate(CSRView tokens not None, const int64_t[::1] sequences, Py_ssize_t first, Py_ssize_t last,
             TokenWeights weights not None, tuple padded, const int32_t[::1] y, double[:, ::1] R,
             double[:, ::1] counts, double[:, :, ::1] edges):
    """Σ −log p(y | x) of the sequences first … last − 1, whose tokens, with labels y and residuals R, are given.

    R receives the residuals, `counts` [size, P] is added the expected transitions. Edges [n, K, K], if there are any,
    come as scores and leave as residuals. Returns −∞ where scores have left the numbers.
    """
    cdef Py_ssize_t K = R.shape[1], t, n
    cdef Chain chain = chain_from_arrays(padded, K)
    check_starts(sequences, first, last, tokens.stop)
    n = sequences[last] - sequences[first]
    if sequences[first] != tokens.start or sequences[last] != tokens.stop or weights.weights.K != K:
        raise ValueError(f"{tokens.stop - tokens.start} tokens, or weights of {weights.weights.K} labels, do not fit "
                         f"{n} tokens of {K} labels")
    if y.shape[0] != n or R.shape[0] != n or counts.shape[0] != chain.size or counts.shape[1] != chain.P:
        raise ValueError(f"labels, residuals or counts do not fit {n} tokens of {K} labels")
    if edges.shape[0] > 0 and not (edges.shape[0] == n and edges.shape[1] == edges.shape[2] == K):
        raise ValueError(f"edges do not fit {n} tokens of {K} labels")
    for t in range(n):
        if not 0 <= y[t] < K:
            raise ValueError(f"token {t} has the label {y[t]}, of {K}")
    if tokens.single:
        return infer_sequences(tokens, <const float*>tokens.values, sequences, first, last, &weights.weights, &chain, y,
                               R, counts, edges)
    return infer_sequences(tokens, <const double*>tokens.values, sequences, first, last, &weights.weights, &chain, y, R,
                           counts, edges)


cdef double infer_sequences(CSRView tokens, const number* values, const int64_t[::1] sequences, Py_ssize_t first,
                            Py_ssize_t last, const HybridWeights* weights, const Chain* chain, const int32_t[::1] y,
                            double[:, ::1] R, double[:, ::1] counts, double[:, :, ::1] edges) except? -1:
    """`evaluate`, once all is proved to fit."""
    cdef Py_ssize_t K = R.shape[1], P = chain.P, s, t, k, T, begin, longest_ = longest_sequence(sequences, first, last)
    cdef int64_t offset = 0, at
    cdef bint conditioned = edges.shape[0] > 0
    cdef Trellis trellis
    cdef double* on_edges = NULL
    cdef double* own_edges = NULL
    cdef double* scores = NULL
    cdef double log_z, own, loss = 0
    memset(&trellis, 0, sizeof(Trellis))
    try:
        scores = allocate_doubles(checked_product(longest_, P))
        allocate_trellis(&trellis, chain, longest_, False, conditioned)
        if conditioned:
            on_edges = allocate_doubles(checked_product(longest_, K * K))
        with nogil:
            trellis.S = scores
            for s in range(first, last):
                begin, T = sequences[s], sequences[s + 1] - sequences[s]
                if T == 0:
                    continue
                at = tokens.indptr[begin]
                score_tokens(weights, tokens.indptr + begin, tokens.indices + at, values + at, T, P, scores)
                if conditioned:
                    own_edges = &edges[offset, 0, 0]
                own = path_score(chain, scores, T, own_edges, NULL, &y[offset])
                log_z = chain_marginals(chain, &trellis, T, own_edges, NULL, &counts[0, 0], on_edges)
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
