"""Documents to counts: the loop of every text vectoriser.

A `NgramVocabulary` numbers words and n-grams in the order of their first appearance: the words of a document first,
then its pairs, its triples and so on. A `DocumentReader` is the scratch memory of one thread: it cuts documents into
tokens or n-grams of characters, looks them up or hashes them, and counts row by row. Reading without learning leaves
a vocabulary as it is, so that many readers may share one. The documents' own buffers are read, and the GIL is free
meanwhile.
"""

import numpy as np

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_DecodeUTF8, PyUnicode_GET_LENGTH, PyUnicode_KIND
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastlin.engine.core.allocation cimport allocate
from fastlin.engine.text.characters cimport CLAUSE, QUOTE, Py_UNICODE_TOLOWER, kind_beyond
from fastlin.engine.text.characters cimport VISIBLE as KIND_VISIBLE, WORD as KIND_WORD
from fastlin.engine.text.vectorizer_state cimport (
    CountTarget, FeatureSpec, VectorizerBuffers, check_memory, clear_word_cache, free_buffers
)
from fastlin.engine.text.ngram_table cimport copy_trie, length_of, node_of, string_of, take_over, write_name
from fastlin.engine.text.document_counts cimport count_document
from fastlin.engine.text.string_table cimport NgramTrie, free_trie, make_trie, reserve, strings_between
from fastlin.engine.text.row_counter cimport RowCounter, count_number, clear_row, flush_row, freed, reserve_cells
from fastlin.engine.text.tokens cimport Document

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object) noexcept

cdef enum:
    MOST_CHARACTERS = (1 << 29) - 1024      # of a document: its UTF-8 is shorter than 2 GiB

cdef extern from "text.h":
    void fitted "fastlin_fitted"(void*, size_t size, size_t* room) noexcept

WORDS, CHARACTERS, IN_WORDS = range(3)          # units
WORD, VISIBLE = KIND_WORD, KIND_VISIBLE         # members of tokens


def character_tables(bint fold, str clause_ends):
    """The kinds and the lower case of the first 65,536 code points, of every character as it is without `fold`."""
    kinds, lower = np.empty(65536, np.uint8), np.empty(65536, np.uint16)
    cdef uint8_t[::1] kind = kinds
    cdef uint16_t[::1] small = lower
    cdef Py_ssize_t c
    for c in range(65536):
        small[c] = <uint16_t>Py_UNICODE_TOLOWER(<Py_UCS4>c) if fold else <uint16_t>c
        kind[c] = <uint8_t>kind_beyond(small[c])
    kind[c"_"] |= KIND_WORD
    for c in map(ord, clause_ends):
        kind[c] |= CLAUSE
    kind[c"'"] |= QUOTE
    kind[0x2019] |= QUOTE
    return kinds, lower


