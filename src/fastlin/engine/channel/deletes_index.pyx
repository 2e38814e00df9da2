"""Words within a few edits of others, by what is left of both when letters are deleted (W. Garbe's symmetric deletes).

Words within k edits of each other, exchanges of neighbours among them, become equal when at most k letters of each are
deleted. So the index holds every word under all that is left of it after up to k deletions, and a query looks up all
that is left of itself: no alphabet is gone through. What is found is measured, so a hash without its string is enough.

Only the first p letters of a word are deleted from and looked up (p = 7: up to 29 entries a word for k = 2, however
long it is), and nothing is lost: cut an alignment after p letters of each word. What its kept letters have in common,
as far as both reach, is the same string, and each side lost at most as many letters before the cut as it has edits
there.

Entries are sorted by bucket in two passes over the words, counts first: 6 bytes each, and 4 a bucket.
A query's candidates pass a byte of the hash and one of their length, which lie beside each other, the set of their
letters (an edit changes at most two members), a mark that says they were met, and last the distance itself.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy
from cpython.exc cimport PyErr_CheckSignals
from cython cimport final

import numpy as np

from fastlin.engine.channel.edit_distance cimport LARGEST_DISTANCE, Pattern, make_pattern, pattern_distance
from fastlin.engine.channel.words cimport prove_words
from fastlin.engine.core.allocation cimport allocate, allocate_zeros, reallocate
from fastlin.engine.core.csr cimport prefetch

cdef extern from "text.h" nogil:
    uint64_t mix "fastlin_mix"(uint64_t, uint64_t) noexcept

cdef extern from * nogil:
    int popcount "__builtin_popcountll"(uint64_t) noexcept

cdef enum:
    LONGEST_PREFIX = 12
    SLICE = 1 << 14             # words that are put in before Ctrl-C is asked for
    SMALLEST_ROOM = 64
    LONGEST_TOLD = 255          # letters
    COUNT = 0                   # passes over the words
    COUNT_BUCKETS = 1
    PUT_IN = 2

MOST_EDITS = LARGEST_DISTANCE
LONGEST = LONGEST_PREFIX        # prefix


cdef void delete_letters(const uint32_t* letters, int n, int at, int left, uint64_t seed,
                         Deletes* found) noexcept nogil:
    """The hashes of all that is left of n letters; of equal neighbours the first are deleted, one way being enough."""
    cdef uint64_t hash = seed
    cdef int i
    for i in range(at, n):
        if left and not (i > at and letters[i] == letters[i - 1]):
            delete_letters(letters, n, i + 1, left - 1, hash, found)
        hash = mix(hash ^ (<uint64_t>letters[i] + 1), 0x9e3779b97f4a7c15u)
    found.hashes[found.n] = mix(hash, 0xd6e8feb86659fd93u)
    found.n += 1


cdef uint64_t alphabet_of(const uint32_t* letters, int64_t n) noexcept nogil:
    cdef uint64_t found = 0
    cdef int64_t i
    for i in range(n):
        found |= <uint64_t>1 << (letters[i] & 63)
    return found


cdef inline uint8_t length_of(int64_t n) noexcept nogil:
    """A number of letters as far as a byte goes."""
    return <uint8_t>max(<int64_t>0, min(n, <int64_t>LONGEST_TOLD))


cdef bint reserve_neighbours(Neighbours* found, int64_t more) noexcept nogil:
    """Room for so many more; False: there is no memory."""
    cdef int64_t room = max(2 * found.room, found.n + more, <int64_t>SMALLEST_ROOM)
    cdef void* moved
    if found.n + more <= found.room:
        return True
    moved = reallocate(found.words, room, sizeof(int32_t))
    if moved == NULL:
        return False
    found.words = <int32_t*>moved
    moved = reallocate(found.distances, room, sizeof(int8_t))
    if moved == NULL:
        return False
    found.distances = <int8_t*>moved
    found.room = room
    return True


cdef void free_neighbours(Neighbours* found) noexcept nogil:
    free(found.words)
    free(found.distances)


cdef void sort_neighbours(int32_t* words, int8_t* distances, int64_t n) noexcept nogil:
    """By number, in place: entries of a bucket rise, so runs do, and there are few of them (insertion, by halves)."""
    cdef int64_t i, j, gap = 1
    cdef int32_t word
    cdef int8_t distance
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap >= 1:
        for i in range(gap, n):
            word, distance, j = words[i], distances[i], i
            while j >= gap and words[j - gap] > word:
                words[j], distances[j] = words[j - gap], distances[j - gap]
                j -= gap
            words[j], distances[j] = word, distance
        gap //= 3


@final
cdef class DeletesIndex:
    """An index of the words letters[offsets[i]:offsets[i + 1]], numbers of characters; they may be empty or equal."""

    def __cinit__(self, const uint32_t[::1] letters, const int64_t[::1] offsets, int max_edits, int prefix_length,
                  uint64_t seed):
        cdef int64_t i, buckets = 1
        if not 0 <= max_edits <= LARGEST_DISTANCE or not max_edits < prefix_length <= LONGEST_PREFIX:
            raise ValueError(f"deletes of up to {max_edits} of {prefix_length} letters")
        self.n_words = offsets.shape[0] - 1
        if not prove_words(letters, offsets) or self.n_words > 2147483647:
            raise ValueError("words without their letters")
        self.letters, self.offsets = letters, offsets
        self.max_edits, self.prefix_length, self.seed = max_edits, prefix_length, seed
        self.alphabets = <uint64_t*>allocate(self.n_words, sizeof(uint64_t))
        if self.alphabets == NULL:
            raise MemoryError
        self.over_words(COUNT)
        if self.n_entries > 4294967295:
            raise ValueError(f"{self.n_entries} deletes of words: more than an index holds; shorten the prefix")
        self.shift = 63
        while buckets < self.n_entries:
            buckets *= 2
            self.shift -= 1
        buckets = <int64_t>1 << (64 - self.shift)
        self.starts = <uint32_t*>allocate_zeros(buckets + 2, sizeof(uint32_t))
        self.words = <int32_t*>allocate(self.n_entries, sizeof(int32_t))
        self.tags = <uint8_t*>allocate(self.n_entries, sizeof(uint8_t))
        self.lengths = <uint8_t*>allocate(self.n_entries, sizeof(uint8_t))
        if self.starts == NULL or self.words == NULL or self.tags == NULL or self.lengths == NULL:
            raise MemoryError
        self.over_words(COUNT_BUCKETS)
        with nogil:
            for i in range(buckets):    # starts[b + 1]: where bucket b begins; once it is full, where it ends
                self.starts[i + 1] += self.starts[i]
        self.over_words(PUT_IN)

    def __dealloc__(self):
        free(self.starts)
        free(self.words)
        free(self.tags)
        free(self.lengths)
        free(self.alphabets)

    cdef const uint32_t* word_at(self, int64_t word) noexcept nogil:
        return &self.letters[0] + self.offsets[word] if self.letters.shape[0] else NULL

    cdef void deletes_of(self, const uint32_t* letters, int64_t n, int max_edits, Deletes* found) noexcept nogil:
        found.n = 0
        delete_letters(letters, <int>min(n, <int64_t>self.prefix_length), 0, max_edits, self.seed, found)

    cdef int over_words(self, int step) except -1:
        """A pass over all words, slice by slice."""
        cdef int64_t first = 0, stop
        while first < self.n_words:
            stop = min(first + SLICE, self.n_words)
            with nogil:
                self.put_in(step, first, stop)
            PyErr_CheckSignals()
            first = stop
        return 0

    cdef void put_in(self, int step, int64_t first, int64_t stop) noexcept nogil:
        cdef Deletes deletes
        cdef int64_t word, n
        cdef uint64_t bucket
        cdef int i
        for word in range(first, stop):
            n = self.offsets[word + 1] - self.offsets[word]
            self.deletes_of(self.word_at(word), n, self.max_edits, &deletes)
            if step == COUNT:
                self.alphabets[word] = alphabet_of(self.word_at(word), n)
                self.n_entries += deletes.n
                continue
            for i in range(deletes.n):
                bucket = deletes.hashes[i] >> self.shift
                if step == COUNT_BUCKETS:
                    self.starts[bucket + 2] += 1
                else:
                    self.words[self.starts[bucket + 1]] = <int32_t>word
                    self.tags[self.starts[bucket + 1]] = <uint8_t>deletes.hashes[i]
                    self.lengths[self.starts[bucket + 1]] = length_of(n)
                    self.starts[bucket + 1] += 1

    cdef bint find(self, const uint32_t* query, int64_t n, int max_edits, int32_t* marks, int32_t mark,
                   Neighbours* found) noexcept nogil:
        """Add the words within so many edits of a query, by number; those marked by `mark` count as met.

        False: there is no memory.
        """
        cdef Deletes deletes
        cdef Pattern pattern
        cdef uint64_t letters = alphabet_of(query, n)
        cdef int64_t first = found.n, length
        cdef uint8_t shortest = length_of(n - max_edits), longest = length_of(n + max_edits)
        cdef uint32_t at
        cdef int32_t word, distance
        cdef int i
        self.deletes_of(query, n, max_edits, &deletes)
        make_pattern(&pattern, query, n)
        for i in range(deletes.n):
            prefetch(&self.starts[deletes.hashes[i] >> self.shift])
        for i in range(deletes.n):
            prefetch(&self.tags[self.starts[deletes.hashes[i] >> self.shift]])
            prefetch(&self.words[self.starts[deletes.hashes[i] >> self.shift]])
        for i in range(deletes.n):
            for at in range(self.starts[deletes.hashes[i] >> self.shift],
                            self.starts[(deletes.hashes[i] >> self.shift) + 1]):
                word = self.words[at]
                if (self.tags[at] != <uint8_t>deletes.hashes[i] or self.lengths[at] < shortest
                        or self.lengths[at] > longest or popcount(letters ^ self.alphabets[word]) > 2 * max_edits
                        or marks[word] == mark):
                    continue
                marks[word] = mark
                length = self.offsets[word + 1] - self.offsets[word]
                distance = pattern_distance(&pattern, self.word_at(word), length, max_edits)
                if distance <= max_edits:
                    if not reserve_neighbours(found, 1):
                        return False
                    found.words[found.n], found.distances[found.n] = word, <int8_t>distance
                    found.n += 1
        sort_neighbours(found.words + first, found.distances + first, found.n - first)
        return True

    @property
    def nbytes(self):
        """Bytes of memory, the words themselves not counted."""
        return (4 * ((<int64_t>1 << (64 - self.shift)) + 2) + 6 * self.n_entries + 8 * self.n_words)

    def neighbours(self, const uint32_t[::1] letters, const int64_t[::1] offsets, int max_edits):
        """(starts [n + 1], words, distances): of each query the words within so many edits, by their numbers."""
        cdef int64_t i, n = offsets.shape[0] - 1
        cdef const uint32_t* query = &letters[0] if letters.shape[0] else NULL
        cdef Neighbours found = [NULL, NULL, 0, 0]
        cdef int32_t* marks
        cdef bint whole = True
        if not prove_words(letters, offsets) or not 0 <= max_edits <= self.max_edits or n > 2147483647:
            raise ValueError("queries without their letters, or of more edits than the index has")
        starts = np.zeros(n + 1, np.int64)
        cdef int64_t[::1] start = starts
        marks = <int32_t*>allocate_zeros(self.n_words, sizeof(int32_t))
        try:
            whole = marks != NULL
            with nogil:
                for i in range(n if whole else 0):
                    whole = self.find(query + offsets[i] if query else NULL, offsets[i + 1] - offsets[i], max_edits,
                                      marks, <int32_t>(i + 1), &found)
                    if not whole:
                        break
                    start[i + 1] = found.n
            if not whole:
                raise MemoryError
            return starts, copied_words(&found), copied_distances(&found)
        finally:
            free(marks)
            free_neighbours(&found)


cdef copied_words(Neighbours* found):
    words = np.empty(found.n, np.int32)
    cdef int32_t[::1] to = words
    if found.n:
        memcpy(&to[0], found.words, found.n * sizeof(int32_t))
    return words


cdef copied_distances(Neighbours* found):
    distances = np.empty(found.n, np.int8)
    cdef int8_t[::1] to = distances
    if found.n:
        memcpy(&to[0], found.distances, found.n)
    return distances
