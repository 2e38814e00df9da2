"""Dual coordinate ascent for conditional log-linear models with a Gaussian prior (Yu, Huang & Lin 2011).

The dual has a distribution a_i over the labels for each row, and weights that follow from it:

    max  Σ_i w_i H(a_i) − ‖θ‖²/(2C),   θ = C Σ_i w_i x_i (e_{y_i} − a_i)ᵀ

One row at a time, a_i moves to its optimum given the others: with s = θᵀx + b and η = w(C‖x‖² + 1/ρ) at the old a',

    log a_k + η (a_k − a'_k) + λ = s_k,   Σ_k a_k = 1         (two labels in one column: logit a + η (a − a') = s)

which Newton's method solves in log a, where it is all but linear; no learning rate is needed. The unpenalised
intercept is the multiplier of Σ_i w_i (e_{y_i} − a_i) = 0: it moves by 1/ρ times the violation, at every row and once
more after an epoch (the method of multipliers). What a row adds to the duality gap, w KL(a' ‖ softmax s), is known
when it is visited: rows that add little may rest.

Labels of which a row may have several are K binary problems, each with an a, a weight and a ρ of its own, which share
the row's gather and scatter. Their logits are found together, by vectors: to the precision that is worth it, since
the next visit goes on from there.
"""

cimport cython
from libc.math cimport exp, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate, checked_product
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.core.csr cimport add_row, prefetch, prefetch_range, score_row, number
from fastlin.engine.core.mathx cimport array_sum, exponential, exponentials, array_max, log1pexp, logarithm

cdef enum:
    MAX_NEWTON_ITERATIONS = 30  # Newton iterations of a row
    VECTOR_GAP = 16          # doubles: more than a vector

cdef double LOGIT_TOLERANCE = 0.03  # how far the last step of a vector of logits may go: Newton's next is its square
cdef double MIN_LOG_PROBABILITY = -700  # of log a
cdef double MASS_TOLERANCE = 1e-3  # mass that the last iteration of a row may have moved: the next visit moves it on


cdef struct DualRows:
    const int64_t* indptr
    const int32_t* indices
    const double* weights            # NULL: all 1
    const double* norms
    double* dual
    double* gaps
    const int64_t* order
    Py_ssize_t end


@cython.final
cdef class LogisticRows:
    """Rows with their weights (none: all one), ‖x‖², the dual variables of each, and what it adds to the duality gap.

    dual[i] = (logit a, a) for two labels in one column, else (log a, a), [2K].
    """

    cdef CSRView view
    cdef DualRows rows
    cdef Py_ssize_t width
    cdef const double[::1] weights, norms
    cdef double[:, ::1] dual
    cdef double[::1] gaps

    def __cinit__(self, CSRView rows not None, const double[::1] weights, const double[::1] norms,
                  double[:, ::1] dual, double[::1] gaps):
        cdef Py_ssize_t n = rows.stop
        if weights.shape[0] not in (0, n) or not norms.shape[0] == dual.shape[0] == gaps.shape[0] == n:
            raise ValueError(f"weights, norms, dual variables or gaps do not fit {n} rows")
        self.view, self.weights, self.norms, self.dual, self.gaps = rows, weights, norms, dual, gaps
        self.width = dual.shape[1]
        self.rows = DualRows(rows.indptr, rows.indices, NULL, &norms[0], &dual[0, 0], &gaps[0], NULL, 0)
        if weights.shape[0]:
            self.rows.weights = &weights[0]


cdef inline int64_t prefetch_rows(const DualRows* rows, const number* values, Py_ssize_t position, Py_ssize_t width,
                                  int64_t* m_ahead) noexcept nogil:
    """Fetch what the next rows need; returns where the next row's non-zeros begin."""
    cdef int64_t row
    if position + 4 >= rows.end:
        m_ahead[0] = 0
        return rows.indptr[rows.order[position]]
    prefetch(&rows.indptr[rows.order[position + 4]])
    row = rows.order[position + 2]
    prefetch_range(rows.indices + rows.indptr[row], rows.indices + rows.indptr[row + 1])
    prefetch_range(values + rows.indptr[row], values + rows.indptr[row + 1])
    prefetch_range(rows.dual + row * width, rows.dual + (row + 1) * width)
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


cdef void visit_binary(const DualRows* rows, const number* x, double C, double step, double* W,
                       double* bias) noexcept nogil:
    """`dual_epoch` of two labels in one column."""
    cdef Py_ssize_t position
    cdef int64_t i, start, ahead, m_ahead
    cdef double eta, change, s, z, old, w = 1
    cdef double* dual
    for position in range(rows.end):
        i = rows.order[position]
        start = rows.indptr[i]
        dual = rows.dual + 2 * i
        ahead = prefetch_rows(rows, x, position, 2, &m_ahead)
        score_row(&s, W, 1, rows.indices + start, x + start, rows.indptr[i + 1] - start, rows.indices + ahead, m_ahead)
        s += bias[0]
        if rows.weights != NULL:
            w = rows.weights[i]
        eta = w * (C * rows.norms[i] + step)
        z = dual[0]
        old = dual[1]
        rows.gaps[i] = w * (log1pexp(s) - log1pexp(z) - old * (s - z))       # KL of two Bernoullis, by their logits
        dual[1] = solve_logit(s + eta * old, eta, dual)
        change = w * (old - dual[1])
        bias[0] += step * change
        change *= C
        if change != 0:
            add_row(W, 1, rows.indices + start, x + start, rows.indptr[i + 1] - start, &change)


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


