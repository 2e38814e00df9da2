"""Sums over the paths of a chain: linear where that is safe, with logarithms where it is not."""

from libc.math cimport INFINITY

from fastlin.engine.chain.chain cimport Chain, Room, top_of
from fastlin.engine.chain.forward_backward cimport backward, forward, prepare
from fastlin.engine.chain.forward_backward_log cimport in_logs
from fastlin.engine.core.mathx cimport array_sum, logarithm


cdef inline double infer(const Chain* chain, Room* room, Py_ssize_t T, const double* edges, const double* offsets,
                         double* counts, double* on_edges) noexcept nogil:
    """Marginals of the chain whose scores are in `room`, into its p; returns log Z, −∞ where there is no path.

    Expected transitions are added to room.Q, which is to be multiplied by M, or, where logarithms are needed or edges
    have scores, to `counts`; `on_edges` has those of every token.
    """
    cdef double log_z, last
    cdef Py_ssize_t t, i, j, K = chain.K, P = chain.P
    if T == 0:
        return 0.0
    log_z = prepare(chain, room, T, edges, offsets)
    last = top_of(chain.end, chain.size)
    if log_z == -INFINITY or last == -INFINITY:
        return -INFINITY
    room.logs = not (forward(chain, room, T) and backward(chain, room, T, last, on_edges))
    if room.logs:
        return in_logs(chain, room, T, edges, offsets, counts, on_edges)
    if on_edges and counts:
        for t in range(1, T):
            for i in range(K):
                for j in range(K):
                    counts[i * P + j] += on_edges[(t * K + i) * K + j]
    for t in range(T + 1):
        room.z[t] = logarithm(room.z[t])
    return log_z + last + array_sum(room.z, T + 1)
