"""From nodes in order of appearance to columns in order of their names.

Strings are sorted by their first eight bytes as a number, digit by digit, and runs of equals by the rest. An n-gram
comes behind the n-gram it continues and before the next word ("a", "a b", "a c", "ab"), so a column is the place of a
node in a walk through the tree of n-grams, children in the order of their last words: no name is ever written.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from fastlin.engine.core.allocation cimport allocate

cdef enum:
    DIGITS = 12
    BINS = 1 << DIGITS
    WINDOW = 1024

ctypedef fused count:
    int64_t
    double

cdef struct SortEntry:
    uint64_t key
    int32_t item
    int32_t unused


cdef extern from "text.h" nogil:
    void* grown "fastlin_grown"(void*, size_t used, size_t wanted, size_t* room) noexcept
    void freed "fastlin_freed"(void*, size_t room) noexcept


cdef bint radix_sort(SortEntry* entries, Py_ssize_t n, int bits) noexcept nogil:
    """By the lowest bits of the keys, equals in the order they have; False: no memory."""
    cdef int64_t[BINS] place
    cdef size_t room = 0
    cdef SortEntry* other = <SortEntry*>grown(NULL, 0, (n + 1) * sizeof(SortEntry), &room)
    cdef SortEntry* a = entries
    cdef SortEntry* b = other
    cdef SortEntry* swap
    cdef int shift = 0
    cdef int64_t total, here
    cdef Py_ssize_t i
    if other == NULL:
        return False
    while shift < bits:
        memset(place, 0, sizeof(place))
        for i in range(n):
            place[a[i].key >> shift & (BINS - 1)] += 1
        total = 0
        for i in range(BINS):
            here = place[i]
            place[i] = total
            total += here
        for i in range(n):
            here = a[i].key >> shift & (BINS - 1)
            b[place[here]] = a[i]
            place[here] += 1
        swap = a
        a = b
        b = swap
        shift += DIGITS
    if a != entries:
        memcpy(entries, a, n * sizeof(SortEntry))
    freed(other, room)
    return True


cdef inline bint comes_before(const uint8_t* arena, const int64_t* offsets, int32_t a, int32_t b) noexcept nogil:
    """Whether string a comes before b; both have the same first eight bytes, or end before."""
    cdef int64_t n = offsets[a + 1] - offsets[a], m = offsets[b + 1] - offsets[b]
    cdef int order = memcmp(arena + offsets[a], arena + offsets[b], min(n, m))
    return order < 0 or (order == 0 and n < m)


cdef void merge_sort(const uint8_t* arena, const int64_t* offsets, SortEntry* run, SortEntry* spare,
                     Py_ssize_t n) noexcept nogil:
    """Sort a run of strings that begin alike."""
    cdef Py_ssize_t half = n // 2, i = 0, j = half, k = 0
    cdef SortEntry held
    if n < 16:
        for i in range(1, n):
            held = run[i]
            j = i
            while j > 0 and comes_before(arena, offsets, held.item, run[j - 1].item):
                run[j] = run[j - 1]
                j -= 1
            run[j] = held
        return
    merge_sort(arena, offsets, run, spare, half)
    merge_sort(arena, offsets, run + half, spare, n - half)
    memcpy(spare, run, half * sizeof(SortEntry))
    while i < half:
        if j < n and comes_before(arena, offsets, run[j].item, spare[i].item):
            run[k] = run[j]
            j += 1
        else:
            run[k] = spare[i]
            i += 1
        k += 1


def rank_strings(const uint8_t[::1] arena, const int64_t[::1] offsets, int32_t[::1] ranks):
    """ranks[i] = how many strings come before the i-th in the order of their bytes: that of code points, in UTF-8."""
    cdef Py_ssize_t n = ranks.shape[0], i, k, first = 0
    cdef int64_t start, length
    cdef size_t room = 0
    cdef SortEntry* entries = <SortEntry*>grown(NULL, 0, (n + 1) * sizeof(SortEntry), &room)
    cdef SortEntry* spare = <SortEntry*>allocate(n // 2 + 1, sizeof(SortEntry))
    cdef uint64_t key
    cdef bint done = entries != NULL and spare != NULL
    with nogil:
        for i in range(n if done else 0):
            start = offsets[i]
            length = min(offsets[i + 1] - start, 8)
            key = 0
            for k in range(length):
                key = key << 8 | arena[start + k]
            entries[i].key = key << 8 * (8 - length) if length else 0
            entries[i].item = <int32_t>i
        done = done and radix_sort(entries, n, 64)
        for i in range(1, n + 1 if done else 0):
            if i == n or entries[i].key != entries[first].key:
                if i > first + 1:
                    merge_sort(&arena[0], &offsets[0], entries + first, spare, i - first)
                first = i
        for i in range(n if done else 0):
            ranks[entries[i].item] = <int32_t>i
    freed(entries, room)
    free(spare)
    if not done:
        raise MemoryError


cdef int bits_of(int64_t n) noexcept nogil:
    """Bits of the numbers below n."""
    cdef int bits = 0
    while n > <int64_t>1 << bits:
        bits += 1
    return bits


def number_columns(const int32_t[::1] prefix, const int32_t[::1] last, const int32_t[::1] ranks,
                   const uint8_t[::1] wanted, int32_t first, int32_t[::1] columns):
    """columns[i] = the place of node i among those `wanted`, by name, counted from `first`; −1: it is not.

    `prefix` and `last` are those of a vocabulary, `ranks` those of its strings.
    """
    cdef Py_ssize_t n = prefix.shape[0], n_strings = ranks.shape[0], before = n_strings, i, m, longest = 0, level
    cdef size_t room = 0
    cdef SortEntry* entries = <SortEntry*>grown(NULL, 0, (n + 1) * sizeof(SortEntry), &room)
    cdef int32_t* rank = <int32_t*>allocate(n + 1, sizeof(int32_t))    # among the nodes of its level
    # the sizes of subtrees, then where the next child goes
    cdef int32_t* places = <int32_t*>allocate(n + 1, sizeof(int32_t))
    cdef int32_t* levels = <int32_t*>allocate(n + 1, sizeof(int32_t))
    cdef bint done = entries != NULL and rank != NULL and places != NULL and levels != NULL
    cdef int32_t node, place, size, parent
    cdef int bits = bits_of(n_strings)
    with nogil:
        for i in range(n if done else 0):
            levels[i] = 0 if prefix[i] < 0 else levels[prefix[i]] + 1
            longest = max(longest, levels[i])
            places[i] = wanted[i]
        for i in range(n - 1 if done else -1, -1, -1):
            if prefix[i] >= 0:
                places[prefix[i]] += places[i]
        place = first
        for level in range(longest + 1 if done else 0):
            m = 0
            for i in range(n):
                if levels[i] != level:
                    continue
                if level:
                    entries[m].item = <int32_t>i
                    entries[m].key = <uint64_t>rank[prefix[i]] << bits | <uint64_t>ranks[last[last[i]]]
                else:                                       # strings have their ranks
                    entries[ranks[last[i]]].item = <int32_t>i
                m += 1
            if level and not radix_sort(entries, m, bits + bits_of(before)):
                done = False
                break
            before = m
            for i in range(m):
                node = entries[i].item
                parent = prefix[node]
                rank[node] = <int32_t>i
                size = places[node]
                if level:
                    place = places[parent]
                    places[parent] += size
                columns[node] = place if wanted[node] else -1
                places[node] = place + wanted[node]
                if not level:
                    place += size
    freed(entries, room)
    free(rank)
    free(places)
    free(levels)
    if not done:
        raise MemoryError


def relabel_rows(int32_t[::1] numbers, int32_t[::1] counts, const int32_t[::1] columns, int64_t[::1] lengths):
    """Rows of nodes become rows of columns, without the nodes that have none; `lengths` are those before and after.

    Returns how many entries there are.
    """
    cdef Py_ssize_t row, kept = 0, first, p = 0
    cdef int64_t end = 0
    cdef int32_t column
    with nogil:
        for row in range(lengths.shape[0]):
            first = kept
            end += lengths[row]
            while p < end:
                column = columns[numbers[p]]
                if column >= 0:
                    numbers[kept] = column
                    counts[kept] = counts[p]
                    kept += 1
                p += 1
            lengths[row] = kept - first
    return kept


def widen_counts(const int32_t[::1] counts, count[::1] values):
    """values[i] = counts[i], in place: both begin at the same address, and values are no shorter."""
    cdef int32_t[WINDOW] window
    cdef Py_ssize_t stop = counts.shape[0], size, i
    with nogil:
        while stop:
            size = min(stop, WINDOW)
            memcpy(window, &counts[stop - size], size * sizeof(int32_t))
            for i in range(size):
                values[stop - size + i] = <count>window[i]
            stop -= size
