"""Samples made of Python objects, to the three arrays of a CSR: the boundary in front of the engine.

A sample is a dict, or an iterable of pairs or of strings. Walking it needs the GIL and waits for memory, so this module
lives in this room and is built once, not for each instruction set. What it avoids is objects of its own: a dict's
entries are read in place, and names are hashed where their strings lie, or in one scratch buffer.

Short rows are sorted by insertion (stable) as soon as they are complete; longer rows are left to scipy.
"""

import reprlib
from collections.abc import Iterable, Mapping
from numbers import Integral, Number

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.long cimport PyLong_AsDouble, PyLong_Check
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_AsEncodedString, PyUnicode_Check
from libc.stdint cimport int32_t, int64_t, uint32_t
from cython cimport critical_section, final

from fastlin.engine.text.murmur cimport bucket, murmur
from fastlin.engine.text.name_table cimport NameTable, clear, find, insert, name_hash
from fastlin.engine.text.row_entries cimport sort_row
from fastlin.features.object_rows cimport (
    MAX_INSERTION_SORT, GrowingRows, NameBuffer, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_IS_COMPACT_ASCII,
    check_length
)

DICTS, PAIRS, STRINGS = range(3)

cdef enum:
    of_dicts = 0
    of_pairs = 1
    of_strings = 2
    PATIENCE = 256  # samples between two looks for Ctrl-C


cdef inline bint end_row(GrowingRows rows, bint sort, bint sums) except -1:
    """The row is complete. Return whether it is as sorted as is asked for."""
    cdef bint short = sort and rows.sort_short()
    if short and sums:
        rows.sum_up()
    rows.end()
    return short or not sort


cdef inline object items_of(object sample, Py_ssize_t i):
    try:
        return sample.items()
    except AttributeError as error:
        what = f"{type(sample)}: {reprlib.repr(sample)}"
        raise AttributeError(f"sample {i} is no dict or other mapping, but {what}") from error


cdef blame(error, Py_ssize_t i, feature, value):
    """Add to an error where it happened."""
    error.add_note(f"sample {i}, feature {reprlib.repr(feature)}, value {reprlib.repr(value)}")


# --- names as bytes --------------------------------------------------------------------------------------------------


@final
cdef class SampleName:
    """The UTF-8 of a name, where its string has it, or in a buffer that the next name may reuse."""

    cdef const char* start
    cdef Py_ssize_t n
    cdef object kept
    cdef NameBuffer buffer
    cdef const char* errors  # what happens to lone surrogates

    def __cinit__(self):
        self.buffer = NameBuffer()

    cdef inline int take(self, object name) except -1:
        """A str or bytes."""
        if PyUnicode_Check(name):
            if PyUnicode_IS_COMPACT_ASCII(name):
                self.start, self.n = <const char*>PyUnicode_DATA(name), PyUnicode_GET_LENGTH(name)
                return 0
            name = PyUnicode_AsEncodedString(name, "utf-8", self.errors)
        self.kept, self.start, self.n = name, PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name)
        return 0

    cdef inline int join(self, object name, str separator, object value) except -1:
        """name + separator + value, each formatted as a string."""
        if not (type(name) is str and type(value) is str and PyUnicode_IS_COMPACT_ASCII(name)
                and PyUnicode_IS_COMPACT_ASCII(separator) and PyUnicode_IS_COMPACT_ASCII(value)):
            name = "%s%s%s" % (name, separator, value)
            self.take(name)
            if PyUnicode_IS_COMPACT_ASCII(name):
                self.kept = name
            return 0
        self.buffer.n = 0
        self.buffer.append_bytes(PyUnicode_DATA(name), PyUnicode_GET_LENGTH(name))
        self.buffer.append_bytes(PyUnicode_DATA(separator), PyUnicode_GET_LENGTH(separator))
        self.buffer.append_bytes(PyUnicode_DATA(value), PyUnicode_GET_LENGTH(value))
        self.start, self.n = self.buffer.text, self.buffer.n
        return 0


# --- names in a vocabulary -------------------------------------------------------------------------------------------