cdef void visit_softmax(const DualRows* rows, const number* x, double C, double step, double* W, double* bias,
                        Py_ssize_t K, double* room) noexcept nogil:
    """`dual_epoch` of K ≥ 2 labels, with room for three vectors that lie VECTOR_GAP apart."""
    cdef Py_ssize_t position, k
    cdef int64_t i, start, ahead, m_ahead
    cdef double eta, top, total, w = 1, local
    cdef double* s = room + VECTOR_GAP
    cdef double* new = s + K + 2 * VECTOR_GAP
    cdef double* spare = new + K + 2 * VECTOR_GAP
    cdef double* logs
    cdef double* a
    for position in range(rows.end):
        i = rows.order[position]
        start = rows.indptr[i]
        logs = rows.dual + 2 * K * i
        a = logs + K
        ahead = prefetch_rows(rows, x, position, 2 * K, &m_ahead)
        score_row(s, W, K, rows.indices + start, x + start, rows.indptr[i + 1] - start, rows.indices + ahead, m_ahead)
        if rows.weights != NULL:
            w = rows.weights[i]
        eta = w * (C * rows.norms[i] + step)
        for k in range(K):
            s[k] += bias[k]
        top = array_max(s, K)
        total = exponentials(s, K, top, spare)
        local = logarithm(total) + top
        for k in range(K):
            local += a[k] * (logs[k] - s[k])
        rows.gaps[i] = w * local
        for k in range(K):
            s[k] += eta * a[k]
        solve_softmax(s, eta, K, logs, new, spare)
        for k in range(K):
            s[k] = w * (a[k] - new[k])
            a[k] = new[k]
            bias[k] += step * s[k]
            s[k] *= C
        add_row(W, K, rows.indices + start, x + start, rows.indptr[i + 1] - start, s)


cdef struct LabelCosts:              # of the labels of a row's set, and of the others
    const int32_t* sets
    const uint8_t* members
    const double* factors            # NULL: all 1


@cython.final
cdef class SetsOfRows:
    """Which set of labels each row has, which labels are in each, [sets, K], and what multiplies the weight of a row
    without a label, and with it, [2, K], if anything does."""

    cdef const int32_t[::1] sets
    cdef const uint8_t[:, ::1] members
    cdef const double[:, ::1] factors
    cdef LabelCosts costs

    def __cinit__(self, const int32_t[::1] sets, const uint8_t[:, ::1] members, const double[:, ::1] factors):
        if factors.shape[0] and (factors.shape[0] != 2 or factors.shape[1] != members.shape[1]):
            raise ValueError(f"factors of {factors.shape[1]} labels do not fit {members.shape[1]}")
        self.sets, self.members, self.factors = sets, members, factors
        self.costs = LabelCosts(&sets[0], &members[0, 0], NULL)
        if factors.shape[0]:
            self.costs.factors = &factors[0, 0]


cdef inline void solve_logits(const double* target, const double* eta, Py_ssize_t K, double* z, double* a, double* low,
                              double* high) noexcept nogil:
    """`solve_logit` for each of K labels, from the old z; branch-free, so that it vectorises over them."""
    cdef Py_ssize_t k, _turn
    cdef double e, excess, new, middle, largest
    for k in range(K):
        low[k] = target[k] - eta[k]
        high[k] = target[k]
        z[k] = z[k] if (z[k] >= low[k]) & (z[k] <= high[k]) else 0.5 * (low[k] + high[k])
    for _turn in range(MAX_NEWTON_ITERATIONS):
        largest = 0
        for k in range(K):
            e = exponential(-fabs(z[k]))
            a[k] = (1.0 if z[k] >= 0 else e) / (1.0 + e)
            excess = z[k] + eta[k] * a[k] - target[k]
            high[k] = z[k] if excess > 0 else high[k]
            low[k] = low[k] if excess > 0 else z[k]
            new = z[k] - excess / (1.0 + eta[k] * a[k] * (1.0 - a[k]))
            middle = 0.5 * (low[k] + high[k])
            new = new if (new >= low[k]) & (new <= high[k]) else middle
            a[k] = fabs(new - z[k])
            z[k] = new
        for k in range(K):
            largest = a[k] if a[k] > largest else largest
        if largest <= LOGIT_TOLERANCE:
            break
    for k in range(K):
        e = exponential(-fabs(z[k]))
        a[k] = (1.0 if z[k] >= 0 else e) / (1.0 + e)


