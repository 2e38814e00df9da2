"""Lookups in a table of probabilities t(f | e): a CSR by source word, its words in order, and a number for all others.

A place is found by bisection: a sentence of 20 words beside one of 20 takes 10 µs. A dense row of each source word, as
training has it, would be filled for one sentence only.
"""

from libc.stdint cimport int32_t, int64_t


def probabilities(const int64_t[::1] starts, const int32_t[::1] words, const double[::1] t, const double[::1] rest,
                  const int32_t[::1] source, const int32_t[::1] observed, double[:, ::1] out):
    """out[i, j] = t(observed[j] | source[i])."""
    cdef Py_ssize_t i, j
    cdef int64_t low, high, middle, end
    with nogil:
        for i in range(source.shape[0]):
            end = starts[source[i] + 1]
            for j in range(observed.shape[0]):
                low, high = starts[source[i]], end
                while low < high:
                    middle = (low + high) >> 1
                    if words[middle] < observed[j]:
                        low = middle + 1
                    else:
                        high = middle
                out[i, j] = t[low] if low < end and words[low] == observed[j] else rest[source[i]]
