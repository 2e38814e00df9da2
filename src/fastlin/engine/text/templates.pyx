"""Features of tokens by templates: streams of numbers, pairs of these, and the columns they come to.

A block of sequences is laid out with room before and behind each. A **stream** has a number for every place in it: that
of a string, of a pair (the number of one stream here, that of another d places further on), or −1 where there is
nothing. So a conjunction of n strings is n − 1 look-ups of 8 bytes each, for all templates that have it at whatever
distance. A template is a stream, a distance and a family: feature = column[family][number], one load. Columns are
numbered in the order in which tokens bring them.
"""

import numpy as np

from cpython cimport array
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove

from fastlin.engine.core.allocation cimport allocate_zeros
from fastlin.engine.text.characters cimport utf8_width
from fastlin.engine.text.string_table cimport NgramTrie, free_trie, make_trie, pairs, reserve

cdef extern from "ranks.h" nogil:
    void sort_different "fastlin_sort_different"(int32_t*, Py_ssize_t, int32_t*) noexcept

AS_GIVEN, DISTINCT, SUMMED = range(3)           # the order of a row

cdef enum:
    as_given = 0
    distinct = 1
    summed = 2
    ROW_PADDING = 16    # places behind a row that may be overwritten


# --- strings ---------------------------------------------------------------------------------------------------------


def affixes(const uint8_t[::1] arena, const int64_t[::1] offsets, Py_ssize_t n, bint at_end):
    """The slices of the first or last n characters of strings in UTF-8: starts and lengths; −1: it has fewer."""
    cdef Py_ssize_t m = offsets.shape[0] - 1, i, k
    cdef int64_t p
    starts, lengths = np.empty(m, np.int64), np.empty(m, np.int32)
    cdef int64_t[::1] start = starts
    cdef int32_t[::1] length = lengths
    with nogil:
        for i in range(m):
            k = 0
            p = offsets[i + 1] if at_end else offsets[i]
            while k < n and (p > offsets[i] if at_end else p < offsets[i + 1]):
                if at_end:
                    p -= 1
                    while arena[p] & 0xC0 == 0x80:
                        p -= 1
                else:
                    p += utf8_width(<char>arena[p])
                k += 1
            start[i] = p if at_end else offsets[i]
            length[i] = <int32_t>(offsets[i + 1] - p if at_end else p - offsets[i]) if k == n else -1
    return starts, lengths


# --- streams ---------------------------------------------------------------------------------------------------------


def fill_stream(const int64_t[::1] starts, Py_ssize_t first, Py_ssize_t last, const int32_t[::1] numbers,
                const int32_t[::1] table, const int32_t[::1] strange, const int32_t[::1] before,
                const int32_t[::1] behind, int32_t[::1] stream):
    """The stream of the sequences first to last, each between the numbers `before` and `behind` it.

    A token of number i has table[i] there, or, beyond the table's n, strange[i − n], and −1 for −1; without a table i.
    """
    cdef Py_ssize_t s, t, k, p = 0
    cdef bint translated = table is not None
    cdef int32_t i, n = <int32_t>table.shape[0] if translated else 0
    with nogil:
        for s in range(first, last):
            for k in range(before.shape[0]):
                stream[p] = before[k]
                p += 1
            for t in range(starts[s], starts[s + 1]):
                i = numbers[t]
                if translated:
                    i = -1 if i < 0 else table[i] if i < n else strange[i - n]
                stream[p] = i
                p += 1
            for k in range(behind.shape[0]):
                stream[p] = behind[k]
                p += 1