cdef class NgramVocabulary:
    """Strings and, of strings, n-grams."""

    cdef NgramTrie trie

    def __cinit__(self, uint64_t seed):
        if not make_trie(&self.trie, seed):
            raise MemoryError

    def __dealloc__(self):
        free_trie(&self.trie)

    def __len__(self):
        return self.trie.n

    def copy(self):
        """The same vocabulary, to learn more with: this one stays as it is for those who read."""
        cdef NgramVocabulary other = NgramVocabulary(0)
        cdef bint done
        with nogil:
            done = copy_trie(&other.trie, &self.trie)
        if not done:
            raise MemoryError
        return other

    def arrays(self):
        """prefix and last of every node, and the strings: bytes and offsets.

        Of a string: −1, and its place among the strings.
        """
        cdef NgramTrie* trie = &self.trie
        prefix, last = np.empty(trie.n, np.int32), np.empty(trie.n, np.int32)
        offsets = np.empty(trie.n_strings + 1, np.int64)
        arena = np.empty(trie.offsets[trie.n_strings], np.uint8)
        copy_bytes(prefix.view(np.uint8), trie.prefix)
        copy_bytes(last.view(np.uint8), trie.last)
        copy_bytes(offsets.view(np.uint8), trie.offsets)
        copy_bytes(arena, trie.arena)
        return prefix, last, arena, offsets

    def add_strings(self, const uint8_t[::1] arena, const int64_t[::1] offsets):
        """The nodes of strings, learnt where new; behind `arena`'s last string there are 8 bytes more."""
        cdef Py_ssize_t m = offsets.shape[0] - 1
        nodes = np.empty(m, np.int32)
        cdef int32_t[::1] node = nodes
        cdef bint done = True
        if m:
            with nogil:
                done = strings_between(&self.trie, True, <const char*>&arena[0], &offsets[0], m, &node[0])
        if not done:
            raise MemoryError
        return nodes

    def add_terms(self, const uint8_t[::1] arena, const int64_t[::1] offsets, int shortest, int longest):
        """The nodes of n-grams of words with a blank between them, learnt where new; −1: not of so many words.

        Behind `arena`'s last string there are 8 bytes more.
        """
        cdef Py_ssize_t m = offsets.shape[0] - 1, i
        cdef bint done = True
        nodes = np.empty(m, np.int32)
        cdef int32_t[::1] node = nodes
        with nogil:
            for i in range(m):
                done = done and node_of(&self.trie, <const char*>&arena[0], offsets[i], offsets[i + 1], shortest,
                                        longest, &node[i])
        if not done:
            raise MemoryError
        return nodes

    def names(self, const int32_t[::1] nodes):
        """The names of nodes: an array of strings."""
        cdef NgramTrie* trie = &self.trie
        cdef Py_ssize_t m = nodes.shape[0], i
        cdef char* text = NULL
        cdef int64_t room = 0, start, length
        cdef int32_t node
        names = np.empty(m, object)
        cdef object[::1] name = names
        for i in range(m):
            if not 0 <= nodes[i] < trie.n:
                raise ValueError(f"there is no node {nodes[i]} among {trie.n}")
        try:
            for i in range(m):
                node = nodes[i]
                if trie.prefix[node] < 0:
                    length = string_of(trie, node, &start)
                    name[i] = PyUnicode_DecodeUTF8(trie.arena + start, length, "surrogatepass")
                    continue
                length = length_of(trie, node)
                if not reserve(<void**>&text, &room, length, 1):
                    raise MemoryError
                write_name(trie, node, text + length)
                name[i] = PyUnicode_DecodeUTF8(text, length, "surrogatepass")
        finally:
            free(text)
        return names

    def absorb(self, NgramVocabulary other, Py_ssize_t low, Py_ssize_t high, int32_t[::1] nodes, wanted):
        """nodes[i], the node here, for each node i of `other` in [low, high), learnt where new, in their order.

        Only those that are `wanted`, if that is given; what an n-gram is made of must be, too.
        """
        cdef const uint8_t[::1] chosen
        cdef const uint8_t* those = NULL
        cdef bint done = True
        if low < high:
            if wanted is not None:
                chosen = wanted
                those = &chosen[0]
            with nogil:
                done = take_over(&self.trie, &other.trie, low, high, &nodes[0], those)
        if not done:
            raise MemoryError

    def restore(self, const int32_t[::1] prefix, const int32_t[::1] last, const uint8_t[::1] arena,
                const int64_t[::1] offsets):
        """Become the vocabulary whose `arrays` these are, if there can be one; 8 bytes more stand behind the arena."""
        cdef Py_ssize_t n = prefix.shape[0], i
        cdef NgramTrie other
        cdef int64_t n_strings = 0
        cdef bint sound = last.shape[0] == n and offsets.shape[0] > 0 and offsets[0] == 0 and self.trie.n == 0
        nodes = np.empty(n + 1, np.int32)
        cdef int32_t[::1] node = nodes
        for i in range(n if sound else 0):
            if prefix[i] < 0:
                sound = sound and n_strings + 1 < offsets.shape[0] and prefix[i] == -1 and last[i] == n_strings
                sound = sound and offsets[n_strings] <= offsets[n_strings + 1] <= arena.shape[0] - 8
                n_strings += 1
            else:
                sound = sound and prefix[i] < i and 0 <= last[i] < i and prefix[last[i]] == -1
        if sound and n:
            other.prefix, other.last = <int32_t*>&prefix[0], <int32_t*>&last[0]
            other.arena, other.offsets = <char*>&arena[0], <int64_t*>&offsets[0]
            with nogil:
                sound = take_over(&self.trie, &other, 0, n, &node[0], NULL)
        if not sound or not np.array_equal(nodes[:n], np.arange(n)):
            raise ValueError("these arrays are not those of a vocabulary")


