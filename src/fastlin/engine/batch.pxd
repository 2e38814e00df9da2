"""The rows of a step and what it does to the weights: those of a mini-batch, or the candidates of an instance."""

from libc.stdint cimport int32_t, int64_t

from fastlin.engine.averaging cimport Lazy
from fastlin.engine.csr cimport add_row, move_row, real
from fastlin.engine.steps cimport Clock, Generation, Rule, adagrad_bias, adagrad_step

cdef enum Status:
    DONE = 0             # the epoch or the budget is used up
    OVERFLOW = 1         # the next step would leave the numbers
    FULL = 2             # no room to start another generation

cdef enum:
    NOTHING = -2         # `rival` of a row without a gradient
    EVERY_LABEL = -1     # … of a row whose gradient touches all labels

cdef struct Rows:
    const int64_t* indptr
    const int32_t* indices
    const void* values
    const int32_t* labels
    const double* weights    # NULL: all 1
    double largest           # max |x|, at least 1

cdef struct Batch:
    Py_ssize_t size
    int64_t* row
    int64_t* rival
    double* direction        # [batch, lanes]
    double* scores           # [lanes]
    double* spare            # [lanes]
    void* change             # [lanes] of the weights' type

cdef struct Bias:
    double* value            # [lanes]
    double* squares          # [lanes]; Adagrad
    double* total            # [lanes]; average


cdef inline void start_generation(Clock* clock, Generation* past) noexcept nogil:
    past[clock.generation].scale = clock.scale
    past[clock.generation].mass = clock.mass
    past[clock.generation].debt = clock.debt
    clock.norm *= clock.scale * clock.scale
    clock.generation += 1
    clock.scale = 1
    clock.mass = 0
    clock.debt = 0


cdef inline void end_step(const Rule* rule, Clock* clock, Generation* past) noexcept nogil:
    """The step's share of the average, and a new generation where A has become small or the average would cancel."""
    if clock.averaged > 0:
        clock.mass += clock.scale
    if clock.scale < 1e-9 or clock.mass > rule.cancellation * clock.averaged * clock.scale:
        start_generation(clock, past)


cdef inline void apply_row(const Clock* clock, const Rows* rows, Batch* batch, Py_ssize_t b, real* W, Py_ssize_t K,
                           Py_ssize_t lanes, double inverse, const Bias* bias, double* residual,
                           bint fit_intercept) noexcept nogil:
    """W += x dᵀ/A, b += d, and the row's share of the average; inverse = 1/A."""
    cdef int64_t i = batch.row[b], start = rows.indptr[i], rival = batch.rival[b]
    cdef Py_ssize_t m = rows.indptr[i + 1] - start, y, k
    cdef const int32_t* indices = rows.indices + start
    cdef const real* values = <const real*>rows.values + start
    cdef real* change = <real*>batch.change
    cdef double* direction = batch.direction + b * lanes
    cdef double share = clock.mass * inverse
    if rival == NOTHING:
        return
    if rival >= 0:
        y = rows.labels[i]
        move_row(W, K, indices, values, m, y, rival, <real>(direction[0] * inverse))
        if fit_intercept:
            bias.value[y] += direction[0]
            bias.value[rival] -= direction[0]
        if residual != NULL:
            residual[i * K + y] -= share * direction[0]
            residual[i * K + rival] += share * direction[0]
        return
    if K == 1:
        change[0] = <real>(direction[0] * inverse)
        bias.value[0] += direction[0] * fit_intercept
    else:
        for k in range(lanes // 8 * 8):
            change[k] = <real>(direction[k] * inverse)
        if fit_intercept:
            for k in range(lanes // 8 * 8):
                bias.value[k] += direction[k]
    add_row(W, K, indices, values, m, change)
    if residual != NULL:
        for k in range(K):
            residual[i * K + k] -= share * direction[k]


cdef inline void add_weights(double* total, const real* w, Py_ssize_t K) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(K):
        total[k] += w[k]


cdef inline void adagrad_batch(const Rule* rule, const Clock* clock, const Lazy* lazy, const Rows* rows, Batch* batch,
                               real* W, Py_ssize_t K, Py_ssize_t lanes, const Bias* bias) noexcept nogil:
    """One step. Of several rows the gradients are summed first, since h takes the square of the sum.

    clock.steps counts this step already: a feature whose `touched` equals it has had its step.
    """
    cdef Py_ssize_t b, k
    cdef int64_t i, p, j
    cdef double* direction = batch.direction
    cdef const real* values = <const real*>rows.values
    cdef real* w
    if batch.size > 1:
        for k in range(K):
            batch.spare[k] = 0
        for b in range(batch.size):
            direction = batch.direction + b * lanes
            if batch.rival[b] == NOTHING:
                continue
            i = batch.row[b]
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                for k in range(K):
                    lazy.pending[rows.indices[p] * K + k] += direction[k] * values[p]
            for k in range(K):
                batch.spare[k] += direction[k]
        direction = batch.spare
    elif batch.rival[0] == NOTHING:
        return
    if rule.fit_intercept:
        adagrad_bias(rule, bias.value, bias.squares, direction, K)
    for b in range(batch.size):
        i = batch.row[b]
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[p]
            if lazy.touched[j] == clock.steps:
                continue
            lazy.touched[j] = clock.steps
            w = W + j * K
            if batch.size == 1:
                adagrad_step(rule, w, lazy.squares + j * K, direction, values[p], K)
            else:
                adagrad_step(rule, w, lazy.squares + j * K, lazy.pending + j * K, 1.0, K)
                for k in range(K):
                    lazy.pending[j * K + k] = 0
            if lazy.total != NULL and clock.averaged > 0:
                add_weights(lazy.total + j * K, w, K)
