"""One online epoch of any loss with any step.

    for a row (or a mini-batch):  s = A·Wᵀx + b    forward
                                  d = step·∂ℓ(s)   infer
                                  A ← A(1 − ηλ₂);  W ← W + x dᵀ/A;  b ← b + d

One body serves every learner; what differs is `direction`, a switch once a row (hand-written loops for each
learner measured within 3 %). Runs in which nothing owes anything have a loop of their own, row_epoch.pxd. What a
feature owes while it rests is in lazy_updates.pxd.

`run` stops after `budget` multiply–adds so that Python can act on Ctrl-C, and before any step that would
leave the numbers; the caller goes on from the position it returns.
"""

cimport cython
from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

from fastlin.engine.online.lazy_updates cimport LazyState, catch_up_row
from fastlin.engine.online.lazy_weights cimport LazyWeights
from fastlin.engine.online.minibatch cimport (
    DONE, ALL_LABELS, NO_SCALE_EPOCH, NO_GRADIENT, OVERFLOW, MiniBatch, Intercepts, TrainingRows, adagrad_batch,
    allocate_batch, apply_row, arow_row, end_step, fetch_adagrad, fetch_ftrl, free_batch, ftrl_batch, start_scale_epoch)
from fastlin.engine.core.allocation cimport checked_product
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.core.csr cimport prefetch, prefetch_range, real, score_row, squared_norm
from fastlin.engine.core.losses cimport LOG_LOSS
from fastlin.engine.online.inference cimport infer
from fastlin.engine.online.row_epoch cimport OWES, may_go_by_rows, row_epoch
from fastlin.engine.online.update_rules cimport (
    ADAGRAD, AROW, FTRL, Counters, ScaleEpoch, UpdateRule, rate, shrinkage)

cdef double MAX_GRADIENT = 1e140  # whose square Adagrad sums
cdef double MAX_FTRL_GRADIENT = 1e100  # θ√Σg²/η₀ must be a number, too


cdef inline double norm_growth(const Counters* counters, const TrainingRows* rows, MiniBatch* batch, Py_ssize_t b,
                               const real* W, Py_ssize_t K, Py_ssize_t padded_width) noexcept nogil:
    """‖W + x dᵀ/A‖² − ‖W‖², from the present W: mini-batches touch a feature more than once."""
    cdef int64_t i = batch.row[b], start = rows.indptr[i], rival = batch.rival[b]
    cdef Py_ssize_t m = rows.indptr[i + 1] - start, k
    cdef const real* values = <const real*>rows.values + start
    cdef double* direction = batch.direction + b * padded_width
    cdef double c, dot = 0, square = 0
    cdef real* scores = <real*>batch.change
    if rival == NO_GRADIENT:
        return 0.0
    score_row(scores, W, K, rows.indices + start, values, m, rows.indices + start, 0)
    for k in range(K):
        if rival == ALL_LABELS:
            c = direction[k]
        elif k == rows.labels[i]:
            c = direction[0]
        else:
            c = -direction[0] if k == rival else 0.0
        c /= counters.scale
        dot += c * scores[k]
        square += c * c
    return 2 * dot + square * squared_norm(values, m)


