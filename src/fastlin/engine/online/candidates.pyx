"""Instances that bring their own candidates: rows starts[g] … starts[g + 1] − 1 compete, and gold[g] should win.

`run` is one online epoch of any loss with any step. A group is a mini-batch in one column, whose rows share a loss:

    for a group:  s = A·Xw                         forward
                  d = step·∂ℓ(s)                   infer: of every row, or of the right one and its rival
                  A ← A(1 − ηλ₂);  w ← w + Xᵀd/A

`coordinate_epoch` is one epoch of dual ascent on the hinge loss. With B_g = w_g C the dual has a mass B_g to share out
among the rows of a group; θ = Σ_g Σ_r α_gr (f_gy − f_gr), and with ℓ_r = [r ≠ y] − s_y + s_r

    max Σ_g Σ_{r≠y} α_gr − ½‖θ‖²  under  α_g ≥ 0, Σ_r α_gr = B_g;    duality gap = Σ_g Σ_r α_gr (max ℓ_g − ℓ_gr).

A step moves mass from the row of least ℓ that has some to the row of largest ℓ, as far as the dual rises: the exact
maximum is at (ℓ_r − ℓ_q)/‖f_r − f_q‖² (Platt's pair, with the most violating one of a group found by its scores).
"""

cimport cython
from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.allocation cimport checked_product
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.online.lazy_updates cimport LazyState, catch_up_row
from fastlin.engine.online.lazy_weights cimport LazyWeights
from fastlin.engine.online.minibatch cimport (
    DONE, ALL_LABELS, NO_SCALE_EPOCH, NO_GRADIENT, OVERFLOW, MiniBatch, Intercepts, TrainingRows, adagrad_batch,
    allocate_batch, apply_row, end_step, free_batch)
from fastlin.engine.core.csr cimport add_row, prefetch_range, real, score_row
from fastlin.engine.core.losses cimport LOG_LOSS, is_mistake, find_rival, log_loss, margin_loss
from fastlin.engine.online.update_rules cimport (
    ADAGRAD, GRADIENT, Counters, ScaleEpoch, UpdateRule, gradient_step, passive_aggressive_step, rate, shrinkage)

cdef double MAX_SCORE = 1e150
cdef double MAX_GRADIENT = 1e140  # whose square Adagrad sums


cdef double squared_distance(const int64_t* indptr, const int32_t* indices, const real* values, int64_t a,
                             int64_t b) noexcept nogil:
    """‖x_a − x_b‖² of two rows whose indices rise."""
    cdef int64_t p = indptr[a], q = indptr[b], p_end = indptr[a + 1], q_end = indptr[b + 1]
    cdef double total = 0, difference
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and indices[p] < indices[q]):
            difference = values[p]
            p += 1
        elif p == p_end or indices[q] < indices[p]:
            difference = values[q]
            q += 1
        else:
            difference = <double>values[p] - values[q]
            p += 1
            q += 1
        total += difference * difference
    return total


cdef double infer(const UpdateRule* rule, const TrainingRows* rows, const real* values, int64_t first, Py_ssize_t gold,
                  double weight, double step, MiniBatch* batch, double* loss) noexcept nogil:
    """Fill the directions of a group of at least two rows; returns a bound of Σ|direction|, infinite where scores are.

    `step` is −η for gradients (1 for Adagrad, which has its own rates), unused by the margin step.
    """
    cdef const double* s = batch.scores
    cdef Py_ssize_t b, rival = find_rival(s, batch.size, gold)
    cdef double margin = s[gold] - s[rival], value, slope
    if not fabs(margin) < MAX_SCORE:
        return HUGE_VAL
    batch.mistakes += is_mistake(rival, gold, margin, NULL)
    if rule.loss == LOG_LOSS:
        for b in range(batch.size):
            batch.rival[b] = ALL_LABELS
        loss[0] += weight * log_loss(s, batch.size, gold, weight * step, batch.direction)
        return 2 * fabs(weight * step)
    for b in range(batch.size):
        batch.rival[b] = NO_GRADIENT
    value = margin_loss(<int>rule.loss, margin, rule.epsilon, &slope)
    loss[0] += weight * value
    if slope > 0 and rule.step == GRADIENT:
        slope = gradient_step(slope, weight * step)
    elif slope > 0:
        slope = passive_aggressive_step(rule, value, squared_distance(rows.indptr, rows.indices, values, first + gold,
                                                                      first + rival),
                                        weight)
    if slope != 0:
        batch.rival[gold] = batch.rival[rival] = ALL_LABELS
        batch.direction[gold] = slope
        batch.direction[rival] = -slope
    return 2 * fabs(slope)


