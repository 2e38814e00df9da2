"""The vectors of an optimiser: as long as the model, so each loop does all it can while its numbers are in cache.

A weight vector is flat; weight q belongs to feature q // width, whose prior has the inverse variance
precision[q // width] (`width` is K for dense weights, 1 for observed pairs). Vectors of the inner iterations are
float32 or float64; every sum is float64. Loops without sums vectorise by themselves; sums take four turns over
a stretch that is still in cache, which memory hides.
"""

from libc.math cimport fabs
from libc.stdint cimport int64_t

from fastlin.engine.core.csr cimport real

ctypedef fused other:
    float
    double

cdef enum:
    CHUNK = 1024             # elements: a few of these lie in the first-level cache


cdef inline Py_ssize_t chunk_end(Py_ssize_t start, Py_ssize_t n) noexcept nogil:
    return start + CHUNK if start + CHUNK < n else n


cdef inline double inner(const real* a, const other* b, Py_ssize_t n) noexcept nogil:
    """Σ a b."""
    cdef double s = 0, t = 0, u = 0, v = 0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        s += <double>a[i] * b[i]
        t += <double>a[i + 1] * b[i + 1]
        u += <double>a[i + 2] * b[i + 2]
        v += <double>a[i + 3] * b[i + 3]
        i += 4
    while i < n:
        s += <double>a[i] * b[i]
        i += 1
    return (s + t) + (u + v)


def dot(const real[::1] a, const other[::1] b):
    """Σ a b."""
    cdef double total
    if a.shape[0] == 0:
        return 0.0
    with nogil:
        total = inner(&a[0], &b[0], a.shape[0])
    return total


def sum_rows(const real[:, ::1] rows, double[::1] sums):
    """sums = Σ_i rows[i], added in their order."""
    cdef Py_ssize_t i, k, K = rows.shape[1]
    if sums.shape[0] != K:
        raise ValueError(f"{sums.shape[0]} sums do not fit {K} columns")
    sums[:] = 0
    with nogil:
        for i in range(rows.shape[0]):
            for k in range(K):
                sums[k] += rows[i, k]


def max_abs(const double[::1] a):
    """max |a|; NaN where there is one."""
    cdef double s = 0, t = 0, u = 0, v = 0, one = 0, other = 0
    cdef Py_ssize_t i = 0, n = a.shape[0]
    with nogil:
        while i + 4 <= n:
            s = fabs(a[i]) if fabs(a[i]) > s else s
            t = fabs(a[i + 1]) if fabs(a[i + 1]) > t else t
            u = fabs(a[i + 2]) if fabs(a[i + 2]) > u else u
            v = fabs(a[i + 3]) if fabs(a[i + 3]) > v else v
            one += a[i] * 0 + a[i + 1] * 0
            other += a[i + 2] * 0 + a[i + 3] * 0
            i += 4
        while i < n:
            s = fabs(a[i]) if fabs(a[i]) > s else s
            one += a[i] * 0
            i += 1
        s = s if s > t else t
        u = u if u > v else v
    return (s if s > u else u) + (one + other)


cdef inline double steepest_of(double weight, double slope, double l1) noexcept nogil:
    if weight > 0:
        return slope + l1
    if weight < 0 or slope > l1:
        return slope - l1
    return slope + l1 if slope < -l1 else 0 * slope  # NaN stays


def pseudo_gradient(const double[::1] theta, const double[::1] gradient, const double[::1] l1, double[::1] steepest):
    """The subgradient of least norm of f + Σ λ₁|θ|; one λ₁ for all weights, or one of each."""
    cdef Py_ssize_t q
    cdef double same = l1[0]
    with nogil:
        if l1.shape[0] == 1:
            for q in range(theta.shape[0]):
                steepest[q] = steepest_of(theta[q], gradient[q], same)
        else:
            for q in range(theta.shape[0]):
                steepest[q] = steepest_of(theta[q], gradient[q], l1[q])


def fenchel_young_gap(const double[::1] weights, const double[::1] slopes, double share, const double[::1] l1,
                      const double[::1] l2):
    """Σ h(θ) + h*(−g) + g θ of h = λ₁|θ| + ½λ₂θ² and g = share · slopes, where |g| ≤ λ₁ if λ₂ = 0.

    One λ₁ and λ₂ for all weights, or one of each. No term is below zero, but by rounding.
    """
    cdef Py_ssize_t q
    cdef double total = 0, part, slope, strength, curvature, over
    with nogil:
        for q in range(weights.shape[0]):
            strength = l1[q if l1.shape[0] > 1 else 0]
            curvature = l2[q if l2.shape[0] > 1 else 0]
            slope = share * slopes[q]
            part = strength * fabs(weights[q]) + slope * weights[q]
            if curvature > 0:
                over = fabs(slope) - strength
                part += 0.5 * curvature * weights[q] * weights[q]
                if over > 0:
                    part += over * over / (2 * curvature)
            total += 0 if part <= 0 else part  # NaN stays
    return total


def l1_norm(const double[::1] a):
    """Σ |a|."""
    cdef double s = 0, t = 0, u = 0, v = 0
    cdef Py_ssize_t i = 0, n = a.shape[0]
    with nogil:
        while i + 4 <= n:
            s += fabs(a[i])
            t += fabs(a[i + 1])
            u += fabs(a[i + 2])
            v += fabs(a[i + 3])
            i += 4
        while i < n:
            s += fabs(a[i])
            i += 1
    return (s + t) + (u + v)