@final
cdef class NameLookup:
    """Columns of names: of a vocabulary, or of one that is made and takes in every name.

    Both are Python's business only once for each name, which after that is found as bytes.
    """

    cdef NameTable table
    cdef dict vocabulary  # as given; of one that is made, the names that are no strings
    cdef int64_t width  # how many columns a given vocabulary has, whatever becomes of it meanwhile
    cdef list names  # of the one that is made, else None
    cdef SampleName text
    cdef str separator
    cdef GrowingRows rows  # None: only the vocabulary is wanted
    cdef object kind  # makes a value of what is no float
    cdef list others  # the values, should their type not be a float

    def __dealloc__(self):
        clear(&self.table)

    cdef int64_t ask(self, object name) except -2:
        """The column of a name, found by Python; −1: unknown."""
        cdef PyObject* found
        cdef object column
        with critical_section(self.vocabulary):  # which another thread may change
            found = PyDict_GetItemWithError(self.vocabulary, name)
            if not found:
                return -1
            column = <object>found
        return self.proved(name, column) if self.names is None else column

    cdef int64_t proved(self, object name, object column) except -2:
        """The column that a given vocabulary has for a name."""
        if not PyLong_Check(column) and not isinstance(column, Integral):
            raise TypeError(f"vocabulary_ gives {reprlib.repr(name)} {reprlib.repr(column)}, which is no column")
        if not 0 <= column < self.width:
            raise ValueError(f"vocabulary_ gives {reprlib.repr(name)} the column {column}, but has {self.width} names")
        return column

    cdef int64_t column(self, object name, object value) except -2:
        """That of a name, or of name + separator + value for a string; −1: unknown."""
        cdef int64_t place
        cdef uint32_t n, h
        if value is not None:
            self.text.join(name, self.separator, value)
        elif PyUnicode_Check(name):
            self.text.take(name)
        else:
            place = self.ask(name)
            if place < 0 and self.names is not None:
                place = self.vocabulary[name] = len(self.names)
                self.names.append(name)
            return place
        n = check_length(self.text.n)
        h = name_hash(self.text.start, n)
        place = find(&self.table, self.text.start, n, h)
        if place >= 0:
            return place
        if value is not None:
            name = "%s%s%s" % (name, self.separator, value)
        if self.names is None:
            place = self.ask(name)
            if place < 0:
                return -1
        else:
            place = len(self.names)
            self.names.append(name)
        if not insert(&self.table, self.text.start, n, h, <int32_t>place):
            raise MemoryError
        return place

    cdef int put(self, object name, object value) except -1:
        """A number."""
        cdef int64_t column = self.column(name, None)
        cdef double number
        if self.rows is None or column < 0:
            return 0
        if self.others is not None:
            self.others.append(self.kind(value))
            number = 0.0
        elif PyFloat_Check(value):
            number = PyFloat_AS_DOUBLE(value)
        elif PyLong_Check(value):
            number = PyLong_AsDouble(value)
        else:
            number = self.kind(value)
        return self.rows.append(<int32_t>column, number)

    cdef int mark(self, object name, object value) except -1:
        """A string: 1 in its own column."""
        cdef int64_t column = self.column(name, value)
        if self.rows is None or column < 0:
            return 0
        if self.others is not None:
            self.others.append(self.kind(1))
        return self.rows.append(<int32_t>column, 1.0)

    cdef int add(self, object feature, object value) except -1:
        """One entry of a dict."""
        if isinstance(value, str):
            self.mark(feature, value)
        elif value is None or PyFloat_Check(value) or PyLong_Check(value):
            self.put(feature, value)
        elif type(value) is list or type(value) is tuple or type(value) is set:
            self.add_all(feature, value)
        elif isinstance(value, Number):
            self.put(feature, value)
        elif isinstance(value, Mapping):
            raise TypeError(f"Unsupported value type {type(value)} for {feature}: {value}.\n"
                            "Mapping objects are not supported.")
        elif isinstance(value, Iterable):
            self.add_all(feature, value)
        else:
            raise TypeError(f"Unsupported value Type {type(value)}: {feature!r} has the value {reprlib.repr(value)}; "
                            "give a number, a string or several strings")
        return 0

    cdef int add_all(self, object feature, object values) except -1:
        for value in values:
            if not isinstance(value, str):
                raise TypeError(f"Unsupported type {type(value)} in iterable value. "
                                "Only iterables of string are supported.")
            self.mark(feature, value)
        return 0


