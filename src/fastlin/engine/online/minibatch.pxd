"""The rows of a step and what it does to the weights: those of a mini-batch, or the candidates of an instance."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate, allocate_zeros, checked_product
from fastlin.engine.online.lazy_updates cimport LazyState
from fastlin.engine.core.csr cimport add_row, add_row_to_pair, prefetch, prefetch_range, real
from fastlin.engine.online.update_rules cimport (
    Counters, ScaleEpoch, UpdateRule, adagrad_bias, adagrad_step, arow_step, ftrl_bias, ftrl_step, variance
)

cdef enum Status:
    DONE = 0             # the epoch or the budget is used up
    OVERFLOW = 1         # the next step would leave the numbers
    NO_SCALE_EPOCH = 2   # no room to start another scale epoch

cdef enum:
    NO_GRADIENT = -2     # `rival` of a row without a gradient
    ALL_LABELS = -1      # … of a row whose gradient touches all labels
    FTRL_PREFETCH_AHEAD = 8  # non-zeros between fetching what FTRL or AROW keep and using it

cdef struct TrainingRows:
    const int64_t* indptr
    const int32_t* indices
    const void* values
    const int32_t* labels    # the column of each row's label, or which set of labels it has
    const int32_t* rank      # the number of each column's label; NULL where columns are in the labels' order
    const double* weights    # NULL: all 1
    const double* targets    # real numbers; NULL: the rows have labels
    const uint8_t* members   # [sets, K]: whether a set has a label; NULL: each row has one label
    const double* factors    # [2, K]: times the weight of a row without a label, and of one with it; NULL: all 1
    const uint8_t* stopped   # [K]: of problems of their own, those that take no more steps; NULL: none
    double* losses           # [K]: what their losses are added to; NULL: nobody asks
    double largest           # max |x|, at least 1

cdef struct MiniBatch:
    Py_ssize_t size
    int64_t mistakes         # rows whose label was not predicted
    int64_t* row
    int64_t* rival
    double* direction        # [batch, lanes]
    double* scores           # [lanes]
    double* spare            # [lanes]
    void* change             # [lanes] of the weights' type, float32 or float64

cdef struct Intercepts:
    double* value            # [lanes]
    double* squares          # [lanes]; Adagrad and AROW
    double* total            # [lanes]; average
    double* z                # [lanes]; FTRL
    double* root             # [lanes]; FTRL


cdef inline int allocate_batch(MiniBatch* batch, Py_ssize_t size, int64_t n_numbers, Py_ssize_t width) except -1:
    """Make room for so many rows, for `scores` and the numbers that follow them, and for a change of the weights."""
    batch.row = <int64_t*>allocate(checked_product(2, size), sizeof(int64_t))
    batch.scores = <double*>allocate_zeros(n_numbers, sizeof(double))
    batch.change = allocate_zeros(width, sizeof(double))
    if batch.row == NULL or batch.scores == NULL or batch.change == NULL:
        raise MemoryError
    batch.rival = batch.row + size
    return 0


cdef inline void free_batch(MiniBatch* batch) noexcept:
    free(batch.row)
    free(batch.scores)
    free(batch.change)


cdef inline void start_scale_epoch(Counters* counters, ScaleEpoch* past) noexcept nogil:
    past[counters.scale_epoch].scale = counters.scale
    past[counters.scale_epoch].average_weight = counters.average_weight
    past[counters.scale_epoch].debt = counters.debt
    counters.norm *= counters.scale * counters.scale
    counters.scale_epoch += 1
    counters.scale = 1
    counters.average_weight = 0
    counters.debt = 0


cdef inline void end_step(const UpdateRule* rule, Counters* counters, ScaleEpoch* past) noexcept nogil:
    """The step's share of the average, and a new scale epoch where A has become small or the average would cancel."""
    if counters.averaged > 0:
        counters.average_weight += counters.scale
    if counters.scale < 1e-9 or counters.average_weight > rule.cancellation * counters.averaged * counters.scale:
        start_scale_epoch(counters, past)


