"""Strings to numbers, in the order in which they come, and back; lines of text to sequences of numbers.

The words of language models and of templates, and what templates make of them, are numbered here. The table of a
language model begins with three marks: 0 begins a sentence, 1 ends it, 2 stands for every unknown word. A sentence
becomes 0 w₁ … wₙ 1, so that a 0 says where the next one begins, and nothing else has to.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset
from cython cimport final

import numpy as np

from fastlin.engine.text.string_table cimport (
    LOOKUP_BATCH, PADDING, NgramTrie, free_trie, make_trie, strings, strings_between
)

cdef extern from "text.h" nogil:
    uint64_t blanks_of "fastlin_blanks"(const uint8_t*, int64_t n, bint goes_on, uint64_t* line_ends) noexcept
    int BLOCK "FASTLIN_BLOCK"

cdef extern from * nogil:
    int trailing_zeros "__builtin_ctzll"(uint64_t) noexcept

cdef enum:
    BEGIN = 0
    END = 1
    UNKNOWN = 2
    MARKS = 3
    SHORT_STRING = 256          # bytes

ROOM_BEHIND = PADDING       # bytes that are read behind a text

cdef struct Pending:
    int64_t[LOOKUP_BATCH] start  # of words that are not looked up yet
    int32_t[LOOKUP_BATCH] length
    int64_t[LOOKUP_BATCH] place  # among the tokens
    int64_t[LOOKUP_BATCH] line
    int32_t[LOOKUP_BATCH] nodes
    Py_ssize_t n

cdef struct SentenceLines:
    int64_t tokens
    int64_t lines
    int64_t marked              # the first line that holds a mark; −1: none does
    bint full                   # there was no memory


cdef bint flush(NgramTrie* trie, bint learn, bint keep, const char* text, Pending* pending, int32_t* tokens,
                SentenceLines* found) noexcept nogil:
    """Look up the words that wait. False: a mark that must not be there, or no memory."""
    cdef Py_ssize_t i
    cdef int32_t node
    if not strings(trie, learn, text, pending.start, pending.length, pending.n, pending.nodes):
        found.full = True
        return False
    for i in range(pending.n):
        node = pending.nodes[i]
        if node < 0:
            node = UNKNOWN
        elif node < MARKS:
            if not keep:
                found.marked = pending.line[i]
                return False
            if node != UNKNOWN:
                node = -1
        tokens[pending.place[i]] = node
    pending.n = 0
    return True


cdef inline void begin_line(int32_t* tokens, int64_t* m, bint* open_line) noexcept nogil:
    """Its mark, unless the line has begun."""
    if not open_line[0]:
        tokens[m[0]] = BEGIN
        m[0] += 1
        open_line[0] = True


cdef inline void end_line(int32_t* tokens, int64_t* m, bint* open_line, SentenceLines* found) noexcept nogil:
    begin_line(tokens, m, open_line)
    tokens[m[0]] = END
    m[0] += 1
    found.lines += 1
    open_line[0] = False


cdef inline void add_word(Pending* pending, int64_t start, int64_t stop, int64_t place, int64_t line) noexcept nogil:
    pending.start[pending.n] = start
    pending.length[pending.n] = <int32_t>(stop - start)
    pending.place[pending.n] = place
    pending.line[pending.n] = line
    pending.n += 1


cdef void split(NgramTrie* trie, bint learn, bint keep, const uint8_t* text, Py_ssize_t n, int32_t* tokens,
                SentenceLines* found) noexcept nogil:
    """64 bytes at a time: masks say where words begin and end, and where lines do."""
    cdef Pending pending
    cdef Py_ssize_t first, at, start = -1, last = -1
    cdef int64_t m = 0
    cdef uint64_t blanks, line_ends, begins, ends, events, inside = 0
    cdef bint open_line = False
    pending.n = 0
    for first in range(0, n + 1, 64):  # the block in which the last word ends, too
        blanks = blanks_of(text + first, n - first, first + BLOCK < n, &line_ends)
        begins, ends = ~blanks & ~(~blanks << 1 | inside), blanks & (~blanks << 1 | inside)
        inside = ~blanks >> 63
        events = ends | line_ends
        while events:
            at = first + trailing_zeros(events)
            if ends & events & -events:
                if start < 0:
                    start = first + trailing_zeros(begins)
                    begins &= begins - 1
                begin_line(tokens, &m, &open_line)
                add_word(&pending, start, at, m, found.lines)
                start = -1
                m += 1
                if pending.n == LOOKUP_BATCH and not flush(trie, learn, keep, <const char*>text, &pending, tokens,
                                                           found):
                    return
            if line_ends & events & -events:
                end_line(tokens, &m, &open_line, found)
                last = at
            events &= events - 1
        if begins:
            start = first + trailing_zeros(begins)
    if last + 1 < n:
        end_line(tokens, &m, &open_line, found)
    if flush(trie, learn, keep, <const char*>text, &pending, tokens, found):
        found.tokens = m


@final
cdef class StringNumbering:
    """Strings and their numbers."""

    cdef NgramTrie trie

    def __cinit__(self, uint64_t seed):
        if not make_trie(&self.trie, seed):
            raise MemoryError

    def __dealloc__(self):
        free_trie(&self.trie)

    def __len__(self):
        return self.trie.n_strings

    def number(self, const uint8_t[::1] arena, const int64_t[::1] offsets, bint learn):
        """The numbers of the strings arena[offsets[i]:offsets[i + 1]]; −1: unknown. 64 bytes follow the last."""
        cdef Py_ssize_t n = offsets.shape[0] - 1
        cdef bint whole = True
        if n < 0 or arena.shape[0] < offsets[n] + PADDING:
            raise ValueError("strings without their offsets or without room behind the last")
        numbers = np.empty(n, np.int32)
        cdef int32_t[::1] number = numbers
        if n:
            with nogil:
                whole = strings_between(&self.trie, learn, <const char*>&arena[0], &offsets[0], n, &number[0])
        if not whole:
            raise MemoryError
        return numbers

    def number_slices(self, const uint8_t[::1] text, const int64_t[::1] begins, const int32_t[::1] lengths, bint learn):
        """The numbers of strings wherever they stand in a text; −1: unknown. 64 bytes follow the last."""
        cdef Py_ssize_t i, n = begins.shape[0], end = text.shape[0] - PADDING
        cdef bint whole = True, inside = True
        if lengths.shape[0] != n:
            raise ValueError("strings without their places")
        numbers = np.empty(n, np.int32)
        cdef int32_t[::1] number = numbers
        with nogil:
            for i in range(n):
                inside = inside and begins[i] >= 0 and lengths[i] >= 0 and begins[i] + lengths[i] <= end
            if inside and n:
                whole = strings(&self.trie, learn, <const char*>&text[0], &begins[0], &lengths[0], n, &number[0])
        if not inside:
            raise ValueError("strings outside of the text")
        if not whole:
            raise MemoryError
        return numbers

    def find(self, bytes text not None):
        """The number of one string; −1: unknown."""
        cdef char[SHORT_STRING + PADDING] buffer
        cdef int64_t start = 0
        cdef int32_t length, number = -1
        if PyBytes_GET_SIZE(text) > SHORT_STRING:
            arena = np.frombuffer(text + bytes(PADDING), np.uint8)
            return int(self.number(arena, np.array([0, len(text)]), False)[0])
        length = <int32_t>PyBytes_GET_SIZE(text)
        memcpy(buffer, PyBytes_AS_STRING(text), length)
        memset(buffer + length, 0, PADDING)
        strings(&self.trie, False, buffer, &start, &length, 1, &number)
        return number

    def split(self, const uint8_t[::1] text, Py_ssize_t n, bint learn, bint keep, int32_t[::1] tokens):
        """The sentences on the lines of the first n bytes: (tokens, lines, the first line with a mark, else −1).

        64 bytes follow the n, and there is room for 2n + 2 tokens. `keep`: an unknown word's mark is a word, those of
        sentences become −1.
        """
        cdef SentenceLines found
        found.tokens = found.lines = 0
        found.marked = -1
        found.full = False
        if n < 0 or text.shape[0] < n + PADDING or tokens.shape[0] < 2 * n + 2:
            raise ValueError("no room behind a text, or for its tokens")
        with nogil:
            split(&self.trie, learn, keep, &text[0], n, &tokens[0], &found)
        if found.full:
            raise MemoryError
        return found.tokens, found.lines, found.marked

    def strings(self):
        """(bytes, where each string begins): all strings in the order of their numbers, 64 bytes behind the last."""
        cdef int64_t m = self.trie.n_strings, size = self.trie.offsets[m]
        arena, offsets = np.zeros(size + PADDING, np.uint8), np.empty(m + 1, np.int64)
        cdef uint8_t[::1] text = arena
        cdef int64_t[::1] to = offsets
        if size:
            memcpy(&text[0], self.trie.arena, size)
        memcpy(&to[0], self.trie.offsets, (m + 1) * sizeof(int64_t))
        return arena, offsets

    def names(self, Py_ssize_t n):
        """The first n strings."""
        cdef const int64_t* offsets = self.trie.offsets
        cdef list names = []
        cdef Py_ssize_t i
        for i in range(min(n, self.trie.n_strings)):
            names.append(PyUnicode_DecodeUTF8(self.trie.arena + offsets[i], offsets[i + 1] - offsets[i],
                                              "surrogatepass"))
        return names
