"""Beam search, a block of sequences a call."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from fastlin.engine.beam cimport Beam, search
from fastlin.engine.chain cimport Chain


cdef void* reserve(Py_ssize_t n_bytes) except NULL:
    cdef void* room = malloc(max(n_bytes, 1))
    if not room:
        raise MemoryError
    return room


def paths(const double[::1] start, const double[:, ::1] A, const double[::1] end, const double[:, ::1] scores,
          const double[:, :, ::1] edges, const double[:, :, ::1] offsets, const int64_t[::1] starts, Py_ssize_t width,
          int32_t[::1] y, double[::1] values):
    """The path y that a beam finds for each sequence, and its score; 0 and −∞ where it finds none.

    Transitions A are [states, K], as are scores [n, K], edges [n, K, K] and offsets [n, rows, K] without padding; an
    array of length 0 stands for none.
    """
    cdef Py_ssize_t s, t, begin, T, longest = 0, K = start.shape[0], size = A.shape[0]
    cdef Chain chain = Chain(K, K, size // K, size, &start[0], &A[0, 0], NULL, NULL, &end[0], 0.0)
    cdef Beam beam = Beam(min(width, size), NULL, NULL, NULL, NULL, NULL, NULL)
    cdef const double* of_edges
    cdef const double* of_offsets
    for s in range(starts.shape[0] - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    try:
        beam.kept = <double*>reserve(beam.width * sizeof(double))
        beam.heap = <double*>reserve(beam.width * sizeof(double))
        beam.states = <int32_t*>reserve(longest * beam.width * sizeof(int32_t))
        beam.back = <int32_t*>reserve(longest * beam.width * sizeof(int32_t))
        beam.best = <double*>reserve(size * sizeof(double))
        beam.origin = <int32_t*>reserve(size * sizeof(int32_t))
        with nogil:
            for s in range(starts.shape[0] - 1):
                begin, T = starts[s], starts[s + 1] - starts[s]
                values[s] = 0
                if T == 0:
                    continue
                of_edges = &edges[begin, 0, 0] if edges.shape[0] else NULL
                of_offsets = &offsets[begin, 0, 0] if offsets.shape[0] else NULL
                if not search(&chain, &beam, T, &scores[begin, 0], of_edges, of_offsets, NULL, &y[begin], &values[s]):
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
