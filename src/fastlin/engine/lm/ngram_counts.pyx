"""Counts of n-grams as sorted tries, order by order: sort by (number of the history, word), and number what is there.

The n-grams of an order are numbered in the order of (history, word), so the children of a history stand side by side,
by rising word. Of order n there are, as flat arrays,

    words   [N_n]           the last word
    starts  [N_{n−1} + 1]   where the children of each history begin; its n-grams are starts[h] … starts[h + 1] − 1
    suffix  [N_n]           the n-gram without its first word, among those of order n − 1
    counts  [N_n]           how often it was seen

Unigrams are numbered by their words. Begin is word 0, so those n-grams that begin a sentence come first in each order.
Pairs of (history, word) are put into the place of their history, which its count makes known, and sorted there by their
words: most histories have a few. A job is a range of histories, of which it alone puts and numbers the pairs, so any
cut into jobs gives the same bits. A radix sort of all pairs from the lowest digit on moved 12 bytes a token four times
and took 1.3 times as long; hashing pairs was slower again, and leaves no order behind.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastlin.engine.core.allocation cimport allocate
from fastlin.engine.core.csr cimport prefetch

cdef enum:
    DIGIT = 8
    BUCKETS = 256
    FEW = 24                # words of a history that are sorted by insertion
    AHEAD = 24              # positions whose numbers are on their way from memory
    FAR = 64                # pairs whose histories' places are
    NEAR = 32               # pairs whose places are


def collect(const int32_t[::1] histories, const int32_t[::1] words, Py_ssize_t first, Py_ssize_t last,
            int32_t[::1] positions):
    """Where the pairs with a history of [first, last) stand, but what begins a sentence; how many there are.

    There is room for all positions and one more. Half of the histories may be another thread's: there is no branch.
    """
    cdef Py_ssize_t i, m = 0, n = words.shape[0]
    cdef uint32_t width = <uint32_t>(last - first)
    with nogil:
        for i in range(n):
            positions[m] = <int32_t>i
            m += (<uint32_t>(histories[i] - <int32_t>first) < width) & (words[i] != 0)
    return m


def sort_pairs(const int32_t[::1] histories, const int32_t[::1] words, const int32_t[::1] positions, Py_ssize_t first,
               int32_t[::1] ends, uint64_t[::1] pairs):
    """The pairs at some positions as word << 32 | position, by history and word; how many are distinct.

    `ends`, of zeros, one for each history from `first` on, becomes where its pairs end.
    """
    cdef Py_ssize_t i, n = positions.shape[0], width = ends.shape[0]
    cdef int64_t distinct = 0
    cdef int32_t start = 0, longest = 0, size, at
    cdef uint64_t* spare
    with nogil:
        for i in range(n):
            if i + NEAR < n:
                prefetch(&ends[histories[positions[i + NEAR]] - first])
            ends[histories[positions[i]] - first] += 1
        for i in range(width):
            size = ends[i]
            longest = max(longest, size)
            ends[i] = start
            start += size
        for i in range(n):
            if i + FAR < n:
                prefetch(&ends[histories[positions[i + FAR]] - first])
                prefetch(&pairs[ends[histories[positions[i + NEAR]] - first]])
            at = positions[i]
            pairs[ends[histories[at] - first]] = <uint64_t><uint32_t>words[at] << 32 | <uint32_t>at
            ends[histories[at] - first] += 1
        spare = <uint64_t*>allocate(longest, sizeof(uint64_t))
        start = 0
        for i in range(width if spare != NULL else 0):
            if ends[i] > start:
                distinct += sort_words(&pairs[start], ends[i] - start, spare)
            start = ends[i]
    if spare == NULL:
        raise MemoryError
    free(spare)
    return distinct


cdef int64_t sort_words(uint64_t* pairs, int64_t n, uint64_t* spare) noexcept nogil:
    """Sort some pairs, whose positions rise, by their words; how many words there are."""
    cdef int64_t i, j, distinct = 1
    cdef uint64_t pair
    if n > FEW:
        radix_sort(pairs, n, spare)
    else:
        for i in range(1, n):
            pair = pairs[i]
            j = i
            while j > 0 and pairs[j - 1] > pair:
                pairs[j] = pairs[j - 1]
                j -= 1
            pairs[j] = pair
    for i in range(1, n):
        distinct += pairs[i] >> 32 != pairs[i - 1] >> 32
    return distinct


cdef void radix_sort(uint64_t* pairs, int64_t n, uint64_t* spare) noexcept nogil:
    """By the digits of the words, the lowest first."""
    cdef int64_t[BUCKETS] places
    cdef uint64_t *source = pairs
    cdef uint64_t *target = spare
    cdef uint64_t largest = 0
    cdef int64_t i, total, size
    cdef int shift = 32
    for i in range(n):
        largest = max(largest, pairs[i])
    while largest >> shift:
        memset(places, 0, sizeof(places))
        for i in range(n):
            places[source[i] >> shift & (BUCKETS - 1)] += 1
        total = 0
        for i in range(BUCKETS):
            size = places[i]
            places[i] = total
            total += size
        for i in range(n):
            target[places[source[i] >> shift & (BUCKETS - 1)]] = source[i]
            places[source[i] >> shift & (BUCKETS - 1)] += 1
        source, target = target, source
        shift += DIGIT
        if shift == 64:
            break
    if source != pairs:
        memcpy(pairs, source, n * sizeof(uint64_t))


@cython.final
cdef class TrieOrder:
    """One order of a trie that is being written; see the top of this file."""

    cdef int32_t[::1] words, starts, suffix
    cdef int64_t[::1] counts

    def __cinit__(self, int32_t[::1] words, int32_t[::1] starts, int32_t[::1] suffix, int64_t[::1] counts):
        if not words.shape[0] == suffix.shape[0] == counts.shape[0]:
            raise ValueError(f"{words.shape[0]} words, {suffix.shape[0]} suffixes and {counts.shape[0]} counts differ")
        self.words, self.starts, self.suffix, self.counts = words, starts, suffix, counts


@cython.final
cdef class MergedTrie:
    """One order of a trie that is merged with another's, and what becomes of its n-grams.

    Of each history of the sum, `histories` says which it is here, −1: it is not there; `shorter` says what the n-grams
    of one word less have become. `becomes` and `own` become the same of this order.
    """

    cdef const int32_t[::1] words, starts, suffix, histories, shorter
    cdef const int64_t[::1] counts
    cdef int32_t[::1] becomes, own

    def __cinit__(self, const int32_t[::1] words, const int32_t[::1] starts, const int32_t[::1] suffix,
                  const int64_t[::1] counts, const int32_t[::1] histories, const int32_t[::1] shorter,
                  int32_t[::1] becomes, int32_t[::1] own):
        if not words.shape[0] == suffix.shape[0] == counts.shape[0] == becomes.shape[0]:
            raise ValueError(f"{words.shape[0]} words, {suffix.shape[0]} suffixes and {counts.shape[0]} counts differ")
        self.words, self.starts, self.suffix, self.counts = words, starts, suffix, counts
        self.histories, self.shorter, self.becomes, self.own = histories, shorter, becomes, own


def number(TrieOrder order not None, const int32_t[::1] ends, const uint64_t[::1] pairs, Py_ssize_t first,
           int64_t first_number, const int64_t[::1] weights, const int32_t[::1] suffixes, int32_t[::1] numbers):
    """The n-grams of the histories from `first` on, which are sorted; `numbers` at each position becomes their number.

    `suffixes` holds at each position the number of the n-gram without its first word, and may be `numbers`. Each
    position counts as often as its weight says, without weights once.
    """
    cdef int32_t[::1] words = order.words, starts = order.starts, suffix = order.suffix
    cdef int64_t[::1] counts = order.counts
    cdef Py_ssize_t h, i = 0, at, n = pairs.shape[0]
    cdef int64_t m = first_number - 1, word, last
    cdef bint weighted = weights.shape[0] > 0
    with nogil:
        for h in range(ends.shape[0]):
            starts[first + h] = <int32_t>(m + 1)
            last = -1
            while i < ends[h]:
                if i + AHEAD < n:
                    at = <uint32_t>pairs[i + AHEAD]
                    prefetch(&numbers[at])
                    prefetch(&suffixes[at])
                at = <uint32_t>pairs[i]
                word = <int64_t>(pairs[i] >> 32)
                if word != last:
                    m += 1
                    words[m] = <int32_t>word
                    suffix[m] = suffixes[at]
                    counts[m] = 0
                    last = word
                counts[m] += weights[at] if weighted else 1
                numbers[at] = <int32_t>m
                i += 1


def merge(MergedTrie a_side not None, MergedTrie b_side not None, TrieOrder order not None):
    """One order of the sum of two tries. How many n-grams it has."""
    cdef const int32_t[::1] from_a = a_side.histories, starts_a = a_side.starts, words_a = a_side.words
    cdef const int32_t[::1] from_b = b_side.histories, starts_b = b_side.starts, words_b = b_side.words
    cdef const int32_t[::1] suffix_a = a_side.suffix, shorter_a = a_side.shorter
    cdef const int32_t[::1] suffix_b = b_side.suffix, shorter_b = b_side.shorter
    cdef const int64_t[::1] counts_a = a_side.counts, counts_b = b_side.counts
    cdef int32_t[::1] map_a = a_side.becomes, into_a = a_side.own, map_b = b_side.becomes, into_b = b_side.own
    cdef int32_t[::1] starts = order.starts, words = order.words, suffix = order.suffix
    cdef int64_t[::1] counts = order.counts
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
