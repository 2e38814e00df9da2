"""Iterative scaling: each weight's own equation for its step δ, all others held fixed.

    generalised    H = E e^{Cδ} + ρ(θ + δ)                      (Darroch & Ratcliff 1972; C the largest feature sum)
    improved       H = Σ_i w p_ik x_ij e^{F_ik δ} + ρ(θ + δ)    (Berger, Della Pietra & Della Pietra 1996)

H and E are observed and expected counts, F the feature sums f#, ρ the inverse variance of a Gaussian prior, θ the
weight less its mean. With r = H − ρθ both are Σ a e^{fδ} = r − ρδ, where rows with one feature sum are one term.

The difference of the sides' logarithms is convex and grows with δ, nearly linearly: Halley's method in a bracket, two
or three turns. Where the right side is not yet positive, Newton's on the difference itself comes nearer from above.
Many equations are solved at a time, as vectors; most of a text's have one term and, without a prior, a closed form.
"""

cimport cython
from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate, allocate_zeros, checked_product
from fastlin.engine.core.csr cimport number
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.core.mathx cimport exponential, logarithm

cdef enum:
    MAX_EQUATIONS = 256      # equations that are solved at a time
    MAX_TERMS = 1024         # where a batch has so many, no equation is added to it
    MAX_STEPS = 100

cdef double STEP_TOLERANCE = 1e-5  # a step in units of 1/f: what it leaves is of the order of its cube
cdef double MIN_COUNT = 1e-300  # a count that rounding took


cdef struct SingleTermEquations:  # equations with one term and no prior: δ = log(H/a)/f
    Py_ssize_t n
    int64_t weight[MAX_EQUATIONS]
    double H[MAX_EQUATIONS]
    double a[MAX_EQUATIONS]
    double f[MAX_EQUATIONS]


cdef struct EquationBatch:   # equations with any number of terms
    Py_ssize_t n
    int64_t weight[MAX_EQUATIONS]
    int64_t end[MAX_EQUATIONS]  # of its terms, which begin where those before end
    double r[MAX_EQUATIONS]
    double rho[MAX_EQUATIONS]
    double least[MAX_EQUATIONS]  # f
    double most[MAX_EQUATIONS]
    double delta[MAX_EQUATIONS]
    double low[MAX_EQUATIONS]  # the bracket of δ
    double high[MAX_EQUATIONS]
    double top[MAX_EQUATIONS]  # the largest fδ, left out of the exponents in
    double total[MAX_EQUATIONS]  # Σ a e^{fδ},
    double slope[MAX_EQUATIONS]  # Σ f a e^{fδ},
    double bend[MAX_EQUATIONS]  # Σ f² a e^{fδ}
    bint found[MAX_EQUATIONS]
    double* a                # of each term
    double* f
    double* grown            # a e^{fδ − top}
    int32_t* owner


cdef inline double log_count(double count) noexcept nogil:
    return logarithm(count if count > MIN_COUNT else MIN_COUNT)


cdef void solve_single_terms(SingleTermEquations* singles, double* delta) noexcept nogil:
    cdef Py_ssize_t i
    cdef double step
    for i in range(singles.n):
        step = (log_count(singles.H[i]) - log_count(singles.a[i])) / singles.f[i]
        singles.a[i] = step if singles.a[i] > MIN_COUNT else 0.0
    for i in range(singles.n):
        delta[singles.weight[i]] = singles.a[i]
    singles.n = 0


cdef inline void add_single_term(SingleTermEquations* singles, int64_t weight, double H, double a, double f,
                                 double* delta) noexcept nogil:
    singles.weight[singles.n] = weight
    singles.H[singles.n] = H
    singles.a[singles.n] = a
    singles.f[singles.n] = f
    singles.n += 1
    if singles.n == MAX_EQUATIONS:
        solve_single_terms(singles, delta)


cdef void add_equation(EquationBatch* batch, int64_t weight, int64_t terms, double r, double rho) noexcept nogil:
    """Append an equation, whose terms stand behind those that are there."""
    cdef Py_ssize_t i = batch.n
    cdef int64_t t, start = batch.end[i - 1] if i > 0 else 0
    cdef double least = HUGE_VAL, most = 0
    for t in range(start, start + terms):
        least = batch.f[t] if batch.f[t] < least else least
        most = batch.f[t] if batch.f[t] > most else most
        batch.owner[t] = <int32_t>i
    batch.n = i + 1
    batch.weight[i] = weight
    batch.end[i] = start + terms
    batch.r[i] = r
    batch.rho[i] = rho
    batch.least[i] = least
    batch.most[i] = most
    batch.delta[i] = 0
    batch.low[i] = -HUGE_VAL
    batch.high[i] = HUGE_VAL
    batch.found[i] = False