cdef void copy_bytes(uint8_t[::1] to, const void* source):
    if to.shape[0]:
        memcpy(&to[0], source, to.shape[0])


cdef class OwnedBuffer:
    """Memory that was allocated while there was no GIL, as a buffer."""

    cdef void* memory
    cdef size_t room
    cdef Py_ssize_t size

    def __dealloc__(self):
        freed(self.memory, self.room)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.memory if self.memory != NULL else &self.size, self.size, 0, flags)


cdef OwnedBuffer adopt_buffer(void** memory, size_t* room, size_t size):
    """The memory, which then has another owner."""
    cdef OwnedBuffer owned = OwnedBuffer()
    if memory[0] != NULL:
        fitted(memory[0], size, room)
    owned.memory, owned.room, owned.size = memory[0], room[0], size
    memory[0] = NULL
    room[0] = 0
    return owned


cdef class StringSlices:
    """Strings of UTF-8 within the same bytes: those of ASCII are read there, the others are Python's own.

    `data[places[i, 0] : places[i, 1]]` is string i; `others` has {i: str} for each that is not of ASCII alone.
    """

    cdef const uint8_t[::1] data
    cdef const int64_t[:, ::1] places
    cdef readonly dict others

    def __cinit__(self, const uint8_t[::1] data, const int64_t[:, ::1] places, dict others):
        cdef Py_ssize_t i
        if places.shape[1] != 2:
            raise ValueError(f"a string has two places, where it starts and where it stops, not {places.shape[1]}")
        for i in range(places.shape[0]):
            if not 0 <= places[i, 0] <= places[i, 1] <= data.shape[0]:
                raise ValueError(f"string {i} is to be [{places[i, 0]}, {places[i, 1]}) of {data.shape[0]} bytes")
        self.data, self.places, self.others = data, places, others

    def __len__(self):
        return self.places.shape[0]

    def __getitem__(self, Py_ssize_t i):
        if not 0 <= i < self.places.shape[0]:
            raise IndexError(f"there is no string {i} among {self.places.shape[0]}")
        if i in self.others:
            return self.others[i]
        if self.places[i, 0] == self.places[i, 1]:
            return ""
        return PyUnicode_DecodeUTF8(<const char*>&self.data[self.places[i, 0]], self.places[i, 1] - self.places[i, 0],
                                    NULL)

    def mapped(self, function):
        """The same strings, but what a function makes of those that are not of ASCII alone."""
        return StringSlices(self.data, self.places, {i: function(other) for i, other in self.others.items()})

    cdef Document document(self, Py_ssize_t i):
        cdef Document found
        if self.others and i in self.others:
            return document_of(self.others[i])
        found.text = &self.data[0] + self.places[i, 0] if self.data.shape[0] else NULL
        found.n = self.places[i, 1] - self.places[i, 0]
        if found.n > MOST_CHARACTERS:
            raise ValueError(f"a document of {found.n} characters: at most {MOST_CHARACTERS} are supported; cut it")
        found.size, found.ascii = 1, True
        return found


