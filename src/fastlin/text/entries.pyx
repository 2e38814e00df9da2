"""Samples made of Python objects, to the three arrays of a CSR: the boundary in front of the engine.

A sample is a dict, or an iterable of pairs or of strings. Walking it needs the GIL, so this module is built once, not for
each instruction set, and lives in this room. What it avoids is objects of its own: a dict's entries are read in place,
and names are hashed where their strings lie, or in one scratch buffer.

Short rows are sorted by insertion (stable) as soon as they are complete; rows longer than `SHORT` are left to scipy.
"""

import reprlib
from collections.abc import Iterable, Mapping
from numbers import Number

from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.long cimport PyLong_AsDouble, PyLong_Check
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_CheckExact
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

import numpy as np

from fastlin.engine.murmur cimport bucket, murmur

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object) noexcept
    void* PyUnicode_DATA(object) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object) noexcept
    object PyUnicode_New(Py_ssize_t, Py_UCS4)

DICTS, PAIRS, STRINGS = range(3)

cdef enum:
    of_dicts = 0
    of_pairs = 1
    of_strings = 2
    SHORT = 64
    PATIENCE = 256  # samples between two looks for Ctrl-C


cdef inline void sort_row(int32_t* indices, double* values, Py_ssize_t m) noexcept nogil:
    """By insertion: entries of one index keep their order."""
    cdef Py_ssize_t p, q
    cdef int32_t index
    cdef double value
    for p in range(1, m):
        index, value, q = indices[p], values[p], p
        while q and indices[q - 1] > index:
            indices[q], values[q] = indices[q - 1], values[q - 1]
            q -= 1
        indices[q], values[q] = index, value


cdef inline Py_ssize_t add_up(int32_t* indices, double* values, Py_ssize_t m) noexcept nogil:
    """Entries of one index become their sum; sums of 0 stay."""
    cdef Py_ssize_t p, kept = 0
    for p in range(1, m):
        if indices[p] == indices[kept]:
            values[kept] += values[p]
        else:
            kept += 1
            indices[kept], values[kept] = indices[p], values[p]
    return kept + 1 if m else 0


cdef class Rows:
    """A CSR that grows. With `sort`, rows are sorted; with `sums`, too, entries of one index become their sum."""

    cdef array.array indices, values, ends
    cdef Py_ssize_t n, room, start
    cdef bint sort, sums, ordered

    def __cinit__(self, bint sort, bint sums):
        self.room = 1024
        self.indices = array.clone(array.array("i"), self.room, zero=False)
        self.values = array.clone(array.array("d"), self.room, zero=False)
        self.ends = array.array("q", [0])
        self.sort, self.sums, self.ordered = sort, sums, sort

    cdef inline int add(self, int64_t column, double value) except -1:
        if self.n == self.room:
            self.room *= 2
            array.resize(self.indices, self.room)
            array.resize(self.values, self.room)
        self.indices.data.as_ints[self.n] = <int32_t>column
        self.values.data.as_doubles[self.n] = value
        self.n += 1
        return 0

    cdef inline int end(self) except -1:
        """The row is complete."""
        cdef Py_ssize_t m = self.n - self.start
        cdef int32_t* indices = <int32_t*>self.indices.data.as_ints + self.start
        cdef double* values = self.values.data.as_doubles + self.start
        if not self.sort:
            pass
        elif m > SHORT:
            self.ordered = False
        elif m > 1:
            sort_row(indices, values, m)
            if self.sums:
                self.n = self.start + add_up(indices, values, m)
        self.start = self.n
        array.resize_smart(self.ends, len(self.ends) + 1)
        self.ends.data.as_longlongs[len(self.ends) - 1] = self.n
        return 0

    def arrays(self):
        """(values, indices, indptr, whether all rows are sorted)"""
        array.resize(self.indices, self.n)
        array.resize(self.values, self.n)
        return (np.frombuffer(self.values, np.float64), np.frombuffer(self.indices, np.int32),
                np.frombuffer(self.ends, np.int64), self.ordered)


