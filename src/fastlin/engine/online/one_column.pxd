"""An epoch of one column of weights, a row at a time: two labels or a target, and nothing that rests owes anything.

It is `epoch` of online.pyx, bit for bit, without what only other runs need, which costs 61 ns a row of 13 non-zeros
where this takes 25. What it may leave out, and why:

    debts        there is no L1, no average and no ball, and all weights are of scale epoch 0; where another begins,
                 the general loop goes on
    1/A          without a gradient the weights stay, and their bound grows by 0 · 1/A = 0
    fetching     rows and weights that fit into the nearer cache are there; which of the two do not are fetched, as the
                 general loop does (without that, rows of 20 Newsgroups took 1.3 times its time)

The weights of a row are added up as `dot` of tile.h does: four sums that take turns, and the rest to the first.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport prefetch, prefetch_range, real, score_row, squared_norm
from fastlin.engine.core.losses cimport is_mistake, margin_loss, residual_loss
from fastlin.engine.online.lazy_weights cimport LazyWeights
from fastlin.engine.online.minibatch cimport DONE, OVERFLOW, TrainingRows, end_step
from fastlin.engine.online.update_rules cimport (
    ADAGRAD, GRADIENT, MIRA, Counters, UpdateRule, gradient_step, passive_aggressive_step, rate, shrinkage)

cdef extern from *:
    const double MAX_SCORE "1e150"
    const int64_t NEAR_BYTES "(1 << 20)"       # what the nearer cache holds

cdef enum:
    OWES = -1                # of `Status`: weights have begun to owe something
    ROWS_AHEAD = 4           # rows between fetching one and learning from it; half as many with weights to fetch
    INDPTR_AHEAD = 8         # and their indptr


cdef inline bint goes_by_gradient(const UpdateRule* rule) noexcept nogil:
    """Whether steps are of gradients, not as long as a margin needs."""
    return rule.step == GRADIENT or rule.step >= ADAGRAD


cdef inline double squared_size(const UpdateRule* rule, const real* values, Py_ssize_t m) noexcept nogil:
    """‖x‖² of a row, its intercept included."""
    return squared_norm(values, m) + rule.fit_intercept * rule.intercept_decay


cdef inline double infer_column(const UpdateRule* rule, const TrainingRows* rows, int64_t i, const real* values,
                                double score, double step, double* direction, double* loss,
                                int64_t* mistakes) noexcept nogil:
    """The direction of a row with one score; returns its size, −1 without a gradient, ∞ beyond the numbers."""
    cdef Py_ssize_t m = rows.indptr[i + 1] - rows.indptr[i], y = rows.labels[i]
    cdef double weight = rows.weights[i] if rows.weights != NULL else 1.0
    cdef double slope, value, margin, sign = 1.0 if y == 1 else -1.0
    if rows.targets != NULL:
        margin = rows.targets[i] - score                  # the residual
        if not fabs(margin) < MAX_SCORE:
            return HUGE_VAL
        value = residual_loss(<int>rule.loss, margin, rule.epsilon, &slope)
        loss[0] += weight * value
        if goes_by_gradient(rule):
            slope *= -weight * step
        else:
            slope *= passive_aggressive_step(rule, value, squared_size(rule, values, m), weight)
        direction[0] = slope
        return fabs(slope) if slope != 0 else -1.0
    margin = sign * score
    if not fabs(margin) < MAX_SCORE:
        return HUGE_VAL
    mistakes[0] += is_mistake(1 - y, y, margin, rows.rank)
    value = margin_loss(<int>rule.loss, margin, rule.epsilon, &slope)
    loss[0] += weight * value
    if slope == 0:
        return -1.0
    if goes_by_gradient(rule):
        slope = gradient_step(slope, weight * step)
    else:
        slope = passive_aggressive_step(rule, value, squared_size(rule, values, m), weight)
        if slope == 0:
            return -1.0
    direction[0] = sign * slope
    return fabs(slope)


cdef inline bint has_one_column(LazyWeights weights) noexcept nogil:
    """Whether `one_column_epoch` may begin."""
    cdef const UpdateRule* rule = weights.rule
    cdef const Counters* counters = weights.counters
    return (weights.K == 1 and rule.batch_size == 1 and rule.step <= MIRA and rule.l1 == 0 and not rule.project
            and rule.average_from == 0 and counters.averaged == 0 and counters.average_weight == 0
            and weights.lazy.debt == NULL and weights.lazy.total == NULL
            and counters.scale_epoch == 0 and weights.n_past >= 2 and counters.weight_bound < rule.weight_bound)


cdef inline real dot(const real* w, const int32_t* indices, const real* values, Py_ssize_t m) noexcept nogil:
    cdef real a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t p = 0
    while p + 4 <= m:
        a += values[p] * w[indices[p]]
        b += values[p + 1] * w[indices[p + 1]]
        c += values[p + 2] * w[indices[p + 2]]
        d += values[p + 3] * w[indices[p + 3]]
        p += 4
    while p < m:
        a += values[p] * w[indices[p]]
        p += 1
    return (a + b) + (c + d)


cdef inline Py_ssize_t one_column_epoch(LazyWeights weights, real* W, const TrainingRows* rows, const int64_t* order,
                                        Py_ssize_t position, Py_ssize_t end, int64_t budget, int64_t n_values,
                                        int* status) noexcept nogil:
    """Learn from the rows order[position:end] as long as the scale epoch lasts; returns how far it has come.

    `status` is OWES where the general loop has to go on.
    """
    cdef UpdateRule rule = weights.rule[0]                # copies, which no store into W can alias
    cdef Counters counters = weights.counters[0]
    cdef TrainingRows data = rows[0]
    cdef const real* values
    cdef const int32_t* indices
    cdef double bias = weights.bias.value[0], intercept_rate = rule.fit_intercept * rule.intercept_decay
    cdef double eta, shrink = 1.0, inverse, loss, size, direction = 0, weight_bound
    cdef real change, score
    cdef bint scaled = weights.lazy.scale_epoch != NULL
    cdef bint far_weights = weights.V * <int64_t>sizeof(real) > NEAR_BYTES
    cdef bint far_rows = n_values * <int64_t>(sizeof(real) + sizeof(int32_t)) > NEAR_BYTES
    cdef int64_t i, start, stop, work = 0, mistakes
    cdef Py_ssize_t m, p, ahead = ROWS_AHEAD // 2 if far_weights else ROWS_AHEAD
    status[0] = DONE
    while position < end and work < budget:
        i = order[position]
        work += 1
        if data.weights != NULL and not data.weights[i] > 0:
            position += 1
            continue
        eta = rate(&rule, counters.t + 1)
        if scaled:
            shrink = shrinkage(&rule, counters.t + 1, eta)
            if not shrink > 0:                            # Pegasos at t = 1
                status[0] = OWES
                break
        # Written out here: gcc takes a function that only fetches for one without effect, and drops its calls.
        if far_rows and position + INDPTR_AHEAD < end:
            prefetch(data.indptr + order[position + INDPTR_AHEAD])
            prefetch(data.labels + order[position + INDPTR_AHEAD])
            start = data.indptr[order[position + ahead]]
            stop = data.indptr[order[position + ahead] + 1]
            prefetch_range(data.indices + start, data.indices + stop)
            prefetch_range(<const real*>data.values + start, <const real*>data.values + stop)
        m = data.indptr[i + 1] - data.indptr[i]
        indices = data.indices + data.indptr[i]
        values = <const real*>data.values + data.indptr[i]
        if far_weights:
            start = data.indptr[order[position + 1]] if position + 1 < end else data.indptr[i]
            stop = data.indptr[order[position + 1] + 1] if position + 1 < end else start
            score_row(&score, W, 1, indices, values, m, data.indices + start, stop - start)
        else:
            score = dot(W, indices, values, m)
        loss = 0
        mistakes = 0
        size = infer_column(&rule, &data, i, values, counters.scale * score + bias, -eta, &direction, &loss,
                            &mistakes)
        if not size < 0:
            inverse = 1.0 / (counters.scale * shrink)
            weight_bound = counters.weight_bound + size * inverse * data.largest
            if not weight_bound < rule.weight_bound:
                status[0] = OVERFLOW
                break
            counters.weight_bound = weight_bound
            counters.updates += 1
            change = <real>(direction * inverse)
            bias += intercept_rate * direction
            for p in range(m):
                W[indices[p]] += values[p] * change
        counters.loss += loss
        counters.mistakes += mistakes
        counters.t += 1
        counters.steps += 1
        work += (m + 1) * 8
        position += 1
        if scaled:
            counters.scale *= shrink
            end_step(&rule, &counters, weights.past)
            if counters.scale_epoch > 0:
                status[0] = OWES
                break
    weights.counters[0] = counters
    weights.bias.value[0] = bias
    return position
