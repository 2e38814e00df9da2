"""What it costs to write one string for another: see edit_rules.pyx."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef enum:
    LONGEST_RULE = 4            # letters on each side
    LONGEST_SCORED = 64         # letters of a word: in a longer one, each edit costs what an unknown one does
    ROOM = LONGEST_SCORED + 2   # with the marks of its beginning and its end
    DIAGONALS = 4               # of the alignments of at most three edits

cdef struct RuleSlot:
    uint64_t key                # 0: nothing here
    float log_prob

cdef struct MarkedWord:
    uint32_t[ROOM] letters
    uint64_t[ROOM + 1][LONGEST_RULE + 1] hashes     # [position][length]: of the letters from there on
    int32_t n

cdef class EditRules:
    cdef RuleSlot* slots
    cdef uint64_t mask
    cdef uint64_t seed
    cdef readonly int64_t n_rules
    cdef readonly int width
    cdef readonly double log_edit
    cdef readonly double log_keep
    cdef readonly double highest

    cdef void mark_word(self, const uint32_t* letters, int64_t n, uint64_t seed, MarkedWord* word) noexcept nogil
    cdef bint find(self, uint64_t source, uint64_t observed, float* log_prob) noexcept nogil
    cdef void put(self, uint64_t key, float log_prob) noexcept nogil
    cdef double log_prob(self, const MarkedWord* source, const MarkedWord* observed, int32_t edits) noexcept nogil
    cdef double segment_log_prob(self, const MarkedWord* source, const MarkedWord* observed, int32_t i, int32_t j,
                                 int32_t x, int32_t y, bint same) noexcept nogil
    cdef bint plain_edit(self, const MarkedWord* source, const MarkedWord* observed, int32_t i, int32_t j, int32_t x,
                         int32_t y) noexcept nogil
    cdef double word_log_prob(self, const uint32_t* source, int64_t n, const MarkedWord* observed, int64_t m,
                              int32_t edits) noexcept nogil
