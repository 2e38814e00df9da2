"""The squared hinge of rows by their scores, one against the rest, for several labels together.

With z = ±1, C the weight of a row in the problem of a label (own_C where z = 1) and the shortfall ξ = max(0, 1 − z s):

    loss  Σ C ξ²,      residual  −2 C z ξ,      curvature  2C where ξ > 0
    along a line s + αu:   φ′(α) = −Σ 2 C z u ξ(α),      φ″(α) = Σ 2 C u² of the rows with ξ(α) > 0
"""

from libc.stdint cimport int32_t, int64_t


cdef int prove(Py_ssize_t n, const int32_t[::1] labels, const double[::1] C, const double[::1] own_C) except -1:
    if not labels.shape[0] == C.shape[0] == own_C.shape[0] == n:
        raise ValueError(f"labels or weights do not fit {n} rows")
    return 0


def squared_hinge(const double[:, ::1] scores, const int32_t[::1] labels, const int64_t[::1] ones,
                  const double[::1] C, const double[::1] own_C, double[:, ::1] residual,
                  double[:, ::1] curvature, double[::1] losses):
    """Residuals and curvatures of rows, [n, K], and the loss of each column; `ones` are the columns' labels."""
    cdef int64_t y
    cdef Py_ssize_t i, k, n = scores.shape[0], K = scores.shape[1]
    cdef double z, xi, cost
    prove(n, labels, C, own_C)
    if not (residual.shape[0] == curvature.shape[0] == n and residual.shape[1] == curvature.shape[1] == K
            and losses.shape[0] == ones.shape[0] == K):
        raise ValueError(f"residuals, curvatures or losses do not fit [{n}, {K}] scores")
    losses[:] = 0
    with nogil:
        for i in range(n):
            y = labels[i]
            for k in range(K):
                z = 1.0 if ones[k] == y else -1.0
                cost = own_C[i] if ones[k] == y else C[i]
                xi = 1.0 - z * scores[i, k]
                xi = xi if xi > 0 else 0.0
                residual[i, k] = -2 * cost * z * xi
                curvature[i, k] = 2 * cost if xi > 0 else 0.0
                losses[k] += cost * xi * xi


def line_derivatives(const double[:, ::1] scores, const double[:, ::1] along, const int32_t[::1] labels,
                     const int64_t[::1] ones, const double[::1] C, const double[::1] own_C, const double[::1] steps,
                     double[:, ::1] found):
    """φ′ and φ″ of each column at its step, into the lines of `found`, [2, K]."""
    cdef int64_t y
    cdef Py_ssize_t i, k, n = scores.shape[0], K = scores.shape[1]
    cdef double z, u, xi, cost
    prove(n, labels, C, own_C)
    if not (along.shape[0] == n and along.shape[1] == steps.shape[0] == ones.shape[0] == found.shape[1] == K
            and found.shape[0] == 2):
        raise ValueError(f"a direction, steps or derivatives do not fit [{n}, {K}] scores")
    found[:, :] = 0
    with nogil:
        for i in range(n):
            y = labels[i]
            for k in range(K):
                z = 1.0 if ones[k] == y else -1.0
                u = along[i, k]
                cost = own_C[i] if ones[k] == y else C[i]
                xi = 1.0 - z * (scores[i, k] + steps[k] * u)
                if xi > 0:
                    found[0, k] -= 2 * cost * z * u * xi
                    found[1, k] += 2 * cost * u * u
