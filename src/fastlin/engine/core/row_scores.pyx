"""The inferences of a row of scores: losses and their gradients, softmax, the best label."""

from libc.math cimport log
from libc.stdint cimport int64_t

from fastlin.engine.core.losses cimport LOG_LOSS, ZERO_ONE, best_label, find_rival, log_loss, margin_loss, residual_loss
from fastlin.engine.core.mathx cimport exponentials, array_max, log1pexp, logarithms, sigmoid


def losses(int loss, const double[:, ::1] scores, const int64_t[::1] labels, double epsilon, double[::1] values,
           double[:, ::1] gradients):
    """The loss of each row and its gradient; one column of scores is a binary problem with labels 0 and 1."""
    cdef Py_ssize_t i, k, rival, y, K = scores.shape[1]
    cdef double slope, sign
    with nogil:
        for i in range(scores.shape[0]):
            y = labels[i]
            if loss == ZERO_ONE:
                values[i] = best_label(&scores[i, 0], K) != y
                for k in range(K):
                    gradients[i, k] = 0
                continue
            if K == 1:
                sign = 1.0 if y == 1 else -1.0
                values[i] = margin_loss(loss, sign * scores[i, 0], epsilon, &slope)
                gradients[i, 0] = -sign * slope
                continue
            if loss == LOG_LOSS:
                values[i] = log_loss(&scores[i, 0], K, y, 1.0, &gradients[i, 0])
                continue
            rival = find_rival(&scores[i, 0], K, y)
            values[i] = margin_loss(loss, scores[i, y] - scores[i, rival], epsilon, &slope)
            for k in range(K):
                gradients[i, k] = 0
            gradients[i, y] = -slope
            gradients[i, rival] = slope


def residual_losses(int loss, const double[::1] residuals, double epsilon, double[::1] values, double[::1] slopes):
    """The loss of each residual y − s and its derivative, which is −d loss / d s."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(residuals.shape[0]):
            values[i] = residual_loss(loss, residuals[i], epsilon, &slopes[i])


def softmax(double[:, ::1] scores, bint logarithmic):
    """Scores become the (log-)probabilities of their softmax, in place.

    Some scores of a row may be −∞, not all.
    """
    cdef Py_ssize_t i, k, K = scores.shape[1]
    cdef double total, log_total, top
    cdef double[::1] spare = scores[0].copy() if scores.shape[0] else None
    with nogil:
        for i in range(scores.shape[0]):
            top = array_max(&scores[i, 0], K)
            total = exponentials(&scores[i, 0], K, top, &spare[0])
            log_total = log(total)
            for k in range(K):
                scores[i, k] = scores[i, k] - top - log_total if logarithmic else spare[k] / total


def sigmoid_proba(const double[::1] scores, double[:, ::1] probabilities, bint logarithmic):
    """The two (log-)probabilities of a binary model, each with full relative precision."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(scores.shape[0]):
            if logarithmic:
                probabilities[i, 0] = -log1pexp(scores[i])
                probabilities[i, 1] = -log1pexp(-scores[i])
            else:
                probabilities[i, 0] = sigmoid(-scores[i])
                probabilities[i, 1] = sigmoid(scores[i])


def argmax(const double[:, ::1] scores, int64_t[::1] labels):
    """The predicted label of each row."""
    cdef Py_ssize_t i, K = scores.shape[1]
    with nogil:
        for i in range(scores.shape[0]):
            labels[i] = best_label(&scores[i, 0], K)


def smoothed_totals(const double[:, ::1] counts, const double[::1] prior, double[::1] total):
    """total[k] = Σ_j max(0, counts[j, k] + prior[j]), summed in stretches so that rounding does not build up."""
    cdef Py_ssize_t j, k, K = counts.shape[1], start = 0, stop
    cdef double value
    cdef double[::1] part = total.copy()
    total[:] = 0
    with nogil:
        while start < counts.shape[0]:
            stop = start + 1024 if start + 1024 < counts.shape[0] else counts.shape[0]
            for k in range(K):
                part[k] = 0
            for j in range(start, stop):
                for k in range(K):
                    value = counts[j, k] + prior[j]
                    part[k] += value if value > 0 else 0.0
            for k in range(K):
                total[k] += part[k]
            start = stop


def smoothed_log_proba(const double[:, ::1] counts, const double[::1] prior, const double[::1] log_totals,
                       double[:, ::1] logs):
    """logs[j, k] = log(max(0, counts[j, k] + prior[j])) − log_totals[k]; returns whether some are −∞.

    In stretches that stay in cache: add, take logarithms as of one long vector however few labels there are, subtract.
    """
    cdef Py_ssize_t j, k, K = counts.shape[1], start = 0, stop
    cdef bint impossible = False
    with nogil:
        while start < counts.shape[0]:
            stop = start + 64 if start + 64 < counts.shape[0] else counts.shape[0]
            for j in range(start, stop):
                for k in range(K):
                    logs[j, k] = counts[j, k] + prior[j]
            impossible |= logarithms(&logs[start, 0], (stop - start) * K)
            for j in range(start, stop):
                for k in range(K):
                    logs[j, k] -= log_totals[k]
            start = stop
    return impossible
