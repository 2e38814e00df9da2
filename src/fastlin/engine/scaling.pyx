"""Iterative scaling: each weight's own equation for its step δ, all others held fixed.

    generalised    H = E e^{Cδ} + ρ(θ + δ)                      (Darroch & Ratcliff 1972; C the largest feature sum)
    improved       H = Σ_i w p_ik x_ij e^{F_ik δ} + ρ(θ + δ)    (Berger, Della Pietra & Della Pietra 1996)

H and E are observed and expected counts, F the feature sums f#, ρ the inverse variance of a Gaussian prior, θ the
weight less its mean. Both are Σ_m a_m e^{f_m δ} + ρ(θ + δ) = H, whose left side is convex and grows with δ: Newton's
method in a bracket. Where a column has more rows than there are sums f#, rows with the same one are one term.
"""

from libc.math cimport HUGE_VAL, fabs, log
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.csr cimport number
from fastlin.engine.mathx cimport exponential, logarithm

cdef enum:
    MOST = 100

cdef double EXACT = 1e-14
cdef double LEAST = 1e-300   # a count that rounding took


cdef double solve(const double* a, const double* f, Py_ssize_t m, double H, double rho, double theta) noexcept nogil:
    """δ of Σ a e^{fδ} + ρ(θ + δ) = H, for a ≥ 0 and f > 0."""
    cdef double delta = 0, low = -HUGE_VAL, high = HUGE_VAL, total, slope, term, excess, least = HUGE_VAL, newton
    cdef double room = H - rho * theta
    cdef Py_ssize_t i, turn
    total = 0
    for i in range(m):
        total += a[i]
        least = f[i] if f[i] < least else least
    if total <= 0:
        return room / rho if rho > 0 else 0.0
    if m == 1 and rho == 0:
        return (logarithm(room) - logarithm(total if total > LEAST else LEAST)) / least
    if room > total:                                   # the root is positive, and every term grows by e^{least·δ}
        high = log(room / total) / least
    for turn in range(MOST):
        total = 0
        slope = 0
        for i in range(m):
            term = a[i] * exponential(f[i] * delta if f[i] * delta < 709.0 else 709.0)
            total += term
            slope += f[i] * term
        excess = total + rho * delta - room
        if excess > 0:
            high = delta
        else:
            low = delta
        if fabs(excess) <= EXACT * (total + fabs(room) + fabs(rho * delta)):
            break
        newton = delta - excess / (slope + rho)
        if newton > high:
            newton = high if low == 0 and turn == 0 else 0.5 * (low + high)
        elif newton < low:
            newton = 0.5 * (low + high)
        if newton == delta:
            break
        delta = newton
    return delta


def generalise(const double[::1] expected, const double[::1] observed, double C, const double[::1] precision,
               Py_ssize_t width, const double[::1] theta, double[::1] delta):
    """δ of each weight; `width` weights share an entry of `precision`."""
    cdef Py_ssize_t q, j
    cdef bint free = True
    with nogil:
        for j in range(precision.shape[0]):
            free = free and precision[j] == 0
        if free:                                           # no prior: δ = log(H/E)/C, as one long vector
            for q in range(theta.shape[0]):
                delta[q] = (logarithm(observed[q] if observed[q] > LEAST else LEAST)
                            - logarithm(expected[q] if expected[q] > LEAST else LEAST)) / C
        else:
            for q in range(theta.shape[0]):
                delta[q] = solve(&expected[q], &C, 1, observed[q], precision[q // width], theta[q])


def improve(const int64_t[::1] indptr, const int32_t[::1] rows, const number[::1] values, Py_ssize_t low,
            Py_ssize_t high, const int64_t[::1] starts, const int32_t[::1] labels, const double[:, ::1] p,
            const int32_t[:, ::1] level, const double[::1] levels, const double[::1] observed,
            const double[::1] precision, Py_ssize_t width, const double[::1] theta, double[::1] delta,
            double[:, ::1] spare):
    """δ of the weights of the features [low, high): feature j has starts[j] …, one for each of `labels`.

    p is w p(k|x), level[i, k] says which of `levels` is the f# of row i and label k (one column: of every label);
    `spare` [2, ·] has room for the longest column; if a column has more rows than there are levels, these are summed.
    """
    cdef Py_ssize_t j, k, m, one, M = levels.shape[0]
    cdef int64_t q, n, first, t
    cdef bint many, common = level.shape[1] == 1
    cdef double* a = &spare[0, 0]
    cdef double* f = &spare[1, 0]
    with nogil:
        for j in range(low, high):
            first = indptr[j]
            n = indptr[j + 1] - first
            many = n > M
            for q in range(starts[j], starts[j + 1]):
                k = labels[q]
                m = M if many else n
                if many:
                    for t in range(M):
                        a[t] = 0
                        f[t] = levels[t]
                for t in range(n):
                    one = level[rows[first + t], 0 if common else k]
                    if many:
                        a[one] += values[first + t] * p[rows[first + t], k]
                    else:
                        a[t] = values[first + t] * p[rows[first + t], k]
                        f[t] = levels[one]
                one = 0
                for t in range(m):                     # only terms that are there, neighbours with one sum as one
                    if a[t] > 0 and one > 0 and f[t] == f[one - 1]:
                        a[one - 1] += a[t]
                    elif a[t] > 0:
                        a[one] = a[t]
                        f[one] = f[t]
                        one += 1
                delta[q] = solve(a, f, one, observed[q], precision[q // width], theta[q])