cdef Py_ssize_t epoch(LazyWeights weights, real* W, const TrainingRows* rows, const int64_t* starts,
                      const int64_t* gold, const int64_t* order, Py_ssize_t position, Py_ssize_t end, int64_t budget,
                      MiniBatch* batch, double* residual, int* status) noexcept nogil:
    cdef const UpdateRule* rule = weights.rule
    cdef Counters* counters = weights.counters
    cdef ScaleEpoch* past = weights.past
    cdef const LazyState* lazy = &weights.lazy
    cdef Py_ssize_t room = weights.n_past
    cdef bint scaled = lazy.scale_epoch != NULL, adagrad = rule.step == ADAGRAD, changed
    cdef bint owing = adagrad and (rule.l2 > 0 or lazy.total != NULL)
    cdef const real* values = <const real*>rows.values
    cdef real* raw = <real*>batch.change
    cdef Intercepts bias
    cdef double nothing[3]
    cdef Py_ssize_t b
    cdef int64_t g, i, last, soon, start, m, ahead, work = 0
    cdef double eta, step, shrink, inverse, size, weight_bound, loss, weight

    nothing[0] = nothing[1] = nothing[2] = 0               # candidates have no intercept
    bias.value = nothing
    bias.squares = nothing + 1
    bias.total = nothing + 2
    while position < end and work < budget:
        if counters.scale_epoch + 2 > room:
            status[0] = NO_SCALE_EPOCH
            return position
        g = order[position]
        batch.size = starts[g + 1] - starts[g]
        last = starts[g + 1] - 1
        soon = starts[order[position + 1]] if position + 1 < end else last
        weight = rows.weights[g] if rows.weights != NULL else 1.0
        eta = rate(rule, counters.t + 1)
        step = 1.0 if adagrad else -eta
        shrink = shrinkage(rule, counters.t + 1, eta) if scaled else 1.0
        inverse = 1.0 / (counters.scale * shrink)

        # forward, infer
        if position + 2 < end:
            ahead = order[position + 2]
            prefetch_range(rows.indices + rows.indptr[starts[ahead]], rows.indices + rows.indptr[starts[ahead + 1]])
            prefetch_range(values + rows.indptr[starts[ahead]], values + rows.indptr[starts[ahead + 1]])
        for b in range(batch.size):
            i = starts[g] + b
            batch.row[b] = i
            ahead = i + 1 if i < last else soon
            if owing or (scaled and counters.scale_epoch > 0):
                catch_up_row(rule, counters, lazy, rows.indptr, rows.indices, i, ahead, W)
            start = rows.indptr[i]
            m = rows.indptr[i + 1] - start
            work += 8 * (m + 1)
            score_row(raw, W, 1, rows.indices + start, values + start, m, rows.indices + rows.indptr[ahead],
                      rows.indptr[ahead + 1] - rows.indptr[ahead])
            batch.scores[b] = counters.scale * raw[0]
        loss = 0
        size = 0
        batch.mistakes = 0
        if batch.size > 1:
            size = infer(rule, rows, values, starts[g], gold[g], weight, step, batch, &loss)
        changed = size > 0
        weight_bound = counters.weight_bound + changed * (rule.eta0 if adagrad else size * inverse) * rows.largest
        if not weight_bound < rule.weight_bound or (adagrad and not size * rows.largest < MAX_GRADIENT):
            status[0] = OVERFLOW
            return position
        counters.weight_bound = weight_bound
        counters.loss += loss
        counters.mistakes += batch.mistakes
        counters.t += 1

        # step
        counters.scale *= shrink
        counters.steps += 1
        if rule.average_from > 0 and counters.t >= rule.average_from:
            counters.averaged += 1
        counters.updates += changed
        if adagrad and changed:
            adagrad_batch(rule, counters, lazy, rows, batch, W, 1, 1, &bias)
        elif changed:
            for b in range(batch.size):
                apply_row(counters, rows, batch, b, W, 1, 1, inverse, &bias, residual, 0.0)
        end_step(rule, counters, past)
        position += 1
    status[0] = DONE
    return position


@cython.final
cdef class GroupEpoch:
    """One epoch over groups of proved rows, no value of which is beyond ±largest, with room for the largest group.

    No `weights` are all ones, and a `residual` [n, 1] is what the average of the weights needs.
    """

    cdef CSRView view
    cdef TrainingRows rows
    cdef MiniBatch batch
    cdef const int64_t[::1] starts, gold, order
    cdef const double[::1] weights
    cdef double[:, ::1] residual

    def __cinit__(self, CSRView rows not None, double largest, const int64_t[::1] starts, const int64_t[::1] gold,
                  const double[::1] weights, const int64_t[::1] order, double[:, ::1] residual):
        cdef Py_ssize_t g, n = gold.shape[0], most = 1
        if starts.shape[0] != n + 1 or weights.shape[0] not in (0, n) or residual.shape[0] not in (0, rows.stop):
            raise ValueError(f"starts, weights or residuals do not fit {n} groups of {rows.stop} rows")
        for g in range(n):
            most = max(most, starts[g + 1] - starts[g])
        self.view, self.starts, self.gold, self.weights, self.order = rows, starts, gold, weights, order
        self.residual = residual
        self.rows.indptr, self.rows.indices, self.rows.values = rows.indptr, rows.indices, rows.values
        self.rows.weights = &weights[0] if weights.shape[0] else NULL
        self.rows.largest = largest if largest > 1 else 1.0
        allocate_batch(&self.batch, most, checked_product(3, most), 1)
        self.batch.direction = self.batch.scores + most
        self.batch.spare = self.batch.direction + most

    def __dealloc__(self):
        free_batch(&self.batch)


