"""K-means of up to four clusters, over the rows as they lie: their columns would cost ten iterations to lay out.

Sums are [V, 4], so that a non-zero reads those of all clusters at once. From one iteration to the next few rows change
their cluster: each is taken out of one column and added to another. A sum is a pair of numbers, the second what
rounding has left of the first: so what rows do on their way in and out again leaves nothing behind.
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int32_t, int64_t, uint8_t

from fastlin.engine.core.csr cimport BLOCK_ROWS, number, order_by_length
from fastlin.engine.core.csr_view cimport CSRView

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    /* The scores of a row with four columns, added up as `score_row` does, which has to prefetch: a third of its time.
       Without vectors of four numbers gcc would keep these in memory: then a column at a time. */
    #if defined(__AVX__)
    typedef double fastlin_four __attribute__((vector_size(32), aligned(8), may_alias));
    enum { FASTLIN_FOUR_STEPS = 1 };
    #else
    typedef double fastlin_four;
    enum { FASTLIN_FOUR_STEPS = 4 };
    #endif

    #define FASTLIN_FOUR_ADD(sum, p) sum += (double)x[p] * *(const fastlin_four *)(W + 4 * (ptrdiff_t)indices[p] + k)
    #define FASTLIN_FOUR(NAME, VALUE)                                                                              \
        static inline void NAME(double *out, const double *W, const int32_t *indices, const VALUE *x, ptrdiff_t m) \
        {                                                                                                          \
            for (int k = 0; k < FASTLIN_FOUR_STEPS; k++) {                                                         \
                fastlin_four a = {0}, b = {0}, c = {0}, d = {0};                                                   \
                ptrdiff_t p = 0;                                                                                   \
                for (; p + 4 <= m; p += 4) {                                                                       \
                    FASTLIN_FOUR_ADD(a, p);                                                                        \
                    FASTLIN_FOUR_ADD(b, p + 1);                                                                    \
                    FASTLIN_FOUR_ADD(c, p + 2);                                                                    \
                    FASTLIN_FOUR_ADD(d, p + 3);                                                                    \
                }                                                                                                  \
                for (; p < m; p++)                                                                                 \
                    FASTLIN_FOUR_ADD(a, p);                                                                        \
                *(fastlin_four *)(out + k) = ((a + b) + c) + d;                                                    \
            }                                                                                                      \
        }
    /* x as a number, which no compiler may multiply and add in one: w x has to come and go as the same number. */
    static inline double fastlin_rounded(double x) { volatile double y = x; return y; }
    FASTLIN_FOUR(fastlin_four_floats, float)
    FASTLIN_FOUR(fastlin_four_doubles, double)

    /* Σ a², Σ b², Σ a b and Σ (after b − before a)² of each of four columns a and b; a becomes b. */
    static void fastlin_four_take_over(double *old, const double *new_sums, ptrdiff_t n, const double *before,
                                       const double *after, double *out)
    {
        for (int k = 0; k < FASTLIN_FOUR_STEPS; k++) {
            const fastlin_four w = *(const fastlin_four *)(before + k), v = *(const fastlin_four *)(after + k);
            fastlin_four first = {0}, second = {0}, both = {0}, moved = {0};
            for (ptrdiff_t j = k; j < 4 * n; j += 4) {
                const fastlin_four a = *(fastlin_four *)(old + j), b = *(const fastlin_four *)(new_sums + j);
                const fastlin_four step = b * v - a * w;
                first += a * a;
                second += b * b;
                both += a * b;
                moved += step * step;
                *(fastlin_four *)(old + j) = b;
            }
            *(fastlin_four *)(out + k) = first;
            *(fastlin_four *)(out + 4 + k) = second;
            *(fastlin_four *)(out + 8 + k) = both;
            *(fastlin_four *)(out + 12 + k) = moved;
        }
    }
    """
    void take_over_four "fastlin_four_take_over"(double*, const double*, Py_ssize_t, const double*, const double*,
                                                 double*) noexcept nogil
    double rounded "fastlin_rounded"(double) noexcept nogil
    void score_four_floats "fastlin_four_floats"(double*, const double*, const int32_t*, const float*,
                                                 Py_ssize_t) noexcept nogil
    void score_four_doubles "fastlin_four_doubles"(double*, const double*, const int32_t*, const double*,
                                                   Py_ssize_t) noexcept nogil

cdef enum:
    FOUR = 4


cdef struct CentreScales:
    double[FOUR] scale               # of the sums; 0 beyond the clusters,
    double[FOUR] shift               # where the shift leaves a score of −∞


cdef int check_shapes(CSRView rows, const double[:, ::1] S, Py_ssize_t n_labels, Py_ssize_t n_weights) except -1:
    if S.shape[1] != FOUR or n_labels != rows.stop - rows.start or n_weights not in (0, n_labels):
        raise ValueError(f"sums of {S.shape[1]} columns, {n_labels} labels and {n_weights} weights do not fit "
                         f"{rows.stop - rows.start} rows")
    return 0


def assign_few(CSRView rows not None, const double[:, ::1] S, const double[::1] scale, const double[::1] shift,
               const double[::1] weights, int32_t[::1] labels, double[::1] best):
    """The lowest of the clusters with the highest score (x·S_k) scale_k − shift_k, and that score.

    Returns Σ w best, the number of labels that are not what they were, and Σ w of each cluster.
    """
    cdef CentreScales centres
    cdef double[2 + FOUR] found
    cdef Py_ssize_t k, K = scale.shape[0]
    check_shapes(rows, S, labels.shape[0], weights.shape[0])
    if not 1 <= K == shift.shape[0] <= FOUR or best.shape[0] != labels.shape[0]:
        raise ValueError(f"{K} scales, {shift.shape[0]} shifts and {best.shape[0]} scores do not fit")
    for k in range(FOUR):
        centres.scale[k] = scale[k] if k < K else 0.0
        centres.shift[k] = shift[k] if k < K else HUGE_VAL
    with nogil:
        if rows.single:
            assign_rows(rows, <const float*>rows.values, &S[0, 0], &centres, weights, labels, best, found)
        else:
            assign_rows(rows, <const double*>rows.values, &S[0, 0], &centres, weights, labels, best, found)
    return [found[k] for k in range(2 + K)]


