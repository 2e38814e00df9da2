"""An epoch that goes row by row, where nothing that rests owes anything: no L1, no average, no ball, no mini-batch.

It is `epoch` of online.pyx, bit for bit, without what only other runs need, which costs 61 ns a row of 13 non-zeros and
two labels where this takes 22, and 75 where this takes 55 for six labels. What it may leave out, and why:

    debts        there is no L1, no average and no ball, and all weights are of scale epoch 0; where another begins,
                 the general loop goes on
    1/A          without a gradient the weights stay, and their bound grows by 0 · 1/A = 0
    fetching     weights that fit into the nearer cache are there; those that do not are fetched, as the general loop
                 does (without that, rows of 20 Newsgroups took 1.3 times its time). Rows are fetched always: from the
                 second cache to the first a tenth of the time is saved

One column of weights is added up as `dot` of tile.h does: four sums that take turns, and the rest to the first.
"""

from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport prefetch, prefetch_range, real, score_near_row, score_row
from fastlin.engine.online.inference cimport infer, infer_column
from fastlin.engine.online.lazy_weights cimport LazyWeights
from fastlin.engine.online.minibatch cimport (
    DONE, NO_GRADIENT, OVERFLOW, Intercepts, MiniBatch, TrainingRows, apply_row, end_step)
from fastlin.engine.online.update_rules cimport MIRA, Counters, UpdateRule, rate, shrinkage

cdef extern from *:
    const int64_t NEAR_BYTES "(1 << 20)"       # what the nearer cache holds

ctypedef fused room:         # for the direction of a step, by which each kind of weights has a loop of its own:
    double                   # of one column
    MiniBatch                # of several

cdef enum:
    OWES = -1                # of `Status`: weights have begun to owe something
    ROWS_AHEAD = 4           # rows between fetching one and learning from it; half as many with weights to fetch
    INDPTR_AHEAD = 8         # and their indptr


cdef inline bint may_go_by_rows(LazyWeights weights) noexcept nogil:
    """Whether `row_epoch` may begin."""
    cdef const UpdateRule* rule = weights.rule
    cdef const Counters* counters = weights.counters
    return (rule.batch_size == 1 and rule.step <= MIRA and rule.l1 == 0 and not rule.project
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


cdef inline Py_ssize_t row_epoch(LazyWeights weights, real* W, const TrainingRows* rows, const int64_t* order,
                                 Py_ssize_t position, Py_ssize_t end, int64_t budget, int64_t n_values,
                                 room* out, int* status) noexcept nogil:
    """Learn from the rows order[position:end] as long as the scale epoch lasts; returns how far it has come.

    `status` is OWES where the general loop has to go on.
    """
    cdef UpdateRule rule = weights.rule[0]                # copies, which no store into W can alias
    cdef Counters counters = weights.counters[0]
    cdef TrainingRows data = rows[0]
    cdef const Intercepts* intercepts = &weights.bias
    cdef const real* values
    cdef const int32_t* indices
    cdef double bias = intercepts.value[0], intercept_rate = rule.fit_intercept * rule.intercept_decay
    cdef double eta, shrink = 1.0, inverse, loss, size, weight_bound
    cdef real change, score
    cdef real* raw = &score
    cdef Py_ssize_t K = weights.K, padded_width = weights.padded_width, m, p, k
    cdef bint scaled = weights.lazy.scale_epoch != NULL
    cdef bint far_weights = weights.V * K * <int64_t>sizeof(real) > NEAR_BYTES
    cdef bint far_rows = n_values * <int64_t>(sizeof(real) + sizeof(int32_t)) > NEAR_BYTES
    cdef int64_t i, start, stop, work = 0, mistakes
    cdef Py_ssize_t ahead = ROWS_AHEAD // 2 if far_weights else ROWS_AHEAD
    if room is double:
        K = 1
    else:
        raw = <real*>out.change
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
        if position + INDPTR_AHEAD < end:
            prefetch(data.indptr + order[position + INDPTR_AHEAD])
            prefetch(data.labels + order[position + INDPTR_AHEAD])
            start = data.indptr[order[position + ahead]]
            stop = data.indptr[order[position + ahead] + 1]
            indices = data.indices + start
            values = <const real*>data.values + start
            if far_rows:
                prefetch_range(indices, data.indices + stop)
                prefetch_range(values, <const real*>data.values + stop)
            else:                                         # not asking how many lines a row has, which nobody foresees:
                prefetch(indices)                         # a tenth of the time of short rows
                prefetch(indices + 16)
                prefetch(values)
                prefetch(values + 8)
                prefetch(values + 16)
        m = data.indptr[i + 1] - data.indptr[i]
        indices = data.indices + data.indptr[i]
        values = <const real*>data.values + data.indptr[i]
        if far_weights:
            start = data.indptr[order[position + 1]] if position + 1 < end else data.indptr[i]
            stop = data.indptr[order[position + 1] + 1] if position + 1 < end else start
            score_row(raw, W, K, indices, values, m, data.indices + start, stop - start)
        elif room is double:
            score = dot(W, indices, values, m)
        else:
            score_near_row(raw, W, K, indices, values, m)
        loss = 0
        mistakes = 0
        if room is double:
            size = infer_column(&rule, &data, i, values, counters.scale * score + bias, -eta, out, &loss, &mistakes)
        else:
            for k in range(padded_width // 8 * 8):
                out.scores[k] = counters.scale * raw[k] + intercepts.value[k]
            out.row[0] = i
            out.mistakes = 0
            size = infer(&rule, &data, values, out, 0, K, padded_width, -eta, &loss)
            if out.rival[0] == NO_GRADIENT:
                size = -1
            mistakes = out.mistakes
        if not size < 0:
            inverse = 1.0 / (counters.scale * shrink)
            weight_bound = counters.weight_bound + size * inverse * data.largest
            if not weight_bound < rule.weight_bound:
                status[0] = OVERFLOW
                break
            counters.weight_bound = weight_bound
            counters.updates += 1
            if room is double:
                change = <real>(out[0] * inverse)
                bias += intercept_rate * out[0]
                for p in range(m):
                    W[indices[p]] += values[p] * change
            else:
                apply_row(&counters, &data, out, 0, W, K, padded_width, inverse, intercepts, NULL, intercept_rate)
        counters.loss += loss
        counters.mistakes += mistakes
        counters.t += 1
        counters.steps += 1
        work += (m + 1) * (K + 7)
        position += 1
        if scaled:
            counters.scale *= shrink
            end_step(&rule, &counters, weights.past)
            if counters.scale_epoch > 0:
                status[0] = OWES
                break
    weights.counters[0] = counters
    if room is double:
        intercepts.value[0] = bias
    return position