cdef inline object items_of(object sample, Py_ssize_t i):
    try:
        return sample.items()
    except AttributeError as error:
        what = f"{type(sample)}: {reprlib.repr(sample)}"
        raise AttributeError(f"sample {i} is no dict or other mapping, but {what}") from error


cdef blame(error, Py_ssize_t i, feature, value):
    """Add to an error where it happened."""
    error.add_note(f"sample {i}, feature {reprlib.repr(feature)}, value {reprlib.repr(value)}")


# --- names in a vocabulary -------------------------------------------------------------------------------------------


cdef inline object joined(object feature, str separator, object value):
    """feature + separator + value."""
    cdef object name
    cdef char* text
    cdef Py_ssize_t n, k, m
    if (type(feature) is str and type(value) is str and PyUnicode_IS_COMPACT_ASCII(feature)
            and PyUnicode_IS_COMPACT_ASCII(value) and PyUnicode_IS_COMPACT_ASCII(separator)):
        n, k, m = PyUnicode_GET_LENGTH(feature), PyUnicode_GET_LENGTH(separator), PyUnicode_GET_LENGTH(value)
        name = PyUnicode_New(n + k + m, 127)
        text = <char*>PyUnicode_DATA(name)
        memcpy(text, PyUnicode_DATA(feature), n)
        memcpy(text + n, PyUnicode_DATA(separator), k)
        memcpy(text + n + k, PyUnicode_DATA(value), m)
        return name
    return "%s%s%s" % (feature, separator, value)


cdef class Lookup:
    """Columns of names. A growing vocabulary takes in what it does not know."""

    cdef dict vocabulary
    cdef str separator
    cdef bint growing
    cdef int64_t width  # of a vocabulary that does not grow
    cdef Rows rows  # None: only the vocabulary is wanted
    cdef object kind  # makes a value of what is no float
    cdef list others  # the values, should their type not be a float

    cdef int64_t column(self, object name) except -2:
        """−1: unknown."""
        cdef PyObject* found = PyDict_GetItemWithError(self.vocabulary, name)
        cdef int64_t place
        if found:
            place = <object>found
            if self.width >= 0 and not 0 <= place < self.width:
                raise ValueError(f"vocabulary_ gives {name!r} the column {place}, but has {self.width} names")
            return place
        if not self.growing:
            return -1
        place = len(self.vocabulary)
        self.vocabulary[name] = place
        return place

    cdef int put(self, object name, object value) except -1:
        cdef int64_t column = self.column(name)
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
        self.rows.add(column, number)
        return 0

    cdef int add(self, object feature, object value) except -1:
        """One entry of a dict."""
        if isinstance(value, str):
            self.put(joined(feature, self.separator, value), 1)
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
            self.put(joined(feature, self.separator, value), 1)
        return 0


def look_up(samples, str separator, dict vocabulary, bint growing, bint filling, kind, bint floating, bint sort):
    """Return (values, indices, indptr, whether all rows are sorted, number of samples); no arrays if not `filling`.

    A `growing` vocabulary gets the names that it lacks, else they are left out. `kind` makes the values that are no
    floats; if its type is not `floating`, the values are returned as a list.
    """
    cdef Lookup lookup = Lookup()
    cdef Py_ssize_t i = 0, place, size
    cdef PyObject *key
    cdef PyObject *held
    cdef object feature = None, value = None
    lookup.vocabulary, lookup.separator, lookup.growing, lookup.kind = vocabulary, separator, growing, kind
    lookup.width = -1 if growing else len(vocabulary)
    lookup.rows = Rows(sort and floating, False) if filling else None
    lookup.others = None if floating else []
    for sample in samples:
        feature = value = None
        try:
            if type(sample) is dict:
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
            lookup.rows.end()
        i += 1
        if i % PATIENCE == 0:
            PyErr_CheckSignals()
    if not filling:
        return None, None, None, True, i
    values, indices, indptr, ordered = lookup.rows.arrays()
    return values if floating else lookup.others, indices, indptr, ordered, i


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
                if m > SHORT:
                    ordered = False
                elif m > 1:
                    sort_row(&indices[indptr[i]], &values[indptr[i]], m)
    return ordered