def match_spans(const int32_t[::1] numbers, const int64_t[::1] starts, PairNumbering tree, const uint8_t[::1] ends):
    """Where sequences of words have entries of a list, the longest first: 0 where one begins, 1 inside, −1 elsewhere.

    `numbers` are those of the tokens' words, −1: in no entry. The entries are a tree of pairs (a beginning and its next
    word; the empty one is 0, that of pair p is p + 1), and `ends` says of which pairs an entry ends there.
    """
    cdef Py_ssize_t s, t, k, longest
    cdef int32_t state, pair
    marks = np.full(numbers.shape[0], -1, np.int32)
    cdef int32_t[::1] mark = marks
    with nogil:
        for s in range(starts.shape[0] - 1):
            t = starts[s]
            while t < starts[s + 1]:
                state = longest = 0
                for k in range(t, starts[s + 1]):
                    pairs(&tree.trie, False, &state, &numbers[k], 1, &pair)
                    if pair < 0:
                        break
                    state = pair + 1
                    if ends[pair]:
                        longest = k + 1 - t
                for k in range(t, t + longest):
                    mark[k] = k > t
                t += longest if longest else 1
    return marks


cdef class PairNumbering:
    """Pairs of numbers and theirs, in the order in which they come."""

    cdef NgramTrie trie

    def __cinit__(self, uint64_t seed):
        if not make_trie(&self.trie, seed):
            raise MemoryError

    def __dealloc__(self):
        free_trie(&self.trie)

    def __len__(self):
        return self.trie.n

    def number(self, const int32_t[::1] left, const int32_t[::1] right, bint learn, int32_t[::1] numbers):
        """The numbers of pairs; −1: one of the two is, or the pair is unknown and not to be learnt."""
        cdef Py_ssize_t m = numbers.shape[0]
        cdef bint done = True
        if m:
            with nogil:
                done = pairs(&self.trie, learn, &left[0], &right[0], m, &numbers[0])
        if not done:
            raise MemoryError

    def arrays(self):
        """(left, right) of the pairs in order."""
        cdef Py_ssize_t n = self.trie.n
        left, right = np.empty(n, np.int32), np.empty(n, np.int32)
        cdef int32_t[::1] to_left = left, to_right = right
        if n:
            memcpy(&to_left[0], self.trie.prefix, n * sizeof(int32_t))
            memcpy(&to_right[0], self.trie.last, n * sizeof(int32_t))
        return left, right


def fill_pairs(list numberings, const int32_t[:, ::1] pairs_of, int32_t[:, ::1] streams, Py_ssize_t n):
    """The streams of pairs, which are known: rows of `pairs_of` are (left, right, distance, which numbering, stream).

    Only the first n places of streams count; a pair whose right side is beyond them is none.
    """
    cdef Py_ssize_t k, first, stop, p
    cdef int32_t left, right, distance, to
    cdef PairNumbering numbering
    if n > streams.shape[1]:
        raise ValueError(f"streams of {streams.shape[1]} places have no {n}")
    for k in range(pairs_of.shape[0]):
        left, right, distance, to = pairs_of[k, 0], pairs_of[k, 1], pairs_of[k, 2], pairs_of[k, 4]
        if not (0 <= left < streams.shape[0] and 0 <= right < streams.shape[0] and 0 <= to < streams.shape[0]):
            raise ValueError(f"pair {k} is of streams that are not there")
        numbering = numberings[pairs_of[k, 3]]
        first, stop = max(0, -distance), n - max(0, distance)
        for p in range(n):
            streams[to, p] = -1
        if first < stop:
            pairs(&numbering.trie, False, &streams[left, first], &streams[right, first + distance], stop - first,
                  &streams[to, first])


# --- columns ---------------------------------------------------------------------------------------------------------