cdef void sum_terms(EquationBatch* batch, bint at_zero) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t t, start = 0, terms = batch.end[batch.n - 1]
    cdef int32_t one
    cdef double total, slope, bend
    for i in range(batch.n):
        batch.top[i] = batch.delta[i] * (batch.most[i] if batch.delta[i] > 0 else batch.least[i])
    for t in range(terms):
        batch.grown[t] = batch.a[t]
    if not at_zero:
        for t in range(terms):
            one = batch.owner[t]
            batch.grown[t] *= exponential(batch.f[t] * batch.delta[one] - batch.top[one])
    for i in range(batch.n):
        total = 0
        slope = 0
        bend = 0
        for t in range(start, batch.end[i]):
            total += batch.grown[t]
            slope += batch.f[t] * batch.grown[t]
            bend += batch.f[t] * batch.f[t] * batch.grown[t]
        start = batch.end[i]
        batch.total[i] = total
        batch.slope[i] = slope
        batch.bend[i] = bend


cdef void halley_step(EquationBatch* batch) noexcept nogil:
    """A turn of every equation that is not solved."""
    cdef Py_ssize_t i
    cdef double delta, rest, pull, slope, bend, excess, bent, scale, step, there, low, high
    cdef bint positive, inside, found
    for i in range(batch.n):
        delta = batch.delta[i]
        rest = batch.r[i] - batch.rho[i] * delta
        positive = rest >= MIN_COUNT
        pull = batch.rho[i] / (rest if positive else 1.0)
        slope = batch.slope[i] / batch.total[i]
        bend = batch.bend[i] / batch.total[i] - slope * slope + pull * pull
        slope += pull
        excess = batch.top[i] + (log_count(batch.total[i]) - log_count(rest))
        bent = 1.0 - 0.5 * excess * bend / (slope * slope)
        slope *= bent if bent > 0.5 else 1.0
        scale = exponential(batch.top[i] if batch.top[i] < 700.0 else 700.0)
        excess = excess if positive else batch.total[i] * scale - rest
        step = -excess / (slope if positive else batch.slope[i] * scale + batch.rho[i])
        there = delta + step
        low = batch.low[i] if excess > 0 else delta
        high = delta if excess > 0 else batch.high[i]
        found = (positive and fabs(step) * (batch.most[i] + pull) < STEP_TOLERANCE) or there == delta
        inside = there > low and there < high and (positive or low == -HUGE_VAL)
        there = there if found or inside else 0.5 * (low + high)
        batch.delta[i] = delta if batch.found[i] else there
        batch.low[i] = low
        batch.high[i] = high
        batch.found[i] = batch.found[i] or found


cdef void solve_equations(EquationBatch* batch, double* delta) noexcept nogil:
    cdef Py_ssize_t i, left = batch.n, turn
    for turn in range(MAX_STEPS):
        if left == 0:
            break
        sum_terms(batch, turn == 0)
        halley_step(batch)
        left = 0
        for i in range(batch.n):
            left += not batch.found[i]
    for i in range(batch.n):
        delta[batch.weight[i]] = batch.delta[i]
    batch.n = 0


def gis_update(const double[::1] expected, const double[::1] observed, double C, const double[::1] precision,
               Py_ssize_t width, const double[::1] theta, double[::1] delta):
    """δ of each weight; `width` weights share an entry of `precision`."""
    cdef Py_ssize_t q, j
    cdef bint unpenalised = True
    cdef double rho
    cdef double terms[3][MAX_EQUATIONS]
    cdef int32_t owner[MAX_EQUATIONS]
    cdef EquationBatch batch
    batch.n = 0
    batch.a, batch.f, batch.grown, batch.owner = terms[0], terms[1], terms[2], owner
    with nogil:
        for j in range(precision.shape[0]):
            unpenalised = unpenalised and precision[j] == 0
        if unpenalised:                                        # no prior: δ = log(H/E)/C, as one long vector
            for q in range(theta.shape[0]):
                delta[q] = (log_count(observed[q]) - log_count(expected[q])) / C
        else:
            for q in range(theta.shape[0]):
                rho = precision[q // width]
                batch.a[batch.n] = expected[q] if expected[q] > MIN_COUNT else MIN_COUNT
                batch.f[batch.n] = C
                add_equation(&batch, q, 1, observed[q] - rho * theta[q], rho)
                if batch.n == MAX_EQUATIONS or q + 1 == theta.shape[0]:
                    solve_equations(&batch, &delta[0])


@cython.final
cdef class TermColumns:
    """Columns of the rows, which weights are of each, and the rows' p [n, K] = w p(k|x).

    Feature j has the weights starts[j] …, one for each of `labels`.
    """

    cdef CSRView view
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] labels
    cdef const double[:, ::1] p

    def __cinit__(self, CSRView columns not None, const int64_t[::1] starts, const int32_t[::1] labels,
                  const double[:, ::1] p):
        if starts.shape[0] != columns.stop + 1 or starts[columns.stop] > labels.shape[0]:
            raise ValueError(f"weights of {starts.shape[0] - 1} features, {labels.shape[0]} labels, do not fit "
                             f"{columns.stop} columns")
        self.view, self.starts, self.labels, self.p = columns, starts, labels, p


