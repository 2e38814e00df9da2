"""Counts of n-grams as sorted tries, order by order: sort by (number of the history, word), and number what is there.

The n-grams of an order are numbered in the order of (history, word), so the children of a history stand side by side,
by rising word. Of order n there are, as flat arrays,

    words   [N_n]           the last word
    starts  [N_{n−1} + 1]   where the children of each history begin; its n-grams are starts[h] … starts[h + 1] − 1
    suffix  [N_n]           the n-gram without its first word, among those of order n − 1
    counts  [N_n]           how often it was seen

Unigrams are numbered by their words. Begin is word 0, so those n-grams that begin a sentence come first in each order.
A radix sort from the lowest digit on moves 12 bytes a token four times; hashing pairs was 1.6–1.9 times slower, and
leaves no order behind.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from fastlin.engine.core.csr cimport prefetch

cdef enum:
    DIGIT = 11
    BUCKETS = 2048
    DIGITS = 6              # of 64 bits
    AHEAD = 24              # positions whose numbers are on their way from memory


def collect(const int32_t[::1] tokens, const int32_t[::1] nodes, int word_bits, uint64_t[::1] keys,
            uint32_t[::1] positions):
    """Keys of the n-grams that end at each token, where `nodes` holds those of one word less; how many there are."""
    cdef Py_ssize_t i, m = 0, n = tokens.shape[0]
    with nogil:
        for i in range(1, n):
            keys[m] = <uint64_t><uint32_t>nodes[i - 1] << word_bits | <uint32_t>tokens[i]
            positions[m] = <uint32_t>i
            m += nodes[i - 1] >= 0 and tokens[i] != 0
    return m


def radix_sort(uint64_t[::1] keys, uint32_t[::1] positions, uint64_t[::1] spare_keys, uint32_t[::1] spare_positions,
               Py_ssize_t n, int bits):
    """Sort n keys of so many bits, each with its position. True: what is sorted lies in the spare arrays."""
    cdef int64_t[DIGITS][BUCKETS] buckets
    cdef uint64_t *source = &keys[0]
    cdef uint64_t *target = &spare_keys[0]
    cdef uint32_t *source_positions = &positions[0]
    cdef uint32_t *target_positions = &spare_positions[0]
    cdef int digits = (bits + DIGIT - 1) // DIGIT, width, d, shift
    cdef uint64_t mask, key
    cdef Py_ssize_t i, b
    cdef int64_t total, size, place
    cdef bint swapped = False
    if n > keys.shape[0] or n > spare_keys.shape[0] or n > positions.shape[0] or n > spare_positions.shape[0]:
        raise ValueError("fewer keys than are to be sorted")
    if digits < 1:
        digits = 1
    width = (bits + digits - 1) // digits if bits > 0 else 1
    mask = (<uint64_t>1 << width) - 1
    with nogil:
        memset(&buckets[0][0], 0, sizeof(buckets))
        for i in range(n):
            key = source[i]
            for d in range(digits):
                buckets[d][key & mask] += 1
                key >>= width
        for d in range(digits):
            total = 0
            for b in range(<Py_ssize_t>mask + 1):
                size = buckets[d][b]
                buckets[d][b] = total
                total += size
            shift = d * width
            for i in range(n):
                key = source[i]
                place = buckets[d][key >> shift & mask]
                buckets[d][key >> shift & mask] = place + 1
                target[place] = key
                target_positions[place] = source_positions[i]
            source, target = target, source
            source_positions, target_positions = target_positions, source_positions
            swapped = not swapped
    return swapped


def distinct(const uint64_t[::1] keys, Py_ssize_t n):
    """How many keys differ from the one before."""
    cdef Py_ssize_t i, m = n > 0
    with nogil:
        for i in range(1, n):
            m += keys[i] != keys[i - 1]
    return m


def number(const uint64_t[::1] keys, const uint32_t[::1] positions, Py_ssize_t n, int word_bits,
           const int64_t[::1] weights, const int32_t[::1] suffixes, int32_t[::1] numbers, int32_t[::1] words,
           int32_t[::1] starts, int32_t[::1] suffix, int64_t[::1] counts):
    """An order of the trie from its sorted keys; `numbers` at each position becomes that of the n-gram there.

    `suffixes` holds at each position the number of the n-gram without its first word, and may be `numbers`. Each
    position counts as often as its weight says, without weights once.
    """
    cdef Py_ssize_t i, m = -1, at
    cdef int64_t history, last = -1
    cdef uint64_t mask = (<uint64_t>1 << word_bits) - 1
    cdef bint weighted = weights.shape[0] > 0
    with nogil:
        for i in range(n):
            at = positions[i]
            if i + AHEAD < n:
                prefetch(&numbers[positions[i + AHEAD]])
                prefetch(&suffixes[positions[i + AHEAD]])
            if i == 0 or keys[i] != keys[i - 1]:
                m += 1
                history = <int64_t>(keys[i] >> word_bits)
                while last < history:
                    last += 1
                    starts[last] = <int32_t>m
                words[m] = <int32_t>(keys[i] & mask)
                suffix[m] = suffixes[at]
                counts[m] = 0
            counts[m] += weights[at] if weighted else 1
            numbers[at] = <int32_t>m
        for i in range(last + 1, starts.shape[0]):
            starts[i] = <int32_t>(m + 1)


def merge(const int32_t[::1] from_a, const int32_t[::1] starts_a, const int32_t[::1] words_a,
          const int64_t[::1] counts_a, const int32_t[::1] suffix_a, const int32_t[::1] shorter_a,
          const int32_t[::1] from_b, const int32_t[::1] starts_b, const int32_t[::1] words_b,
          const int64_t[::1] counts_b, const int32_t[::1] suffix_b, const int32_t[::1] shorter_b,
          int32_t[::1] starts, int32_t[::1] words, int64_t[::1] counts, int32_t[::1] suffix,
          int32_t[::1] map_a, int32_t[::1] map_b, int32_t[::1] into_a, int32_t[::1] into_b):
    """One order of the sum of two tries. How many n-grams it has.

    Of each history of the sum, `from_a` and `from_b` say which it is in either trie, −1: it is not there; `shorter`
    says what the n-grams of one word less have become. `map` and `into` become the same of this order.
    """
    cdef Py_ssize_t h
    cdef int64_t a, b, end_a, end_b, m = 0
    with nogil:
        for h in range(from_a.shape[0]):
            starts[h] = <int32_t>m
            a = b = end_a = end_b = 0
            if from_a[h] >= 0:
                a = starts_a[from_a[h]]
                end_a = starts_a[from_a[h] + 1]
            if from_b[h] >= 0:
                b = starts_b[from_b[h]]
                end_b = starts_b[from_b[h] + 1]
            while a < end_a or b < end_b:
                into_a[m] = into_b[m] = -1
                counts[m] = 0
                if a < end_a and (b == end_b or words_a[a] <= words_b[b]):
                    words[m] = words_a[a]
                    suffix[m] = shorter_a[suffix_a[a]]
                    into_a[m] = <int32_t>a
                else:
                    words[m] = words_b[b]
                    suffix[m] = shorter_b[suffix_b[b]]
                if b < end_b and words_b[b] == words[m]:
                    counts[m] += counts_b[b]
                    map_b[b] = <int32_t>m
                    into_b[m] = <int32_t>b
                    b += 1
                if into_a[m] >= 0:
                    counts[m] += counts_a[a]
                    map_a[a] = <int32_t>m
                    a += 1
                m += 1
        starts[from_a.shape[0]] = <int32_t>m
    return m