cdef void visit_one_vs_rest(const DualRows* rows, const number* x, const LabelCosts* labels, double C,
                            const double* steps, double* W, double* bias, Py_ssize_t K, double* room) noexcept nogil:
    """`dual_epoch` of K labels of which a row may have several, with room for six vectors VECTOR_GAP apart."""
    cdef Py_ssize_t position, k
    cdef int64_t i, start, ahead, m_ahead
    cdef double w = 1, norm, e, f, u
    cdef double* s = room + VECTOR_GAP
    cdef double* cost = s + K + VECTOR_GAP
    cdef double* eta = cost + K + VECTOR_GAP
    cdef double* new = eta + K + VECTOR_GAP
    cdef double* low = new + K + VECTOR_GAP
    cdef double* high = low + K + VECTOR_GAP
    cdef double* z
    cdef double* a
    cdef const uint8_t* own
    for position in range(rows.end):
        i = rows.order[position]
        start = rows.indptr[i]
        z = rows.dual + 2 * K * i
        a = z + K
        ahead = prefetch_rows(rows, x, position, 2 * K, &m_ahead)
        score_row(s, W, K, rows.indices + start, x + start, rows.indptr[i + 1] - start, rows.indices + ahead, m_ahead)
        if rows.weights != NULL:
            w = rows.weights[i]
        norm = C * rows.norms[i]
        own = labels.members + labels.sets[i] * K
        for k in range(K):
            cost[k] = w
        if labels.factors != NULL:
            for k in range(K):
                cost[k] = w * labels.factors[k + K * (own[k] != 0)]
        for k in range(K):
            s[k] += bias[k]
            eta[k] = cost[k] * (norm + steps[k])
            e = exponential(-fabs(s[k]))                       # KL of two Bernoullis, by their logits
            f = exponential(-fabs(z[k]))
            u = (s[k] if s[k] > 0 else 0.0) - (z[k] if z[k] > 0 else 0.0) + logarithm((1.0 + e) / (1.0 + f))
            low[k] = cost[k] * (u - a[k] * (s[k] - z[k]))
            s[k] += eta[k] * a[k]
        rows.gaps[i] = array_sum(low, K)
        solve_logits(s, eta, K, z, new, low, high)
        for k in range(K):
            s[k] = cost[k] * (a[k] - new[k])
            a[k] = new[k]
            bias[k] += steps[k] * s[k]
            s[k] *= C
        add_row(W, K, rows.indices + start, x + start, rows.indptr[i + 1] - start, s)


def one_vs_rest_epoch(LogisticRows data not None, SetsOfRows sets not None, const int64_t[::1] order, double C,
                      const double[::1] steps, double[:, ::1] W, double[::1] bias):
    """`dual_epoch` of labels of which a row may have several; steps = 1/ρ of each."""
    cdef DualRows rows = data.rows
    cdef Py_ssize_t K = W.shape[1]
    cdef double* room
    if data.width != 2 * K or not bias.shape[0] == steps.shape[0] == sets.members.shape[1] == K:
        raise ValueError(f"{data.width} dual variables a row, or the labels of sets, do not fit {K} columns")
    if sets.sets.shape[0] != data.gaps.shape[0]:
        raise ValueError(f"sets of {sets.sets.shape[0]} rows do not fit {data.gaps.shape[0]}")
    rows.order, rows.end = &order[0], order.shape[0]
    room = <double*>allocate(checked_product(6, K + 2 * VECTOR_GAP), sizeof(double))
    if room == NULL:
        raise MemoryError
    with nogil:
        if data.view.single:
            visit_one_vs_rest(&rows, <const float*>data.view.values, &sets.costs, C, &steps[0], &W[0, 0], &bias[0], K,
                              room)
        else:
            visit_one_vs_rest(&rows, <const double*>data.view.values, &sets.costs, C, &steps[0], &W[0, 0], &bias[0], K,
                              room)
    free(room)


def dual_epoch(LogisticRows data not None, const int64_t[::1] order, double C, double step, double[:, ::1] W,
               double[::1] bias):
    """Visit the rows of `order`; step = 1/ρ. What each added to the duality gap is noted.

    Loops over vectors that lie too near each other are not vectorised, and round otherwise: those of a row of scores
    lie VECTOR_GAP apart.
    """
    cdef DualRows rows = data.rows
    cdef Py_ssize_t K = W.shape[1]
    cdef double* room
    if data.width != 2 * K or bias.shape[0] != K:
        raise ValueError(f"{data.width} dual variables a row and {bias.shape[0]} intercepts do not fit {K} columns")
    rows.order, rows.end = &order[0], order.shape[0]
    room = <double*>allocate(checked_product(3, K + 2 * VECTOR_GAP), sizeof(double))
    if room == NULL:
        raise MemoryError
    with nogil:
        if K == 1 and data.view.single:
            visit_binary(&rows, <const float*>data.view.values, C, step, &W[0, 0], &bias[0])
        elif K == 1:
            visit_binary(&rows, <const double*>data.view.values, C, step, &W[0, 0], &bias[0])
        elif data.view.single:
            visit_softmax(&rows, <const float*>data.view.values, C, step, &W[0, 0], &bias[0], K, room)
        else:
            visit_softmax(&rows, <const double*>data.view.values, C, step, &W[0, 0], &bias[0], K, room)
    free(room)