def iis_update(TermColumns data not None, const int32_t[:, ::1] level, const double[::1] levels,
               const double[::1] observed, const double[::1] precision, Py_ssize_t width, const double[::1] theta,
               double[::1] delta, Py_ssize_t low, Py_ssize_t high):
    """δ of the weights of the features [low, high), of which `width` share an entry of `precision`.

    level[i, k] says which of `levels` is the f# of row i and label k (one column: of every label).
    """
    cdef int64_t room = MAX_TERMS + levels.shape[0]
    cdef double* terms = <double*>allocate(checked_product(3, room), sizeof(double))
    cdef int32_t* places = <int32_t*>allocate_zeros(checked_product(2, room), sizeof(int32_t))
    cdef EquationBatch batch
    if terms == NULL or places == NULL:
        free(terms)
        free(places)
        raise MemoryError
    batch.n = 0
    batch.a, batch.f, batch.grown, batch.owner = terms, terms + room, terms + 2 * room, places
    with nogil:
        if data.view.single:
            solve_columns(data, <const float*>data.view.values, level, levels, observed, precision, width, theta,
                          delta, low, high, &batch, places + room)
        else:
            solve_columns(data, <const double*>data.view.values, level, levels, observed, precision, width, theta,
                          delta, low, high, &batch, places + room)
    free(terms)
    free(places)


