"""Dual coordinate ascent for conditional log-linear models with a Gaussian prior (Yu, Huang & Lin 2011).

The dual has a distribution a_i over the labels for each row, and weights that follow from it:

    max  Σ_i w_i H(a_i) − ‖θ‖²/(2C),   θ = C Σ_i w_i x_i (e_{y_i} − a_i)ᵀ

One row at a time, a_i moves to its optimum given the others: with s = θᵀx + b and η = w(C‖x‖² + 1/ρ) at the old a',

    log a_k + η (a_k − a'_k) + λ = s_k,   Σ_k a_k = 1         (two labels in one column: logit a + η (a − a') = s)

which Newton's method solves in log a, where it is all but linear; no learning rate is needed. The unpenalised
intercept is the multiplier of Σ_i w_i (e_{y_i} − a_i) = 0: it moves by 1/ρ times the violation, at every row and once
more after an epoch (the method of multipliers). What a row adds to the duality gap, w KL(a' ‖ softmax s), is known
when it is visited: rows that add little may rest.
"""

from libc.math cimport exp, fabs
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport add_row, prefetch, prefetch_range, score_row, number
from fastlin.engine.core.mathx cimport array_sum, exponential, exponentials, array_max, log1pexp, logarithm

cdef enum:
    MAX_NEWTON_ITERATIONS = 30  # Newton iterations of a row
    VECTOR_GAP_ = 16         # doubles: more than a vector

VECTOR_GAP = VECTOR_GAP_

cdef double MIN_LOG_PROBABILITY = -700  # of log a
cdef double MASS_TOLERANCE = 1e-3  # mass that the last iteration of a row may have moved: the next visit moves it on


cdef struct DualRows:
    const int64_t* indptr
    const int32_t* indices
    const void* values
    const int64_t* order
    Py_ssize_t end


cdef inline int64_t prefetch_rows(const DualRows* rows, const number* values, Py_ssize_t position, double* dual,
                                  Py_ssize_t width, int64_t* m_ahead) noexcept nogil:
    """Fetch what the next rows need; returns where the next row's non-zeros begin."""
    cdef int64_t row
    if position + 4 >= rows.end:
        m_ahead[0] = 0
        return rows.indptr[rows.order[position]]
    prefetch(&rows.indptr[rows.order[position + 4]])
    row = rows.order[position + 2]
    prefetch_range(rows.indices + rows.indptr[row], rows.indices + rows.indptr[row + 1])
    prefetch_range(values + rows.indptr[row], values + rows.indptr[row + 1])
    prefetch_range(dual + row * width, dual + (row + 1) * width)
    row = rows.order[position + 1]
    m_ahead[0] = rows.indptr[row + 1] - rows.indptr[row]
    return rows.indptr[row]


cdef inline double probability(double z) noexcept nogil:
    cdef double e = exp(-fabs(z))
    return (1.0 if z >= 0 else e) / (1.0 + e)


cdef inline double solve_logit(double target, double eta, double* z) noexcept nogil:
    """Solve logit a + ηa = target from the old z = logit a; returns a. The root lies in [target − η, target]."""
    cdef double low = target - eta, high = target, a = 0, excess
    cdef Py_ssize_t _turn
    if not low <= z[0] <= high:
        z[0] = 0.5 * (low + high)
    for _turn in range(MAX_NEWTON_ITERATIONS):
        a = probability(z[0])
        excess = z[0] + eta * a - target
        if excess > 0:
            high = z[0]
        else:
            low = z[0]
        if fabs(excess) <= 1e-9 * (1 + eta):
            break
        z[0] -= excess / (1.0 + eta * a * (1.0 - a))
        if not low < z[0] < high:
            z[0] = 0.5 * (low + high)
    return probability(z[0])


