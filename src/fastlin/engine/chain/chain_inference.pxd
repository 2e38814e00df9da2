"""Sums over the paths of a chain: linear where that is safe, with logarithms where it is not."""

from libc.math cimport INFINITY

from fastlin.engine.chain.chain cimport Chain, Trellis, vector_max
from fastlin.engine.chain.forward_backward cimport backward, forward, exponentiate_scores
from fastlin.engine.chain.forward_backward_log cimport forward_backward_in_logs
from fastlin.engine.core.mathx cimport array_sum, logarithm


cdef inline double chain_marginals(const Chain* chain, Trellis* trellis, Py_ssize_t T, const double* edges,
                                   const double* offsets, double* counts, double* on_edges) noexcept nogil:
    """Marginals of the chain whose scores are in `trellis`, into its p; returns log Z, −∞ where there is no path.

    Expected transitions are added to room.Q, which is to be multiplied by M, or, where logarithms are needed or edges
    have scores, to `counts`; `on_edges` has those of every token.
    """
    cdef double log_z, last
    cdef Py_ssize_t t, i, j, K = chain.K, P = chain.P
    if T == 0:
        return 0.0
    log_z = exponentiate_scores(chain, trellis, T, edges, offsets)
    last = vector_max(chain.end, chain.size)
    if log_z == -INFINITY or last == -INFINITY:
        return -INFINITY
    trellis.logs = not (forward(chain, trellis, T) and backward(chain, trellis, T, last, on_edges))
    if trellis.logs:
        return forward_backward_in_logs(chain, trellis, T, edges, offsets, counts, on_edges)
    if on_edges and counts:
        for t in range(1, T):
            for i in range(K):
                for j in range(K):
                    counts[i * P + j] += on_edges[(t * K + i) * K + j]
    for t in range(T + 1):
        trellis.z[t] = logarithm(trellis.z[t])
    return log_z + last + array_sum(trellis.z, T + 1)