cdef Py_ssize_t epoch(LazyWeights weights, real* W, const TrainingRows* rows, const int64_t* order, Py_ssize_t position,
                      Py_ssize_t end, int64_t budget, MiniBatch* batch, double* residual, int* status) noexcept nogil:
    cdef const UpdateRule* rule = weights.rule
    cdef Counters* counters = weights.counters
    cdef ScaleEpoch* past = weights.past
    cdef const LazyState* lazy = &weights.lazy
    cdef const Intercepts* bias = &weights.bias
    cdef Py_ssize_t room = weights.n_past, K = weights.K, padded_width = weights.padded_width
    cdef bint scaled = lazy.scale_epoch != NULL, adagrad = rule.step == ADAGRAD, ftrl = rule.step == FTRL
    cdef bint arow = rule.step == AROW, own_rates = adagrad or ftrl or arow
    cdef double farthest = rule.C if arow else 0.0     # a step for each unit of the gradient and of x
    cdef bint owing = lazy.debt != NULL or (own_rates and lazy.total != NULL) or (
        adagrad and (rule.l1 > 0 or rule.l2 > 0))
    cdef double steepest = MAX_FTRL_GRADIENT if ftrl else MAX_GRADIENT
    cdef const real* values = <const real*>rows.values
    cdef real* raw = <real*>batch.change
    cdef Py_ssize_t first, b, k, next_row
    cdef int64_t i, start, m, ahead, m_ahead, work = 0, t
    cdef double eta, step, shrink, inverse, size, weight_bound, loss, radius

    while position < end and work < budget:
        if counters.scale_epoch + 2 > room:
            status[0] = NO_SCALE_EPOCH
            return position
        first = position
        batch.size = 0
        batch.mistakes = 0
        while position < end and batch.size < rule.batch_size:
            i = order[position]
            position += 1
            if rows.weights == NULL or rows.weights[i] > 0:
                batch.row[batch.size] = i
                batch.size += 1
            work += 1
        if batch.size == 0:
            break
        t = counters.t + batch.size
        eta = rate(rule, t)
        step = 1.0 if own_rates else -eta
        shrink = shrinkage(rule, t, eta) if scaled else 1.0
        inverse = 1.0 / (counters.scale * shrink) if shrink > 0 else 1.0

        # forward, infer
        weight_bound = counters.weight_bound
        loss = 0
        for b in range(batch.size):
            i = batch.row[b]
            start = rows.indptr[i]
            m = rows.indptr[i + 1] - start
            work += (m + 1) * (K + 7)                      # what touching a feature costs, in labels; rows cost, too
            if owing or (scaled and counters.scale_epoch > 0):
                catch_up_row(rule, counters, lazy, rows.indptr, rows.indices, i,
                             order[position] if position < end else i, W)
            if position + 8 < end:
                prefetch(rows.indptr + order[position + 8])
                prefetch(rows.labels + order[position + 8])
                ahead = order[position + 2]
                prefetch_range(rows.indices + rows.indptr[ahead], rows.indices + rows.indptr[ahead + 1])
                prefetch_range(values + rows.indptr[ahead], values + rows.indptr[ahead + 1])
                if residual != NULL:
                    prefetch_range(residual + ahead * K, residual + (ahead + 1) * K)
            next_row = batch.row[b + 1] if b + 1 < batch.size else (order[position] if position < end else i)
            ahead = rows.indptr[next_row]
            m_ahead = rows.indptr[next_row + 1] - ahead if next_row != i else 0
            if ftrl and rule.loss == LOG_LOSS:
                fetch_ftrl(lazy, rows, i)
            if adagrad and not owing:                      # what owes is fetched where it pays
                fetch_adagrad(lazy, rows.indices + ahead, m_ahead)
            score_row(raw, W, K, rows.indices + start, values + start, m, rows.indices + ahead, m_ahead)
            if K == 1:
                batch.scores[0] = counters.scale * raw[0] + bias.value[0]
            else:
                for k in range(padded_width // 8 * 8):
                    batch.scores[k] = counters.scale * raw[k] + bias.value[k]
            size = infer(rule, rows, values + start, batch, b, K, padded_width, step / batch.size, &loss)
            weight_bound += (size * farthest if arow else rule.eta0 if own_rates else size * inverse) * rows.largest
            if not weight_bound < rule.weight_bound or (own_rates and not size * rows.largest * batch.size < steepest):
                status[0] = OVERFLOW
                return first
        counters.weight_bound = weight_bound
        counters.loss += loss
        counters.mistakes += batch.mistakes
        counters.t = t

        # step
        if scaled:
            counters.scale *= shrink
            if counters.scale == 0:                       # Pegasos at t = 1: what was there is gone
                start_scale_epoch(counters, past)
                counters.norm = 0
                for b in range(batch.size):
                    catch_up_row(rule, counters, lazy, rows.indptr, rows.indices, batch.row[b], batch.row[b], W)
        counters.steps += 1
        if rule.average_from > 0 and t >= rule.average_from:
            counters.averaged += 1
        if adagrad:
            adagrad_batch(rule, counters, lazy, rows, batch, W, K, padded_width, bias)
        elif ftrl:
            ftrl_batch(rule, counters, lazy, rows, batch, W, K, padded_width, bias)
        elif arow:
            arow_row(rule, counters, lazy, rows, batch, W, K, bias)
        for b in range(batch.size):
            counters.updates += batch.rival[b] != NO_GRADIENT
            if own_rates:
                continue
            if rule.project:
                counters.norm += norm_growth(counters, rows, batch, b, W, K, padded_width)
            apply_row(counters, rows, batch, b, W, K, padded_width, inverse, bias, residual,
                      rule.fit_intercept * rule.intercept_decay)
        if rule.project:
            radius = 1.0 / sqrt(rule.alpha)
            size = counters.scale * sqrt(counters.norm if counters.norm > 0 else 0.0)
            if size > radius:
                counters.scale *= radius / size
        if rule.l1 > 0 and not own_rates:
            counters.debt += eta * rule.l1 / counters.scale
        if counters.averaged > 0:
            for k in range(padded_width):
                bias.total[k] += bias.value[k]
        end_step(rule, counters, past)
    status[0] = DONE
    return position


@cython.final
cdef class RowTargets:
    """What rows are to be: labels, sets of labels, or numbers.

    Row i's label has the column labels[i]; where there are `targets`, the row has the number targets[i] instead. Where
    columns are not in the labels' order, `rank` says which label each has. Where there are `members`, [sets, K], row i
    has the labels of the set labels[i], and `factors`, [2, K], may say what its weight is multiplied by for each label
    that it has not, or has. Where each label is a problem of its own, `losses`, [K], takes up the losses of each, and
    `stopped` says which of them take no more steps.
    """

    cdef const int32_t[::1] labels, rank
    cdef const double[::1] targets
    cdef const uint8_t[:, ::1] members
    cdef const double[:, ::1] factors
    cdef double[::1] losses
    cdef const uint8_t[::1] stopped

    def __cinit__(self, const int32_t[::1] labels, const double[::1] targets, const int32_t[::1] rank,
                  const uint8_t[:, ::1] members, const double[:, ::1] factors, double[::1] losses=None,
                  const uint8_t[::1] stopped=None):
        if factors.shape[0] and (factors.shape[0] != 2 or factors.shape[1] != members.shape[1]):
            raise ValueError(f"factors of shape ({factors.shape[0]}, {factors.shape[1]}) do not fit the labels of sets")
        self.labels, self.targets, self.rank = labels, targets, rank
        if (losses is None) != (stopped is None) or (losses is not None and losses.shape[0] != stopped.shape[0]):
            raise ValueError("losses and stopped must be as long as each other")
        self.members, self.factors, self.losses, self.stopped = members, factors, losses, stopped


@cython.final
cdef class OnlineEpoch:
    """One epoch over proved rows: those in `order`, no value of which is beyond ±largest, and room for a mini-batch.

    No `weights` are all ones, and a `residual` [n, K] is what the average of the weights needs. The arrays of a
    row's numbers are `width` wide, as the bias of the weights: for more than one column a multiple of 8, in which
    the intercepts beyond K are −∞, so that loops over labels need no remainder. So are those of columns that no
    label has yet.
    """

    cdef CSRView view
    cdef TrainingRows rows
    cdef MiniBatch batch
    cdef RowTargets targets
    cdef const double[::1] weights
    cdef const int64_t[::1] order
    cdef double[:, ::1] residual
    cdef Py_ssize_t batch_size, width

    def __cinit__(self, CSRView rows not None, double largest, RowTargets targets not None, const double[::1] weights,
                  const int64_t[::1] order, double[:, ::1] residual, Py_ssize_t batch_size, Py_ssize_t width):
        cdef Py_ssize_t n = rows.stop, n_targets = targets.targets.shape[0]
        if targets.labels.shape[0] != n or any(held not in (0, n) for held in (n_targets, len(weights), len(residual))):
            raise ValueError(f"labels, targets, weights or residuals do not fit {n} rows")
        if n_targets and width != 1:
            raise ValueError(f"targets want one column of weights, not {width}")
        self.view, self.targets, self.weights, self.order = rows, targets, weights, order
        self.residual, self.batch_size, self.width = residual, max(1, min(batch_size, order.shape[0])), width
        self.rows.indptr, self.rows.indices, self.rows.values = rows.indptr, rows.indices, rows.values
        self.rows.labels = &targets.labels[0] if n else NULL
        self.rows.rank = &targets.rank[0] if targets.rank.shape[0] else NULL
        self.rows.targets = &targets.targets[0] if n_targets else NULL
        self.rows.members = &targets.members[0, 0] if targets.members.shape[0] else NULL
        self.rows.factors = &targets.factors[0, 0] if targets.factors.shape[0] else NULL
        self.rows.losses = &targets.losses[0] if targets.losses is not None and targets.losses.shape[0] else NULL
        self.rows.stopped = &targets.stopped[0] if targets.stopped is not None and targets.stopped.shape[0] else NULL
        self.rows.weights = &weights[0] if weights.shape[0] else NULL
        self.rows.largest = largest if largest > 1 else 1.0
        allocate_batch(&self.batch, self.batch_size, checked_product(self.batch_size + 2, width), width)
        self.batch.spare = self.batch.scores + width
        self.batch.direction = self.batch.spare + width

    def __dealloc__(self):
        free_batch(&self.batch)


cdef Py_ssize_t learn(OnlineEpoch task, LazyWeights weights, real* W, Py_ssize_t position, int64_t budget,
                      double* residual, int* status) noexcept nogil:
    """Go on from a position in the order, in whichever of the two loops can."""
    cdef Py_ssize_t end = task.order.shape[0]
    cdef double direction = 0
    if may_go_by_rows(weights):
        if weights.K == 1:
            position = row_epoch(weights, W, &task.rows, &task.order[0], position, end, budget, task.view.n_values,
                                 &direction, status)
        else:
            position = row_epoch(weights, W, &task.rows, &task.order[0], position, end, budget, task.view.n_values,
                                 &task.batch, status)
        if status[0] != OWES:
            return position
    return epoch(weights, W, &task.rows, &task.order[0], position, end, budget, &task.batch, residual, status)


def run(OnlineEpoch task not None, LazyWeights weights not None, Py_ssize_t position, int64_t budget):
    """Learn from the rows order[position:], at most `budget` multiply–adds; returns (position, status)."""
    cdef Py_ssize_t end = task.order.shape[0]
    cdef int status = DONE
    cdef double* residual = &task.residual[0, 0] if task.residual.shape[0] else NULL
    weights.check_learner()
    if weights.single != task.view.single or weights.padded_width != task.width:
        raise ValueError(f"rows of another type, or {task.width} numbers a row, do not fit these weights")
    if weights.rule.batch_size > task.batch_size and task.batch_size < end:
        raise ValueError(f"there is room for a mini-batch of {task.batch_size}, not of {weights.rule.batch_size}")
    if task.rows.members != NULL and task.targets.members.shape[1] != weights.K:
        raise ValueError(f"sets of {task.targets.members.shape[1]} labels do not fit {weights.K} columns of weights")
    if task.rows.losses != NULL and task.targets.losses.shape[0] != weights.K:
        raise ValueError(f"losses of {task.targets.losses.shape[0]} labels do not fit {weights.K} columns of weights")
    if residual != NULL and task.residual.shape[1] != weights.K:
        raise ValueError(f"residuals of {task.residual.shape[1]} columns do not fit {weights.K}")
    if weights.V == 0 or position >= end:
        return end, status
    with nogil:
        if weights.single:
            position = learn(task, weights, <float*>weights.W, position, budget, residual, &status)
        else:
            position = learn(task, weights, <double*>weights.W, position, budget, residual, &status)
    return position, status


def learning_rate(const UpdateRule[::1] rule, int64_t t):
    """η at instance t."""
    return rate(&rule[0], t)
