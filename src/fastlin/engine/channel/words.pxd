"""Words as the numbers of their letters: of word i those from offsets[i] to offsets[i + 1]."""

from libc.stdint cimport int64_t, uint32_t


cdef inline bint prove_words(const uint32_t[::1] letters, const int64_t[::1] offsets) noexcept:
    """Whether offsets rise from 0 to the number of letters."""
    cdef int64_t i, n = offsets.shape[0] - 1
    if n < 0 or offsets[0] != 0 or offsets[n] != letters.shape[0]:
        return False
    for i in range(n):
        if offsets[i] > offsets[i + 1]:
            return False
    return True