# --- names in buckets ------------------------------------------------------------------------------------------------


cdef class Hashing:
    """Hashes of names, written into buckets."""

    cdef Rows rows
    cdef int64_t n_features
    cdef bint signed
    cdef char* scratch
    cdef Py_ssize_t room

    def __dealloc__(self):
        free(self.scratch)

    cdef char* reserved(self, Py_ssize_t n) except NULL:
        """The scratch buffer, so long at least."""
        cdef char* larger
        if n > self.room:
            larger = <char*>realloc(self.scratch, 2 * n)
            if not larger:
                raise MemoryError
            self.scratch, self.room = larger, 2 * n
        return self.scratch

    cdef uint32_t hash_of(self, object name) except? 1:
        if isinstance(name, str):
            if PyUnicode_IS_COMPACT_ASCII(name):
                return murmur(<const char*>PyUnicode_DATA(name), PyUnicode_GET_LENGTH(name), 0)
            name = PyUnicode_AsUTF8String(name)
        elif not isinstance(name, bytes):
            raise TypeError(f"feature names must be strings or bytes, got {type(name)}: {reprlib.repr(name)}")
        return murmur(PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name), 0)

    cdef uint32_t hash_of_pair(self, object name, object value) except? 1:
        """The hash of name=value."""
        cdef Py_ssize_t n, m
        cdef char* text
        if not (PyUnicode_CheckExact(name) and PyUnicode_CheckExact(value)
                and PyUnicode_IS_COMPACT_ASCII(name) and PyUnicode_IS_COMPACT_ASCII(value)):
            return self.hash_of("%s=%s" % (name, value))
        n, m = PyUnicode_GET_LENGTH(name), PyUnicode_GET_LENGTH(value)
        text = self.reserved(n + m + 1)
        memcpy(text, PyUnicode_DATA(name), n)
        text[n] = b"="
        memcpy(text + n + 1, PyUnicode_DATA(value), m)
        return murmur(text, n + m + 1, 0)

    cdef int add(self, object name, object value) except -1:
        cdef double number
        cdef uint32_t h
        if isinstance(value, str):
            return self.put(self.hash_of_pair(name, value), 1.0)
        number = value
        if number != 0.0:
            self.put(self.hash_of(name), number)
        return 0

    cdef inline int put(self, uint32_t h, double number) except -1:
        cdef int32_t column, sign
        bucket(<int32_t>h, self.n_features, &column, &sign)
        return self.rows.add(column, number * sign if self.signed else number)


def hashed(samples, int kind, int64_t n_features, bint signed, bint sums):
    """Return (values, indices, indptr, whether all rows are sorted) of samples of a kind: DICTS, PAIRS or STRINGS.

    `sums`: entries of one bucket are added up in sorted rows.
    """
    cdef Hashing hashing = Hashing()
    cdef Py_ssize_t i = 0, place, size
    cdef PyObject *key
    cdef PyObject *held
    cdef object name = None, value = None
    hashing.rows, hashing.n_features, hashing.signed = Rows(True, sums), n_features, signed
    for sample in samples:
        name = value = None
        try:
            if kind == of_strings:
                if isinstance(sample, str):
                    raise ValueError("Samples can not be a single string, but iterables of strings: "
                                     f"sample {i} is {reprlib.repr(sample)}")
                for name in sample:
                    hashing.put(hashing.hash_of(name), 1.0)
            elif kind == of_dicts and type(sample) is dict:
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
        hashing.rows.end()
        i += 1
        if i % PATIENCE == 0:
            PyErr_CheckSignals()
    return hashing.rows.arrays()