cdef void solve_columns(TermColumns data, const number* values, const int32_t[:, ::1] level, const double[::1] levels,
                        const double[::1] observed, const double[::1] precision, Py_ssize_t width,
                        const double[::1] theta, double[::1] delta, Py_ssize_t low, Py_ssize_t high,
                        EquationBatch* batch, int32_t* place) noexcept nogil:
    """`iis_update`; `place` says where a level has its term: true if that is ours, and agrees."""
    cdef const int64_t* indptr = data.view.indptr
    cdef const int32_t* rows = data.view.indices
    cdef const int64_t[::1] starts = data.starts
    cdef const int32_t[::1] labels = data.labels
    cdef const double[:, ::1] p = data.p
    cdef Py_ssize_t j, k
    cdef int64_t q, t, start = 0, end
    cdef int32_t one, term
    cdef double share, rho
    cdef bint common = level.shape[1] == 1
    cdef SingleTermEquations singles
    singles.n = 0
    for j in range(low, high):
        for q in range(starts[j], starts[j + 1]):
            k = labels[q]
            rho = precision[q // width]
            if rho == 0 and indptr[j + 1] == indptr[j] + 1:
                t = indptr[j]
                one = level[rows[t], 0 if common else k]
                add_single_term(&singles, q, observed[q], values[t] * p[rows[t], k], levels[one], &delta[0])
                continue
            end = start
            for t in range(indptr[j], indptr[j + 1]):
                share = values[t] * p[rows[t], k]
                if not share > MIN_COUNT:
                    continue
                one = level[rows[t], 0 if common else k]
                term = place[one]
                if start <= term < end and batch.f[term] == levels[one]:
                    batch.a[term] += share
                    continue
                place[one] = <int32_t>end
                batch.a[end] = share
                batch.f[end] = levels[one]
                end += 1
            if end == start:
                delta[q] = observed[q] / rho - theta[q] if rho > 0 else 0.0
            elif end == start + 1 and rho == 0:
                add_single_term(&singles, q, observed[q], batch.a[start], batch.f[start], &delta[0])
            else:
                add_equation(batch, q, end - start, observed[q] - rho * theta[q], rho)
                start = end
                if batch.n == MAX_EQUATIONS or end >= MAX_TERMS:
                    solve_equations(batch, &delta[0])
                    start = 0
    if singles.n > 0:
        solve_single_terms(&singles, &delta[0])
    if batch.n > 0:
        solve_equations(batch, &delta[0])


# Equations whose terms lie in several parts: sums are taken part by part, then all equations have their turn

cdef enum:
    SMALLEST, FLOOR, CEILING, LARGEST, TOTAL, SLOPE, BEND, FOUND, FIELDS

EQUATION_SIZE = FIELDS       # numbers that `add_iis_sums` and `iis_step` keep of each


def add_iis_sums(TermColumns data not None, const double[:, ::1] sums, const double[::1] delta,
                 double[:, ::1] equations, bint first, Py_ssize_t low, Py_ssize_t high):
    """Add to the sums over a e^{fδ − top} of the weights of the features [low, high) what the rows of a part have.

    `sums` are f# of each row (one column: of every label). The first time δ is 0, and the smallest and the largest f
    of each equation are noted. `equations` [EQUATION, weights] begin as zeros, but the smallest is ∞ and
    the bracket of δ goes from −∞ to ∞.
    """
    with nogil:
        if data.view.single:
            add_column_sums(data, <const float*>data.view.values, sums, delta, equations, first, low, high)
        else:
            add_column_sums(data, <const double*>data.view.values, sums, delta, equations, first, low, high)


cdef void add_column_sums(TermColumns data, const number* values, const double[:, ::1] sums, const double[::1] delta,
                          double[:, ::1] equations, bint first, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    """`add_iis_sums` of values of a type."""
    cdef const int64_t* indptr = data.view.indptr
    cdef const int32_t* rows = data.view.indices
    cdef const int64_t[::1] starts = data.starts
    cdef const int32_t[::1] labels = data.labels
    cdef const double[:, ::1] p = data.p
    cdef Py_ssize_t j, k
    cdef int64_t q, t
    cdef double share, f, grown, top, total, slope, bend
    cdef bint common = sums.shape[1] == 1
    for j in range(low, high):
        for q in range(starts[j], starts[j + 1]):
            if equations[FOUND, q] != 0:
                continue
            k = labels[q]
            top = delta[q] * equations[LARGEST if delta[q] > 0 else SMALLEST, q] if delta[q] != 0 else 0
            total = slope = bend = 0
            for t in range(indptr[j], indptr[j + 1]):
                share = values[t] * p[rows[t], k]
                if not share > MIN_COUNT:
                    continue
                f = sums[rows[t], 0 if common else k]
                if first and f < equations[SMALLEST, q]:
                    equations[SMALLEST, q] = f
                if first and f > equations[LARGEST, q]:
                    equations[LARGEST, q] = f
                grown = share if first else share * exponential(f * delta[q] - top)
                total += grown
                slope += f * grown
                bend += f * f * grown
            equations[TOTAL, q] += total
            equations[SLOPE, q] += slope
            equations[BEND, q] += bend


def iis_step(const double[::1] observed, const double[::1] precision, Py_ssize_t width, const double[::1] theta,
             Py_ssize_t start, Py_ssize_t stop, double[::1] delta, double[:, ::1] equations):
    """Move δ of the weights [start, stop) by their sums, which are zero then; returns how many are not yet found."""
    cdef Py_ssize_t i, q, left = 0
    cdef double rho
    cdef EquationBatch batch
    with nogil:
        while start < stop:
            batch.n = stop - start if stop - start < MAX_EQUATIONS else MAX_EQUATIONS
            for i in range(batch.n):
                q = start + i
                rho = precision[q // width]
                batch.r[i] = observed[q] - rho * theta[q]
                batch.rho[i] = rho
                batch.least[i] = equations[SMALLEST, q]
                batch.most[i] = equations[LARGEST, q]
                batch.delta[i] = delta[q]
                batch.low[i] = equations[FLOOR, q]
                batch.high[i] = equations[CEILING, q]
                batch.top[i] = 0
                if delta[q] != 0:
                    batch.top[i] = delta[q] * (batch.most[i] if delta[q] > 0 else batch.least[i])
                batch.total[i] = equations[TOTAL, q]
                batch.slope[i] = equations[SLOPE, q]
                batch.bend[i] = equations[BEND, q]
                batch.found[i] = equations[FOUND, q] != 0
                if not batch.found[i] and batch.least[i] == HUGE_VAL:     # no term
                    batch.found[i] = True
                    batch.delta[i] = batch.r[i] / rho if rho > 0 else 0.0
                if batch.found[i]:                         # `halley_step` computes with it all the same
                    batch.total[i] = 1
                    batch.slope[i] = 1
            halley_step(&batch)
            for i in range(batch.n):
                q = start + i
                delta[q] = batch.delta[i]
                equations[FLOOR, q] = batch.low[i]
                equations[CEILING, q] = batch.high[i]
                equations[FOUND, q] = batch.found[i]
                equations[TOTAL, q] = equations[SLOPE, q] = equations[BEND, q] = 0
                left += not batch.found[i]
            start += batch.n
    return left
