"""Queries of a back-off model: see backoff.pyx."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastlin.engine.lm.ngram_tables cimport Level, NgramTables

cdef enum:
    HIGHEST = 64            # order


cdef class BackoffQueries:
    cdef Level* levels
    cdef int order
    cdef int64_t n_words
    cdef int64_t asked          # tokens that were scored
    cdef uint64_t seed
    cdef int64_t room           # bytes of the tables
    cdef NgramTables* tables         # made when so many were that it pays; NULL: not yet
    cdef bint tried             # to make them
    cdef float* unigrams        # p of each
    cdef list kept

    cdef const NgramTables* tables_for(self, int64_t n) except? NULL
    cdef void score_chunk(self, const NgramTables* tables, const int32_t* tokens, int32_t n, int32_t* last_nodes,
                          float* last_weights, double* log_prob, int32_t* lengths) noexcept nogil
    cdef Py_ssize_t read_state(self, state, Py_ssize_t first, int32_t* nodes, Py_ssize_t stride) except -1
    cdef void step(self, const int32_t* before, const int32_t* words, Py_ssize_t n, int32_t* after,
                   double* log_prob) noexcept nogil
    cdef Py_ssize_t known(self, const int32_t* nodes, Py_ssize_t stride) noexcept nogil
    cdef bint idle(self, Py_ssize_t k, int64_t node) noexcept nogil
    cdef void put_words(self, const int32_t* nodes, Py_ssize_t m, bint logarithms, float* answer) noexcept nogil
    cdef double backoff_after(self, const int32_t* nodes, Py_ssize_t m, Py_ssize_t first) noexcept nogil
    cdef void put_unigrams(self, double backoff, bint logarithms, float* answer) noexcept nogil
    cdef void put_children(self, const Level* level, int64_t history, double backoff, bint logarithms,
                           float* answer) noexcept nogil
