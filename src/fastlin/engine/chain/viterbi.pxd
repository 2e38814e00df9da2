"""The best path of a chain, of order 1 or 2, with edges and offsets or without (Viterbi 1967)."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from fastlin.engine.chain.chain cimport Chain, next_states


cdef inline void viterbi_step(const Chain* chain, Py_ssize_t t, const double* S, const double* edges,
                              const double* offsets, const double* before, double* best, double* origin) noexcept nogil:
    """best(i, j) = max_h before(h, i) + A + …, and the lowest h that attains it; order 1: best(j) over i."""
    cdef Py_ssize_t h, i, j, c, P = chain.P, K = chain.K
    cdef double reach, score, place
    cdef const double* A
    cdef const double* edge
    cdef double* target
    cdef double* source
    for c in range(chain.size):
        best[c], origin[c] = -INFINITY, 0
    for i in range(K):
        target, source = best + next_states(chain, i), origin + next_states(chain, i)
        for h in range(chain.rows):
            c = h * P + i
            reach = before[c] + (offsets[t * chain.size + c] if offsets else 0.0)
            if reach == -INFINITY:
                continue
            A = chain.A + c * P
            place = h if chain.rows > 1 else i
            if edges:
                edge = edges + (t * K + i) * K
                for j in range(K):
                    score = reach + (A[j] + edge[j])
                    if score > target[j]:
                        target[j], source[j] = score, place
            else:
                for j in range(P):
                    score = reach + A[j]
                    source[j] = place if score > target[j] else source[j]
                    target[j] = score if score > target[j] else target[j]
    for h in range(chain.rows):
        for j in range(P):
            best[h * P + j] += S[t * P + j]


cdef inline double viterbi_forward(const Chain* chain, Py_ssize_t T, const double* S, const double* edges,
                                   const double* offsets, double* best, double* origin, int32_t* back) noexcept nogil:
    """The best score of a path to every state of every token, best [T, size], or with `back` of two tokens in turns.

    `back` [T, size] receives what the states come from. Returns the score of the best path, −∞ if there is none.
    """
    cdef Py_ssize_t t, j, c, size = chain.size
    cdef double* now = best
    cdef double* before
    cdef double top = -INFINITY
    for c in range(size):
        best[c] = -INFINITY
    for j in range(chain.K):
        best[(chain.rows - 1) * chain.P + j] = chain.start[j] + S[j]
    for t in range(1, T):
        before = now
        now = best + (t % 2 if back else t) * size
        viterbi_step(chain, t, S, edges, offsets, before, now, origin)
        if back:
            for c in range(size):
                back[t * size + c] = <int32_t>origin[c]
    for c in range(size):
        now[c] += chain.end[c]
        top = now[c] if now[c] > top else top
    return top


cdef inline double viterbi(const Chain* chain, Py_ssize_t T, const double* S, const double* edges,
                           const double* offsets, double* best, double* origin, int32_t* back,
                           int32_t* y) noexcept nogil:
    """The best path into y, of those that are equally good the one whose last label is the lowest; and so on.

    best [2, size], origin [size], back [T, size]. Returns its score, −∞ where there is no path.
    """
    cdef Py_ssize_t t, h, i, state = -1, P = chain.P
    cdef double top
    cdef const double* last
    if T == 0:
        return 0.0
    top = viterbi_forward(chain, T, S, edges, offsets, best, origin, back)
    if top == -INFINITY:
        return top
    last = best + ((T - 1) % 2) * chain.size
    for i in range(chain.K):
        for h in range(chain.rows):
            if state < 0 and last[h * P + i] == top:
                state = h * P + i
    for t in range(T - 1, -1, -1):
        y[t] = <int32_t>(state % P)
        if t == 0:
            break
        if chain.rows > 1:
            state = back[t * chain.size + state] * P + state // P
        else:
            state = back[t * chain.size + state]
    return top
