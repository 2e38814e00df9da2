"""Words within a few edits of others: see deletes_index.pyx."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    MOST_DELETES = 299          # of 12 letters up to 3: 1 + 12 + 66 + 220

cdef struct Deletes:
    uint64_t[MOST_DELETES] hashes
    int n

cdef struct Neighbours:
    int32_t* words
    int8_t* distances
    int64_t n
    int64_t room


cdef bint reserve_neighbours(Neighbours* found, int64_t more) noexcept nogil

cdef void free_neighbours(Neighbours* found) noexcept nogil

cdef class DeletesIndex:
    cdef const uint32_t[::1] letters
    cdef const int64_t[::1] offsets
    cdef readonly int64_t n_words
    cdef readonly int max_edits
    cdef readonly int prefix_length
    cdef uint64_t seed
    cdef int shift                  # of a hash that leaves the number of a bucket
    cdef int64_t n_entries
    cdef uint32_t* starts           # [buckets + 1]
    cdef int32_t* words             # [n_entries] by bucket, rising
    cdef uint8_t* tags              # [n_entries] of the hash: what shares a bucket seldom shares it
    cdef uint8_t* lengths           # [n_entries] of the words, as far as a byte goes
    cdef uint64_t* alphabets        # [n_words] which letters a word has, of 64 kinds

    cdef bint find(self, const uint32_t* query, int64_t n, int max_edits, int32_t* marks, int32_t mark,
                   Neighbours* found) noexcept nogil
    cdef const uint32_t* word_at(self, int64_t word) noexcept nogil
    cdef void deletes_of(self, const uint32_t* letters, int64_t n, int max_edits, Deletes* found) noexcept nogil
    cdef int over_words(self, int step) except -1
    cdef void put_in(self, int step, int64_t first, int64_t stop) noexcept nogil