def prior_penalty(const double[::1] theta, const double[::1] mean, const double[::1] precision, Py_ssize_t width,
                  double[::1] gradient):
    """½ Σ precision (θ − mean)², whose gradient is added; an empty mean stands for zeros."""
    cdef Py_ssize_t j, q, start = 0, stop, n = precision.shape[0]
    cdef double total = 0, part, pull, difference
    cdef double pulls[CHUNK]
    cdef bint shifted = mean.shape[0] > 0
    with nogil:
        while start < n and width == 1 and not shifted:
            stop = chunk_end(start, n)
            for q in range(start, stop):
                pulls[q - start] = precision[q] * theta[q]
                gradient[q] += pulls[q - start]
            total += inner(pulls, &theta[start], stop - start)
            start = stop
        for j in range(start, n):
            part = 0
            for q in range(j * width, j * width + width):
                difference = theta[q] - mean[q] if shifted else theta[q]
                pull = precision[j] * difference
                gradient[q] += pull
                part += pull * difference
            total += part
    return 0.5 * total


def prior_line_derivatives(const double[::1] theta, const double[::1] mean, const double[::1] precision,
                           Py_ssize_t width, const double[::1] d):
    """Σ precision (θ − mean) d and Σ precision d²: the prior along a direction."""
    cdef Py_ssize_t j, q
    cdef double linear = 0, square = 0, line, bend
    cdef bint shifted = mean.shape[0] > 0
    with nogil:
        for j in range(precision.shape[0]):
            line = 0
            bend = 0
            for q in range(j * width, j * width + width):
                line += (theta[q] - mean[q] if shifted else theta[q]) * d[q]
                bend += d[q] * d[q]
            linear += precision[j] * line
            square += precision[j] * bend
    return linear, square


# Conjugate gradients on H s = −g with the preconditioner M = diag H:
#     α = rᵀz / pᵀHp,  s += αp,  r −= αHp,  z = M⁻¹r,  p = z + (rᵀz / previous rᵀz) p


def cg_curvature(const double[::1] product, const real[::1] p, const double[::1] precision, Py_ssize_t width,
                 real[::1] Hp):
    """Hp = product + precision ∘ p; returns pᵀHp."""
    cdef Py_ssize_t j, q
    cdef double total = 0
    with nogil:
        for j in range(precision.shape[0]):
            for q in range(j * width, j * width + width):
                Hp[q] = <real>(product[q] + precision[j] * p[q])
            if width > 1:
                total += inner(&p[j * width], &Hp[j * width], width)
        if width == 1 and precision.shape[0] > 0:
            total = inner(&p[0], &Hp[0], precision.shape[0])
    return total


def cg_update(double alpha, const real[::1] p, const real[::1] Hp, const real[::1] inverse, real[::1] s, real[::1] r):
    """s += αp, r −= αHp; returns rᵀM⁻¹r."""
    cdef Py_ssize_t i, start = 0, stop, n = p.shape[0]
    cdef double total = 0
    cdef real step = <real>alpha
    cdef real z[CHUNK]
    with nogil:
        while start < n:
            stop = chunk_end(start, n)
            for i in range(start, stop):
                s[i] += step * p[i]
                r[i] -= step * Hp[i]
                z[i - start] = inverse[i] * r[i]
            total += inner(&r[start], z, stop - start)
            start = stop
    return total


def cg_direction(double beta, const real[::1] r, const real[::1] inverse, real[::1] p):
    """p = M⁻¹r + βp."""
    cdef Py_ssize_t i
    cdef real keep = <real>beta
    with nogil:
        for i in range(p.shape[0]):
            p[i] = inverse[i] * r[i] + keep * p[i]


# L-BFGS: the pairs are the rows of B


def lbfgs_products(const real[:, ::1] B, Py_ssize_t start, Py_ssize_t end, const int64_t[::1] rows,
                   const int64_t[::1] some, double[:, ::1] out):
    """out[r, c] = B[rows[r]] · B[some[c]] over the columns [start, end), reading every row once."""
    cdef Py_ssize_t r, c, stop
    with nogil:
        for r in range(rows.shape[0]):
            for c in range(some.shape[0]):
                out[r, c] = 0
        while start < end:
            stop = chunk_end(start, end)
            for r in range(rows.shape[0]):
                for c in range(some.shape[0]):
                    out[r, c] += inner(&B[rows[r], start], &B[some[c], start], stop - start)
            start = stop


def lbfgs_combine(const real[:, ::1] B, Py_ssize_t start, Py_ssize_t end, const double[::1] c, const double[::1] scale,
                  double[::1] out):
    """out = scale ∘ Σ_r c_r B[r] in the columns [start, end)."""
    cdef Py_ssize_t r, i, stop
    with nogil:
        while start < end:
            stop = chunk_end(start, end)
            for i in range(start, stop):
                out[i] = 0
            for r in range(B.shape[0]):
                if c[r] != 0:
                    for i in range(start, stop):
                        out[i] += c[r] * B[r, i]
            for i in range(start, stop):
                out[i] *= scale[i]
            start = stop
