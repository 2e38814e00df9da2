"""A channel of rules α → β, strings of up to four letters (Brill and Moore 2000): ln p of an observed word.

    f(i, j) = max over rules α → β that end at (i, j) of f(i − |α|, j − |β|) + ln p(β | α),    ln p = f(n, m)

Words have marks at both ends, which rules may name. A letter that stays, and an edit of one or two letters (insertion,
deletion, substitution, exchange) that no rule knows, have a probability of their own, so that no word is impossible.
Only cells count that lie on an alignment of the fewest edits, as the pairs have them that rules are learnt from; of
words up to three edits apart these are on one to four diagonals. A segment that is the same on both sides needs no
rules but those of its letters, so that few are asked for, near the edits.

Rules are found by a hash of 64 bits of both sides, with a seed, and by nothing else.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from cython cimport final

import numpy as np

from fastlin.engine.channel.edit_distance cimport LARGEST_DISTANCE, edit_distance
from fastlin.engine.channel.words cimport prove_words
from fastlin.engine.core.allocation cimport allocate_zeros

cdef extern from "text.h" nogil:
    uint64_t mix "fastlin_mix"(uint64_t, uint64_t) noexcept

cdef enum:
    FIRST = 0x110000            # beyond all letters: marks of the beginning and the end of a word
    LAST = 0x110001
    FAR = 100                   # edits, of cells that no alignment reaches

LONGEST, FIRST_MARK, LAST_MARK = LONGEST_RULE, FIRST, LAST


cdef inline uint64_t key_of(uint64_t source, uint64_t observed) noexcept nogil:
    cdef uint64_t key = mix(source ^ 0x9e3779b97f4a7c15u, observed ^ 0xd6e8feb86659fd93u)
    return key if key else 1


cdef inline uint64_t longer(uint64_t hash, uint32_t letter) noexcept nogil:
    return mix(hash ^ (<uint64_t>letter + 1), 0x9e3779b97f4a7c15u)


cdef inline void improve(double* cell, double value) noexcept nogil:
    if value > cell[0]:
        cell[0] = value


cdef struct Band:
    int32_t lowest                      # of j − i
    int32_t width                       # diagonals
    uint8_t[ROOM + 1][DIAGONALS] edits     # [i][j − i − lowest] of the fewest before a cell
    uint8_t[ROOM + 1][DIAGONALS] on_way    # whether a cell lies on an alignment of the fewest edits


cdef Band band_of(const MarkedWord* source, const MarkedWord* observed, int32_t edits) noexcept nogil:
    """The cells on alignments of words so many edits apart: those before and behind a cell add up to that."""
    cdef Band band
    cdef int32_t n = source.n, m = observed.n, shift = m - n, slack = (edits - (shift if shift > 0 else -shift)) // 2
    cdef uint8_t[ROOM + 1][DIAGONALS] behind
    cdef int32_t i, j, d
    cdef const uint32_t* a = &source.letters[0]
    cdef const uint32_t* b = &observed.letters[0]
    band.lowest, band.width = min(shift, 0) - slack, max(shift, 0) - min(shift, 0) + 2 * slack + 1
    for i in range(n + 1):
        for d in range(band.width):
            j = i + band.lowest + d
            band.edits[i][d] = fewest(
                0 if i == 0 and j == 0 else FAR,
                band.edits[i - 1][d] + (a[i - 1] != b[j - 1]) if i > 0 and 0 < j <= m else FAR,
                band.edits[i - 1][d + 1] if i > 0 and d + 1 < band.width and j >= 0 else FAR,
                band.edits[i][d - 1] if d > 0 and 0 < j <= m else FAR,
                band.edits[i - 2][d] if 1 < i and 1 < j <= m and exchanged(a + i - 2, b + j - 2) else FAR)
    for i in range(n, -1, -1):
        for d in range(band.width - 1, -1, -1):
            j = i + band.lowest + d
            behind[i][d] = fewest(
                0 if i == n and j == m else FAR,
                behind[i + 1][d] + (a[i] != b[j]) if i < n and 0 <= j < m else FAR,
                behind[i + 1][d - 1] if i < n and d > 0 and j <= m else FAR,
                behind[i][d + 1] if d + 1 < band.width and 0 <= j < m else FAR,
                behind[i + 2][d] if i + 1 < n and 0 <= j and j + 1 < m and exchanged(a + i, b + j) else FAR)
            band.on_way[i][d] = band.edits[i][d] + behind[i][d] == edits
    return band


cdef inline bint exchanged(const uint32_t* a, const uint32_t* b) noexcept nogil:
    return a[0] == b[1] and a[1] == b[0]


cdef inline uint8_t fewest(int32_t none, int32_t diagonal, int32_t one, int32_t other, int32_t exchange) noexcept nogil:
    """The fewest of no edit, those of the diagonal, and one more than those of the other ways."""
    return <uint8_t>min(min(none, diagonal), min(min(one, other), exchange) + 1, <int32_t>FAR)


@final
cdef class EditRules:
    """Rules sources[i] → observed[i], strings of numbers of letters and marks, with ln p of each.

    `log_keep` and `log_edit`: of a letter that stays, and of an edit, that no rule knows.
    """

    def __cinit__(self, const uint32_t[::1] sources, const int64_t[::1] source_offsets,
                  const uint32_t[::1] observed, const int64_t[::1] observed_offsets, const float[::1] log_prob,
                  double log_keep, double log_edit, uint64_t seed):
        cdef int64_t i, n = log_prob.shape[0]
        cdef uint64_t key
        cdef bint same
        self.width = 2              # of an exchange
        self.seed, self.log_keep, self.log_edit, self.n_rules = seed | 1, log_keep, log_edit, n
        self.highest = log_edit
        if not (prove_strings(sources, source_offsets, n) and prove_strings(observed, observed_offsets, n)):
            raise ValueError("rules without their letters")
        self.mask = 1
        while <int64_t>self.mask < 2 * n:
            self.mask *= 2
        self.slots = <RuleSlot*>allocate_zeros(<int64_t>self.mask, sizeof(RuleSlot))
        if self.slots == NULL:
            raise MemoryError
        self.mask -= 1
        for i in range(n):
            same = strings_equal(sources, source_offsets, observed, observed_offsets, i)
            key = key_of(hash_between(sources, source_offsets[i], source_offsets[i + 1], self.seed),
                         hash_between(observed, observed_offsets[i], observed_offsets[i + 1], self.seed + 2))
            self.put(key, log_prob[i])
            self.width = max(self.width, <int>(source_offsets[i + 1] - source_offsets[i]),
                             <int>(observed_offsets[i + 1] - observed_offsets[i]))
            if not same:
                self.highest = max(self.highest, <double>log_prob[i])

    def __dealloc__(self):
        free(self.slots)

    cdef void put(self, uint64_t key, float log_prob) noexcept nogil:
        cdef uint64_t at = key & self.mask
        while self.slots[at].key and self.slots[at].key != key:
            at = (at + 1) & self.mask
        self.slots[at].key, self.slots[at].log_prob = key, log_prob

    cdef bint find(self, uint64_t source, uint64_t observed, float* log_prob) noexcept nogil:
        cdef uint64_t key = key_of(source, observed), at = key & self.mask
        while self.slots[at].key:
            if self.slots[at].key == key:
                log_prob[0] = self.slots[at].log_prob
                return True
            at = (at + 1) & self.mask
        return False

    cdef void mark_word(self, const uint32_t* letters, int64_t n, uint64_t seed, MarkedWord* word) noexcept nogil:
        """A word of at most LONGEST_SCORED letters with its marks, and the hashes of its segments."""
        cdef int64_t i
        cdef int k
        word.n = <int32_t>(n + 2)
        word.letters[0], word.letters[n + 1] = FIRST, LAST
        for i in range(n):
            word.letters[i + 1] = letters[i]
        for i in range(n + 3):
            word.hashes[i][0] = seed
            for k in range(min(<int64_t>self.width, n + 2 - i)):
                word.hashes[i][k + 1] = longer(word.hashes[i][k], word.letters[i + k])

    cdef double log_prob(self, const MarkedWord* source, const MarkedWord* observed, int32_t edits) noexcept nogil:
        cdef double[ROOM + 1][DIAGONALS] cells
        cdef Band band = band_of(source, observed, edits)
        cdef int32_t n = source.n, m = observed.n, i, j, x, y, d
        cdef bint same
        for i in range(n + 1):
            for d in range(band.width):
                cells[i][d] = -INFINITY
        cells[0][-band.lowest] = 0
        for i in range(n + 1):
            for d in range(band.width):
                j = i + band.lowest + d
                if cells[i][d] == -INFINITY:
                    continue
                same = True
                for x in range(min(self.width, n - i) + 1):
                    same = same and (
                        x == 0 or (j + x <= m and source.letters[i + x - 1] == observed.letters[j + x - 1]))
                    for y in range(max(0, x - d), min(min(self.width, m - j), x - d + band.width - 1) + 1):
                        if band.on_way[i + x][d + y - x] and not (x == y and same and x != 1):
                            improve(&cells[i + x][d + y - x],
                                    cells[i][d] + self.segment_log_prob(source, observed, i, j, x, y, same))
        return cells[n][m - n - band.lowest]

    cdef double segment_log_prob(self, const MarkedWord* source, const MarkedWord* observed, int32_t i, int32_t j,
                                 int32_t x, int32_t y, bint same) noexcept nogil:
        """ln p of y letters from j on for x from i on; −∞: there is no rule."""
        cdef float found
        if self.find(source.hashes[i][x], observed.hashes[j][y], &found):
            return found
        if x == y and same:
            return self.log_keep
        return self.log_edit if self.plain_edit(source, observed, i, j, x, y) else -INFINITY

    cdef bint plain_edit(self, const MarkedWord* source, const MarkedWord* observed, int32_t i, int32_t j, int32_t x,
                         int32_t y) noexcept nogil:
        """Whether x letters from i on and y from j on are one edit; marks stay."""
        cdef const uint32_t* a = &source.letters[i]
        cdef const uint32_t* b = &observed.letters[j]
        if x > 2 or y > 2 or x + y == 3 or (x != y and x + y == 2):
            return False
        if (x and (a[0] >= FIRST or a[x - 1] >= FIRST)) or (y and (b[0] >= FIRST or b[y - 1] >= FIRST)):
            return False
        return x < 2 or (a[0] == b[1] and a[1] == b[0])

    cdef double word_log_prob(self, const uint32_t* source, int64_t n, const MarkedWord* observed, int64_t m,
                              int32_t edits) noexcept nogil:
        """ln p of a word of m letters, marked unless it is too long, for a source that is so many edits from it."""
        cdef MarkedWord marked
        if n > LONGEST_SCORED or m > LONGEST_SCORED:
            return edits * self.log_edit
        self.mark_word(source, n, self.seed, &marked)
        return self.log_prob(&marked, observed, edits)

    def word_log_probs(self, const uint32_t[::1] sources, const int64_t[::1] source_offsets,
                       const uint32_t[::1] observed, const int64_t[::1] observed_offsets):
        """ln p of each observed word for its source; −∞ where they are more than three edits apart."""
        cdef int64_t i, n, m, n_words = source_offsets.shape[0] - 1
        cdef const uint32_t* source = &sources[0] if sources.shape[0] else NULL
        cdef const uint32_t* word = &observed[0] if observed.shape[0] else NULL
        cdef MarkedWord marked
        cdef int32_t edits
        if not (prove_words(sources, source_offsets) and prove_words(observed, observed_offsets)
                and observed_offsets.shape[0] == source_offsets.shape[0]):
            raise ValueError("words without their letters")
        answer = np.full(n_words, -np.inf)
        cdef double[::1] log_prob = answer
        with nogil:
            for i in range(n_words):
                n, m = source_offsets[i + 1] - source_offsets[i], observed_offsets[i + 1] - observed_offsets[i]
                edits = edit_distance(source + source_offsets[i], n, word + observed_offsets[i], m, LARGEST_DISTANCE)
                if edits <= LARGEST_DISTANCE:
                    if m <= LONGEST_SCORED:
                        self.mark_word(word + observed_offsets[i], m, self.seed + 2, &marked)
                    log_prob[i] = self.word_log_prob(source + source_offsets[i], n, &marked, m, edits)
        return answer


cdef uint64_t hash_between(const uint32_t[::1] letters, int64_t first, int64_t stop, uint64_t seed) noexcept nogil:
    cdef uint64_t hash = seed
    cdef int64_t i
    for i in range(first, stop):
        hash = longer(hash, letters[i])
    return hash


cdef bint strings_equal(const uint32_t[::1] a, const int64_t[::1] a_offsets, const uint32_t[::1] b,
                        const int64_t[::1] b_offsets, int64_t which) noexcept nogil:
    cdef int64_t k, n = a_offsets[which + 1] - a_offsets[which]
    if n != b_offsets[which + 1] - b_offsets[which]:
        return False
    for k in range(n):
        if a[a_offsets[which] + k] != b[b_offsets[which] + k]:
            return False
    return True


cdef bint prove_strings(const uint32_t[::1] letters, const int64_t[::1] offsets, int64_t n) noexcept:
    """Whether these are n strings of at most LONGEST_RULE letters."""
    cdef int64_t i
    if offsets.shape[0] != n + 1 or not prove_words(letters, offsets):
        return False
    for i in range(n):
        if offsets[i + 1] - offsets[i] > LONGEST_RULE:
            return False
    return True
