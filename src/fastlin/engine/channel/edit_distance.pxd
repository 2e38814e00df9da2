"""The restricted Damerau–Levenshtein distance of two words, as far as a bound.

    d(i, j) = min of  d(i−1, j−1) + [aᵢ ≠ bⱼ],  d(i−1, j) + 1,  d(i, j−1) + 1,  d(i−2, j−2) + 1 if aᵢ₋₁aᵢ = bⱼbⱼ₋₁

Restricted (optimal string alignment): no letter takes part in two edits, so "ca" is three edits from "abc", not two.
Beyond |i − j| = bound nothing is at most the bound, so a row has 2 · bound + 1 cells, and words may be of any length.

A word of up to 64 letters that is measured against many others is a pattern: where each letter stands in it, bit by
bit, so that a letter of the other word takes a column of d at once, as differences of neighbours (Hyyrö 2003).
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

cdef enum:
    LARGEST_DISTANCE = 3
    CELLS = 2 * LARGEST_DISTANCE + 3    # of a row, with one beyond each end of the band
    LONGEST_PATTERN = 64
    ASCII = 128

cdef struct Pattern:
    const uint32_t* letters
    int64_t n
    uint64_t[ASCII] places              # of each letter; if there are more than 64 letters, none is asked
    uint32_t[LONGEST_PATTERN] others    # letters that are not ASCII
    uint64_t[LONGEST_PATTERN] places_of_others
    int n_others


cdef inline void make_pattern(Pattern* pattern, const uint32_t* letters, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef int k
    pattern.letters, pattern.n, pattern.n_others = letters, n, 0
    if n > LONGEST_PATTERN:
        return
    memset(pattern.places, 0, sizeof(pattern.places))
    for i in range(n):
        if letters[i] < ASCII:
            pattern.places[letters[i]] |= <uint64_t>1 << i
            continue
        for k in range(pattern.n_others + 1):
            if k == pattern.n_others:
                pattern.others[k], pattern.places_of_others[k] = letters[i], 0
                pattern.n_others += 1
            if pattern.others[k] == letters[i]:
                pattern.places_of_others[k] |= <uint64_t>1 << i
                break


cdef inline uint64_t places_of(const Pattern* pattern, uint32_t letter) noexcept nogil:
    cdef int k
    if letter < ASCII:
        return pattern.places[letter]
    for k in range(pattern.n_others):
        if pattern.others[k] == letter:
            return pattern.places_of_others[k]
    return 0


cdef inline int32_t edit_distance(const uint32_t* a, int64_t n, const uint32_t* b, int64_t m,
                                  int32_t bound) noexcept nogil:
    """d(a, b), or bound + 1 where it is more; the bound is at most LARGEST_DISTANCE."""
    cdef int32_t[3][CELLS] rows
    cdef int64_t i, j, first
    cdef int32_t best, least, far = bound + 1
    cdef int d, width = 2 * bound + 1
    cdef int32_t* row
    cdef int32_t* above
    cdef int32_t* above_that
    if n - m > bound or m - n > bound:
        return far
    while n and m and a[0] == b[0]:
        a, b, n, m = a + 1, b + 1, n - 1, m - 1
    while n and m and a[n - 1] == b[m - 1]:
        n, m = n - 1, m - 1
    if n == 0 or m == 0:
        return <int32_t>(n + m)
    for d in range(width + 2):              # cell d + 1 of row i: j = i + d − bound
        rows[1][d] = rows[2][d] = far
        rows[0][d] = <int32_t>(d - 1 - bound) if bound < d <= width else far
    for i in range(1, n + 1):
        row, above, above_that = rows[i % 3], rows[(i - 1) % 3], rows[(i - 2) % 3 if i > 1 else 2]
        row[0] = row[width + 1] = least = far
        first = i - bound
        for d in range(1, width + 1):
            j = first + d - 1
            best = far
            if j == 0:
                best = <int32_t>i if i < far else far
            elif 0 < j <= m:
                best = above[d] + (a[i - 1] != b[j - 1])
                best = min(best, above[d + 1] + 1)
                best = min(best, row[d - 1] + 1)
                if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                    best = min(best, above_that[d] + 1)
                best = min(best, far)
            row[d] = best
            least = min(least, best)
        if least == far:
            return far
    return rows[n % 3][m - n + bound + 1]


cdef inline int32_t pattern_distance(const Pattern* pattern, const uint32_t* b, int64_t m,
                                     int32_t bound) noexcept nogil:
    """d of a pattern and a word, or bound + 1 where it is more."""
    cdef uint64_t rises = ~<uint64_t>0, falls = 0, same = 0, before = 0, here, exchanged, right, left
    cdef int64_t j, n = pattern.n, distance = n
    if n - m > bound or m - n > bound:
        return bound + 1
    if n == 0 or n > LONGEST_PATTERN:
        return edit_distance(pattern.letters, n, b, m, bound)
    for j in range(m):
        here = places_of(pattern, b[j])
        exchanged = ((~same & here) << 1) & before
        same = (((here & rises) + rises) ^ rises) | here | falls | exchanged
        right = falls | ~(same | rises)
        left = same & rises
        distance += <int64_t>(right >> (n - 1) & 1) - <int64_t>(left >> (n - 1) & 1)
        if distance - (m - 1 - j) > bound:      # a letter more takes off one at most
            return bound + 1
        right = right << 1 | 1
        rises = left << 1 | ~(same | right)
        falls = right & same
        before = here
    return <int32_t>distance
