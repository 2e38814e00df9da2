"""Sums over the paths of a chain, with logarithms: slow, and right whatever the scores are."""

from libc.math cimport INFINITY, exp, log1p
from libc.string cimport memset

from fastlin.engine.chain.chain cimport Chain, Trellis, next_states, vector_max


cdef inline double log_add(double a, double b) noexcept nogil:
    """log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    return a if b == -INFINITY else a + log1p(exp(b - a))


cdef inline double transition_score(const Chain* chain, const Trellis* trellis, Py_ssize_t t, Py_ssize_t c,
                                    Py_ssize_t i, Py_ssize_t j, const double* edges,
                                    const double* offsets) noexcept nogil:
    """The score of the step from the state c = (h, i) to the label j at t, without the token's own."""
    cdef double score = chain.A[c * chain.P + j]
    if edges:
        score += edges[(t * chain.K + i) * chain.K + j]
    if offsets:
        score += offsets[t * chain.size + c]
    return score


cdef inline double subtract_max(double* x, Py_ssize_t n) noexcept nogil:
    """Take the maximum out of logarithms, and return it: what is left does not lose digits to a long chain."""
    cdef double top = vector_max(x, n)
    cdef Py_ssize_t c
    if top > -INFINITY:
        for c in range(n):
            x[c] -= top
    return top


cdef inline double forward_in_logs(const Chain* chain, Trellis* trellis, Py_ssize_t T, const double* edges,
                                   const double* offsets) noexcept nogil:
    """log α, the largest of each token 0; returns log Z."""
    cdef Py_ssize_t t, h, i, j, c, d, P = chain.P, size = chain.size
    cdef double log_z = 0, top, score
    cdef double* alpha = trellis.alpha
    for c in range(T * size):
        alpha[c] = -INFINITY
    for j in range(chain.K):
        alpha[(chain.rows - 1) * P + j] = trellis.S[j] + chain.start[j]
    for t in range(T):
        if t > 0:
            for h in range(chain.rows):
                for i in range(chain.K):
                    c = h * P + i
                    if alpha[(t - 1) * size + c] == -INFINITY:
                        continue
                    for j in range(chain.K):
                        d = t * size + next_states(chain, i) + j
                        score = transition_score(chain, trellis, t, c, i, j, edges, offsets) + trellis.S[t * P + j]
                        alpha[d] = log_add(alpha[d], alpha[(t - 1) * size + c] + score)
        trellis.z[t] = subtract_max(alpha + t * size, size)
        log_z += trellis.z[t]
    top = -INFINITY
    for c in range(size):
        top = log_add(top, alpha[(T - 1) * size + c] + chain.end[c])
    return log_z + top


cdef inline double forward_backward_in_logs(const Chain* chain, Trellis* trellis, Py_ssize_t T, const double* edges,
                                            const double* offsets, double* counts, double* on_edges) noexcept nogil:
    """What `forward` and `backward` do, with logarithms of α and β; returns log Z, −∞ where there is no path.

    Expected transitions go to `counts` [size, P] at once, if that is not NULL.
    """
    cdef Py_ssize_t t, h, i, j, c, K = chain.K, P = chain.P, size = chain.size
    cdef double log_z = forward_in_logs(chain, trellis, T, edges, offsets), score, share, base
    cdef double* alpha
    cdef double* beta = trellis.beta
    cdef double* after = trellis.beta + size
    cdef double* p
    if not log_z > -INFINITY:
        return log_z
    if on_edges:
        memset(on_edges, 0, T * K * K * sizeof(double))
    for c in range(size):
        beta[c] = chain.end[c]
    for t in range(T - 1, -1, -1):
        alpha, p, base = trellis.alpha + t * size, trellis.p + t * P, -INFINITY
        for c in range(size):
            base = log_add(base, alpha[c] + beta[c])
        memset(p, 0, P * sizeof(double))
        for h in range(chain.rows):
            for j in range(K):
                p[j] += exp(alpha[h * P + j] + beta[h * P + j] - base)
        if t == 0:
            break
        base += trellis.z[t]
        for c in range(size):
            after[c], beta[c] = beta[c], -INFINITY
        for h in range(chain.rows):
            for i in range(K):
                c = h * P + i
                if alpha[c - size] == -INFINITY:
                    continue
                for j in range(K):
                    score = transition_score(chain, trellis, t, c, i, j, edges, offsets) + trellis.S[t * P + j]
                    score += after[next_states(chain, i) + j]
                    beta[c] = log_add(beta[c], score)
                    share = exp(alpha[c - size] + score - base)
                    if counts:
                        counts[c * P + j] += share
                    if on_edges:
                        on_edges[(t * K + i) * K + j] += share
        subtract_max(beta, size)
    return log_z
