"""Conditional likelihoods of a block: losses, residuals for the gradient, curvatures for Hessian products.

    loss       Σ w (log Z − s_y),  Z = Σ_k e^{s_k}     over the labels of a row, or over the rows of a group
    residual   R = w (p − e_y)                          gradient = Xᵀ R
    curvature  C = w p ∘ (u − pᵀu),  u = X v            Hessian · v = Xᵀ C

Two labels share a column with s = s₁ − s₀: log(1 + e^{−s}), R = w (p₁ − y), C = w p₁p₀ u. So has each of the labels
of which a row may have several, where w may depend on the label and on whether the row has it.
What a curvature needs of the probabilities is kept in float32, in `shares`: p, or p₁p₀ for one column; of the right
label p − 1 where that is the smaller, so that rows which are nearly certain keep all digits of their curvature. That is
enough for the inner iterations of Newton's method; values and gradients are float64 throughout.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t

from fastlin.engine.core.csr cimport real
from fastlin.engine.core.losses cimport log_loss
from fastlin.engine.core.mathx cimport array_sum, exponential, exponentials, array_max, logarithm


cdef enum:
    CHUNK = 256              # rows


def softmax_loss(const double[:, ::1] scores, const int32_t[::1] labels, const double[::1] weights,
                 double[:, ::1] residual, float[:, ::1] shares):
    """The loss of K ≥ 2 labels; no weights stand for ones."""
    cdef Py_ssize_t i, k, K = scores.shape[1]
    cdef double loss = 0, w = 1
    with nogil:
        for i in range(scores.shape[0]):
            if weights.shape[0]:
                w = weights[i]
            loss += w * log_loss(&scores[i, 0], K, labels[i], 1.0, &residual[i, 0])
            for k in range(K):
                shares[i, k] = <float>residual[i, k]
            if residual[i, labels[i]] < -0.5:
                shares[i, labels[i]] += 1
            if w != 1:
                for k in range(K):
                    residual[i, k] *= w
    return loss


def softmax_curvature(const double[:, ::1] u, const float[:, ::1] shares, const double[::1] weights,
                      real[:, ::1] curvature):
    """w p (u − Σ p u); as differences from the u of the likeliest label where its share is p − 1."""
    cdef Py_ssize_t i, k, own, K = u.shape[1]
    cdef double mean, origin, w = 1
    with nogil:
        for i in range(u.shape[0]):
            own = -1
            for k in range(K):
                own = k if shares[i, k] < 0 else own
            origin = 0 if own < 0 else u[i, own]
            mean = 0
            for k in range(K):
                mean += shares[i, k] * (u[i, k] - origin)
            if weights.shape[0]:
                w = weights[i]
            for k in range(K):
                curvature[i, k] = <real>(w * shares[i, k] * (u[i, k] - origin - mean))
            if own >= 0:
                curvature[i, own] = <real>(-w * (1 + shares[i, own]) * mean)


def sigmoid_loss(const double[:, ::1] scores, const int32_t[::1] labels, const double[::1] weights,
                 double[:, ::1] residual, float[:, ::1] shares):
    """The loss of two labels in one column: one exponential a row serves all, and the loop vectorises."""
    cdef Py_ssize_t i, start = 0, n = scores.shape[0], size
    cdef double loss = 0, w, margin, e, u, wrong
    cdef double losses[CHUNK]
    cdef bint weighted = weights.shape[0] > 0
    with nogil:
        while start < n:
            size = CHUNK if n - start > CHUNK else n - start
            for i in range(size):
                w = weights[start + i] if weighted else 1.0
                margin = scores[start + i, 0] if labels[start + i] == 1 else -scores[start + i, 0]
                e = exponential(-fabs(margin))
                u = 1.0 + e
                wrong = (e if margin > 0 else 1.0) / u
                losses[i] = w * ((0.0 if margin > 0 else -margin) + (logarithm(u) + (e - (u - 1.0)) / u))
                residual[start + i, 0] = -w * wrong if labels[start + i] == 1 else w * wrong
                shares[start + i, 0] = <float>((e / u) / u)
            loss += array_sum(losses, size)
            start += size
    return loss


def one_vs_rest_loss(const double[:, ::1] scores, const int32_t[::1] labels, const uint8_t[:, ::1] members,
                     const double[::1] weights, const double[:, ::1] factors, double[:, ::1] residual,
                     float[:, ::1] shares):
    """The loss of K labels of which a row has those of its set, each against the rest.

    `members`, [sets, K], says which; the weight of a row, for a label that it has not or has, is multiplied by
    factors[0] or factors[1], [2, K], if there are any.
    """
    cdef Py_ssize_t i, k, start, size, K = scores.shape[1]
    cdef double loss = 0, w = 1, cost, margin, e, u, wrong
    cdef double losses[CHUNK]
    cdef const uint8_t* own
    cdef const double* of_rest = &factors[0, 0] if factors.shape[0] else NULL
    cdef const double* of_own = &factors[1, 0] if factors.shape[0] else NULL
    with nogil:
        for i in range(scores.shape[0]):
            if weights.shape[0]:
                w = weights[i]
            own = &members[labels[i], 0]
            start = 0
            while start < K:
                size = CHUNK if K - start > CHUNK else K - start
                for k in range(start, start + size):
                    cost = w
                    if of_own != NULL:
                        cost = w * (of_own[k] if own[k] else of_rest[k])
                    margin = scores[i, k] if own[k] else -scores[i, k]
                    e = exponential(-fabs(margin))
                    u = 1.0 + e
                    wrong = (e if margin > 0 else 1.0) / u
                    losses[k - start] = cost * ((0.0 if margin > 0 else -margin) + (logarithm(u) + (e - (u - 1.0)) / u))
                    residual[i, k] = -cost * wrong if own[k] else cost * wrong
                    shares[i, k] = <float>((e / u) / u)
                loss += array_sum(losses, size)
                start += size
    return loss


def sigmoid_curvature(const double[:, ::1] u, const float[:, ::1] shares, const double[::1] weights,
                      real[:, ::1] curvature):
    cdef Py_ssize_t i
    cdef double w = 1
    with nogil:
        for i in range(u.shape[0]):
            if weights.shape[0]:
                w = weights[i]
            curvature[i, 0] = <real>(w * shares[i, 0] * u[i, 0])


def group_loss(const double[:, ::1] scores, const int64_t[::1] starts, const int64_t[::1] gold,
               const double[::1] weights, double[:, ::1] residual, float[:, ::1] shares):
    """The loss of groups of rows, starts[g] … starts[g + 1] − 1 less starts[0], with gold[g] the right row of each."""
    cdef Py_ssize_t g, n
    cdef int64_t first
    cdef double loss = 0, w = 1, top, total
    cdef Py_ssize_t i
    with nogil:
        for g in range(starts.shape[0] - 1):
            first = starts[g] - starts[0]
            n = starts[g + 1] - starts[g]
            if n == 0:
                continue
            if weights.shape[0]:
                w = weights[g]
            top = array_max(&scores[first, 0], n)
            total = exponentials(&scores[first, 0], n, top, &residual[first, 0])
            for i in range(first, first + n):
                residual[i, 0] /= total
                shares[i, 0] = <float>residual[i, 0]
            residual[first + gold[g], 0] -= 1
            if residual[first + gold[g], 0] > -0.5:
                shares[first + gold[g], 0] = <float>residual[first + gold[g], 0]
            loss += w * (logarithm(total) + (top - scores[first + gold[g], 0]))
            if w != 1:
                for i in range(first, first + n):
                    residual[i, 0] *= w
    return loss


def group_curvature(const double[:, ::1] u, const int64_t[::1] starts, const float[:, ::1] shares,
                    const double[::1] weights, real[:, ::1] curvature):
    """w p (u − Σ p u) within each group."""
    cdef Py_ssize_t g
    cdef int64_t i, own, first, last
    cdef double mean, origin, w = 1
    with nogil:
        for g in range(starts.shape[0] - 1):
            first = starts[g] - starts[0]
            last = starts[g + 1] - starts[0]
            own = -1
            for i in range(first, last):
                own = i if shares[i, 0] < 0 else own
            origin = 0 if own < 0 else u[own, 0]
            mean = 0
            for i in range(first, last):
                mean += shares[i, 0] * (u[i, 0] - origin)
            if weights.shape[0]:
                w = weights[g]
            for i in range(first, last):
                curvature[i, 0] = <real>(w * shares[i, 0] * (u[i, 0] - origin - mean))
            if own >= 0:
                curvature[own, 0] = <real>(-w * (1 + shares[own, 0]) * mean)
