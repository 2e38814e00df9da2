"""Sequences of raw tokens, to bytes: of each column that templates read, the strings one behind the other in UTF-8.

Walking Python objects needs the GIL and waits for memory, so this module lives in this room and is built once, not for
each instruction set. It makes no objects of its own, and looks nothing up: that is the engine's business.
"""

import reprlib
from collections.abc import Iterable, Mapping

from cpython cimport array
from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_Check, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.tuple cimport PyTuple_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_Check, PyUnicode_DATA, PyUnicode_DecodeUTF8, PyUnicode_GET_LENGTH, PyUnicode_KIND
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset
from cython cimport critical_section, final

import numpy as np

from fastlin.engine.core.allocation cimport reallocate
from fastlin.engine.text.characters cimport unit, write_utf8
from fastlin.engine.text.string_table cimport PADDING

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object) noexcept

cdef enum:
    LONGEST = 2147479552        # bytes of a string: less than 2 GiB
    PATIENCE = 1024             # sequences between two looks for Ctrl-C


cdef inline Py_ssize_t encode(char* text, const unit* characters, Py_ssize_t n) noexcept:
    cdef Py_ssize_t i, used = 0
    for i in range(n):
        used += write_utf8(text + used, characters[i])
    return used


@final
cdef class StringArena:
    """Strings as they come: bytes, and where each begins and ends; bytes behind the last may be read."""

    cdef char* arena
    cdef Py_ssize_t used, room, n, rooms
    cdef array.array kept_offsets
    cdef int64_t* offsets

    def __cinit__(self):
        self.kept_offsets = array.array("q", [0])
        self.lengthen(1024)
        self.widen(8192)

    def __dealloc__(self):
        free(self.arena)

    cdef int widen(self, Py_ssize_t room) except -1:
        cdef char* larger = <char*>reallocate(self.arena, room + PADDING, 1)
        if not larger:
            raise MemoryError
        self.arena, self.room = larger, room
        return 0

    cdef int lengthen(self, Py_ssize_t rooms) except -1:
        array.resize(self.kept_offsets, rooms + 1)
        self.offsets, self.rooms = <int64_t*>self.kept_offsets.data.as_longlongs, rooms
        return 0

    cdef inline int add(self, object text) except -1:
        cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text), most = n
        cdef int kind
        if not PyUnicode_IS_ASCII(text):
            most = 4 * n
        if most > LONGEST:
            raise ValueError(f"a string of {n} characters may have {most} bytes: at most {LONGEST} are supported")
        if self.used + most > self.room:
            self.widen(2 * (self.used + most))
        if self.n == self.rooms:
            self.lengthen(2 * self.rooms)
        if most == n:
            memcpy(self.arena + self.used, PyUnicode_DATA(text), n)
            self.used += n
        else:
            kind = PyUnicode_KIND(text)
            if kind == 1:
                self.used += encode(self.arena + self.used, <const uint8_t*>PyUnicode_DATA(text), n)
            elif kind == 2:
                self.used += encode(self.arena + self.used, <const uint16_t*>PyUnicode_DATA(text), n)
            else:
                self.used += encode(self.arena + self.used, <const uint32_t*>PyUnicode_DATA(text), n)
        self.n += 1
        self.offsets[self.n] = self.used
        return 0

    def arrays(self):
        arena = np.empty(self.used + PADDING, np.uint8)
        cdef uint8_t[::1] to = arena
        memset(self.arena + self.used, 0, PADDING)
        memcpy(&to[0], self.arena, self.used + PADDING)
        self.lengthen(self.n)
        return arena, np.frombuffer(self.kept_offsets, np.int64)


cdef str shown(object value):
    return f"{type(value).__name__} {reprlib.repr(value)}"