cdef class RowBuilder:
    """The rows of a CSR that grows."""

    cdef array.array kept_indices, kept_values
    cdef int32_t* indices
    cdef double* values
    cdef Py_ssize_t n, room
    cdef int order

    def __cinit__(self, int order):
        self.kept_indices, self.kept_values, self.order = array.array("i"), array.array("d"), order

    cdef int make_room(self, Py_ssize_t more) except -1:
        if self.n + more > self.room:
            self.resize(self.n + more if self.n + more > 2 * self.room else 2 * self.room)
        return 0

    cdef int resize(self, Py_ssize_t room) except -1:
        array.resize(self.kept_indices, room)
        self.indices, self.room = <int32_t*>self.kept_indices.data.as_ints, room
        if self.order == summed:
            array.resize(self.kept_values, room)
            self.values = self.kept_values.data.as_doubles
        return 0

    cdef inline void end(self, int32_t* row, Py_ssize_t m) noexcept nogil:
        """Append a row of m columns, as its order wants it."""
        cdef int32_t* indices = self.indices + self.n
        cdef double* values
        cdef Py_ssize_t i, k, kept = m
        cdef int32_t column
        if self.order == distinct:
            sort_different(row, m, indices)
        elif self.order == as_given:
            memcpy(indices, row, m * sizeof(int32_t))
        else:
            values = self.values + self.n
            kept = 0
            for i in range(m):
                column = row[i]
                k = kept
                while k and indices[k - 1] > column:
                    k -= 1
                if k and indices[k - 1] == column:
                    values[k - 1] += 1.0
                    continue
                memmove(indices + k + 1, indices + k, (kept - k) * sizeof(int32_t))
                memmove(values + k + 1, values + k, (kept - k) * sizeof(double))
                indices[k] = column
                values[k] = 1.0
                kept += 1
        self.n = self.n + kept

    def arrays(self):
        """(indices, values; None: all are 1)"""
        self.resize(self.n)
        return (np.frombuffer(self.kept_indices, np.int32),
                np.frombuffer(self.kept_values, np.float64) if self.order == summed else None)


cdef struct CompiledTemplate:
    const int32_t* stream       # its number for the first token of a block that begins with one
    int32_t* columns
    int64_t room                # numbers that may have a column
    int32_t family
    int32_t condition, ends     # which conditions

cdef struct Condition:
    const int32_t* stream
    int32_t wanted


