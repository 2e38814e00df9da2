"""The losses: a value and d loss / d score. They compute numbers and change nothing.

K labels, right label y, rival r = the lowest argmax over k ≠ y of s_k (Crammer & Singer 2001):

    perceptron       max(0, s_r − s_y)             a tie is an error
    hinge            ℓ = max(0, 1 − s_y + s_r)
    squared hinge    ℓ²
    modified Huber   ℓ², but for ℓ > 2, where it goes on in a straight line: 4(ℓ − 1)
    log loss         log Σ_k e^{s_k} − s_y

All but the last have a gradient in two labels only: −slope at y, +slope at r. One column, with z = ±s, is the
usual binary loss: the same formulas with s_r − s_y = −z, and log(1 + e^{−z}).

Of a target y and a score s, with the residual r = y − s:

    squared error                  ½r²
    Huber                          ½r², but for |r| > ε, where it goes on in a straight line: ε(|r| − ½ε)
    ε-insensitive                  ℓ = max(0, |r| − ε)
    squared ε-insensitive          ℓ²

A label is the target ±1, and r = ±(1 − z).
"""

from libc.math cimport HUGE_VAL, copysign, fabs
from libc.stdint cimport int32_t

from fastlin.engine.core.mathx cimport exponentials, array_max, log1pexp, logarithm, sigmoid

cdef enum Loss:
    ZERO_ONE = 0             # a prediction's, not a margin's: see row_scores.pyx
    PERCEPTRON = 1
    HINGE = 2
    SQUARED_HINGE = 3
    LOG_LOSS = 4
    MODIFIED_HUBER = 5
    SQUARED_ERROR = 6        # this and those after it are of residuals
    HUBER = 7
    EPSILON_INSENSITIVE = 8
    SQUARED_EPSILON_INSENSITIVE = 9


cdef inline Py_ssize_t best_label(const double* s, Py_ssize_t K) noexcept nogil:
    """The lowest argmax; a single column decides between 0 and, where positive, 1."""
    cdef Py_ssize_t k, top = 0
    if K == 1:
        return s[0] > 0
    for k in range(1, K):
        top = k if s[k] > s[top] else top
    return top


cdef inline Py_ssize_t find_rival(const double* s, Py_ssize_t K, Py_ssize_t y) noexcept nogil:
    """The lowest argmax over k ≠ y, for K ≥ 2."""
    cdef Py_ssize_t k, rival = 1 if y == 0 else 0
    cdef double top = -HUGE_VAL, score
    cdef bint higher
    for k in range(K):
        score = -HUGE_VAL if k == y else s[k]      # not a branch, which would be foreseen once in K rows
        higher = score > top
        rival = k if higher else rival
        top = score if higher else top
    return rival


cdef inline Py_ssize_t lowest_label_rival(const double* s, Py_ssize_t K, Py_ssize_t y,
                                          const int32_t* rank) noexcept nogil:
    """The rival with the lowest label, where column k holds the label number rank[k]; NULL: the label number k."""
    cdef Py_ssize_t k, rival = find_rival(s, K, y)
    if rank != NULL:
        for k in range(rival + 1, K):
            if s[k] == s[rival] and k != y and rank[k] < rank[rival]:
                rival = k
    return rival


cdef inline bint is_mistake(Py_ssize_t rival, Py_ssize_t y, double margin, const int32_t* rank) noexcept nogil:
    """Whether the rival of y is predicted: ties go to the lowest label. `margin` is s_y − s_r."""
    cdef bint mistake = margin < 0                     # not a branch, which a third of the rows would surprise
    if margin == 0:
        mistake = rival < y if rank == NULL else rank[rival] < rank[y]
    return mistake


cdef inline double residual_loss(int loss, double residual, double epsilon, double* slope) noexcept nogil:
    """Value and derivative of a loss of the residual y − s, which is −d/d s."""
    cdef double size = fabs(residual), excess = size - epsilon
    if loss == SQUARED_ERROR or (loss == HUBER and excess <= 0):
        slope[0] = residual
        return 0.5 * residual * residual
    if excess <= 0:
        slope[0] = 0.0
        return 0.0
    if loss == SQUARED_EPSILON_INSENSITIVE:
        slope[0] = copysign(2.0 * excess, residual)
        return excess * excess
    slope[0] = copysign(epsilon if loss == HUBER else 1.0, residual)
    return epsilon * (size - 0.5 * epsilon) if loss == HUBER else excess


cdef inline double margin_loss(int loss, double margin, double epsilon, double* slope) noexcept nogil:
    """Value and −d/d margin of a loss of the margin s_y − s_r (of ys for one column)."""
    cdef double shortfall
    if loss == PERCEPTRON:
        slope[0] = 1.0 if margin <= 0 else 0.0
        return -margin if margin < 0 else 0.0
    if loss == LOG_LOSS:
        slope[0] = sigmoid(-margin)
        return log1pexp(-margin)
    if loss >= SQUARED_ERROR:
        return residual_loss(loss, 1.0 - margin, epsilon, slope)
    shortfall = 1.0 - margin
    if shortfall <= 0:
        slope[0] = 0.0
        return 0.0
    if loss == HINGE:
        slope[0] = 1.0
        return shortfall
    if loss == MODIFIED_HUBER and shortfall > 2.0:
        slope[0] = 4.0
        return 4.0 * (shortfall - 1.0)
    slope[0] = 2.0 * shortfall
    return shortfall * shortfall


cdef inline double log_loss(const double* s, Py_ssize_t K, Py_ssize_t y, double step, double* g) noexcept nogil:
    """g = step·(softmax(s) − e_y)."""
    cdef double top = array_max(s, K)
    cdef double total = exponentials(s, K, top, g)
    cdef double share = 1.0 / total
    cdef Py_ssize_t k
    for k in range(K):
        g[k] = step * (g[k] * share - (k == y))           # −1 stored by itself would stall the loads that follow
    return logarithm(total) + (top - s[y])
