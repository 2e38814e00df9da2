"""Sums over the paths of a chain, in the linear domain.

Rabiner's recurrences (1989), with every token's numbers relative to their largest:

    α_t(j) = e_t(j) Σ_c α_{t−1}(c) M(c, j) / z_t,    β_{t−1}(c) = Σ_j M(c, j) e_t(j) β_t(j) / z_t,    p_t = α_t β_t

with z_t = Σ_c α_{t−1}(c): the sum of a token is known long before the next token's division by it, where the usual
Σ_c α_t(c) = 1 would have each token wait for its own sum.

A number that underflows is below 1e-307, and the share of all paths that is lost with it is at most that times β_t,
since Σ_c α_{t−1}(c) / z_t = 1. So no β / z may exceed `FAR`, or the chain is done anew with logarithms. The loops skip
a state only where the scores forbid it, for its β has to be looked at.
"""

from libc.math cimport INFINITY
from libc.string cimport memset

from fastlin.engine.chain.chain cimport Chain, Trellis, next_states, relative_exponentials, vector_max, vector_sum
from fastlin.engine.core.mathx cimport exponential

cdef extern from "chain.h" nogil:
    const double FAR "FASTLIN_FAR"
    void step "fastlin_step"(const double* a, const double* M, Py_ssize_t K, Py_ssize_t P, double* out) noexcept
    void outer "fastlin_outer"(const double* A, const double* V, Py_ssize_t T, Py_ssize_t P, double* Q) noexcept


cdef inline double exponentiate_scores(const Chain* chain, Trellis* trellis, Py_ssize_t T, const double* edges,
                                       const double* offsets) noexcept nogil:
    """e of every token, and the factors of edges and offsets; returns the logarithm of what they are relative to."""
    cdef Py_ssize_t t, i, j, K = chain.K, P = chain.P
    cdef double base = chain.shift * (T - 1), top
    cdef double* factors
    for j in range(P):
        trellis.V[j] = trellis.S[j] + chain.start[j]
    base += relative_exponentials(trellis.V, P, trellis.p)
    for t in range(1, T):
        base += relative_exponentials(trellis.S + t * P, P, trellis.p + t * P)
    for t in range(1, T):
        if offsets:
            base += relative_exponentials(offsets + t * chain.size, chain.size, trellis.factors + t * chain.size)
        if edges:
            top = vector_max(edges + t * K * K, K * K)
            base += top
            factors = trellis.steps + t * P * P
            memset(factors, 0, P * P * sizeof(double))
            for i in range(K):
                for j in range(K):
                    factors[i * P + j] = exponential(edges[(t * K + i) * K + j] - top) * chain.M[i * P + j]
    return base


cdef inline void forward_step(const Chain* chain, const Trellis* trellis, Py_ssize_t t) noexcept nogil:
    """α_t, but for e and z, from α_{t−1}."""
    cdef Py_ssize_t h, i, j, c, P = chain.P
    cdef const double* source = trellis.alpha + (t - 1) * chain.size
    cdef const double* row
    cdef double* out = trellis.alpha + t * chain.size
    cdef double* target
    if trellis.factors:
        for c in range(chain.size):
            trellis.beta[c] = source[c] * trellis.factors[t * chain.size + c]
        source = trellis.beta
    if chain.rows == 1:
        row = chain.M
        if trellis.steps:
            row = trellis.steps + t * P * P
        step(source, row, chain.K, P, out)
        return
    memset(out, 0, chain.size * sizeof(double))
    for h in range(chain.rows):
        for i in range(chain.K):
            c = h * P + i
            if source[c] == 0:
                continue
            target = out + i * P
            row = chain.M + c * P
            for j in range(P):
                target[j] += source[c] * row[j]


cdef inline bint forward(const Chain* chain, Trellis* trellis, Py_ssize_t T) noexcept nogil:
    """α and z; False where they leave the safe numbers."""
    cdef Py_ssize_t t, h, j, P = chain.P, size = chain.size
    cdef double scale
    cdef double* alpha = trellis.alpha
    cdef const double* e = trellis.p
    memset(alpha, 0, size * sizeof(double))
    for j in range(P):
        alpha[(chain.rows - 1) * P + j] = e[j]
    trellis.z[0] = 1
    for t in range(1, T):
        trellis.z[t] = vector_sum(alpha, size)
        if not 1 / FAR < trellis.z[t] < FAR:
            return False
        scale = 1 / trellis.z[t]
        forward_step(chain, trellis, t)
        alpha += size
        e += P
        for h in range(chain.rows):
            for j in range(P):
                alpha[h * P + j] *= e[j] * scale
    return True


