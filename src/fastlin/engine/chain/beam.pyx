"""Beam search, a block of sequences a call."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate, checked_product
from fastlin.engine.chain.beam cimport Beam, beam_search
from fastlin.engine.chain.chain cimport Chain, longest_sequence, check_starts


cdef void* allocate_checked(int64_t n, size_t size) except NULL:
    cdef void* room = allocate(n, size)
    if not room:
        raise MemoryError
    return room


def best_paths(const double[::1] start, const double[:, ::1] A, const double[::1] end, const double[:, ::1] scores,
               const double[:, :, ::1] edges, const double[:, :, ::1] offsets, const int64_t[::1] starts,
               Py_ssize_t width, int32_t[::1] y, double[::1] values):
    """The path y that a beam finds for each sequence, and its score; 0 and −∞ where it finds none.

    Transitions A are [states, K], as are scores [n, K], edges [n, K, K] and offsets [n, rows, K] without padding; an
    array of length 0 stands for none.
    """
    cdef Py_ssize_t s, t, begin, T, most, n = scores.shape[0], K = start.shape[0], size = A.shape[0]
    cdef Chain chain
    cdef Beam beam = Beam(min(width, size), NULL, NULL, NULL, NULL, NULL, NULL)
    cdef const double* of_edges
    cdef const double* of_offsets
    check_starts(starts, 0, starts.shape[0] - 1, n)
    if not (K > 0 and A.shape[1] == K == scores.shape[1] and (size == K or size == (K + 1) * K)
            and end.shape[0] == size and y.shape[0] == n and values.shape[0] >= starts.shape[0] - 1 and width > 0):
        raise ValueError(f"scores do not fit a chain of {K} labels")
    if edges.shape[0] and not (edges.shape[0] == n and edges.shape[1] == edges.shape[2] == K == size):
        raise ValueError(f"edges do not fit {n} tokens of {K} labels")
    if offsets.shape[0] and not (offsets.shape[0] == n and offsets.shape[1] == size // K and offsets.shape[2] == K):
        raise ValueError(f"offsets do not fit {n} tokens of {K} labels")
    chain = Chain(K, K, size // K, size, &start[0], &A[0, 0], NULL, NULL, &end[0], 0.0)
    most = longest_sequence(starts, 0, starts.shape[0] - 1)
    try:
        beam.kept = <double*>allocate_checked(beam.width, sizeof(double))
        beam.heap = <double*>allocate_checked(beam.width, sizeof(double))
        beam.states = <int32_t*>allocate_checked(checked_product(most, beam.width), sizeof(int32_t))
        beam.back = <int32_t*>allocate_checked(checked_product(most, beam.width), sizeof(int32_t))
        beam.best = <double*>allocate_checked(size, sizeof(double))
        beam.origin = <int32_t*>allocate_checked(size, sizeof(int32_t))
        with nogil:
            for s in range(starts.shape[0] - 1):
                begin, T = starts[s], starts[s + 1] - starts[s]
                values[s] = 0
                if T == 0:
                    continue
                of_edges = &edges[begin, 0, 0] if edges.shape[0] else NULL
                of_offsets = &offsets[begin, 0, 0] if offsets.shape[0] else NULL
                if not beam_search(&chain, &beam, T, &scores[begin, 0], of_edges, of_offsets, NULL, &y[begin],
                                   &values[s]):
                    values[s] = -INFINITY
                    for t in range(T):
                        y[begin + t] = 0
    finally:
        free(beam.kept)
        free(beam.heap)
        free(beam.states)
        free(beam.back)
        free(beam.best)
        free(beam.origin)