cdef void assign_rows(CSRView rows, const number* values, const double* S, const CentreScales* centres,
                      const double[::1] weights, int32_t[::1] labels, double[::1] best,
                      double* found) noexcept nogil:
    cdef double[FOUR * BLOCK_ROWS] scores
    cdef double[FOUR] mass
    cdef double* s
    cdef double gain = 0, weight = 1.0, high, low
    cdef int64_t start, changed = 0
    cdef Py_ssize_t first, n, place, i, k
    cdef uint8_t[BLOCK_ROWS] order
    cdef int32_t top, other
    cdef bint weighted = weights.shape[0] > 0
    for k in range(FOUR):
        mass[k] = 0
    first = rows.start
    while first < rows.stop:
        n = rows.stop - first if rows.stop - first < BLOCK_ROWS else BLOCK_ROWS
        order_by_length(rows.indptr + first, n, order)
        for place in range(n):
            s = scores + FOUR * order[place]
            i = first + order[place]
            start = rows.indptr[i]
            if number is float:
                score_four_floats(s, S, rows.indices + start, values + start, rows.indptr[i + 1] - start)
            else:
                score_four_doubles(s, S, rows.indices + start, values + start, rows.indptr[i + 1] - start)
        for place in range(n):
            s = scores + FOUR * place
            i = first + place - rows.start
            for k in range(FOUR):
                s[k] = s[k] * centres.scale[k] - centres.shift[k]
            # Not by branches, which nobody foresees: the better of the first two, of the last two, of these.
            top = s[1] > s[0]
            other = 2 + (s[3] > s[2])
            high = s[top]
            low = s[other]
            top += (other - top) * (low > high)
            high = low if low > high else high
            if weighted:
                weight = weights[i]
            gain += weight * high
            mass[top] += weight
            changed += labels[i] != top
            labels[i] = top
            best[i] = high
        first += n
    found[0] = gain
    found[1] = <double>changed
    for k in range(FOUR):
        found[2 + k] = mass[k]


cdef inline void add_exactly(double* sum, double* rest, double x) noexcept nogil:
    """sum + rest += x, where the sum is the nearest number to both (Knuth's exact addition)."""
    cdef double total = sum[0] + x, part = total - sum[0]
    cdef double left = (sum[0] - (total - part)) + (x - part) + rest[0]
    sum[0] = total + left
    rest[0] = left - (sum[0] - total)


def move_rows(CSRView rows not None, const int32_t[::1] labels, const double[::1] weights, int32_t[::1] owners,
              double[:, ::1] S, double[:, ::1] rest):
    """Take rows out of the sums of their owners, if any (≥ 0), and into those of their labels, which own them then.

    Returns how many.
    """
    cdef Py_ssize_t moved
    check_shapes(rows, S, labels.shape[0], weights.shape[0])
    if owners.shape[0] != labels.shape[0] or rest.shape[0] != S.shape[0] or rest.shape[1] != FOUR:
        raise ValueError(f"{owners.shape[0]} owners or {rest.shape[0]} rests do not fit {labels.shape[0]} labels")
    with nogil:
        if rows.single:
            moved = move(rows, <const float*>rows.values, labels, weights, owners, &S[0, 0], &rest[0, 0])
        else:
            moved = move(rows, <const double*>rows.values, labels, weights, owners, &S[0, 0], &rest[0, 0])
    return moved


cdef Py_ssize_t move(CSRView rows, const number* values, const int32_t[::1] labels, const double[::1] weights,
                     int32_t[::1] owners, double* S, double* rest) noexcept nogil:
    cdef int64_t p, cell
    cdef Py_ssize_t i, n, moved = 0
    cdef int32_t old, new
    cdef double weight = 1.0, x
    for i in range(rows.start, rows.stop):
        n = i - rows.start
        old = owners[n]
        new = labels[n]
        if old == new:
            continue
        if weights.shape[0]:
            weight = weights[n]
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            cell = FOUR * <int64_t>rows.indices[p]
            x = rounded(weight * values[p])
            if old >= 0:
                add_exactly(S + cell + old, rest + cell + old, -x)
            add_exactly(S + cell + new, rest + cell + new, x)
        owners[n] = new
        moved += 1
    return moved


def take_over_sums(double[:, ::1] old, const double[:, ::1] new, const double[::1] before, const double[::1] after):
    """Σ S², Σ S'², Σ S S' and Σ (after S' − before S)² of each cluster, of sums before and after: [4, K].

    The old sums become the new ones.
    """
    cdef double[4 * FOUR] found
    cdef double[FOUR] scale_before
    cdef double[FOUR] scale_after
    cdef Py_ssize_t k, n, K = before.shape[0]
    if not old.shape[0] == new.shape[0] or not old.shape[1] == new.shape[1] == FOUR or not K == after.shape[0] <= FOUR:
        raise ValueError(f"sums of {old.shape[0]} and {new.shape[0]} features do not fit {K} clusters of four")
    for k in range(FOUR):
        scale_before[k] = before[k] if k < K else 0.0
        scale_after[k] = after[k] if k < K else 0.0
    with nogil:
        take_over_four(&old[0, 0], &new[0, 0], old.shape[0], scale_before, scale_after, found)
    return [[found[FOUR * n + k] for k in range(K)] for n in range(4)]
