"""What a feature would add to a log-likelihood, all other weights held (Della Pietra, Della Pietra & Lafferty 1997).

    g(α) = Σ_i w_i ([y_i = k] α x_i − log(q_i + p_i e^{α x_i})) − ½ λ α²        p_i = p(k | x_i) now, q_i = 1 − p_i

The sum runs over the rows that have the feature, and g is concave: Newton's method on g′ inside a bracket. With two
labels in one column k is the second. Exponents are never positive, and q is given beside p, so nothing overflows or
cancels. A row is one line of a table, p q w and w[y = k], so that a non-zero costs one visit to memory. Features that
are there or not have one value a column, and all rows share its e^{αx}.
"""

from libc.math cimport exp, fabs
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport number
from fastlin.engine.core.mathx cimport exponential, logarithm


cdef enum:
    MAX_NEWTON_STEPS = 100   # Newton steps; a handful is usual

# what a step may still promise, in nats, or as a share of what the first one promised
cdef double GAIN_TOLERANCE = 1e-11
cdef double MIN_EXPONENTIAL = 1e-300  # for e^{−|αx|}: q + p e^{αx} stays above zero

cdef struct GainColumn:
    const int32_t* rows
    const double* table
    Py_ssize_t size
    double max_abs           # max |x|
    bint uniform             # every x is `common`
    double common


cdef inline GainColumn describe_column(const int32_t* rows, const number* x, Py_ssize_t size,
                                       const double* table) noexcept nogil:
    cdef GainColumn column
    cdef Py_ssize_t p
    column.rows = rows
    column.table = table
    column.size = size
    column.max_abs = 0
    column.uniform = True
    column.common = x[0] if size else 0
    for p in range(size):
        column.uniform = column.uniform and x[p] == x[0]
        column.max_abs = fabs(x[p]) if fabs(x[p]) > column.max_abs else column.max_abs
    return column


cdef inline void gain_derivatives(GainColumn* column, const number* x, double alpha, double* slope,
                                  double* bend) noexcept nogil:
    """g′(α) and −g″(α) without the prior's part."""
    cdef double first = 0, second = 0, t, e, a, b, d, share
    cdef const double* row
    cdef Py_ssize_t p
    if column.uniform:
        t = alpha * column.common
        e = exp(-fabs(t))
        e = e if e > MIN_EXPONENTIAL else MIN_EXPONENTIAL
        for p in range(column.size):
            row = column.table + 4 * <Py_ssize_t>column.rows[p]
            a = row[0] if t > 0 else row[1]
            b = row[1] * e if t > 0 else row[0] * e
            d = 1 / (a + b)
            share = (a if t > 0 else b) * d
            first += row[3] - row[2] * share
            second += row[2] * ((a * d) * (b * d))
        slope[0] = first * column.common
        bend[0] = second * column.common * column.common
        return
    for p in range(column.size):
        row = column.table + 4 * <Py_ssize_t>column.rows[p]
        t = alpha * x[p]
        e = exponential(-fabs(t))
        e = e if e > MIN_EXPONENTIAL else MIN_EXPONENTIAL
        a = row[0] if t > 0 else row[1]
        b = row[1] * e if t > 0 else row[0] * e
        d = 1 / (a + b)
        share = (a if t > 0 else b) * d
        first += x[p] * (row[3] - row[2] * share)
        second += <double>x[p] * x[p] * (row[2] * ((a * d) * (b * d)))
    slope[0] = first
    bend[0] = second


cdef inline double gain_at(GainColumn* column, const number* x, double alpha) noexcept nogil:
    """g(α) without the prior's part."""
    cdef double total = 0, t, e
    cdef const double* row
    cdef Py_ssize_t p
    for p in range(column.size):
        row = column.table + 4 * <Py_ssize_t>column.rows[p]
        t = alpha * x[p]
        e = exponential(-fabs(t))
        e = e if e > MIN_EXPONENTIAL else MIN_EXPONENTIAL
        if t > 0:
            total += (row[3] - row[2]) * t - row[2] * logarithm(row[0] + row[1] * e)
        else:
            total += row[3] * t - row[2] * logarithm(row[1] + row[0] * e)
    return total


cdef inline bint stays_below(double slope, double bend, double max_abs, double min_gain) noexcept nogil:
    """Whether no α reaches the bar: −g″ falls no faster than e^{−|α| max |x|}, so a curve of known top is above g."""
    cdef double u = fabs(slope) * max_abs / bend
    return u < 1 and bend / (max_abs * max_abs) * (u + (1 - u) * logarithm(1 - u)) < min_gain


cdef inline double maximise_gain(GainColumn* column, const number* x, double precision, double min_gain) noexcept nogil:
    """The α where g is highest; 0 where it cannot rise above the bar."""
    cdef double alpha = 0, low = 0, high = 0, slope = 0, bend = 0, enough = 0, step, limit
    cdef bint from_below = False, from_above = False
    cdef int trial
    for trial in range(MAX_NEWTON_STEPS):
        gain_derivatives(column, x, alpha, &slope, &bend)
        if trial == 0 and stays_below(slope, bend, column.max_abs, min_gain):
            return 0
        slope -= precision * alpha
        bend += precision
        if slope > 0:
            low = alpha
            from_below = True
        else:
            high = alpha
            from_above = True
        if trial == 0:
            enough = GAIN_TOLERANCE * (slope * slope / bend if slope * slope > bend else 1.0)
        if not slope * slope > enough * bend:    # NaN included
            break
        step = slope / bend if bend > 0 else slope / MIN_EXPONENTIAL
        if from_below and from_above:
            alpha += step
            if not low < alpha < high:
                alpha = 0.5 * (low + high)
                if alpha == low or alpha == high:
                    break
            continue
        limit = 2 * fabs(alpha) + 4 / column.max_abs
        alpha += step if fabs(step) < limit else (limit if step > 0 else -limit)
    return alpha


def gains(const int64_t[::1] indptr, const int32_t[::1] rows, const number[::1] values, const int64_t[::1] columns,
          const double[:, ::1] table, double precision, double min_gain, double[::1] weights, double[::1] out):
    """For each of some columns the best weight α and g(α) ≥ 0; both are 0 where g(α) is found to be below the bar."""
    cdef Py_ssize_t c
    cdef int64_t start, size
    cdef double gain
    cdef GainColumn column
    with nogil:
        for c in range(columns.shape[0]):
            weights[c] = 0
            out[c] = 0
            start = indptr[columns[c]]
            size = indptr[columns[c] + 1] - start
            if size == 0:
                continue
            column = describe_column(&rows[start], &values[start], size, &table[0, 0])
            if column.max_abs == 0:
                continue
            weights[c] = maximise_gain(&column, &values[start], precision, min_gain)
            if weights[c] == 0:
                continue
            gain = gain_at(&column, &values[start], weights[c]) - 0.5 * precision * weights[c] * weights[c]
            out[c] = gain if gain > 0 else 0.0
