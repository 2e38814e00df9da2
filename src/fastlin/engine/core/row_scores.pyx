"""The inferences of a row of scores: losses and their gradients, softmax, the best label."""

from libc.float cimport DBL_MIN
from libc.math cimport fabs, log
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.losses cimport LOG_LOSS, ZERO_ONE, best_label, find_rival, log_loss, margin_loss, residual_loss
from fastlin.engine.core.mathx cimport (
    array_max,
    array_sum,
    exponential,
    exponentials,
    log1pexp,
    logarithm,
    logarithms,
    sigmoid,
)

cdef enum:
    CHUNK = 256              # rows whose terms are added together


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


cdef inline double divergence(double a, double p, double log_p) noexcept nogil:
    """a log(a/p) − a + p ≥ 0, to rounding."""
    cdef double known = a if a > DBL_MIN else 1.0
    cdef double term = (a * (logarithm(known) - log_p) if a > DBL_MIN else 0.0) - a + p
    return term if term > 0 else 0.0


def binary_masses(const double[:, ::1] scores, const double[::1] weights, double shift):
    """Σ w p of both labels, and Σ w p₀ p₁, where the log odds s are shifted; no weights are ones."""
    cdef Py_ssize_t i, n = scores.shape[0], start = 0, size
    cdef bint weighted = weights.shape[0] > 0
    cdef double e, w, s, large, small, first_total = 0, second_total = 0, variance = 0
    cdef double first[CHUNK]
    cdef double second[CHUNK]
    cdef double both[CHUNK]
    if scores.shape[1] != 1 or (weighted and weights.shape[0] != n):
        raise ValueError(f"{weights.shape[0]} weights do not fit [{n}, {scores.shape[1]}] log odds")
    with nogil:
        while start < n:
            size = CHUNK if n - start > CHUNK else n - start
            for i in range(size):
                w = weights[start + i] if weighted else 1.0
                s = scores[start + i, 0] + shift
                e = exponential(-fabs(s))
                large = 1.0 / (1.0 + e)
                small = e * large
                first[i] = w * (small if s > 0 else large)
                second[i] = w * (large if s > 0 else small)
                both[i] = w * large * small
            first_total += array_sum(first, size)
            second_total += array_sum(second, size)
            variance += array_sum(both, size)
            start += size
    return first_total, second_total, variance


def binary_mixture(const double[:, ::1] scores, const int32_t[::1] labels, const double[::1] weights, double shift,
                   double kept, double first_rest, double second_rest, double[:, ::1] residual):
    """residual = w (a₁ − y) of a = kept · p(s + shift) + rest; returns Σ w KL(a ‖ p(s)). No weights are ones."""
    cdef Py_ssize_t i, n = scores.shape[0], start = 0, size
    cdef bint weighted = weights.shape[0] > 0
    cdef double e, u, w, s, t, large, small, log_large, first, second, total = 0
    cdef double terms[CHUNK]
    if scores.shape[1] != 1 or residual.shape[1] != 1 or not labels.shape[0] == residual.shape[0] == n or (
            weighted and weights.shape[0] != n):
        raise ValueError(f"labels, weights or residuals do not fit [{n}, {scores.shape[1]}] log odds")
    with nogil:
        while start < n:
            size = CHUNK if n - start > CHUNK else n - start
            for i in range(size):
                w = weights[start + i] if weighted else 1.0
                s = scores[start + i, 0]
                t = s + shift
                e = exponential(-fabs(t))
                large = 1.0 / (1.0 + e)
                small = e * large
                first = kept * (small if t > 0 else large) + first_rest
                second = kept * (large if t > 0 else small) + second_rest
                residual[start + i, 0] = w * (second - labels[start + i])
                e = exponential(-fabs(s))
                u = 1.0 + e
                large = 1.0 / u
                small = e * large
                log_large = -(logarithm(u) + (e - (u - 1.0)) / u)
                terms[i] = w * (
                    divergence(first, small if s > 0 else large, log_large - (s if s > 0 else 0.0))
                    + divergence(second, large if s > 0 else small, log_large - (0.0 if s > 0 else -s)))
            total += array_sum(terms, size)
            start += size
    return total


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
