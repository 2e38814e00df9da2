"""Stable logarithms, exponentials and softmax.

`exponential` and `logarithm` have no branch and no call, so that gcc vectorises the loops over labels around
them; libm's cost 20 cycles a label, which at K = 20 is as much as the sparse work of a short row. Both
stay within 2 ulp of the true value (tests/engine/test_mathx.py, against mpmath).
"""

from libc.float cimport DBL_MIN
from libc.math cimport exp, fabs, log, log1p
from libc.stdint cimport int64_t, uint64_t

cdef extern from * nogil:
    """
    #include <stdint.h>
    #include <string.h>
    static inline double fastlin_as_double(int64_t bits) { double x; memcpy(&x, &bits, sizeof x); return x; }
    static inline int64_t fastlin_as_bits(double x) { int64_t bits; memcpy(&bits, &x, sizeof bits); return bits; }
    """
    double as_double "fastlin_as_double"(int64_t) noexcept
    int64_t as_bits "fastlin_as_bits"(double) noexcept


cdef inline double exponential(double x) noexcept nogil:
    """e^x for x ≤ 709; 0 below −708, where e^x leaves the normal numbers."""
    cdef double shifted, n, r, r2, r4, low, middle, high, last, p
    cdef double bounded = x if x > -708.0 else -708.0
    shifted = bounded * 1.4426950408889634 + 6755399441055744.0    # 1.5·2^52: the sum's low bits are round(x/ln 2)
    n = shifted - 6755399441055744.0
    r = (bounded - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10
    r2 = r * r                                             # Σ rⁱ/i! in Estrin's order: a third of Horner's latency
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0))
    middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0))
    high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
    last = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    p = (low + r4 * middle) + r4 * r4 * (high + r4 * last)
    p *= as_double(<int64_t>(<uint64_t>(as_bits(shifted) + 1023) << 52))
    return p if x >= -708.0 else (0.0 if x < -708.0 else x)


cdef inline double logarithm(double x) noexcept nogil:
    """log x for normal x > 0: x = 2^n m with m in [√½, √2), log m = 2 artanh((m − 1)/(m + 1))."""
    cdef int64_t bits = as_bits(x) - 0x3FE6A09E667F3BCDLL
    cdef double n = as_double((bits >> 52) + 0x4338000000000000LL) - 6755399441055744.0
    cdef double m = as_double(as_bits(x) - <int64_t>(<uint64_t>(bits >> 52) << 52))
    cdef double f = m - 1.0
    cdef double s = f / (2.0 + f)
    cdef double z = s * s
    cdef double p = 2.0 / 21.0
    p = p * z + 2.0 / 19.0
    p = p * z + 2.0 / 17.0
    p = p * z + 2.0 / 15.0
    p = p * z + 2.0 / 13.0
    p = p * z + 2.0 / 11.0
    p = p * z + 2.0 / 9.0
    p = p * z + 2.0 / 7.0
    p = p * z + 2.0 / 5.0
    p = p * z + 2.0 / 3.0
    return n * 6.93147180369123816490e-01 + (2.0 * s + (s * z * p + n * 1.90821492927058770002e-10))


cdef inline bint logarithms(double* x, Py_ssize_t n) noexcept nogil:
    """x = log x, −∞ for what is not positive; says whether there was any. Fast while all are normal numbers."""
    cdef Py_ssize_t i
    cdef int unusual = 0
    cdef bint impossible = False
    for i in range(n):
        unusual |= x[i] < DBL_MIN
    if not unusual:
        for i in range(n):
            x[i] = logarithm(x[i])
        return False
    for i in range(n):
        impossible = impossible or x[i] <= 0
        x[i] = log(x[i] if x[i] > 0 else 0.0) if x[i] < DBL_MIN else logarithm(x[i])
    return impossible


cdef inline double array_max(const double* s, Py_ssize_t K) noexcept nogil:
    """max s. Four maxima, here as below four sums, hide the latency of one; the order of addition stays fixed."""
    cdef double a = s[0], b = s[0], c = s[0], d = s[0]
    cdef Py_ssize_t k = 0
    while k + 4 <= K:
        a = s[k] if s[k] > a else a
        b = s[k + 1] if s[k + 1] > b else b
        c = s[k + 2] if s[k + 2] > c else c
        d = s[k + 3] if s[k + 3] > d else d
        k += 4
    while k < K:
        a = s[k] if s[k] > a else a
        k += 1
    a = a if a > b else b
    c = c if c > d else d
    return a if a > c else c


cdef inline double array_sum(const double* x, Py_ssize_t n) noexcept nogil:
    """Σ x."""
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t k = 0
    while k + 4 <= n:
        a += x[k]
        b += x[k + 1]
        c += x[k + 2]
        d += x[k + 3]
        k += 4
    while k < n:
        a += x[k]
        k += 1
    return (a + b) + (c + d)


cdef inline double exponentials(const double* s, Py_ssize_t K, double top, double* p) noexcept nogil:
    """p = e^{s − top}, with top = max s finite; returns Σ p, by which a softmax divides."""
    cdef Py_ssize_t k
    for k in range(K):
        p[k] = exponential(s[k] - top)
    return array_sum(p, K)


cdef inline double log1pexp(double x) noexcept nogil:
    """log(1 + e^x), for any x."""
    return (x if x > 0 else 0.0) + log1p(exp(-fabs(x)))


cdef inline double sigmoid(double x) noexcept nogil:
    """1/(1 + e^−x), for any x, with full relative precision where it is small."""
    cdef double e = exp(-fabs(x))
    return (1.0 if x >= 0 else e) / (1.0 + e)