def binary_epoch(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values,
                 const double[::1] weights, const double[::1] norms, const int64_t[::1] order, double C, double step,
                 double[:, ::1] dual, double[:, ::1] W, double[::1] bias, double[::1] gaps):
    """Visit the rows of `order`: two labels in one column. dual[i] = (logit a, a); step = 1/ρ.

    gaps[i] is what row i added to the duality gap.
    """
    cdef DualRows rows = DualRows(&indptr[0], &indices[0], &values[0], &order[0], order.shape[0])
    cdef const number* x = &values[0]
    cdef Py_ssize_t position
    cdef int64_t i, start, ahead, m_ahead
    cdef double eta, change, s, z, old, w = 1
    with nogil:
        for position in range(rows.end):
            i = order[position]
            start = indptr[i]
            ahead = prefetch_rows(&rows, x, position, &dual[0, 0], 2, &m_ahead)
            score_row(&s, &W[0, 0], 1, rows.indices + start, x + start, indptr[i + 1] - start, rows.indices + ahead,
                      m_ahead)
            s += bias[0]
            if weights.shape[0]:
                w = weights[i]
            eta = w * (C * norms[i] + step)
            z = dual[i, 0]
            old = dual[i, 1]
            gaps[i] = w * (log1pexp(s) - log1pexp(z) - old * (s - z))    # KL of two Bernoullis, by their logits
            dual[i, 1] = solve_logit(s + eta * old, eta, &dual[i, 0])
            change = w * (old - dual[i, 1])
            bias[0] += step * change
            change *= C
            if change != 0:
                add_row(&W[0, 0], 1, rows.indices + start, x + start, indptr[i + 1] - start, &change)


cdef inline void solve_softmax(const double* u, double eta, Py_ssize_t K, double* v, double* a,
                               double* spare) noexcept nogil:
    """Solve log a + ηa + λ = u, Σ a = 1 from the old v = log a, by Newton's method in v and λ together."""
    cdef Py_ssize_t k, _turn
    cdef double multiplier, total, slope, rest, error, d
    for _turn in range(MAX_NEWTON_ITERATIONS):
        for k in range(K):
            a[k] = exponential(v[k])
        total = 0
        slope = 0
        rest = 0
        for k in range(K):
            spare[k] = 1.0 / (1.0 + eta * a[k])
            d = a[k] * spare[k]
            slope += d
            rest += d * (u[k] - v[k] - eta * a[k])
            total += a[k]
        multiplier = (rest + total - 1.0) / slope
        error = fabs(total - 1)
        for k in range(K):
            d = spare[k] * (u[k] - multiplier - v[k] - eta * a[k])
            error += a[k] * fabs(d)
            d += v[k]
            d = d if d < 0 else 0.0
            v[k] = d if d > MIN_LOG_PROBABILITY else MIN_LOG_PROBABILITY
        if error < MASS_TOLERANCE:
            break
    for k in range(K):
        a[k] = exponential(v[k])
    total = array_sum(a, K)
    slope = logarithm(total)
    for k in range(K):
        a[k] /= total
        v[k] -= slope


def softmax_epoch(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values,
                  const double[::1] weights, const double[::1] norms, const int64_t[::1] order, double C, double step,
                  double[:, ::1] dual, double[:, ::1] W, double[::1] bias, double[::1] gaps, double[:, ::1] room):
    """Visit the rows of `order`: K ≥ 2 labels. dual[i] = (log a, a), [2K]; step = 1/ρ.

    gaps[i] is what row i added to the duality gap. `room` is [3, K + 2 APART]: loops over vectors that lie too near
    each other are not vectorised, and round otherwise.
    """
    cdef DualRows rows = DualRows(&indptr[0], &indices[0], &values[0], &order[0], order.shape[0])
    cdef const number* x = &values[0]
    cdef Py_ssize_t position, K = W.shape[1], k
    cdef int64_t i, start, ahead, m_ahead
    cdef double eta, top, total, w = 1, local
    cdef double* s = &room[0, VECTOR_GAP_]
    cdef double* new = &room[1, VECTOR_GAP_]
    cdef double* spare = &room[2, VECTOR_GAP_]
    cdef double* logs
    cdef double* a
    with nogil:
        for position in range(rows.end):
            i = order[position]
            start = indptr[i]
            logs = &dual[i, 0]
            a = &dual[i, K]
            ahead = prefetch_rows(&rows, x, position, &dual[0, 0], 2 * K, &m_ahead)
            score_row(s, &W[0, 0], K, rows.indices + start, x + start, indptr[i + 1] - start, rows.indices + ahead,
                      m_ahead)
            if weights.shape[0]:
                w = weights[i]
            eta = w * (C * norms[i] + step)
            for k in range(K):
                s[k] += bias[k]
            top = array_max(s, K)
            total = exponentials(s, K, top, spare)
            local = logarithm(total) + top
            for k in range(K):
                local += a[k] * (logs[k] - s[k])
            gaps[i] = w * local
            for k in range(K):
                s[k] += eta * a[k]
            solve_softmax(s, eta, K, logs, new, spare)
            for k in range(K):
                s[k] = w * (a[k] - new[k])
                a[k] = new[k]
                bias[k] += step * s[k]
                s[k] *= C
            add_row(&W[0, 0], K, rows.indices + start, x + start, indptr[i + 1] - start, s)
