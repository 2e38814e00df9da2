"""MurmurHash3_x86_32 of bytes, and the bucket and sign that a hash stands for.

Four bytes k at a time, a, b odd constants and ⟲ a rotation:

    h ← 5 · ((h ⊕ b · (a·k ⟲ 15)) ⟲ 13) + 0xE6546B64,

then up to three bytes left over, the length, and a final mix of xors and products, so that every bit of the text
reaches every bit of the hash. Reads are unaligned copies, which compile to plain loads.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy


cdef inline uint32_t rotated(uint32_t x, int bits) noexcept nogil:
    return (x << bits) | (x >> (32 - bits))


cdef inline uint32_t scrambled(uint32_t k) noexcept nogil:
    return rotated(k * 0xCC9E2D51U, 15) * 0x1B873593U


cdef inline uint32_t murmur(const char* text, Py_ssize_t n, uint32_t seed) noexcept nogil:
    cdef uint32_t h = seed, k
    cdef Py_ssize_t p = 0, whole = n & ~<Py_ssize_t>3
    while p < whole:
        memcpy(&k, text + p, 4)
        h = rotated(h ^ scrambled(k), 13) * 5 + 0xE6546B64U
        p += 4
    if n & 3:
        k = <uint8_t>text[p]
        if n & 2:
            k |= <uint32_t><uint8_t>text[p + 1] << 8
            if n & 1:
                k |= <uint32_t><uint8_t>text[p + 2] << 16
        h ^= scrambled(k)
    h ^= <uint32_t>n
    h = (h ^ (h >> 16)) * 0x85EBCA6BU
    h = (h ^ (h >> 13)) * 0xC2B2AE35U
    return h ^ (h >> 16)


cdef inline uint32_t murmur_padded(const char* text, Py_ssize_t n, uint32_t seed) noexcept nogil:
    """The same for a text behind which eight bytes may be read: eight at a time and no branch for what is left over.

    Words are short and of all lengths; the branches of `murmur` are mispredicted once or twice a word.
    """
    cdef uint32_t h = seed, k, longer
    cdef Py_ssize_t p = 0, whole = n & ~<Py_ssize_t>7
    while p < whole:
        memcpy(&k, text + p, 4)
        h = rotated(h ^ scrambled(k), 13) * 5 + 0xE6546B64U
        memcpy(&k, text + p + 4, 4)
        h = rotated(h ^ scrambled(k), 13) * 5 + 0xE6546B64U
        p += 8
    memcpy(&k, text + p, 4)
    longer = rotated(h ^ scrambled(k), 13) * 5 + 0xE6546B64U
    h ^= (h ^ longer) & (0U - <uint32_t>(n >> 2 & 1))      # longer if n & 4: of a choice gcc makes a branch
    memcpy(&k, text + p + (n & 4), 4)
    h ^= scrambled(k & ((1U << 8 * (n & 3)) - 1)) ^ <uint32_t>n
    h = (h ^ (h >> 16)) * 0x85EBCA6BU
    h = (h ^ (h >> 13)) * 0xC2B2AE35U
    return h ^ (h >> 16)


cdef inline void bucket(int32_t h, int64_t n_features, int32_t* column, int32_t* sign) noexcept nogil:
    """column = |h| mod n_features, |−2³¹| being 2³¹; sign = −1 for h < 0, else +1. 1 ≤ n_features < 2³¹."""
    cdef uint32_t size = <uint32_t>h if h >= 0 else 0U - <uint32_t>h, n = <uint32_t>n_features
    column[0] = <int32_t>(size & (n - 1) if n & (n - 1) == 0 else size % n)
    sign[0] = 1 if h >= 0 else -1
