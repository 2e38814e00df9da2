"""Tokens made of Python objects, to the three arrays of a CSR: the boundary in front of sequence models.

A token is a string, several strings, or a dict. Walking them needs the GIL and waits for memory, so this module lives
in this room and is built once, not for each instruction set. It makes no objects of its own: names are read where their
strings lie, or in one scratch buffer, and those of a token are looked up together, so that the slots of the table are
on their way from memory while other names are hashed.
"""

import reprlib
from collections.abc import Iterable, Mapping
from numbers import Number

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Next
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.long cimport PyLong_AsLongAndOverflow, PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_Check, PyUnicode_DecodeUTF8
from libc.math cimport fabs
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy
from cython cimport critical_section, final

import numpy as np

from fastlin.engine.core.allocation cimport allocate, allocate_zeros
from fastlin.engine.core.csr cimport prefetch
from fastlin.engine.text.name_table cimport (
    IN_PLACE, NameSlot, NameTable, clear, double_slots, find, find_among, insert, name_hash, needs_arena, needs_slots,
    text_of
)
from fastlin.features.object_rows cimport (
    GrowingRows, NameBuffer, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_IS_COMPACT_ASCII, check_length, utf8
)

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define FASTLIN_BESIDE 1
    #else
    #define FASTLIN_BESIDE 0
    #endif
    #define FASTLIN_LOAD(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
    #define FASTLIN_STORE(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
    """
    bint BESIDE "FASTLIN_BESIDE"  # whether others look names up while one is entered: there is no lock of Python's
    const NameTable* load "FASTLIN_LOAD"(NameTable*) noexcept nogil
    void store "FASTLIN_STORE"(NameTable*, NameTable*) noexcept nogil

cdef enum:
    LOOKUP_BATCH = 64  # names that are looked up together
    SIGNAL_INTERVAL = 1024  # tokens between two looks for Ctrl-C
    MAX_DEPTH = 100  # dicts within dicts

cdef double LARGEST = 1e100  # of |value|, as in fastlin.validation


cdef struct Outgrown:
    void* memory
    Outgrown* before


cdef inline uint32_t hash_of(bytes text) except? 1:
    return name_hash(PyBytes_AS_STRING(text), check_length(PyBytes_GET_SIZE(text)))


# --- the table -------------------------------------------------------------------------------------------------------


@final
cdef class AttributeNames:
    """Names and their columns, which are numbered in the order of first appearance.

    They only ever grow, so that whoever knows the first n of them may go on reading while others learn more. One
    learns at a time, behind all names that there are; others learn on a copy of those that they know.
    """

    cdef NameTable table  # of who learns
    cdef NameTable* shared  # the same for who reads, as it was when it grew last: its slots go on filling
    cdef Outgrown* outgrown  # memory that somebody may read still
    cdef bint learning  # whether somebody is behind the last name
    cdef bint alone  # with the one who learns: nobody reads yet

    def __cinit__(self):
        self.shared = <NameTable*>allocate_zeros(1, sizeof(NameTable))
        if not self.shared:
            raise MemoryError

    def __init__(self, names=()):
        cdef bytes text
        cdef uint32_t h
        self.alone = True
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"names of features are strings, got {reprlib.repr(name)}")
            text = utf8(name)
            h = hash_of(text)
            if self.column_of(text, h) >= 0:
                raise ValueError(f"the name {name!r} is there twice")
            self.enter(PyBytes_AS_STRING(text), <uint32_t>PyBytes_GET_SIZE(text), h)
        self.publish()

    def __dealloc__(self):
        cdef Outgrown* one
        while self.outgrown:
            one = self.outgrown
            self.outgrown = one.before
            free(one.memory)
            free(one)
        free(self.shared)
        clear(&self.table)

    def __len__(self):
        return self.table.used

    cdef inline int32_t column_of(self, bytes text, uint32_t h) noexcept:
        return find(&self.table, PyBytes_AS_STRING(text), <uint32_t>PyBytes_GET_SIZE(text), h)

    cdef int publish(self) except -1:
        """Who reads finds the table as it is now, and no longer is alone."""
        cdef NameTable* shared = <NameTable*>allocate(1, sizeof(NameTable))
        cdef NameTable* before = self.shared
        if not shared:
            raise MemoryError
        shared[0] = self.table
        store(self.shared, shared)
        self.alone = False
        return self.leave(before)

    cdef int leave(self, void* memory) except -1:
        """Free it, once nobody can read it."""
        cdef Outgrown* one
        if not BESIDE or self.alone or not memory:
            free(memory)
            return 0
        one = <Outgrown*>allocate(1, sizeof(Outgrown))
        if not one:  # it stays
            raise MemoryError
        one.memory, one.before = memory, self.outgrown
        self.outgrown = one
        return 0

    cdef int make_room(self, uint32_t n) except -1:
        """For a name of n bytes, beside those who read."""
        cdef NameSlot* slots = self.table.slots
        cdef char* arena = self.table.arena
        cdef char* wider
        cdef int64_t room = 2 * (self.table.room + n)
        cdef bint of_slots = needs_slots(&self.table), of_arena = needs_arena(&self.table, n)
        if of_slots and not double_slots(&self.table):
            raise MemoryError
        if of_arena:
            wider = <char*>allocate(room, 1)
            if not wider:
                raise MemoryError
            if self.table.filled:
                memcpy(wider, arena, self.table.filled)
            self.table.arena, self.table.room = wider, room
        if of_slots or of_arena:
            self.publish()
            self.leave(slots if of_slots else NULL)
            self.leave(arena if of_arena else NULL)
        return 0

    cdef int32_t enter(self, const char* text, uint32_t n, uint32_t h) except -1:
        cdef int64_t column = self.table.used
        if column == INT32_MAX:
            raise OverflowError(f"there are more than {INT32_MAX} features")
        if not self.alone:
            self.make_room(n)
        if not insert(&self.table, text, n, h, <int32_t>column):
            raise MemoryError
        return <int32_t>column

    def column(self, str name, int64_t known):
        """That of a name among the first so many, or −1."""
        cdef bytes text = utf8(name)
        return find_among(load(self.shared), PyBytes_AS_STRING(text), <uint32_t>PyBytes_GET_SIZE(text), hash_of(text),
                          known)

    def names(self, int64_t known):
        """The first so many, in the order of their columns."""
        cdef list names = [None] * min(known, self.table.used)
        cdef const NameTable* table = load(self.shared)
        cdef int64_t place
        cdef const NameSlot* slot
        for place in range(table.mask + 1 if names else 0):
            slot = &table.slots[place]
            if 0 < slot.number <= known:
                names[slot.number - 1] = PyUnicode_DecodeUTF8(text_of(table, slot), slot.length, "surrogatepass")
        return names

    def read(self, sequences, int64_t known):
        """Return (indptr, indices, values, starts): a CSR of the tokens, its rows sorted, and where sequences start.

        Values are None if all of them are 1. Names that are not among the first so many are left out.
        """
        cdef TokenReader reader = TokenReader()
        reader.names, reader.known = self, known
        reader.take_all(sequences)
        return reader.arrays()

    def learn(self, sequences, int64_t known):
        """The same, and the names to which those were added that are not among the first so many.

        These, or, if there are others behind the first so many, a copy. After an error, none has been added.
        """
        cdef AttributeNames names = None
        cdef TokenReader reader
        with critical_section(self):
            if known == self.table.used and not self.learning:
                names, self.learning = self, True
        if names is None:
            names = self.copied(known)
        names.alone = not names.shared.slots
        try:
            reader = TokenReader()
            reader.names, reader.known, reader.learn = names, known, True
            reader.take_all(sequences)
            if names.alone:
                names.publish()
            return reader.arrays(), names
        except BaseException:
            names.forget(known)
            raise
        finally:
            with critical_section(names):
                names.learning = False

    cdef AttributeNames copied(self, int64_t known):
        """The first so many."""
        cdef AttributeNames names = AttributeNames()
        cdef const NameTable* table = load(self.shared)
        cdef int64_t place
        cdef const NameSlot* slot
        for place in range(table.mask + 1 if table.slots else 0):
            slot = &table.slots[place]
            if 0 < slot.number <= known and not insert(&names.table, text_of(table, slot), slot.length, slot.hash,
                                                       slot.number - 1):
                raise MemoryError
        return names

    cdef int forget(self, int64_t first) except -1:
        """Keep the first so many names alone."""
        cdef NameSlot* slots
        cdef NameSlot* slot
        cdef NameSlot* outgrown
        cdef int64_t p, place, mask = self.table.mask, filled = 0
        if not 0 <= first < self.table.used:
            return 0
        slots = <NameSlot*>allocate_zeros(mask + 1, sizeof(NameSlot))
        if not slots:
            raise MemoryError
        for p in range(mask + 1):
            slot = &self.table.slots[p]
            if 0 < slot.number <= first:
                place = slot.hash & mask
                while slots[place].number:
                    place = (place + 1) & mask
                slots[place] = slot[0]
                if slot.length > IN_PLACE:
                    filled = max(filled, text_of(&self.table, slot) - self.table.arena + slot.length)
        outgrown, self.table.slots = self.table.slots, slots
        self.table.used, self.table.filled = first, filled
        self.publish()
        return self.leave(outgrown)


# --- the walk --------------------------------------------------------------------------------------------------------


cdef struct WaitingName:
    const char* text  # NULL: it is in the scratch buffer
    Py_ssize_t place  # where it starts there
    uint32_t n, hash
    double value


cdef inline bint fits(object value, double* number) except -1:
    """An int as a double; false if it is a large one."""
    cdef int overflow = 0
    number[0] = <double>PyLong_AsLongAndOverflow(value, &overflow)
    return overflow == 0


def shown(value):
    return f"{reprlib.repr(value)} ({type(value).__name__})"


cdef list in_order(object values):
    """The values of a container as a list; those of a set sorted, so that columns do not hang on hashes."""
    if isinstance(values, (set, frozenset)) and all(isinstance(value, str) for value in values):
        return sorted(values)
    return list(values)


def iterable(value):
    try:
        iter(value)
    except TypeError:
        return False
    return True


def check_sequence(sequence, Py_ssize_t s):
    """Refuse what is no sequence of tokens."""
    if isinstance(sequence, (str, bytes)):
        why = "that is a text, or one token"
    elif isinstance(sequence, Mapping):
        why = "that is one token"
    elif isinstance(sequence, (set, frozenset)):
        why = "a set has no order"
    elif hasattr(sequence, "tocsr"):
        why = "stack the matrices into one, and give lengths="
    elif getattr(sequence, "ndim", 1) == 2 and hasattr(sequence, "iloc"):
        why = "a table is no sequence"
    elif not iterable(sequence):
        why = "that has no tokens"
    else:
        return
    raise TypeError(f"X must be a list of sequences, each a list of tokens, but sequence {s} is {shown(sequence)}: "
                    f"{why}; for one sequence give [X]")


@final
cdef class TokenReader(GrowingRows):
    """One walk over sequences, and the CSR that grows as it goes."""

    cdef AttributeNames names
    cdef int64_t known  # so many of them are known, but for those that are learnt
    cdef bint learn
    cdef WaitingName[LOOKUP_BATCH] waiting  # names of the token that have not been looked up
    cdef int n_waiting
    cdef NameBuffer buffer  # of names that their strings do not hold as bytes
    cdef array.array starts  # of the sequences
    cdef Py_ssize_t sequence, first  # the place that errors name: sequence, and its first token

    def __cinit__(self):
        self.buffer, self.starts = NameBuffer(), array.array("q", [0])

    # names

    cdef inline int add(self, object name, double value) except -1:
        """A name as it stands. Its string must live until `settle`."""
        cdef WaitingName* entry
        if self.n_waiting == LOOKUP_BATCH:
            self.settle()
        entry = &self.waiting[self.n_waiting]
        if PyUnicode_IS_COMPACT_ASCII(name):
            entry.text, entry.n = <const char*>PyUnicode_DATA(name), check_length(PyUnicode_GET_LENGTH(name))
            self.wait(entry, entry.text, value)
        else:
            entry.text, entry.place = NULL, self.buffer.n
            self.buffer.append(name)
            entry.n = check_length(self.buffer.n - entry.place)
            self.wait(entry, self.buffer.text + entry.place, value)
        return 0

    cdef inline int join(self, object name, object value) except -1:
        """name:value"""
        cdef WaitingName* entry
        if self.n_waiting == LOOKUP_BATCH:
            self.settle()
        entry = &self.waiting[self.n_waiting]
        entry.text, entry.place = NULL, self.buffer.n
        self.buffer.append(name)
        self.buffer.append(":")
        self.buffer.append(value)
        entry.n = check_length(self.buffer.n - entry.place)
        self.wait(entry, self.buffer.text + entry.place, 1.0)
        return 0

    cdef inline const NameTable* table(self) noexcept:
        """Where names are looked up, until Python code runs."""
        return &self.names.table if self.learn else load(self.names.shared)

    cdef inline void wait(self, WaitingName* entry, const char* text, double value) noexcept:
        cdef const NameTable* table = self.table()
        entry.hash, entry.value = name_hash(text, entry.n), value
        if table.slots:
            prefetch(&table.slots[entry.hash & table.mask])
        self.n_waiting += 1

    cdef int settle(self) except -1:
        """Look up the names that wait. No Python code has run since they were added, so their strings still live."""
        cdef int e
        cdef int32_t column
        cdef WaitingName* entry
        cdef const char* text
        cdef const NameTable* table = self.table()
        for e in range(self.n_waiting):
            entry = &self.waiting[e]
            text = entry.text if entry.text else self.buffer.text + entry.place
            if self.learn:
                column = find(table, text, entry.n, entry.hash)
                if column < 0:
                    column = self.names.enter(text, entry.n, entry.hash)
            else:
                column = find_among(table, text, entry.n, entry.hash, self.known)
            if column >= 0:
                self.append(column, entry.value)
        self.n_waiting, self.buffer.n = 0, 0
        return 0

    # tokens

    cdef int take(self, object token) except -1:
        """Other threads change a list or a dict before or after, not while strings of it wait."""
        if type(token) is list:
            with critical_section(token):
                self.take_list(token)
        elif PyUnicode_Check(token):
            self.add(token, 1.0)
        elif type(token) is dict:
            with critical_section(token):
                self.take_dict(token)
        elif isinstance(token, Mapping):
            self.take_dict(dict(token))
        elif isinstance(token, (bytes, bytearray, Number)) or not isinstance(token, Iterable):
            raise TypeError(f"{self.here()} got {shown(token)}; a token is a string, a list of strings, or a dict")
        else:
            return self.take(in_order(token))
        return self.settle()

    cdef int take_list(self, list token) except -1:
        cdef Py_ssize_t place
        cdef PyObject* name
        for place in range(PyList_GET_SIZE(token)):
            name = PyList_GET_ITEM(token, place)
            if not PyUnicode_Check(<object>name):
                raise TypeError(f"{self.here()} a feature is {shown(<object>name)}; features in a list are strings")
            self.add(<object>name, 1.0)
        return self.settle()

    cdef int take_dict(self, dict token) except -1:
        """Python code may run only where nothing waits that belongs to the dict."""
        cdef Py_ssize_t place = 0, size = len(token)
        cdef double number
        cdef PyObject *key
        cdef PyObject *held
        while PyDict_Next(token, &place, &key, &held):
            feature, value = <object>key, <object>held
            if not PyUnicode_Check(feature):
                raise TypeError(f"{self.here()} the name of a feature is {shown(feature)}; names are strings")
            if PyUnicode_Check(value):
                self.join(feature, value)
            elif PyFloat_Check(value):
                self.put(feature, value, PyFloat_AS_DOUBLE(value))
            elif value is True:
                self.add(feature, 1.0)
            elif PyLong_CheckExact(value) and fits(value, &number):
                self.put(feature, value, number)
            elif value is not False:
                self.settle()
                self.take_value(feature, value, 0)
                self.settle()
                if len(token) != size:
                    raise RuntimeError(f"{self.here()} the dict changed while it was read")
        return self.settle()

    cdef int put(self, object feature, object value, double number) except -1:
        if not fabs(number) <= LARGEST:
            raise ValueError(f"{self.here()} feature {feature!r} has the value {reprlib.repr(value)}; "
                             f"values are finite, at most {LARGEST:g}")
        return self.add(feature, number) if number != 0.0 else 0

    cdef int take_value(self, object feature, object value, int depth) except -1:
        """Any value of a dict, by the abstract classes of Python."""
        if PyUnicode_Check(value):
            self.join(feature, value)
        elif isinstance(value, (Number, np.bool_)):
            try:
                number = float(value)
            except (TypeError, ValueError, OverflowError) as error:
                raise type(error)(f"{self.here()} feature {feature!r}, value {reprlib.repr(value)}: {error}") from error
            self.put(feature, value, number)
        elif isinstance(value, Mapping):
            if depth == MAX_DEPTH:
                raise ValueError(f"{self.here()} dicts are nested deeper than {MAX_DEPTH}")
            for name, inner in list(value.items()):
                if not isinstance(name, str):
                    raise TypeError(f"{self.here()} the name of a feature is {shown(name)}; names are strings")
                name = ":".join((feature, name))
                self.take_value(name, inner, depth + 1)
                self.settle()
        elif isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
            values = in_order(value)
            for inner in values:
                if not isinstance(inner, str):
                    raise TypeError(f"{self.here()} feature {feature!r} has several values, of which "
                                    f"one is {shown(inner)}, no string")
                self.join(feature, inner)
            self.settle()
        else:
            raise TypeError(f"{self.here()} feature {feature!r} has the value {shown(value)}; values are "
                            "numbers, True and False, strings, lists of strings, or dicts of these")
        return 0

    cdef int end_token(self) except -1:
        """Sort the row; entries of one column become their sum."""
        if not self.sort_short():
            self.sort_long()
        self.sum_up()
        self.end()
        if self.rows % SIGNAL_INTERVAL == 0:
            PyErr_CheckSignals()
        return 0

    # sequences

    cdef int take_all(self, object sequences) except -1:
        if isinstance(sequences, (str, bytes)):
            raise TypeError("X is one text; sequence models take a list of sequences, each a list of tokens")
        if isinstance(sequences, Mapping):
            raise TypeError("X is a dict, which is one token; give a list of sequences, each a list of tokens")
        if not iterable(sequences):
            raise TypeError(f"X must be a list of sequences, each a list of tokens, got {shown(sequences)}")
        for sequence in sequences:
            self.first = self.rows
            if type(sequence) is not list and type(sequence) is not tuple:
                check_sequence(sequence, self.sequence)
            for token in sequence:
                self.take(token)
                self.end_token()
            self.starts.append(self.rows)
            self.sequence += 1
        return 0

    cdef void reset(self) noexcept:
        """Forget all rows, but not their memory."""
        self.n = self.rows = self.start = self.n_waiting = self.buffer.n = 0
        self.sequence = self.first = 0
        self.values = NULL

    cdef str here(self):
        return f"sequence {self.sequence}, token {self.rows - self.first}:"

    cdef tuple arrays(self):
        return *self.csr(), np.frombuffer(self.starts, np.int64)


@final
cdef class AttributeReader:
    """Sequences of tokens, one at a time and all in the same memory: for one thread at a time."""

    cdef TokenReader reader

    def __cinit__(self, AttributeNames names not None, int64_t known):
        self.reader = TokenReader()
        self.reader.names, self.reader.known = names, known

    def read(self, sequence):
        """Return (indptr, indices, values, n): the CSR of its n tokens, in buffers that the next call writes to.

        Values are None if all of them are 1.
        """
        cdef TokenReader reader = self.reader
        reader.reset()
        if type(sequence) is not list and type(sequence) is not tuple:
            check_sequence(sequence, 0)
        for token in sequence:
            reader.take(token)
            reader.end_token()
        return reader.kept_ends, reader.kept_indices, reader.kept_values if reader.values else None, reader.rows
