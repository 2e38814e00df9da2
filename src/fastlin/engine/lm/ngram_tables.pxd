"""Hash tables of a back-off model's n-grams, bigrams first, for those who ask much: see ngram_tables.h.

27 bytes an n-gram besides the model's own, and as long to make as a question for each of them takes.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from cpython.exc cimport PyErr_CheckSignals

from fastlin.engine.core.allocation cimport allocate, allocate_zeros

cdef extern from "backoff.h" nogil:
    ctypedef struct Level "fastlin_level":
        const int32_t* starts
        const int32_t* words
        const float* log_prob
        const uint8_t* codes
        const float* backoff
        int64_t n
    ctypedef struct Questions "fastlin_questions":
        int32_t* at
        int32_t* history
        float* weight
        int64_t n

cdef extern from "ngram_tables.h" nogil:
    ctypedef struct Bucket "fastlin_bucket":
        pass
    ctypedef struct NgramTable "fastlin_table":
        void* memory
        Bucket* buckets
        uint64_t n
        uint64_t seed
    void fill "fastlin_fill"(const NgramTable*, const Level*, int64_t first, int64_t stop, const int32_t* above,
                             int32_t* places) noexcept
    void score_table "fastlin_score_table"(const NgramTable*, const int32_t* tokens, const Questions* asked,
                                           Questions* next, double* log_prob, int32_t* lengths,
                                           int32_t length) noexcept
    void* zeros "fastlin_zeros"(size_t) noexcept
    int SLOTS "FASTLIN_SLOTS"

cdef enum:
    LINE = 64               # bytes of a bucket
    SLICE = 1 << 20         # n-grams that are put in before Ctrl-C is asked for

cdef struct NgramTables:
    NgramTable* of          # [order], the first without buckets
    int n                   # orders that have one, unigrams among them
    int32_t* numbers        # by places in the last table, those of its n-grams; NULL: no order without a table asks


cdef inline int64_t buckets_for(int64_t n) noexcept nogil:
    """Five of eight slots hold one of n n-grams."""
    return n * 8 // (5 * SLOTS) + 1


cdef inline void free_tables(NgramTables* tables) noexcept:
    cdef int k
    if tables != NULL:
        for k in range(1, tables.n):
            free(tables.of[k].memory)
        free(tables.of)
        free(tables.numbers)
        free(tables)


cdef inline bint reserve_table(NgramTable* table, int64_t n_ngrams, uint64_t seed) noexcept nogil:
    """An empty one; False: there is no memory for it."""
    table.n = <uint64_t>buckets_for(n_ngrams)
    table.seed = seed
    table.memory = zeros((table.n + 1) * LINE)
    table.buckets = <Bucket*>((<size_t>table.memory + LINE - 1) // LINE * LINE)
    return table.memory != NULL


cdef inline int fill_table(const NgramTable* table, const Level* level, int64_t n_histories, const int32_t* above,
                           int32_t* places) except -1:
    """Slice by slice of the histories."""
    cdef int64_t first = 0, stop
    while first < n_histories:
        with nogil:
            stop = first + 1
            while stop < n_histories and level.starts[stop] - level.starts[first] < SLICE:
                stop += 1
            fill(table, level, first, stop, above, places)
        PyErr_CheckSignals()
        first = stop
    return 0


cdef inline bint fill_tables(NgramTables* tables, const Level* levels, int order, uint64_t seed,
                             int64_t room) except -1:
    """The tables of as many orders as fit into so many bytes; False: there is no memory for them."""
    cdef int32_t* above = NULL
    cdef int32_t* places = NULL
    cdef int64_t i
    try:
        while tables.n < order:
            room -= (buckets_for(levels[tables.n].n) + 1) * LINE
            if room < 0:
                break
            places = <int32_t*>allocate(levels[tables.n].n, sizeof(int32_t))
            if places == NULL or not reserve_table(&tables.of[tables.n], levels[tables.n].n, seed):
                return False
            tables.n += 1
            fill_table(&tables.of[tables.n - 1], &levels[tables.n - 1], levels[tables.n - 2].n, above, places)
            free(above)
            above, places = places, NULL
        if 1 < tables.n < order:
            tables.numbers = <int32_t*>allocate_zeros(SLOTS * <int64_t>tables.of[tables.n - 1].n, sizeof(int32_t))
            if tables.numbers == NULL:
                return False
            for i in range(levels[tables.n - 1].n):
                tables.numbers[above[i]] = <int32_t>i
        return True
    finally:
        free(above)
        free(places)


cdef inline NgramTables* make_tables(const Level* levels, int order, uint64_t seed, int64_t room) except? NULL:
    """Those of as many orders, bigrams first, as fit into so many bytes. NULL: there is no memory for them."""
    cdef NgramTables* tables = <NgramTables*>allocate_zeros(1, sizeof(NgramTables))
    cdef bint whole = False
    if tables == NULL:
        return NULL
    tables.n = 1
    tables.of = <NgramTable*>allocate_zeros(order, sizeof(NgramTable))
    try:
        whole = tables.of != NULL and fill_tables(tables, levels, order, seed, room)
    finally:
        if not whole:
            free_tables(tables)
    return tables if whole else NULL