cdef class ColumnNumbering:
    """From (family, number) to column, and back."""

    cdef int32_t** columns      # [n_families][sizes of the families] the column, −1: none
    cdef int64_t* rooms
    cdef int n_families
    cdef int32_t* family        # [n] of a column
    cdef int32_t* number
    cdef int64_t n, room

    def __cinit__(self, int n_families):
        self.n_families = n_families
        self.columns = <int32_t**>allocate_zeros(n_families + 1, sizeof(int32_t*))
        self.rooms = <int64_t*>allocate_zeros(n_families + 1, sizeof(int64_t))
        if self.columns == NULL or self.rooms == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef int k
        for k in range(self.n_families if self.columns != NULL else 0):
            free(self.columns[k])
        free(self.columns)
        free(self.rooms)
        free(self.family)
        free(self.number)

    def __len__(self):
        return self.n

    def widen(self, const int64_t[::1] sizes):
        """Each family may have numbers below sizes[family]; of a column or not."""
        cdef int64_t before, i
        cdef int k
        if sizes.shape[0] != self.n_families:
            raise ValueError("a size for each family")
        for k in range(self.n_families):
            before = self.rooms[k]
            if not reserve(<void**>&self.columns[k], &self.rooms[k], sizes[k], sizeof(int32_t)):
                raise MemoryError
            for i in range(before, self.rooms[k]):
                self.columns[k][i] = -1

    cdef inline int32_t add(self, int32_t family, int32_t number) noexcept nogil:
        """A new column; −1: there is no memory for it."""
        cdef int64_t room = self.room
        if self.n == INT32_MAX or not reserve(<void**>&self.family, &room, self.n + 1, sizeof(int32_t)):
            return -1
        if not reserve(<void**>&self.number, &self.room, self.n + 1, sizeof(int32_t)):
            return -1
        self.family[self.n] = family
        self.number[self.n] = number
        self.columns[family][number] = <int32_t>self.n
        self.n = self.n + 1
        return <int32_t>(self.n - 1)

    def emit(self, const int32_t[:, ::1] streams, const int32_t[:, ::1] templates, const int32_t[:, ::1] conditions,
             const int64_t[::1] starts, Py_ssize_t first, Py_ssize_t last, Py_ssize_t before, Py_ssize_t behind,
             bint learn, int64_t known, RowBuilder rows, int64_t[::1] ends):
        """Append the rows of the tokens of the sequences first to last, and say where each ends: ends[token].

        A template: (stream, distance, family, its first condition, the one behind its last); a condition: (stream,
        distance, the number that must be there). To learn, numbers are below the sizes of their families; else what
        has none of the first `known` columns is left out.
        """
        cdef Py_ssize_t T = templates.shape[0], n_conditions = conditions.shape[0], s, t, p, k, c, m
        cdef int32_t number, column
        cdef CompiledTemplate* template
        cdef bint done = True
        rows.make_room((starts[last] - starts[first]) * T)
        kept = np.empty((T + 1) * sizeof(CompiledTemplate) + (n_conditions + 1) * sizeof(Condition), np.uint8)
        buffer = np.empty(T + ROW_PADDING, np.int32)
        cdef uint8_t[::1] memory = kept
        cdef int32_t[::1] held = buffer
        cdef int32_t* row = &held[0]
        cdef CompiledTemplate* program = <CompiledTemplate*>&memory[0]
        cdef Condition* tests = <Condition*>(program + T + 1)
        for k in range(T):
            program[k].stream = &streams[templates[k, 0], before + templates[k, 1]]
            program[k].family = templates[k, 2]
            program[k].columns, program[k].room = self.columns[templates[k, 2]], self.rooms[templates[k, 2]]
            program[k].condition, program[k].ends = templates[k, 3], templates[k, 4]
        for c in range(n_conditions):
            tests[c].stream = &streams[conditions[c, 0], before + conditions[c, 1]]
            tests[c].wanted = conditions[c, 2]
        with nogil:
            p = 0
            for s in range(first, last):
                for t in range(starts[s], starts[s + 1]):
                    m = 0
                    for k in range(T):
                        template = &program[k]
                        number = template.stream[p]
                        if number < 0 or number >= template.room:
                            continue
                        c = template.condition
                        while c < template.ends and tests[c].stream[p] == tests[c].wanted:
                            c += 1
                        if c < template.ends:
                            continue
                        column = template.columns[number]
                        if not learn and (column < 0 or column >= known):
                            continue
                        if column < 0:
                            column = self.add(template.family, number)
                            done = done and column >= 0
                        row[m] = column
                        m += 1
                    if not done:
                        break
                    rows.end(row, m)
                    ends[t] = rows.n
                    p += 1
                if not done:
                    break
                p += before + behind
        if not done:
            raise MemoryError(f"no room for more than {self.n} features")

    def arrays(self):
        """(family, number) of the columns in order."""
        family, number = np.empty(self.n, np.int32), np.empty(self.n, np.int32)
        cdef int32_t[::1] to_family = family, to_number = number
        if self.n:
            memcpy(&to_family[0], self.family, self.n * sizeof(int32_t))
            memcpy(&to_number[0], self.number, self.n * sizeof(int32_t))
        return family, number

    def restore(self, const int32_t[::1] family, const int32_t[::1] number, const int64_t[::1] sizes):
        """Become the columns whose `arrays` these are, if there can be such."""
        cdef Py_ssize_t i
        cdef bint sound = self.n == 0 and family.shape[0] == number.shape[0]
        self.widen(sizes)
        for i in range(family.shape[0] if sound else 0):
            if not (0 <= family[i] < self.n_families and 0 <= number[i] < sizes[family[i]]
                    and self.columns[family[i]][number[i]] < 0):
                sound = False
                break
            if self.add(family[i], number[i]) < 0:
                raise MemoryError
        if not sound:
            raise ValueError("columns that no templates have")
