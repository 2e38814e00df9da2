"""Charts over the spans of a sentence: which symbols have a derivation there, and what it is worth.

The value of symbol B over words i … k − 1 is kept twice, by its first word and by the one after its last:

    left[i][B][k]     right[k][B][i]

so that for a pair of children B C, over all splits k of a span (i, j), both values are contiguous. Bit k of
`ends[i][B]` says whether left[i][B][k] is there, bit i of `begins[k][B]` whether right[k][B][i] is: their conjunction
is the splits of (i, j) where B and C meet, mostly none, and no value needs to be cleared.

Rules are sorted by their children, A → B C by (B, C): what all parents of a pair share is computed once.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate, allocate_zeros, checked_product

cdef extern from *:
    """
    #define FASTLIN_LOWEST_BIT(x) __builtin_ctzll(x)
    """
    int lowest_bit "FASTLIN_LOWEST_BIT"(uint64_t bits) noexcept nogil


cdef struct Rules:
    Py_ssize_t S                    # symbols
    const int64_t* pair_start       # [S + 1] of the pairs B C with this B
    const int32_t* pair_right       # [pairs] C
    const int64_t* rule_start       # [pairs + 1] of the rules A → B C
    const int32_t* parent           # [rules] A
    const double* weight            # [rules]
    const int64_t* chain_start      # [S + 1] of the chains of unary rules A ⇒ B with this B
    const int32_t* chain_parent     # [chains] A, which is not B but in sums
    const double* chain_weight      # [chains]
    const int32_t* label            # [S] the column of what a span is worth to it, −1 for none


cdef struct Chart:
    Py_ssize_t S, n, W              # W words of bits
    double* left                    # block i has S rows of n − i values
    double* right                   # block j has S rows of j values
    uint64_t* ends                  # [n, S, W]
    uint64_t* begins                # [n + 1, S, W]
    int32_t* active                 # [n, S] symbols with a bit in `ends` of a first word
    int32_t* n_active               # [n]


cdef inline void bind_rules(Rules* rules, const int64_t[::1] pair_start, const int32_t[::1] pair_right,
                            const int64_t[::1] rule_start, const int32_t[::1] parent, const double[::1] weight,
                            const int64_t[::1] chain_start, const int32_t[::1] chain_parent,
                            const double[::1] chain_weight, const int32_t[::1] label) noexcept:
    """Rules in these arrays, which must stay where they are."""
    rules.S = label.shape[0]
    rules.pair_start, rules.rule_start, rules.chain_start = &pair_start[0], &rule_start[0], &chain_start[0]
    rules.label = &label[0]
    rules.pair_right = rules.parent = rules.chain_parent = NULL
    rules.weight = rules.chain_weight = NULL
    if parent.shape[0] > 0:
        rules.pair_right, rules.parent, rules.weight = &pair_right[0], &parent[0], &weight[0]
    if chain_parent.shape[0] > 0:
        rules.chain_parent, rules.chain_weight = &chain_parent[0], &chain_weight[0]


cdef inline int64_t chart_cells(int64_t n, int64_t S) noexcept nogil:
    """Values of one of the two halves of a chart."""
    return checked_product(checked_product(n, n + 1) // 2, S)


cdef inline Py_ssize_t span(Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """The number of a span: by its last word, and of one, by its first."""
    return j * (j - 1) // 2 + i


cdef inline double* left_row(const Chart* chart, Py_ssize_t i, Py_ssize_t B) noexcept nogil:
    """left[i][B], to be indexed by the end k, i < k ≤ n."""
    cdef Py_ssize_t n = chart.n
    return chart.left + (i * n - i * (i - 1) // 2) * chart.S + B * (n - i) - (i + 1)


cdef inline double* right_row(const Chart* chart, Py_ssize_t j, Py_ssize_t C) noexcept nogil:
    """right[j][C], to be indexed by the first word k, k < j."""
    return chart.right + (j * (j - 1) // 2) * chart.S + C * j


cdef inline uint64_t* end_bits(const Chart* chart, Py_ssize_t i, Py_ssize_t B) noexcept nogil:
    return chart.ends + (i * chart.S + B) * chart.W


cdef inline uint64_t* begin_bits(const Chart* chart, Py_ssize_t j, Py_ssize_t C) noexcept nogil:
    return chart.begins + (j * chart.S + C) * chart.W


cdef inline void free_chart(Chart* chart) noexcept nogil:
    free(chart.left)
    free(chart.right)
    free(chart.ends)
    free(chart.begins)
    free(chart.active)
    free(chart.n_active)
    chart.left = chart.right = NULL
    chart.ends = chart.begins = NULL
    chart.active = chart.n_active = NULL


cdef inline bint new_chart(Chart* chart, Py_ssize_t n, Py_ssize_t S) noexcept nogil:
    """An empty chart for n words; whether there is memory for it."""
    cdef int64_t cells = chart_cells(n, S), bits
    chart.S, chart.n, chart.W = S, n, n // 64 + 1
    bits = checked_product(checked_product(n + 1, S), chart.W)
    chart.left = <double*>allocate(cells, sizeof(double))
    chart.right = <double*>allocate(cells, sizeof(double))
    chart.ends = <uint64_t*>allocate_zeros(bits, sizeof(uint64_t))
    chart.begins = <uint64_t*>allocate_zeros(bits, sizeof(uint64_t))
    chart.active = <int32_t*>allocate(checked_product(n, S), sizeof(int32_t))
    chart.n_active = <int32_t*>allocate_zeros(n, sizeof(int32_t))
    if chart.left and chart.right and chart.ends and chart.begins and chart.active and chart.n_active:
        return True
    free_chart(chart)
    return False


cdef inline void store(Chart* chart, Py_ssize_t i, Py_ssize_t j, Py_ssize_t A, double value) noexcept nogil:
    """Store the value of a symbol over a span; spans come with i falling and, of one i, j rising."""
    cdef uint64_t* bits = end_bits(chart, i, A)
    cdef Py_ssize_t w
    cdef bint first = True
    for w in range(chart.W):
        first &= bits[w] == 0
    if first:
        chart.active[i * chart.S + chart.n_active[i]] = <int32_t>A
        chart.n_active[i] += 1
    bits[j >> 6] |= <uint64_t>1 << (j & 63)
    begin_bits(chart, j, A)[i >> 6] |= <uint64_t>1 << (i & 63)
    left_row(chart, i, A)[j] = value
    right_row(chart, j, A)[i] = value
