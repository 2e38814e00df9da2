"""One evaluation of a CRF on a block of sequences, fused: scores, inference and residuals of a sequence while they are
in cache.

    S_t = Σ_j x_tj θ_j        −log p(y | x) = log Z − s(y)        R_t = p(y_t | x) − e_{y_t}

Where labels are known in part, s(y) gives way to the logarithm of the sum over the paths Y that they allow, and what
is observed to what is expected of these:

    −log p(Y | x) = log Z − log Σ_{y ∈ Y} e^{s(y)}        R_t = p(y_t | x) − p(y_t | x, Y)

With weights of sequences, all that a sequence adds is multiplied by its own.

The gradient of the features' weights is Xᵀ R, a gather over columns for which `passes` and `pairs` have the loops;
that of the transitions are the expected transitions less those observed; of sequences whose labels are known in part
the kernel takes what is observed from what is expected.
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
from fastlin.engine.chain.token_labels cimport TokenLabels, all_known, restrict_scores

cdef struct Evaluation:      # of one block of sequences
    Trellis free             # all paths
    Trellis allowed          # those that labels known in part allow
    double* scores           # [longest, P]
    double* on_edges         # [longest, K, K]
    double* on_allowed_edges
    double* allowed_counts   # [size, P], which Q does not have
    double* exact            # [size, P]  the same of all paths, where sequences have weights
    double loss


def evaluate(CSRView tokens not None, const int64_t[::1] sequences, Py_ssize_t first, Py_ssize_t last,
             TokenWeights weights not None, tuple padded, TokenLabels labels not None, double[:, ::1] R,
             double[:, ::1] counts, double[:, :, ::1] edges):
    """Σ −log p(y | x) of the sequences first … last − 1, whose tokens and residuals R are given; labels are of all.

    R receives the residuals, `counts` [size, P] is added the expected transitions. Edges [n, K, K], if there are any,
    come as scores and leave as residuals. Returns −∞ where scores have left the numbers.
    """
    cdef Py_ssize_t K = R.shape[1], n
    cdef Chain chain = chain_from_arrays(padded, K)
    check_starts(sequences, first, last, tokens.stop)
    labels.check_sequences(sequences.shape[0] - 1)
    n = sequences[last] - sequences[first]
    if (sequences[first] != tokens.start or sequences[last] != tokens.stop or weights.weights.K != K
            or labels.sets.K != K or labels.n < tokens.stop):
        raise ValueError(f"{tokens.stop - tokens.start} tokens, or weights of {weights.weights.K} labels, do not fit "
                         f"{n} tokens of {K} labels")
    if R.shape[0] != n or counts.shape[0] != chain.size or counts.shape[1] != chain.P:
        raise ValueError(f"residuals or counts do not fit {n} tokens of {K} labels")
    if edges.shape[0] > 0 and not (edges.shape[0] == n and edges.shape[1] == edges.shape[2] == K):
        raise ValueError(f"edges do not fit {n} tokens of {K} labels")
    if tokens.single:
        return infer_sequences(tokens, <const float*>tokens.values, sequences, first, last, &weights.weights, &chain,
                               labels, R, counts, edges)
    return infer_sequences(tokens, <const double*>tokens.values, sequences, first, last, &weights.weights, &chain,
                           labels, R, counts, edges)


cdef double infer_sequences(CSRView tokens, const number* values, const int64_t[::1] sequences, Py_ssize_t first,
                            Py_ssize_t last, const HybridWeights* weights, const Chain* chain, TokenLabels labels,
                            double[:, ::1] R, double[:, ::1] counts, double[:, :, ::1] edges) except? -1:
    """`evaluate`, once all is proved to fit."""
    cdef Py_ssize_t K = R.shape[1], P = chain.P, t, k, longest_ = longest_sequence(sequences, first, last)
    cdef bint conditioned = edges.shape[0] > 0
    cdef Evaluation run
    memset(&run, 0, sizeof(Evaluation))
    try:
        run.scores = allocate_doubles(checked_product(longest_, P))
        allocate_trellis(&run.free, chain, longest_, False, conditioned)
        if conditioned:
            run.on_edges = allocate_doubles(checked_product(longest_, K * K))
        if labels.w != NULL:
            run.exact = allocate_doubles(chain.size * P)
            memset(run.exact, 0, chain.size * P * sizeof(double))
        if labels.partial:
            allocate_trellis(&run.allowed, chain, longest_, False, conditioned)
            run.allowed.S = allocate_doubles(checked_product(longest_, P))
            run.allowed_counts = allocate_doubles(chain.size * P)
            memset(run.allowed_counts, 0, chain.size * P * sizeof(double))
            if conditioned:
                run.on_allowed_edges = allocate_doubles(checked_product(longest_, K * K))
        with nogil:
            run.free.S = run.scores
            infer_each(&run, tokens, values, sequences, first, last, weights, chain, labels, R, counts, edges)
            for t in range(chain.size if labels.w == NULL else 0):
                for k in range(P):
                    counts[t, k] += run.free.Q[t * P + k] * chain.M[t * P + k]
                    if labels.partial:
                        counts[t, k] -= (run.allowed.Q[t * P + k] * chain.M[t * P + k]
                                         + run.allowed_counts[t * P + k])
    finally:
        free_trellis(&run.free)
        free(run.allowed.S)
        free_trellis(&run.allowed)
        free(run.scores)
        free(run.on_edges)
        free(run.on_allowed_edges)
        free(run.allowed_counts)
        free(run.exact)
    return run.loss


cdef void infer_each(Evaluation* run, CSRView tokens, const number* values, const int64_t[::1] sequences,
                     Py_ssize_t first, Py_ssize_t last, const HybridWeights* weights, const Chain* chain,
                     TokenLabels labels, double[:, ::1] R, double[:, ::1] counts,
                     double[:, :, ::1] edges) noexcept nogil:
    """One sequence after the other; the loss is −∞ once scores have left the numbers."""
    cdef Py_ssize_t K = R.shape[1], P = chain.P, s, t, T, begin
    cdef int64_t offset = 0, at
    cdef const int32_t* y
    cdef double* own_edges = NULL
    cdef double* exact = run.exact if labels.w != NULL else &counts[0, 0]
    cdef double log_z, own, weight = 1
    cdef bint known
    for s in range(first, last):
        if labels.w != NULL and labels.w[s] != weight:
            flush_counts(run, chain, labels.partial, weight, counts)
            weight = labels.w[s]
        begin, T = sequences[s], sequences[s + 1] - sequences[s]
        if T == 0:
            continue
        at, y = tokens.indptr[begin], labels.y + begin
        score_tokens(weights, tokens.indptr + begin, tokens.indices + at, values + at, T, P, run.scores)
        if edges.shape[0]:
            own_edges = &edges[offset, 0, 0]
        known = not labels.partial or all_known(y, T)
        if known:
            own = path_score(chain, run.scores, T, own_edges, NULL, y)
        else:
            restrict_scores(&labels.sets, y, T, P, run.scores, run.allowed.S)
            own = chain_marginals(chain, &run.allowed, T, own_edges, NULL, run.allowed_counts, run.on_allowed_edges)
        log_z = chain_marginals(chain, &run.free, T, own_edges, NULL, exact, run.on_edges)
        if not -INFINITY < log_z < INFINITY:
            run.loss = -INFINITY
            return
        run.loss += weight * max(log_z - own, 0.0)        # p is at most 1, whatever rounding says
        for t in range(T):
            if known:
                run.free.p[t * P + y[t]] -= 1
            memcpy(&R[offset + t, 0], run.free.p + t * P, K * sizeof(double))
        if own_edges:
            memcpy(own_edges + K * K, run.on_edges + K * K, (T - 1) * K * K * sizeof(double))
        if known:
            for t in range(1, T if own_edges else 1):
                edges[offset + t, y[t - 1], y[t]] -= 1
        else:
            subtract_allowed(run, T, K, P, &R[offset, 0], own_edges)
        if weight != 1:
            for k in range(T * K):
                (&R[offset, 0])[k] *= weight
            for k in range(K * K, T * K * K if own_edges else 0):
                own_edges[k] *= weight
        offset += T
    if labels.w != NULL:
        flush_counts(run, chain, labels.partial, weight, counts)


cdef void flush_counts(Evaluation* run, const Chain* chain, bint partial, double weight,
                       double[:, ::1] counts) noexcept nogil:
    """Add what is expected of the transitions of sequences of one weight to the counts, and begin anew."""
    cdef Py_ssize_t t, k, c, P = chain.P
    for t in range(chain.size):
        for k in range(P):
            c = t * P + k
            counts[t, k] += weight * (run.free.Q[c] * chain.M[c] + run.exact[c])
            if partial:
                counts[t, k] -= weight * (run.allowed.Q[c] * chain.M[c] + run.allowed_counts[c])
    memset(run.free.Q, 0, chain.size * P * sizeof(double))
    memset(run.exact, 0, chain.size * P * sizeof(double))
    if partial:
        memset(run.allowed.Q, 0, chain.size * P * sizeof(double))
        memset(run.allowed_counts, 0, chain.size * P * sizeof(double))


cdef void subtract_allowed(Evaluation* run, Py_ssize_t T, Py_ssize_t K, Py_ssize_t P, double* R,
                           double* edges) noexcept nogil:
    """Take what is expected of the paths that are allowed from the residuals of a sequence."""
    cdef Py_ssize_t t, k
    for t in range(T):
        for k in range(K):
            R[t * K + k] -= run.allowed.p[t * P + k]
    for k in range(K * K, T * K * K if edges else 0):
        edges[k] -= run.on_allowed_edges[k]
