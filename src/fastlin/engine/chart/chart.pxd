"""Charts over the spans of a sentence: which symbols have a derivation there, and what it is worth.

The value of symbol B over words i … k − 1 is kept by its first word if B can be a left child, and by the one after its
last if it can be a right one:

    left[i][B][k]     right[k][B][i]

so that for a pair of children B C, over all splits k of a span (i, j), both values are contiguous. Bit k of
`ends[i][B]` says whether left[i][B][k] is there, bit i of `begins[k][B]` whether right[k][B][i] is: their conjunction
is the splits of (i, j) where B and C meet, mostly none, and no value needs to be cleared.

Spans come with j rising and, of one j, i falling: what is right of a split is then read again at once, and what is left
of it has few symbols, since what is made from left to right has its rest on the right. Memory stays for the next
sentence, whose chart is mostly no larger: 40 words touch 4,000 pages that the system would have to hand out anew.

Rules are sorted by their children, A → B C by (B, C): what all parents of a pair share is computed once.
"""

from libc.math cimport sqrt
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from fastlin.engine.chart.chart_rules cimport Rules
from fastlin.engine.core.allocation cimport allocate, checked_product, fits_in_memory

cdef extern from *:
    """
    #define FASTLIN_LOWEST_BIT(x) __builtin_ctzll(x)
    """
    int lowest_bit "FASTLIN_LOWEST_BIT"(uint64_t bits) noexcept nogil


cdef struct Chart:
    Py_ssize_t n, W, n_left, n_right  # W words of bits; rows of left and of right children
    double* left                      # block i has n_left rows of n − i values
    double* right                     # block j has n_right rows of j values
    uint64_t* ends                    # [n, n_left, W]
    uint64_t* begins                  # [n + 1, n_right, W]
    int32_t* active                   # [n, n_left] left rows with a bit in `ends` of a first word
    int32_t* n_active                 # [n]
    void* memory                      # all of these
    int64_t room                      # its bytes


cdef inline int64_t chart_cells(int64_t n, int64_t rows) noexcept nogil:
    """Values of so many symbols over all spans."""
    return checked_product(checked_product(n, n + 1) // 2, rows)


cdef enum:
    CELLS_A_LOOK = 512       # that are made before a look at what may end the job: then threads wait for each other


cdef inline Py_ssize_t next_look(Py_ssize_t j, Py_ssize_t n) noexcept nogil:
    """The last word of the spans to make before the next look, those that end with word j being made."""
    return min(n, max(j + 1, <Py_ssize_t>sqrt(<double>(j * j + 2 * CELLS_A_LOOK))))


cdef inline Py_ssize_t last_look(Py_ssize_t j) noexcept nogil:
    """Likewise from the end: the last word of the spans that are left."""
    cdef Py_ssize_t square = j * j - 2 * CELLS_A_LOOK
    return min(j - 1, <Py_ssize_t>sqrt(<double>square)) if square > 0 else 0


cdef inline Py_ssize_t span(Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """The number of a span: by its last word, and of one, by its first."""
    return j * (j - 1) // 2 + i


cdef inline double* left_values(const Chart* chart, Py_ssize_t i, Py_ssize_t row) noexcept nogil:
    """left[i][row], to be indexed by the end k, i < k ≤ n."""
    cdef Py_ssize_t n = chart.n
    return chart.left + (i * n - i * (i - 1) // 2) * chart.n_left + row * (n - i) - (i + 1)


cdef inline double* right_values(const Chart* chart, Py_ssize_t j, Py_ssize_t row) noexcept nogil:
    """right[j][row], to be indexed by the first word k, k < j."""
    return chart.right + (j * (j - 1) // 2) * chart.n_right + row * j


cdef inline uint64_t* end_bits(const Chart* chart, Py_ssize_t i, Py_ssize_t row) noexcept nogil:
    return chart.ends + (i * chart.n_left + row) * chart.W


cdef inline uint64_t* begin_bits(const Chart* chart, Py_ssize_t j, Py_ssize_t row) noexcept nogil:
    return chart.begins + (j * chart.n_right + row) * chart.W


cdef inline bint grow(void** memory, int64_t* room, int64_t count, size_t size) noexcept nogil:
    """Let there be memory for so many items, whatever they are; whether there is."""
    if not fits_in_memory(count, size):
        return False
    if memory[0] == NULL or room[0] < count * <int64_t>size:
        free(memory[0])
        memory[0] = allocate(count, size)
        room[0] = count * <int64_t>size if memory[0] else 0
    return memory[0] != NULL


cdef inline bint new_chart(Chart* chart, Py_ssize_t n, const Rules* rules) noexcept nogil:
    """An empty chart for n words; whether there is memory for it."""
    cdef int64_t words = n // 64 + 1, L = rules.n_left, R = rules.n_right
    cdef int64_t values = chart_cells(n, L + R)
    cdef int64_t bits = checked_product(checked_product(n + 1, L + R), words)
    cdef int64_t rows = checked_product(n, L + 1)
    if max(max(values, bits), rows) > INT64_MAX // 4:
        return False
    if not grow(&chart.memory, &chart.room, values + bits + rows, sizeof(double)):
        return False
    chart.n, chart.W, chart.n_left, chart.n_right = n, words, L, R
    chart.left = <double*>chart.memory
    chart.right = chart.left + chart_cells(n, L)
    chart.ends = <uint64_t*>(chart.left + values)
    chart.begins = chart.ends + n * L * words
    chart.active = <int32_t*>(chart.left + values + bits)
    chart.n_active = chart.active + n * L
    memset(chart.ends, 0, bits * sizeof(uint64_t))
    memset(chart.n_active, 0, n * sizeof(int32_t))
    return True


cdef inline bint is_there(const Chart* chart, const Rules* rules, Py_ssize_t A, Py_ssize_t i,
                          Py_ssize_t j) noexcept nogil:
    """Whether a symbol has a derivation over a span."""
    if rules.left_row[A] >= 0:
        return (end_bits(chart, i, rules.left_row[A])[j >> 6] >> (j & 63)) & 1
    return (begin_bits(chart, j, rules.right_row[A])[i >> 6] >> (i & 63)) & 1


cdef inline double value_of(const Chart* chart, const Rules* rules, Py_ssize_t A, Py_ssize_t i,
                            Py_ssize_t j) noexcept nogil:
    """The value of a symbol that has a derivation over a span."""
    if rules.left_row[A] >= 0:
        return left_values(chart, i, rules.left_row[A])[j]
    return right_values(chart, j, rules.right_row[A])[i]


cdef inline void store(Chart* chart, const Rules* rules, Py_ssize_t i, Py_ssize_t j, Py_ssize_t A,
                       double value) noexcept nogil:
    """Store the value of a symbol over a span; of spans with the same i, they come with j rising."""
    cdef Py_ssize_t row = rules.left_row[A], w
    cdef uint64_t* bits
    cdef bint first = True
    if row >= 0:
        bits = end_bits(chart, i, row)
        for w in range(chart.W):
            first &= bits[w] == 0
        if first and row < rules.n_joining:
            chart.active[i * chart.n_left + chart.n_active[i]] = <int32_t>row
            chart.n_active[i] += 1
        bits[j >> 6] |= <uint64_t>1 << (j & 63)
        left_values(chart, i, row)[j] = value
    row = rules.right_row[A]
    if row >= 0:
        begin_bits(chart, j, row)[i >> 6] |= <uint64_t>1 << (i & 63)
        right_values(chart, j, row)[i] = value
