"""The best path of a chain that has neither edges nor offsets: maxima forward, and on the way back the places.

    best_t(i, j) = S_t(j) + max_h best_{t−1}(h, i) + A((h, i), j);    order 1: best_t(j), over i

Numbers are those of `chain.pxd`, sum by sum, and so are ties: of paths that are equally good the one whose last label
is the lowest, then the lowest last but one, and so on.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from fastlin.engine.chain.chain cimport Chain

cdef extern from "viterbi_dense.h" nogil:
    void max_plus_step "fastlin_max_plus_step"(const double* a, Py_ssize_t apart, const double* M, Py_ssize_t along,
                                               Py_ssize_t n_rows, const double* s, double* out, Py_ssize_t P) noexcept
    Py_ssize_t argmax_sum "fastlin_argmax_sum"(const double* a, const double* b, Py_ssize_t P) noexcept


cdef inline void viterbi_forward_dense(const Chain* chain, Py_ssize_t T, const double* S, double* best) noexcept nogil:
    """best [T, size] of T > 0 tokens: the score of the best path to every state."""
    cdef Py_ssize_t t, c, i, j, K = chain.K, P = chain.P, size = chain.size
    for c in range(size):
        best[c] = -INFINITY
    for j in range(K):
        best[(chain.rows - 1) * P + j] = chain.start[j] + S[j]
    for t in range(1, T):
        if chain.rows == 1:
            max_plus_step(best, 1, chain.A, P, K, S + t * P, best + size, P)
        else:
            for i in range(K):
                max_plus_step(best + i, P, chain.A + i * P, P * P, chain.rows, S + t * P, best + size + i * P, P)
            for c in range(K * P, size):
                best[size + c] = -INFINITY
        best += size


cdef inline double backtrack_dense(const Chain* chain, Py_ssize_t T, double* best, const double* AT,
                                   int32_t* y) noexcept nogil:
    """The best path from what `viterbi_forward_dense` left, and its score.

    AT [P, P] is the transpose of A, for order 1. The scores of ends are added to the last of `best`.
    """
    cdef Py_ssize_t t, h, i, c, state = 0, P = chain.P, size = chain.size
    cdef double top = -INFINITY, score
    cdef double* last = best + (T - 1) * size
    for c in range(size):
        last[c] += chain.end[c]
    for i in range(chain.K):
        for h in range(chain.rows):
            if last[h * P + i] > top:
                top, state = last[h * P + i], h * P + i
    for t in range(T - 1, 0, -1):
        y[t] = <int32_t>(state % P)
        last -= size
        if chain.rows == 1:
            state = argmax_sum(last, AT + state * P, P)
            continue
        i, score = state // P, -INFINITY       # the label before: which h led to (h, i), and on to y[t]?
        state = i
        for h in range(chain.rows):
            c = h * P + i
            if last[c] + chain.A[c * P + y[t]] > score:
                score, state = last[c] + chain.A[c * P + y[t]], c
    y[0] = <int32_t>(state % P)
    return top
