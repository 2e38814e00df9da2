"""The n best paths of a chain, best first (Soong & Huang 1991).

Forward, the best score to reach every state; backward, partial paths from the end, of which the one is extended
that promises most: the score of its best completion. So paths are complete in the order of their scores, and nothing
but the heap grows with n. A promise is that of the partial path extended less what the step falls short of the best
step: it is kept exactly along a best completion, and among equals the longest goes first, so that as many paths as are
equally good, all of them where the weights are 0, cost no more than others.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.allocation cimport reallocate
from fastlin.engine.chain.chain cimport Chain

cdef struct PartialPath:
    double promise       # the score of its best completion
    int64_t next_        # the partial path that this one extends, or −1
    int32_t t, state

cdef struct PartialPaths:
    PartialPath* all_
    int64_t* heap        # places of those that wait, the best first; of equals the longest, then the first that came
    int64_t made, waiting, room


cdef inline bint precedes(const PartialPaths* partials, int64_t a, int64_t b) noexcept nogil:
    if partials.all_[a].promise != partials.all_[b].promise:
        return partials.all_[a].promise > partials.all_[b].promise
    if partials.all_[a].t != partials.all_[b].t:
        return partials.all_[a].t < partials.all_[b].t
    return a < b


cdef inline bint push(PartialPaths* partials, double promise, int64_t next_, Py_ssize_t t,
                      Py_ssize_t state) noexcept nogil:
    """False if there is no memory."""
    cdef int64_t place, parent, room
    cdef void* larger
    if partials.made == partials.room:
        room = 2 * partials.room + 1024
        larger = reallocate(partials.all_, room, sizeof(PartialPath))
        if not larger:
            return False
        partials.all_ = <PartialPath*>larger
        larger = reallocate(partials.heap, room, sizeof(int64_t))
        if not larger:
            return False
        partials.heap, partials.room = <int64_t*>larger, room
    partials.all_[partials.made] = PartialPath(promise, next_, <int32_t>t, <int32_t>state)
    place = partials.waiting
    while place > 0:
        parent = (place - 1) // 2
        if not precedes(partials, partials.made, partials.heap[parent]):
            break
        partials.heap[place] = partials.heap[parent]
        place = parent
    partials.heap[place] = partials.made
    partials.made += 1
    partials.waiting += 1
    return True


cdef inline int64_t pop(PartialPaths* partials) noexcept nogil:
    """The place of the most promising."""
    cdef int64_t best = partials.heap[0], last, place = 0, child
    partials.waiting -= 1
    last = partials.heap[partials.waiting]
    while True:
        child = 2 * place + 1
        if child >= partials.waiting:
            break
        if child + 1 < partials.waiting and precedes(partials, partials.heap[child + 1], partials.heap[child]):
            child += 1
        if not precedes(partials, partials.heap[child], last):
            break
        partials.heap[place] = partials.heap[child]
        place = child
    partials.heap[place] = last
    return best


cdef inline double history_score(const Chain* chain, Py_ssize_t t, Py_ssize_t label, Py_ssize_t h, Py_ssize_t c,
                                 const double* edges, const double* offsets, const double* best) noexcept nogil:
    """The best score of the label after the history c, whose first label is h; without its token's own."""
    cdef double score = best[(t - 1) * chain.size + c] + chain.A[c * chain.P + label]
    if edges:
        score += edges[(t * chain.K + h) * chain.K + label]
    if offsets:
        score += offsets[t * chain.size + c]
    return score


cdef inline bint extend_partial(const Chain* chain, PartialPaths* partials, int64_t place, const double* edges,
                                const double* offsets, const double* best) noexcept nogil:
    """Push what may precede a partial path; best [T, size] as `viterbi_forward` leaves it."""
    cdef PartialPath one = partials.all_[place]
    cdef Py_ssize_t t = one.t, P = chain.P, i, h, first, n, c, label = one.state % P
    cdef double score, most = -INFINITY
    if chain.rows > 1:                         # the states (h, i) whose i is the state's own label before the last
        i, first, n = one.state // P, 0, chain.rows
    else:
        i, first, n = 0, 0, chain.K
    for h in range(first, first + n):
        c = h * P + i if chain.rows > 1 else h
        most = max(most, history_score(chain, t, label, h, c, edges, offsets, best))
    for h in range(first, first + n):
        c = h * P + i if chain.rows > 1 else h
        score = history_score(chain, t, label, h, c, edges, offsets, best)
        if score > -INFINITY and not push(partials, one.promise - (most - score), place, t - 1, c):
            return False
    return True


cdef inline Py_ssize_t n_best(const Chain* chain, PartialPaths* partials, Py_ssize_t T, const double* edges,
                              const double* offsets, const double* best, Py_ssize_t n, int32_t* paths,
                              double* values) noexcept nogil:
    """Up to n paths [n, T] and their scores; returns how many there are, or −1 if there is no memory.

    best [T, size]: the scores of the best ways to reach every state, the end's included at the last token.
    """
    cdef Py_ssize_t c, found = 0
    cdef int64_t place, at
    partials.made = partials.waiting = 0
    for c in range(chain.size):
        if best[(T - 1) * chain.size + c] > -INFINITY:
            if not push(partials, best[(T - 1) * chain.size + c], -1, T - 1, c):
                return -1
    while found < n and partials.waiting > 0:
        place = pop(partials)
        if partials.all_[place].t > 0:
            if not extend_partial(chain, partials, place, edges, offsets, best):
                return -1
            continue
        values[found] = partials.all_[place].promise
        at = place
        while at >= 0:
            paths[found * T + partials.all_[at].t] = <int32_t>(partials.all_[at].state % chain.P)
            at = partials.all_[at].next_
        found += 1
    return found