cdef inline bint is_forbidden(const Chain* chain, const Trellis* trellis, Py_ssize_t t, Py_ssize_t h,
                              Py_ssize_t i) noexcept nogil:
    """Whether the scores alone exclude the state (h, i) at token t."""
    if trellis.S[t * chain.P + i] == -INFINITY:
        return True
    if chain.rows == 1:
        return False
    return h != chain.K if t == 0 else h == chain.K or trellis.S[(t - 1) * chain.P + h] == -INFINITY


cdef inline void backward_step(const Chain* chain, Trellis* trellis, Py_ssize_t t, const double* v,
                               double* on_edges) noexcept nogil:
    """β_{t−1}, but for the factors of offsets, state by state, and perhaps the pairs of labels at t."""
    cdef Py_ssize_t h, i, j, c, K = chain.K, P = chain.P
    cdef const double* M = chain.M
    cdef const double* next_
    cdef double share, sum_
    cdef double* pairs
    if trellis.steps:
        M = trellis.steps + t * P * P
    for h in range(chain.rows):
        for i in range(K):
            c = h * P + i
            next_ = v + next_states(chain, i)
            pairs = on_edges + (t * K + i) * K if on_edges else NULL
            if is_forbidden(chain, trellis, t - 1, h, i):
                trellis.beta[c] = 0
                if pairs:
                    memset(pairs, 0, K * sizeof(double))
                continue
            share = trellis.alpha[(t - 1) * chain.size + c]
            if trellis.factors:
                share *= trellis.factors[t * chain.size + c]
            sum_ = 0
            for j in range(K):
                sum_ += M[c * P + j] * next_[j]
            trellis.beta[c] = sum_
            if pairs:
                for j in range(K):
                    pairs[j] = share * M[c * P + j] * next_[j]


cdef inline void sum_transitions(const Chain* chain, Trellis* trellis, Py_ssize_t T) noexcept nogil:
    """Q += Σ_t α_t v_{t+1}ᵀ; α takes up its factors of offsets."""
    cdef Py_ssize_t t, h, i, j, c, P = chain.P, size = chain.size
    cdef const double* next_
    cdef double share
    if trellis.factors:
        for c in range((T - 1) * size):
            trellis.alpha[c] *= trellis.factors[size + c]
    if chain.rows == 1:
        outer(trellis.alpha, trellis.V + P, T - 1, P, trellis.Q)
        return
    for t in range(T - 1):
        for h in range(chain.rows):
            for i in range(chain.K):
                c = h * P + i
                share = trellis.alpha[t * size + c]
                if share == 0:
                    continue
                next_ = trellis.V + (t + 1) * size + next_states(chain, i)
                for j in range(P):
                    trellis.Q[c * P + j] += share * next_[j]


cdef inline bint backward(const Chain* chain, Trellis* trellis, Py_ssize_t T, double last,
                          double* on_edges) noexcept nogil:
    """Marginals from β, and Σ α vᵀ into Q, or of pairs of labels into `on_edges` [T, K, K] where edges have scores.

    `last` is the largest end, to which z[T] is relative. False, and Q as it was, where β leaves the safe numbers.
    """
    cdef Py_ssize_t t, h, j, c, P = chain.P, size = chain.size
    cdef double scale = 0
    cdef double* beta = trellis.beta
    cdef double* p
    cdef double* v
    cdef double* alpha = trellis.alpha + (T - 1) * size
    for c in range(size):
        beta[c] = exponential(chain.end[c] - last)
        scale += alpha[c] * beta[c]
    if not 1 / FAR < scale < FAR:
        return False
    trellis.z[T] = scale
    for c in range(size):
        beta[c] /= scale
    for t in range(T - 1, -1, -1):
        p, alpha = trellis.p + t * P, trellis.alpha + t * size
        v = trellis.V + t * size
        scale = 1 / trellis.z[t] if t > 0 else 1.0
        if not vector_max(beta, size) * scale < FAR:
            return False
        for h in range(chain.rows):
            for j in range(P):
                v[h * P + j] = p[j] * beta[h * P + j] * scale
        for j in range(P):
            p[j] = alpha[j] * beta[j]
        for h in range(1, chain.rows):
            for j in range(P):
                p[j] += alpha[h * P + j] * beta[h * P + j]
        if t == 0:
            break
        if chain.rows == 1 and not trellis.steps:
            step(v, chain.MT, chain.K, P, beta)
        else:
            backward_step(chain, trellis, t, v, on_edges)
        if trellis.factors:
            for c in range(size):
                beta[c] *= trellis.factors[t * size + c]
    if not trellis.steps:
        sum_transitions(chain, trellis, T)
    return True
