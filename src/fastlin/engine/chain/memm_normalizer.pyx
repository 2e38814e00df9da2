"""Local normalisation, as of a maximum-entropy Markov model: of every token, what its labels sum to after each history.

    offsets[t, c] = −log Σ_j exp(S[t, j] + A[c, j] + edges[t, c, j])

Without edges the sum is Σ_j e^{S − max S} e^{A − max A}: a product of a vector and a matrix that is made once. What
underflows there is below 1e-307; where a sum is below `MIN_SUM`, so that it might matter, the token is done anew with
logarithms.
"""

from libc.math cimport INFINITY, log

from fastlin.engine.core.mathx cimport exponential, exponentials, array_max, logarithm

cdef double MIN_SUM = 1e-250


cdef inline double log_sum(const double* s, const double* a, const double* edge, Py_ssize_t K,
                           double* spare) noexcept nogil:
    """log Σ exp(s + a + edge), where edge may be NULL."""
    cdef Py_ssize_t j
    cdef double top, total = 0
    for j in range(K):
        spare[j] = s[j] + a[j] + (edge[j] if edge else 0.0)
    top = array_max(spare, K)
    if top == -INFINITY:
        return top
    for j in range(K):
        total += exponential(spare[j] - top)
    return top + log(total)


def normalise(const double[:, ::1] S, const double[:, ::1] A, const double[:, ::1] factors, const double[::1] tops,
              double[::1] spare, double[:, ::1] offsets):
    """The offsets [n, C] of C histories; factors [K, C] are exp(A − tops)ᵀ, tops [C] the largest of each history."""
    cdef Py_ssize_t t, c, j, K = S.shape[1], C = A.shape[0]
    cdef double top, e
    cdef int small
    cdef double* out
    cdef const double* row
    if not (A.shape[1] == factors.shape[0] == spare.shape[0] == K and factors.shape[1] == tops.shape[0] == C
            and offsets.shape[0] == S.shape[0] and offsets.shape[1] == C):
        raise ValueError(f"scores of {K} labels do not fit the histories")
    with nogil:
        for t in range(S.shape[0]):
            top = array_max(&S[t, 0], K)
            exponentials(&S[t, 0], K, top, &spare[0])
            out = &offsets[t, 0]
            for c in range(C):
                out[c] = 0
            for j in range(K):
                e, row = spare[j], &factors[j, 0]
                if e == 0:
                    continue
                for c in range(C):
                    out[c] += e * row[c]
            small = 0
            for c in range(C):
                small |= out[c] < MIN_SUM
            if small:
                for c in range(C):
                    out[c] = -log_sum(&S[t, 0], &A[c, 0], NULL, K, &spare[0])
            else:
                for c in range(C):
                    out[c] = -(logarithm(out[c]) + (top + tops[c]))


def normalise_edges(const double[:, ::1] S, const double[:, ::1] A, const double[:, :, ::1] edges,
                    double[::1] spare, double[:, ::1] offsets):
    """The offsets [n, K] of the histories of order 1 where transitions depend on the token."""
    cdef Py_ssize_t t, c, K = S.shape[1], n = S.shape[0]
    if not (A.shape[0] == A.shape[1] == spare.shape[0] == K and edges.shape[0] == offsets.shape[0] == n
            and edges.shape[1] == edges.shape[2] == offsets.shape[1] == K):
        raise ValueError(f"scores of {K} labels do not fit the histories")
    with nogil:
        for t in range(S.shape[0]):
            for c in range(K):
                offsets[t, c] = -log_sum(&S[t, 0], &A[c, 0], &edges[t, c, 0], K, &spare[0])