def run(GroupEpoch task not None, LazyWeights weights not None, Py_ssize_t position, int64_t budget):
    """Learn from the groups order[position:], at most `budget` multiply–adds; returns (position, status)."""
    cdef Py_ssize_t end = task.order.shape[0]
    cdef int status = DONE
    cdef double* residual = &task.residual[0, 0] if task.residual.shape[0] else NULL
    weights.check_learner()
    if weights.single != task.view.single or weights.K != 1:
        raise ValueError(f"rows of another type, or {weights.K} columns, do not fit: weights of candidates have one")
    if weights.V == 0 or position >= end:
        return end, status
    with nogil:
        if weights.single:
            position = epoch(weights, <float*>weights.W, &task.rows, &task.starts[0], &task.gold[0],
                             &task.order[0], position, end, budget, &task.batch, residual, &status)
        else:
            position = epoch(weights, <double*>weights.W, &task.rows, &task.starts[0], &task.gold[0],
                             &task.order[0], position, end, budget, &task.batch, residual, &status)
    return position, status


cdef double pair_step(const int64_t* indptr, const int32_t* indices, const real* values, int64_t first, Py_ssize_t n,
                      double* alpha, const double* s, double* theta, int64_t* work) noexcept nogil:
    """One pair of a group whose ℓ are in s; returns the group's part of the duality gap before it."""
    cdef Py_ssize_t r, up = 0, down = -1
    cdef double top = -HUGE_VAL, bottom = HUGE_VAL, gap = 0, norm, move
    for r in range(n):
        if s[r] > top:
            top = s[r]
            up = r
        if alpha[r] > 0 and s[r] < bottom:
            bottom = s[r]
            down = r
    for r in range(n):
        gap += alpha[r] * (top - s[r])
    if not bottom < top:
        return gap
    norm = squared_distance(indptr, indices, values, first + up, first + down)
    move = alpha[down]
    if norm * move > top - bottom:
        move = (top - bottom) / norm
    alpha[up] += move
    alpha[down] -= move
    move = -move
    add_row(theta, 1, indices + indptr[first + up], values + indptr[first + up],
            indptr[first + up + 1] - indptr[first + up], &move)
    move = -move
    add_row(theta, 1, indices + indptr[first + down], values + indptr[first + down],
            indptr[first + down + 1] - indptr[first + down], &move)
    work[0] += 8 * (indptr[first + up + 1] - indptr[first + up] + indptr[first + down + 1] - indptr[first + down])
    return gap


def coordinate_epoch(CSRView rows not None, const int64_t[::1] starts, const int64_t[::1] gold,
                     const int64_t[::1] order, Py_ssize_t position, int64_t budget, double[::1] alpha,
                     double[::1] theta, double[::1] scores):
    """A pair for each group of order[position:], at most `budget` multiply–adds; returns (position, gap).

    `gap` is the sum of the groups' parts of the duality gap, each before its own step: that of no one θ, but above 0
    for as long as there is anything to gain. `scores` has room for the largest group.
    """
    cdef double gap = 0
    with nogil:
        if rows.single:
            position = visit_groups(rows, <const float*>rows.values, starts, gold, order, position, budget, alpha,
                                    theta, scores, &gap)
        else:
            position = visit_groups(rows, <const double*>rows.values, starts, gold, order, position, budget, alpha,
                                    theta, scores, &gap)
    return position, gap


cdef Py_ssize_t visit_groups(CSRView rows, const real* values, const int64_t[::1] starts, const int64_t[::1] gold,
                             const int64_t[::1] order, Py_ssize_t position, int64_t budget, double[::1] alpha,
                             double[::1] theta, double[::1] scores, double* gap) noexcept nogil:
    """`coordinate_epoch`; returns the position reached."""
    cdef const int64_t* indptr = rows.indptr
    cdef const int32_t* indices = rows.indices
    cdef Py_ssize_t end = order.shape[0], b, n
    cdef int64_t g, i, last, ahead, soon, start, m, work = 0
    while position < end and work < budget:
        g = order[position]
        n = starts[g + 1] - starts[g]
        last = starts[g + 1] - 1
        soon = starts[order[position + 1]] if position + 1 < end else last
        for b in range(n):
            i = starts[g] + b
            ahead = i + 1 if i < last else soon
            start = indptr[i]
            m = indptr[i + 1] - start
            work += 8 * (m + 1)
            score_row(&scores[b], &theta[0], 1, indices + start, values + start, m, indices + indptr[ahead],
                      indptr[ahead + 1] - indptr[ahead])
        for b in range(n):
            scores[b] += b != gold[g]
        gap[0] += pair_step(indptr, indices, values, starts[g], n, &alpha[starts[g]], &scores[0], &theta[0],
                            &work)
        position += 1
    return position