cdef inline void apply_row(const Counters* counters, const TrainingRows* rows, MiniBatch* batch, Py_ssize_t b, real* W,
                           Py_ssize_t K, Py_ssize_t padded_width, double inverse, const Intercepts* bias,
                           double* residual, double intercept_rate) noexcept nogil:
    """W += x dᵀ/A, b += rd, and the row's share of the average; inverse = 1/A, r the intercepts' rate."""
    cdef int64_t i = batch.row[b], start = rows.indptr[i], rival = batch.rival[b]
    cdef Py_ssize_t m = rows.indptr[i + 1] - start, y, k
    cdef const int32_t* indices = rows.indices + start
    cdef const real* values = <const real*>rows.values + start
    cdef real* change = <real*>batch.change
    cdef double* direction = batch.direction + b * padded_width
    cdef double share = counters.average_weight * inverse
    if rival == NO_GRADIENT:
        return
    if rival >= 0:
        y = rows.labels[i]
        add_row_to_pair(W, K, indices, values, m, y, rival, <real>(direction[0] * inverse))
        bias.value[y] += intercept_rate * direction[0]
        bias.value[rival] -= intercept_rate * direction[0]
        if residual != NULL:
            residual[i * K + y] -= share * direction[0]
            residual[i * K + rival] += share * direction[0]
        return
    if K == 1:
        change[0] = <real>(direction[0] * inverse)
        bias.value[0] += intercept_rate * direction[0]
    else:
        for k in range(padded_width // 8 * 8):
            change[k] = <real>(direction[k] * inverse)
        if intercept_rate > 0:
            for k in range(padded_width // 8 * 8):
                bias.value[k] += intercept_rate * direction[k]
    add_row(W, K, indices, values, m, change)
    if residual != NULL:
        for k in range(K):
            residual[i * K + k] -= share * direction[k]


cdef inline void add_to_average(double* total, const real* w, Py_ssize_t K) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(K):
        total[k] += w[k]


cdef inline void adagrad_batch(const UpdateRule* rule, const Counters* counters, const LazyState* lazy,
                               const TrainingRows* rows, MiniBatch* batch, real* W, Py_ssize_t K,
                               Py_ssize_t padded_width, const Intercepts* bias) noexcept nogil:
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
            direction = batch.direction + b * padded_width
            if batch.rival[b] == NO_GRADIENT:
                continue
            i = batch.row[b]
            for p in range(rows.indptr[i], rows.indptr[i + 1]):
                for k in range(K):
                    lazy.batch_gradient[rows.indices[p] * K + k] += direction[k] * values[p]
            for k in range(K):
                batch.spare[k] += direction[k]
        direction = batch.spare
    elif batch.rival[0] == NO_GRADIENT:
        return
    if rule.fit_intercept:
        adagrad_bias(rule, bias.value, bias.squares, direction, K)
    for b in range(batch.size):
        i = batch.row[b]
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[p]
            if lazy.touched[j] == counters.steps:
                continue
            lazy.touched[j] = counters.steps
            w = W + j * K
            if batch.size == 1 and K == 1:
                adagrad_step(rule, w, lazy.squares + j, direction, values[p], 1)
            elif batch.size == 1:
                adagrad_step(rule, w, lazy.squares + j * K, direction, values[p], K)
            else:
                adagrad_step(rule, w, lazy.squares + j * K, lazy.batch_gradient + j * K, 1.0, K)
                for k in range(K):
                    lazy.batch_gradient[j * K + k] = 0
            if lazy.total != NULL and counters.averaged > 0:
                add_to_average(lazy.total + j * K, w, K)


cdef inline void fetch_adagrad(const LazyState* lazy, const int32_t* indices, Py_ssize_t m) noexcept nogil:
    """Fetch what a step on a row with these features changes beside the weights."""
    cdef Py_ssize_t p
    for p in range(m):
        prefetch(lazy.touched + indices[p])
        prefetch_range(lazy.squares + indices[p] * lazy.K, lazy.squares + (indices[p] + 1) * lazy.K)


cdef inline void fetch_ftrl(const LazyState* lazy, const TrainingRows* rows, int64_t i) noexcept nogil:
    """Fetch what a step on row i begins with."""
    cdef int64_t p, j, K = lazy.K, end = rows.indptr[i] + FTRL_PREFETCH_AHEAD
    for p in range(rows.indptr[i], end if end < rows.indptr[i + 1] else rows.indptr[i + 1]):
        j = rows.indices[p]
        prefetch_range(lazy.z + j * K, lazy.z + (j + 1) * K)
        prefetch_range(lazy.root + j * K, lazy.root + (j + 1) * K)


cdef inline void ftrl_row(const UpdateRule* rule, const Counters* counters, const LazyState* lazy,
                          const TrainingRows* rows, MiniBatch* batch, real* W, Py_ssize_t K) noexcept nogil:
    """The step of a single row: at all labels, or at the right one and its rival."""
    cdef int64_t i = batch.row[0], rival = batch.rival[0], y = rows.labels[i], p, j, soon, end = rows.indptr[i + 1]
    cdef const real* values = <const real*>rows.values
    cdef double* direction = batch.direction
    cdef double other = -direction[0]
    for p in range(rows.indptr[i], end):
        soon = p + FTRL_PREFETCH_AHEAD if p + FTRL_PREFETCH_AHEAD < end else p
        soon = rows.indices[soon] * K
        j = rows.indices[p] * K
        if rival == ALL_LABELS:
            prefetch_range(lazy.z + soon, lazy.z + soon + K)
            prefetch_range(lazy.root + soon, lazy.root + soon + K)
            ftrl_step(rule, W + j, lazy.z + j, lazy.root + j, direction, values[p], K)
        else:
            prefetch(lazy.z + soon + y)
            prefetch(lazy.root + soon + y)
            prefetch(lazy.z + soon + rival)
            prefetch(lazy.root + soon + rival)
            ftrl_step(rule, W + j + y, lazy.z + j + y, lazy.root + j + y, direction, values[p], 1)
            ftrl_step(rule, W + j + rival, lazy.z + j + rival, lazy.root + j + rival, &other, values[p], 1)
        if lazy.total != NULL:
            lazy.touched[rows.indices[p]] = counters.steps
            if counters.averaged > 0:
                add_to_average(lazy.total + j, W + j, K)


cdef inline void ftrl_batch(const UpdateRule* rule, const Counters* counters, const LazyState* lazy,
                            const TrainingRows* rows, MiniBatch* batch, real* W, Py_ssize_t K, Py_ssize_t padded_width,
                            const Intercepts* bias) noexcept nogil:
    """One step; of several rows on the sum of their gradients. `touched` is used as in `adagrad_batch`."""
    cdef Py_ssize_t b, k
    cdef int64_t i, p, j, rival
    cdef double* direction
    cdef double* sums = batch.spare
    cdef double* batch_gradient
    cdef double x
    for k in range(K):
        sums[k] = 0
    for b in range(batch.size):
        direction = batch.direction + b * padded_width
        rival = batch.rival[b]
        if rival >= 0:
            sums[rows.labels[batch.row[b]]] += direction[0]
            sums[rival] -= direction[0]
        elif rival == ALL_LABELS:
            for k in range(K):
                sums[k] += direction[k]
    for k in range(K if rule.fit_intercept else 0):
        if sums[k] != 0:                                  # the lanes without a label keep their −∞
            ftrl_bias(rule, bias.value + k, bias.z + k, bias.root + k, sums[k])
    if batch.size == 1:
        if batch.rival[0] != NO_GRADIENT:
            ftrl_row(rule, counters, lazy, rows, batch, W, K)
        return
    for b in range(batch.size):
        direction = batch.direction + b * padded_width
        i = batch.row[b]
        rival = batch.rival[b]
        if rival == NO_GRADIENT:
            continue
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            x = (<const real*>rows.values)[p]
            batch_gradient = lazy.batch_gradient + rows.indices[p] * K
            if rival == ALL_LABELS:
                for k in range(K):
                    batch_gradient[k] += direction[k] * x
            else:
                batch_gradient[rows.labels[i]] += direction[0] * x
                batch_gradient[rival] -= direction[0] * x
    for b in range(batch.size):
        i = batch.row[b]
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[p]
            if batch.rival[b] == NO_GRADIENT or lazy.touched[j] == counters.steps:
                continue
            lazy.touched[j] = counters.steps
            j *= K
            ftrl_step(rule, W + j, lazy.z + j, lazy.root + j, lazy.batch_gradient + j, 1.0, K)
            for k in range(K):
                lazy.batch_gradient[j + k] = 0
            if lazy.total != NULL and counters.averaged > 0:
                add_to_average(lazy.total + j, W + j, K)


cdef inline double score_variance(const UpdateRule* rule, const LazyState* lazy, const TrainingRows* rows, int64_t i,
                                  Py_ssize_t k, const Intercepts* bias, const real* values) noexcept nogil:
    """xᵀσx, the variance of row i's score in column k."""
    cdef int64_t p, soon, end = rows.indptr[i + 1]
    cdef double x, total = rule.fit_intercept * variance(rule, bias.squares[k])
    for p in range(rows.indptr[i], end):
        soon = p + FTRL_PREFETCH_AHEAD if p + FTRL_PREFETCH_AHEAD < end else p
        prefetch(lazy.squares + rows.indices[soon] * lazy.K + k)
        x = values[p]
        total += x * x * variance(rule, lazy.squares[rows.indices[p] * lazy.K + k])
    return total


cdef inline void arow_column(const UpdateRule* rule, const LazyState* lazy, const TrainingRows* rows, int64_t i,
                             real* W, Py_ssize_t k, double change, const Intercepts* bias) noexcept nogil:
    """AROW's step of one column: θ += change·σx."""
    cdef const real* values = <const real*>rows.values
    cdef double weight = rows.weights[i] if rows.weights != NULL else 1.0
    cdef double x
    cdef int64_t p, place
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        x = values[p]
        place = rows.indices[p] * lazy.K + k
        arow_step(rule, W + place, lazy.squares + place, change, x, weight * x * x)
    if rule.fit_intercept:
        arow_step(rule, bias.value + k, bias.squares + k, change, 1.0, weight)


cdef inline void arow_row(const UpdateRule* rule, const Counters* counters, const LazyState* lazy,
                          const TrainingRows* rows, MiniBatch* batch, real* W, Py_ssize_t K,
                          const Intercepts* bias) noexcept nogil:
    """AROW's step of a row (Crammer, Kulesza & Dredze 2009): α = ℓ/(xᵀσx + r/w), w the row's weight.

    `direction` is −2wℓ: the derivative of wℓ², ℓ the hinge loss.
    """
    cdef int64_t i = batch.row[0], rival = batch.rival[0], y = rows.labels[i], p
    cdef const real* values = <const real*>rows.values
    cdef double weight = rows.weights[i] if rows.weights != NULL else 1.0
    cdef double spread, change
    cdef Py_ssize_t k
    if rival == NO_GRADIENT:
        return
    if rival >= 0:
        spread = (score_variance(rule, lazy, rows, i, y, bias, values)
                  + score_variance(rule, lazy, rows, i, rival, bias, values))
        change = -0.5 * batch.direction[0] * rule.C / (1.0 + weight * rule.C * spread)
        arow_column(rule, lazy, rows, i, W, y, change, bias)
        arow_column(rule, lazy, rows, i, W, rival, -change, bias)
    else:
        for k in range(K):
            if batch.direction[k] != 0:
                spread = score_variance(rule, lazy, rows, i, k, bias, values)
                change = -0.5 * batch.direction[k] * rule.C / (1.0 + weight * rule.C * spread)
                arow_column(rule, lazy, rows, i, W, k, change, bias)
    if lazy.total != NULL:
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            lazy.touched[rows.indices[p]] = counters.steps
            if counters.averaged > 0:
                add_to_average(lazy.total + rows.indices[p] * K, W + rows.indices[p] * K, K)
