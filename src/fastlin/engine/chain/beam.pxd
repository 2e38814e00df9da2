"""Beam search on a chain: of every token, the `width` best states that the best ones before lead to.

    best(d) = max_c kept(c) + A(c, j) + edges + offsets + S(j),     d the state that c and j make (see `chain.pxd`)

Paths that meet in a state are one from there on, so that a beam as wide as there are states is Viterbi's algorithm, and
one of width 1 the greedy choice. Given the right labels, the search ends where they have left the beam: the early
update of Collins and Roark (2004).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from fastlin.engine.chain.chain cimport Chain, next_states

cdef struct Beam:            # of one thread, for a chain of up to so many tokens
    Py_ssize_t width
    double* kept             # [width]     scores, in the order of the states
    int32_t* states          # [T, width]
    int32_t* back            # [T, width]  places in the beam before
    double* best             # [size]
    int32_t* origin          # [size]      places in the beam before
    double* heap             # [width]


cdef inline void sift_down(double* heap, Py_ssize_t n, Py_ssize_t place) noexcept nogil:
    """Put a heap's number where none below it is smaller."""
    cdef double value = heap[place]
    cdef Py_ssize_t child = 2 * place + 1
    while child < n:
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if not heap[child] < value:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = value


cdef inline Py_ssize_t keep_best(const Chain* chain, Beam* beam, Py_ssize_t t) noexcept nogil:
    """The best of the states, the first among equals, become the beam of token t; returns how many."""
    cdef Py_ssize_t c, place, n = 0, width = beam.width, equal
    cdef double least = -INFINITY
    cdef double* heap = beam.heap
    for c in range(chain.size):
        if beam.best[c] == -INFINITY:
            continue
        if n < width:
            heap[n] = beam.best[c]
            n += 1
            if n == width:
                for place in range(width // 2 - 1, -1, -1):
                    sift_down(heap, width, place)
        elif beam.best[c] > heap[0]:
            heap[0] = beam.best[c]
            sift_down(heap, width, 0)
    equal = n
    if n == width:
        least = heap[0]                        # of those that are as good as the last, so many are kept
        for place in range(n):
            equal -= heap[place] > least
    n = 0
    for c in range(chain.size):
        if beam.best[c] == -INFINITY or beam.best[c] < least:
            continue
        if beam.best[c] == least:
            if equal == 0:
                continue
            equal -= 1
        if n == width:                         # more than the beam holds: scores that are no numbers
            break
        beam.kept[n] = beam.best[c]
        beam.states[t * width + n] = <int32_t>c
        beam.back[t * width + n] = beam.origin[c]
        n += 1
    return n


cdef inline Py_ssize_t extend_beam(const Chain* chain, Beam* beam, Py_ssize_t n, Py_ssize_t t, const double* S,
                                   const double* edges, const double* offsets) noexcept nogil:
    """The beam of token t from the n states of that before; returns its size."""
    cdef Py_ssize_t place, c, i, j, K = chain.K, P = chain.P
    cdef double reach, score
    cdef const double* A
    cdef const double* edge
    cdef double* target
    cdef int32_t* source
    for c in range(chain.size):
        beam.best[c] = -INFINITY
    for place in range(n):
        c = beam.states[(t - 1) * beam.width + place]
        i = c % P
        reach = beam.kept[place] + (offsets[t * chain.size + c] if offsets else 0.0)
        A, edge = chain.A + c * P, edges + (t * K + i) * K if edges else NULL
        target, source = beam.best + next_states(chain, i), beam.origin + next_states(chain, i)
        for j in range(K):
            score = reach + (A[j] + edge[j] if edge else A[j])
            if score > target[j]:
                target[j], source[j] = score, <int32_t>place
    for c in range(chain.size):
        j = c % P
        if beam.best[c] > -INFINITY:
            beam.best[c] += S[t * P + j]
    return keep_best(chain, beam, t)


cdef inline Py_ssize_t place_in_beam(const Beam* beam, Py_ssize_t n, Py_ssize_t t, Py_ssize_t state,
                                     Py_ssize_t before) noexcept nogil:
    """Where a state that comes from a place in the beam before stands in the beam of token t; −1: nowhere."""
    cdef Py_ssize_t place
    for place in range(n):
        if beam.states[t * beam.width + place] == state:
            return place if t == 0 or beam.back[t * beam.width + place] == before else -1
    return -1


cdef inline void backtrack(const Chain* chain, const Beam* beam, Py_ssize_t n, Py_ssize_t t, int32_t* y) noexcept nogil:
    """The best path to token t, of those that are equally good the one whose last label is the lowest; and so on."""
    cdef Py_ssize_t place, winner = 0, state, other
    for place in range(1, n):
        if beam.kept[place] < beam.kept[winner]:
            continue
        state, other = beam.states[t * beam.width + place], beam.states[t * beam.width + winner]
        if beam.kept[place] > beam.kept[winner] or state % chain.P < other % chain.P:
            winner = place
    while t >= 0:
        y[t] = <int32_t>(beam.states[t * beam.width + winner] % chain.P)
        winner = beam.back[t * beam.width + winner]
        t -= 1


cdef inline Py_ssize_t beam_search(const Chain* chain, Beam* beam, Py_ssize_t T, const double* S, const double* edges,
                                   const double* offsets, const int32_t* right, int32_t* y,
                                   double* value) noexcept nogil:
    """The best path of T > 0 tokens that the beam finds into y, its score into `value`; returns its length.

    With the labels `right`, not NULL, it may be shorter: it ends where they have left the beam. 0: no path was found.
    """
    cdef Py_ssize_t t, c, j, n, place = 0, state = 0
    for c in range(chain.size):
        beam.best[c], beam.origin[c] = -INFINITY, 0
    for j in range(chain.K):
        beam.best[(chain.rows - 1) * chain.P + j] = chain.start[j] + S[j]
    n = keep_best(chain, beam, 0)
    for t in range(T):
        if t > 0:
            n = extend_beam(chain, beam, n, t, S, edges, offsets)
        if n == 0:
            return 0
        if t == T - 1:
            for c in range(n):
                beam.kept[c] += chain.end[beam.states[t * beam.width + c]]
        if right:
            state = next_states(chain, state % chain.P) + right[t] if t else (chain.rows - 1) * chain.P + right[0]
            place = place_in_beam(beam, n, t, state, place)
            if place < 0:
                break
    value[0] = -INFINITY
    for c in range(n):
        value[0] = max(value[0], beam.kept[c])
    if value[0] == -INFINITY:
        return 0
    backtrack(chain, beam, n, t, y)
    return t + 1
