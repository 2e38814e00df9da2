"""What the scores of a row ask of the weights: the direction of its step, for one column of weights or for several."""

from libc.math cimport HUGE_VAL, INFINITY, fabs
from libc.stdint cimport int64_t, uint8_t

from fastlin.engine.core.csr cimport real, squared_norm
from fastlin.engine.core.losses cimport (
    LOG_LOSS, is_mistake, log_loss, lowest_label_rival, margin_loss, residual_loss)
from fastlin.engine.online.minibatch cimport ALL_LABELS, NO_GRADIENT, MiniBatch, TrainingRows
from fastlin.engine.online.update_rules cimport (
    ADAGRAD, GRADIENT, MIRA, UpdateRule, gradient_step, mira_step, passive_aggressive_step)

cdef extern from *:
    const double MAX_SCORE "1e150"
    const double SURE_LOG_LOSS "0.69"      # a row of smaller log loss has p > ½, and is predicted right


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
    cdef double slope, value, margin, sign = 2.0 * (y == 1) - 1.0
    if rows.targets != NULL:
        margin = rows.targets[i] - score                  # the residual
        if not fabs(margin) < MAX_SCORE:
            return HUGE_VAL
        value = residual_loss(<int>rule.loss, margin, rule.epsilon, &slope)
        loss[0] += weight * value
        if goes_by_gradient(rule):
            slope *= -weight * step
        else:
            slope *= passive_aggressive_step(rule, value, squared_norm(values, m), weight)     # as scikit-learn's
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


cdef inline double infer_each(const UpdateRule* rule, const TrainingRows* rows, const real* values, MiniBatch* batch,
                              Py_ssize_t b, Py_ssize_t K, Py_ssize_t padded_width, double step,
                              double* loss) noexcept nogil:
    """`infer`, where each label against the rest is a problem of its own; columns that no label has yet have none.

    A row with a set of labels is mistaken where any of them is.
    """
    cdef int64_t i = batch.row[b]
    cdef Py_ssize_t m = rows.indptr[i + 1] - rows.indptr[i], y = rows.labels[i], rival, k
    cdef const double* s = batch.scores
    cdef const uint8_t* members = rows.members + y * K if rows.members != NULL else NULL
    cdef double* direction = batch.direction + b * padded_width
    cdef double weight = rows.weights[i] if rows.weights != NULL else 1.0
    cdef double slope, value, norm = 0, margin, largest = 0, share = weight
    cdef bint by_gradient = goes_by_gradient(rule), own, mistaken = False
    if members == NULL:
        rival = lowest_label_rival(s, K, y, rows.rank)
        mistaken = is_mistake(rival, y, s[y] - s[rival], rows.rank)
    if not by_gradient:
        norm = squared_size(rule, values, m)
    for k in range(K):
        direction[k] = 0
        if s[k] == -INFINITY or (rows.stopped != NULL and rows.stopped[k]):
            continue
        own = k == y
        if members != NULL:
            own = members[k] != 0
            mistaken |= (s[k] > 0) != own
        margin = s[k] if own else -s[k]
        if not fabs(margin) < MAX_SCORE:
            return HUGE_VAL
        if rows.factors != NULL:
            share = weight * rows.factors[own * K + k]
            if share == 0:
                continue
        value = margin_loss(<int>rule.loss, margin, rule.epsilon, &slope)
        loss[0] += share * value
        if rows.losses != NULL:
            rows.losses[k] += share * value
        if by_gradient:
            slope = gradient_step(slope, share * step)
        elif slope > 0:
            slope = passive_aggressive_step(rule, value, norm, share)
        direction[k] = slope if own else -slope
        largest = max(largest, fabs(slope))
    batch.mistakes += mistaken
    batch.rival[b] = ALL_LABELS if largest > 0 else NO_GRADIENT
    return largest


cdef inline double infer(const UpdateRule* rule, const TrainingRows* rows, const real* values, MiniBatch* batch,
                         Py_ssize_t b, Py_ssize_t K, Py_ssize_t padded_width, double step,
                         double* loss) noexcept nogil:
    """Fill direction[b] from the scores; returns a bound of |direction|, infinite where the scores left the numbers.

    `step` is −η/B for gradients (1/B for Adagrad and FTRL, which have their own rates), unused by the margin steps.
    """
    cdef int64_t i = batch.row[b]
    cdef Py_ssize_t m = rows.indptr[i + 1] - rows.indptr[i], y = rows.labels[i], rival, k
    cdef const double* s = batch.scores
    cdef double* direction = batch.direction + b * padded_width
    cdef double weight = rows.weights[i] if rows.weights != NULL else 1.0
    cdef double slope, value, norm, margin, size = 0

    if K == 1:
        size = infer_column(rule, rows, i, values, s[0], step, direction, loss, &batch.mistakes)
        batch.rival[b] = NO_GRADIENT if size < 0 else ALL_LABELS
        return 0.0 if size < 0 else size
    if rule.one_vs_rest or rows.members != NULL:
        return infer_each(rule, rows, values, batch, b, K, padded_width, step, loss)
    batch.rival[b] = ALL_LABELS
    if rule.loss == LOG_LOSS:
        step *= weight
        value = log_loss(s, padded_width // 8 * 8, y, step, direction)
        loss[0] += weight * value
        if value > SURE_LOG_LOSS:
            rival = lowest_label_rival(s, K, y, rows.rank)
            batch.mistakes += is_mistake(rival, y, s[y] - s[rival], rows.rank)
        return fabs(step) if value < MAX_SCORE else HUGE_VAL        # no probability's gradient is larger than 1

    rival = lowest_label_rival(s, K, y, rows.rank)
    margin = s[y] - s[rival]
    if not fabs(margin) < MAX_SCORE:
        return HUGE_VAL
    batch.mistakes += is_mistake(rival, y, margin, rows.rank)
    value = margin_loss(<int>rule.loss, margin, rule.epsilon, &slope)
    loss[0] += weight * value
    if slope == 0:
        batch.rival[b] = NO_GRADIENT
        return 0.0
    if goes_by_gradient(rule):
        slope = gradient_step(slope, weight * step)
    else:
        norm = squared_size(rule, values, m)
        if rule.step == MIRA:
            if not mira_step(s, K, y, norm, weight * rule.C, direction, batch.spare):
                batch.rival[b] = NO_GRADIENT
            for k in range(K):
                size = fabs(direction[k]) if fabs(direction[k]) > size else size
            return size
        slope = passive_aggressive_step(rule, value, 2 * norm, weight)
        if slope == 0:
            batch.rival[b] = NO_GRADIENT
            return 0.0
    if rule.step == ADAGRAD:
        for k in range(K):
            direction[k] = 0
        direction[y] = slope
        direction[rival] = -slope
    else:
        direction[0] = slope
        batch.rival[b] = rival
    return fabs(slope)