cdef refuse(object token, Py_ssize_t sequence, Py_ssize_t place, Py_ssize_t column):
    """Say what is wrong with a token that has no string in a column."""
    where = f"sequence {sequence}, token {place}:"
    if PyUnicode_Check(token):
        raise ValueError(f"{where} {reprlib.repr(token)} is a word alone, and the templates read column {column}, too; "
                         "give tuples")
    if not PyList_Check(token) and not PyTuple_Check(token):
        raise TypeError(f"{where} {shown(token)} is no token; a token is a string, or a tuple of strings")
    if len(token) <= column:
        raise ValueError(f"{where} {reprlib.repr(token)} has {len(token)} columns, and the templates read column "
                         f"{column}")
    raise TypeError(f"{where} column {column} holds {shown(token[column])}, which is no string")


cdef inline object string_of(object token, Py_ssize_t column):
    """What stands in a column of a token; None: there is no string."""
    cdef object value = None
    if PyTuple_Check(token):
        if column < PyTuple_GET_SIZE(token):
            value = <object>PyTuple_GET_ITEM(token, column)
    elif PyList_Check(token):
        with critical_section(token):  # which another thread may change
            if column < PyList_GET_SIZE(token):
                value = <object>PyList_GET_ITEM(token, column)
    elif column == 0:
        value = token
    return value if PyUnicode_Check(value) else None


cdef tuple listed(object words, Py_ssize_t sequence):
    """A sequence that is neither a list nor a tuple, as one."""
    if isinstance(words, (str, bytes, Mapping)) or not isinstance(words, Iterable):
        raise TypeError(f"sequence {sequence} is {shown(words)}; a sequence is a list of tokens")
    return tuple(words)


def encoded(strings):
    """Strings one behind the other in UTF-8, and where each begins and ends; 64 bytes behind them may be read."""
    cdef StringArena arena = StringArena()
    for text in strings:
        if not PyUnicode_Check(text):
            raise TypeError(f"expected a string, got {shown(text)}")
        arena.add(text)
    return arena.arrays()


def decoded(const uint8_t[::1] arena, const int64_t[::1] offsets):
    """The strings arena[offsets[i]:offsets[i + 1]]: what `encoded` was given."""
    cdef Py_ssize_t i, n = offsets.shape[0] - 1
    cdef const char* text = b""
    cdef list strings = []
    if arena.shape[0]:
        text = <const char*>&arena[0]
    for i in range(n):
        if not 0 <= offsets[i] <= offsets[i + 1] <= arena.shape[0]:
            raise ValueError("offsets must rise, and not beyond the bytes")
        strings.append(PyUnicode_DecodeUTF8(text + offsets[i], offsets[i + 1] - offsets[i], "surrogatepass"))
    return strings


def read(X, columns, Py_ssize_t first=0):
    """(where each sequence starts among all tokens, for each of the columns its strings: bytes and offsets).

    Errors number the sequences from `first` on.
    """
    cdef Py_ssize_t m = len(columns), sequence = first, tokens = 0, place, k
    cdef array.array starts = array.array("q", [0])
    cdef array.array numbers = array.array("q", columns)
    cdef const int64_t* column = <int64_t*>numbers.data.as_longlongs
    cdef list texts = [StringArena() for _ in columns]
    cdef object value
    if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        raise TypeError(f"X must be a list of sequences, each a list of tokens, got {shown(X)}")
    for words in X:
        if type(words) is not list and type(words) is not tuple:
            words = listed(words, sequence)
        place = 0
        for token in words:
            if not (PyTuple_Check(token) or PyList_Check(token) or PyUnicode_Check(token)):
                refuse(token, sequence, place, 0)
            for k in range(m):
                value = string_of(token, column[k])
                if value is None:
                    refuse(token, sequence, place, column[k])
                (<StringArena>texts[k]).add(value)
            place += 1
        tokens += place
        sequence += 1
        starts.append(tokens)
        if sequence % PATIENCE == 0:
            PyErr_CheckSignals()
    return np.array(starts, np.int64), [(<StringArena>text).arrays() for text in texts]
