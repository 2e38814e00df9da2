"""Rules as charts read them, and what is asked of the derivations of one sentence; see `chart_rules.pyx`."""

from libc.stdint cimport int32_t, int64_t

cdef enum:                          # what may stand over a span
    OPEN = 0                        # whatever the grammar makes
    CLOSED = 1                      # nothing
    WHOLE = 2                       # symbols with a label
    LABELLED = 3                    # the same, by chains of their own: the first of them, LABELLED + 1: the second, …


cdef struct ChainArrays:
    const int64_t* start            # [S + 1] of the chains of unary rules A ⇒ B with this B
    const int32_t* parent           # [chains] A
    const double* weight            # [chains]
    int64_t first                   # its first chain among those of all tables of a sentence


cdef struct Rules:
    Py_ssize_t S                    # symbols
    const int64_t* pair_start       # [S + 1] of the pairs B C with this B
    const int32_t* pair_right       # [pairs] C
    const int64_t* rule_start       # [pairs + 1] of the rules A → B C
    const int32_t* parent           # [rules] A
    const double* weight            # [rules]
    ChainArrays chains                   # of one rule at least; A is not B but in sums
    const int32_t* label            # [S] the column of what a span is worth to it, −1 for none
    Py_ssize_t n_left, n_right      # rows of a chart: of symbols as left children, and as right ones
    Py_ssize_t n_joining            # the first of the left ones are in rules; the others are in none, on neither side
    int32_t* left_row               # [S] −1: none, but then it has a right one
    int32_t* right_row              # [S] −1: none
    int32_t* left_symbol            # [n_left]
    int32_t* right_symbol           # [n_right]
    int32_t* pair_row               # [pairs] the right row of C


cdef class ChainTable:
    cdef const int64_t[::1] start
    cdef const int32_t[::1] parent
    cdef const double[::1] weight
    cdef ChainArrays bound


cdef class ChartRules:
    cdef Rules bound
    cdef readonly Py_ssize_t n_symbols, n_pairs, n_rules, n_labels
    cdef readonly ChainTable chains
    cdef tuple _owners
    cdef int number_rows(self) except -1
    cdef int check_tags(self, const int64_t[::1] start, const int32_t[::1] symbol, const double[::1] score) except -1
    cdef int check_merit(self, const double[::1] merit) except -1
    cdef int check_spans(self, Py_ssize_t n, const double[:, ::1] worth) except -1


cdef class SpanConstraints:
    cdef const int32_t[::1] states
    cdef ChainArrays* bound
    cdef readonly list tables
    cdef readonly int64_t n_chains
    cdef int check(self, Py_ssize_t n, ChartRules rules) except -1
