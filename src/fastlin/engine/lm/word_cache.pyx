"""The relative frequencies of the last n-grams of a text, the younger ones weighing more.

    p(i) = Σ_{j: gram j = gram i} e^{−rate (i − j)} / Σ_{j: history j = history i} e^{−rate (i − j)},   0 < i − j ≤ size

Sums are as old as their last change, and are brought up to date when they are next needed.
"""

from libc.math cimport NAN, exp
from libc.stdint cimport int32_t, int64_t


cdef inline double aged(double[::1] sums, int64_t[::1] changed, Py_ssize_t which, Py_ssize_t now,
                        double rate) noexcept nogil:
    """A sum as it is now."""
    sums[which] *= exp(-rate * <double>(now - changed[which]))
    changed[which] = now
    return sums[which]


def relative_frequencies(const int32_t[::1] grams, const int32_t[::1] histories, double rate, Py_ssize_t size,
                         double[:, ::1] sums, int64_t[:, ::1] changed, int32_t[::1] held, double[::1] out):
    """p of every n-gram, of which `grams` and `histories` have numbers from 0; NaN where its history was not seen.

    `sums` and `changed` [2, n] are zeros for as many n-grams, and histories, as there are; `held` [n] zeros, too.
    """
    cdef Py_ssize_t i, gone
    cdef double oldest = exp(-rate * <double>size)
    with nogil:
        for i in range(grams.shape[0]):
            gone = i - size - 1
            if gone >= 0:
                aged(sums[0], changed[0], grams[gone], i - 1, rate)
                sums[0, grams[gone]] -= oldest
                aged(sums[1], changed[1], histories[gone], i - 1, rate)
                sums[1, histories[gone]] -= oldest
                held[histories[gone]] -= 1
            if held[histories[i]] > 0:
                out[i] = aged(sums[0], changed[0], grams[i], i, rate) / aged(sums[1], changed[1], histories[i], i, rate)
                out[i] = out[i] if out[i] > 1e-12 else 0.0     # what subtraction leaves of nothing
            else:
                sums[1, histories[i]] = 0
                out[i] = NAN
                aged(sums[0], changed[0], grams[i], i, rate)
                aged(sums[1], changed[1], histories[i], i, rate)
                sums[0, grams[i]] = 0
            sums[0, grams[i]] += 1
            sums[1, histories[i]] += 1
            held[histories[i]] += 1