def look_up(samples, str separator, vocabulary, int64_t width, bint filling, kind, bint floating, bint sort):
    """Return (names, number of samples, (values, indices, indptr, whether all rows are sorted) if `filling`).

    Names that a vocabulary of `width` columns lacks are left out; if it is None, all are taken in and returned in order
    of appearance.
    `kind` makes the values that are no floats; if its type is not `floating`, the values are returned as a list.
    """
    cdef NameLookup lookup = NameLookup()
    cdef Py_ssize_t i = 0, place, size
    cdef PyObject *key
    cdef PyObject *held
    cdef object feature = None, value = None
    cdef bint ordered = sort and floating
    lookup.vocabulary, lookup.names = ({}, []) if vocabulary is None else (vocabulary, None)
    lookup.width, lookup.separator, lookup.kind = width, separator, kind
    lookup.text = SampleName()
    lookup.text.errors = "surrogatepass"
    if filling:
        lookup.rows = GrowingRows()
        lookup.rows.make_values()
    lookup.others = None if floating else []
    for sample in samples:
        feature = value = None
        try:
            if type(sample) is dict:
                with critical_section(sample):
                    place, size = 0, len(<dict>sample)
                    while PyDict_Next(sample, &place, &key, &held):
                        feature, value = <object>key, <object>held
                        lookup.add(feature, value)
                        if len(<dict>sample) != size:
                            raise RuntimeError("dictionary changed size during iteration")
            else:
                for feature, value in items_of(sample, i):
                    lookup.add(feature, value)
        except Exception as error:
            blame(error, i, feature, value)
            raise
        if filling:
            ordered &= end_row(lookup.rows, sort and floating, False)
        i += 1
        if i % PATIENCE == 0:
            PyErr_CheckSignals()
    if not filling:
        return lookup.names, i, None
    indptr, indices, values = lookup.rows.csr()
    return lookup.names, i, (values if floating else lookup.others, indices, indptr, ordered)


def renumber(const int64_t[::1] indptr, int32_t[::1] indices, double[::1] values, const int32_t[::1] places, bint sort):
    """Every index j becomes places[j]; short rows are sorted if asked for. Returns whether all rows are sorted."""
    cdef Py_ssize_t i, p, m
    cdef bint ordered = sort
    with nogil:
        for p in range(indices.shape[0]):
            indices[p] = places[indices[p]]
        if sort:
            for i in range(indptr.shape[0] - 1):
                m = indptr[i + 1] - indptr[i]
                if m > MAX_INSERTION_SORT:
                    ordered = False
                elif m > 1:
                    sort_row(&indices[indptr[i]], &values[indptr[i]], m)
    return ordered


# --- names in buckets ------------------------------------------------------------------------------------------------


@final
cdef class HashedRows:
    """Hashes of names, written into buckets."""

    cdef GrowingRows rows
    cdef SampleName text
    cdef int64_t n_features
    cdef bint signed

    cdef int add(self, object name, object value) except -1:
        cdef double number
        if PyUnicode_Check(value):
            self.text.join(name, "=", value)
            return self.put(1.0)
        number = value
        return self.mark(name, number) if number != 0.0 else 0

    cdef inline int mark(self, object name, double number) except -1:
        if not (PyUnicode_Check(name) or isinstance(name, bytes)):
            raise TypeError(f"feature names must be strings or bytes, got {type(name)}: {reprlib.repr(name)}")
        self.text.take(name)
        return self.put(number)

    cdef inline int put(self, double number) except -1:
        cdef int32_t column, sign
        bucket(<int32_t>murmur(self.text.start, check_length(self.text.n), 0), self.n_features, &column, &sign)
        return self.rows.append(<int32_t>column, number * sign if self.signed else number)


def hashed(samples, int kind, int64_t n_features, bint signed, bint sums):
    """Return (values, indices, indptr, whether all rows are sorted) of samples of a kind: DICTS, PAIRS or STRINGS.

    `sums`: entries of one bucket are added up in sorted rows.
    """
    cdef HashedRows hashing = HashedRows()
    cdef Py_ssize_t i = 0, place, size
    cdef PyObject *key
    cdef PyObject *held
    cdef object name = None, value = None
    cdef bint ordered = True
    hashing.rows, hashing.text = GrowingRows(), SampleName()
    hashing.rows.make_values()
    hashing.n_features, hashing.signed = n_features, signed
    hashing.text.errors = "strict"
    for sample in samples:
        name = value = None
        try:
            if kind == of_strings:
                if isinstance(sample, str):
                    raise ValueError("Samples can not be a single string, but iterables of strings: "
                                     f"sample {i} is {reprlib.repr(sample)}")
                for name in sample:
                    hashing.mark(name, 1.0)
            elif kind == of_dicts and type(sample) is dict:
                with critical_section(sample):
                    place, size = 0, len(<dict>sample)
                    while PyDict_Next(sample, &place, &key, &held):
                        name, value = <object>key, <object>held
                        hashing.add(name, value)
                        if len(<dict>sample) != size:
                            raise RuntimeError("dictionary changed size during iteration")
            else:
                for name, value in (items_of(sample, i) if kind == of_dicts else sample):
                    hashing.add(name, value)
        except Exception as error:
            blame(error, i, name, value)
            raise
        ordered &= end_row(hashing.rows, True, sums)
        i += 1
        if i % PATIENCE == 0:
            PyErr_CheckSignals()
    indptr, indices, values = hashing.rows.csr()
    return values, indices, indptr, ordered


def hash_of(bytes text, uint32_t seed):
    """MurmurHash3_x86_32 of bytes, unsigned."""
    return murmur(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), seed)