cdef class DocumentReader:
    """The scratch memory of one thread, for features of one kind, and the rows that were read into it."""

    cdef FeatureSpec spec
    cdef VectorizerBuffers buffers
    cdef object kinds, lower, prefixes, suffixes, automaton, stop      # what plan and scratch point to
    cdef NgramVocabulary negators
    cdef list lengths

    def __cinit__(self, int unit, int shortest, int longest, tables, bint fold, int member, int least,
                  bint letter_first, NgramVocabulary negators, prefixes, suffixes):
        cdef const uint8_t[::1] kinds
        cdef const uint16_t[::1] lower
        cdef const int32_t[::1] lengths
        self.kinds, self.lower = tables
        self.prefixes, self.suffixes, self.negators, self.lengths = prefixes, suffixes, negators, []
        kinds, lower = tables
        self.spec.rules.tables.kinds = &kinds[0]
        self.spec.rules.tables.lower = &lower[0]
        self.spec.rules.tables.fold = fold
        self.spec.rules.member = member
        self.spec.rules.shortest = least
        self.spec.rules.letter_first = letter_first
        self.spec.rules.negation = negators is not None
        if negators is not None:
            self.spec.negators = &negators.trie
        self.spec.unit, self.spec.shortest, self.spec.longest = unit, shortest, longest
        lengths = prefixes
        self.spec.n_prefixes = <int>lengths.shape[0]
        self.spec.prefixes = &lengths[0] if lengths.shape[0] else NULL
        lengths = suffixes
        self.spec.n_suffixes = <int>lengths.shape[0]
        self.spec.suffixes = &lengths[0] if lengths.shape[0] else NULL

    def __dealloc__(self):
        free_buffers(&self.buffers)

    def use_automaton(self, const uint8_t[::1] classes, const uint8_t[::1] all_classes,
                      const int32_t[:, ::1] transitions, const int32_t[::1] starts, const uint8_t[::1] words,
                      bint runs):
        """Find tokens by an automaton: see `text/token_automaton.py`; `classes` are of characters as texts have them.

        `runs`: tokens are the runs of at least `least` of the characters with which one may begin.
        """
        cdef Py_ssize_t width = transitions.shape[1], n_states = transitions.shape[0]
        places = np.asarray(transitions) >> 1
        if (len(classes) != 65536 or len(all_classes) != 0x110000 or len(words) != width or len(starts) != 2
                or max(np.max(classes), np.max(all_classes)) >= width - 1 or np.any(places % width)
                or np.any(places < 0) or np.any(places >= n_states * width) or np.any(places[:, width - 1])
                or np.any(np.asarray(starts) % width) or not 0 <= min(starts) <= max(starts) < n_states * width):
            raise ValueError("these arrays are not those of an automaton")
        cdef Py_ssize_t c
        ways_on = np.asarray(transitions)[np.asarray(starts) // width] != 0
        firsts = ways_on.any(axis=0).astype(np.uint8)
        cdef const uint8_t[::1] first = firsts
        self.automaton = classes, all_classes, transitions, words, firsts
        self.spec.rules.automaton.first = &first[0]
        self.spec.rules.automaton.runs = runs
        for c in range(128):
            self.spec.rules.automaton.member[c] = first[classes[c]]
        self.spec.rules.automaton.classes, self.spec.rules.automaton.classes_beyond = &classes[0], &all_classes[0]
        self.spec.rules.automaton.transitions, self.spec.rules.automaton.words = &transitions[0, 0], &words[0]
        self.spec.rules.automaton.n_classes = <int>(width - 1)
        self.spec.rules.automaton.start[0], self.spec.rules.automaton.start[1] = starts[0], starts[1]

    def watch_stop_flag(self, stop):
        """From now on give up, with InterruptedError, when stop[0] is not zero."""
        cdef const int32_t[::1] flag = stop
        self.stop, self.buffers.stop = stop, &flag[0]

    def count(self, documents, NgramVocabulary vocabulary, bint learn, int32_t ignored, columns):
        """Append a row for each document, of a list or of `StringSlices`: which features it has, in order, how often.

        They are nodes of the vocabulary, or what `columns` has in the place of the node; −1 there is not counted, nor
        are the nodes below `ignored`, the stop words; `columns` are the same in every call.
        `learn`: what the vocabulary does not hold is added to it.
        """
        cdef CountTarget target
        cdef const int32_t[::1] column
        memset(&target, 0, sizeof(CountTarget))
        target.trie, target.learn, target.ignored = &vocabulary.trie, learn, ignored
        if columns is not None:
            column = columns
            if column.shape[0] < vocabulary.trie.n:
                raise ValueError("columns must have a place for every node")
            target.columns = &column[0] if column.shape[0] else <const int32_t*>&target.ignored
            if not reserve_cells(&self.buffers.counter, np.max(columns, initial=0) + 1):
                raise MemoryError
        self.append(documents, &target)

    def hash(self, documents, int64_t n_buckets, bint signs, bint in_order, NgramVocabulary stop_words):
        """Append the buckets of each document's features, in order; `in_order`: as they come, one maybe many times."""
        cdef CountTarget target
        memset(&target, 0, sizeof(CountTarget))
        target.trie, target.ignored = &stop_words.trie, <int32_t>stop_words.trie.n
        target.n_buckets, target.signs, target.in_order = n_buckets, signs, in_order
        if not in_order and not reserve_cells(&self.buffers.counter, n_buckets):
            raise MemoryError
        self.append(documents, &target)

    cdef append(self, documents, const CountTarget* target):
        cdef StringSlices slices = documents if isinstance(documents, StringSlices) else None
        cdef list strings = documents if slices is None else None
        cdef Py_ssize_t m = len(documents), i
        cdef Document* document = <Document*>allocate(m + 1, sizeof(Document))
        cdef RowCounter* counter = &self.buffers.counter
        cdef int64_t whole = counter.n, before
        lengths = np.empty(m, np.int64)
        cdef int64_t[::1] length = lengths
        if document == NULL:
            raise MemoryError
        try:
            for i in range(m):
                document[i] = document_of(strings[i]) if slices is None else slices.document(i)
            with nogil:
                for i in range(m):
                    before = counter.n
                    count_document(&self.buffers, &self.spec, target, &document[i])
                    check_memory(flush_row(counter))
                    length[i] = counter.n - before
        except BaseException:
            clear_row(counter)
            clear_word_cache(&self.buffers.known)
            counter.n = whole
            raise
        finally:
            free(document)
        self.lengths.append(lengths)

    def take(self):
        """The rows so far, which the reader then forgets: their lengths, their features, and room for their counts.

        The counts are the first half of that room, int32: there is no other copy of them, whatever they become.
        """
        cdef RowCounter* counter = &self.buffers.counter
        lengths, self.lengths = np.concatenate([*self.lengths, np.empty(0, np.int64)]), []
        cdef int64_t n = counter.n
        counter.n = 0
        numbers = adopt_buffer(<void**>&counter.numbers, &counter.numbers_room, n * sizeof(int32_t))
        counts = adopt_buffer(<void**>&counter.counts, &counter.counts_room, n * sizeof(int64_t))
        return lengths, np.frombuffer(numbers, np.int32, n), np.frombuffer(counts, np.int64, n)

    def renumber(self, const int64_t[::1] lengths, int32_t[::1] numbers, int32_t[::1] counts, const int32_t[::1] nodes,
                 int64_t n):
        """Rows of counts, in place, with nodes[number] < n for each number and in the order of these."""
        cdef RowCounter* counter = &self.buffers.counter
        cdef Py_ssize_t row, p = 0, first
        if not numbers.shape[0]:
            return
        with nogil:
            check_memory(reserve_cells(counter, n))
            for row in range(lengths.shape[0]):
                first = p
                for p in range(first, first + lengths[row]):
                    count_number(counter, nodes[numbers[p]], counts[p])
                p = first + lengths[row]
                counter.n = 0
                check_memory(flush_row(counter))
                if counter.n:
                    memcpy(&numbers[0] + first, counter.numbers, counter.n * sizeof(int32_t))
                    memcpy(&counts[0] + first, counter.counts, counter.n * sizeof(int32_t))
            counter.n = 0

    def rows(self, Py_ssize_t n):
        """In how many documents each of the first n nodes or columns was, of all that this reader has counted."""
        counts = np.zeros(n, np.int32)
        cdef int32_t[::1] count = counts
        cdef Py_ssize_t i
        for i in range(min(n, self.buffers.counter.room)):
            count[i] = self.buffers.counter.cells[i].rows
        return counts


cdef Document document_of(object text):
    cdef Document document
    if not isinstance(text, str):
        raise TypeError(f"a document must be a string, got {type(text).__name__}")
    if PyUnicode_GET_LENGTH(text) > MOST_CHARACTERS:
        raise ValueError(f"a document of {len(text)} characters: at most {MOST_CHARACTERS} are supported; cut it")
    document.text = PyUnicode_DATA(text)
    document.n = PyUnicode_GET_LENGTH(text)
    document.size = PyUnicode_KIND(text)
    document.ascii = PyUnicode_IS_ASCII(text)
    return document
