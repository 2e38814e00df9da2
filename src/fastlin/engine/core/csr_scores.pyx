"""Scores and labels of the rows of a CSR as it lies, proved while it is read: S = XW + b, or argmax_k S.

A prediction reads its rows once, so a pass that proves the matrix (csr_check.pyx) and a copy of scipy's int32 `indptr`
would cost as much as the scores. Here a block of rows is proved, 0.2 ns a non-zero, and scored while it is in cache:

    0 = indptr[0] ≤ … ≤ indptr[n] ≤ nnz,  0 ≤ j < V, rising in a row,  |x| ≤ limit,  and of counts x ≥ 0

NaN is seen in its scores, which are NaN as well: a value is asked only whether it is beyond the limits. Where something
is wrong the kernel says no more than so: whoever proves matrices finds out what, and where, or puts the rows in order,
so that the same rows have the same scores to the last bit, however they lie.

One or two columns of weights that fit into the nearer cache are read without prefetching, which takes a third of the
time of short rows; sums are those of `score_row`, bit for bit. The short rows of a block come first, so that the ends
of their loops are foreseen (7 %), and four terms of float64 are one vector (14 %), whose indices come in two loads
(8 %). Of more rows than a cache holds the next block is fetched meanwhile: 200,000 rows take two thirds of the time
so, 20,000 a twentieth more.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate
from fastlin.engine.core.csr cimport BLOCK_ROWS, number, order_by_length, real, score_rows
from fastlin.engine.core.losses cimport best_label

cdef extern from * nogil:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    static inline void fastlin_fetch(const void* p) { __builtin_prefetch(p, 0, 2); }

    /* What is asked of non-zeros, without a branch and with numbers of one width in a loop, which vectorises: in bits
       of |x|, which order finite numbers < infinity < NaN as integers, and in the signs of differences. */
    static inline int32_t fastlin_descents(const int32_t* indices, ptrdiff_t n)
    {
        int32_t falls = 0;
        _Pragma("GCC unroll 4") for (ptrdiff_t p = 1; p < n; p++)
            falls += indices[p] <= indices[p - 1];
        return falls;
    }
    static inline int fastlin_outside(const int32_t* indices, ptrdiff_t n, uint32_t last)
    {
        uint32_t outside = 0;
        for (ptrdiff_t p = 0; p < n; p++)
            outside |= (uint32_t)indices[p] | (last - (uint32_t)indices[p]);
        return outside >> 31;
    }
    #define FASTLIN_FACTS(NAME, REAL, INTEGER, MAGNITUDE)                                                           \
        static inline INTEGER NAME##_size(const REAL* values, ptrdiff_t p)                                          \
        {                                                                                                           \
            INTEGER bits;                                                                                           \
            memcpy(&bits, values + p, sizeof bits);                                                                 \
            return bits & MAGNITUDE;                                                                                \
        }                                                                                                           \
        static inline int NAME##_signed(const REAL* values, ptrdiff_t n)                                            \
        {                                                                                                           \
            INTEGER bits, signs = 0;                                                                                \
            _Pragma("GCC unroll 4") for (ptrdiff_t p = 0; p < n; p++) {                                             \
                memcpy(&bits, values + p, sizeof bits);                                                             \
                signs |= bits;                                                                                      \
            }                                                                                                       \
            return signs < 0;                                                                                       \
        }                                                                                                           \
        static inline INTEGER NAME##_largest(const REAL* values, ptrdiff_t n, int* minus, int* zeros)               \
        {                                                                                                           \
            INTEGER a = 0, b = 0, c = 0, d = 0, below = 0; /* one maximum would wait for the one before */          \
            const ptrdiff_t m = n / 4;                                                                              \
            for (ptrdiff_t p = 0; p < m; p++) {                                                                     \
                const INTEGER s = NAME##_size(values, p), t = NAME##_size(values, p + m);                           \
                const INTEGER u = NAME##_size(values, p + 2 * m), v = NAME##_size(values, p + 3 * m);               \
                a = s > a ? s : a;                                                                                  \
                b = t > b ? t : b;                                                                                  \
                c = u > c ? u : c;                                                                                  \
                d = v > d ? v : d;                                                                                  \
                below |= (s - 1) | (t - 1) | (u - 1) | (v - 1);                                                     \
            }                                                                                                       \
            for (ptrdiff_t p = 4 * m; p < n; p++) {                                                                 \
                const INTEGER s = NAME##_size(values, p);                                                           \
                a = s > a ? s : a;                                                                                  \
                below |= s - 1;                                                                                     \
            }                                                                                                       \
            *minus |= NAME##_signed(values, n);                                                                     \
            a = b > a ? b : a;                                                                                      \
            c = d > c ? d : c;                                                                                      \
            *zeros |= below < 0;                                                                                    \
            return c > a ? c : a;                                                                                   \
        }
    FASTLIN_FACTS(fastlin_doubles, double, int64_t, INT64_MAX)
    FASTLIN_FACTS(fastlin_floats, float, int32_t, INT32_MAX)
    /* The smallest and the largest of 0 and the numbers; those that are no numbers are passed over. */
    #if defined(__AVX__)
    #include <immintrin.h>
    #define FASTLIN_EXTREMES(NAME, REAL, VECTOR, KIND)                                                              \
        static inline void NAME##_extremes(const REAL* values, ptrdiff_t n, REAL* least, REAL* greatest)            \
        {                                                                                                           \
            enum { WIDTH = sizeof(VECTOR) / sizeof(REAL), TURNS = 4 }; /* one maximum would wait for the one before */ \
            VECTOR low[TURNS], high[TURNS];                                                                         \
            REAL lows[WIDTH], highs[WIDTH], a = 0, b = 0;                                                           \
            ptrdiff_t p = 0;                                                                                        \
            for (int s = 0; s < TURNS; s++)                                                                         \
                low[s] = high[s] = _mm256_setzero_##KIND();                                                         \
            for (; p + TURNS * WIDTH <= n; p += TURNS * WIDTH)                                                      \
                _Pragma("GCC unroll 4") for (int s = 0; s < TURNS; s++) {                                           \
                    const VECTOR x = _mm256_loadu_##KIND(values + p + s * WIDTH);                                   \
                    low[s] = _mm256_min_##KIND(x, low[s]);                                                          \
                    high[s] = _mm256_max_##KIND(x, high[s]);                                                        \
                }                                                                                                   \
            for (; p < n; p++) {                                                                                    \
                a = values[p] < a ? values[p] : a;                                                                  \
                b = values[p] > b ? values[p] : b;                                                                  \
            }                                                                                                       \
            for (int s = 0; s < TURNS; s++) {                                                                       \
                _mm256_storeu_##KIND(lows, low[s]);                                                                 \
                _mm256_storeu_##KIND(highs, high[s]);                                                               \
                for (int t = 0; t < WIDTH; t++) {                                                                   \
                    a = lows[t] < a ? lows[t] : a;                                                                  \
                    b = highs[t] > b ? highs[t] : b;                                                                \
                }                                                                                                   \
            }                                                                                                       \
            *least = a;                                                                                             \
            *greatest = b;                                                                                          \
        }
    FASTLIN_EXTREMES(fastlin_doubles, double, __m256d, pd)
    FASTLIN_EXTREMES(fastlin_floats, float, __m256, ps)
    #else
    #define FASTLIN_EXTREMES(NAME, REAL)                                                                            \
        static inline void NAME##_extremes(const REAL* values, ptrdiff_t n, REAL* least, REAL* greatest)            \
        {                                                                                                           \
            REAL a = 0, b = 0;                                                                                      \
            for (ptrdiff_t p = 0; p < n; p++) {                                                                     \
                a = values[p] < a ? values[p] : a;                                                                  \
                b = values[p] > b ? values[p] : b;                                                                  \
            }                                                                                                       \
            *least = a;                                                                                             \
            *greatest = b;                                                                                          \
        }
    FASTLIN_EXTREMES(fastlin_doubles, double)
    FASTLIN_EXTREMES(fastlin_floats, float)
    #endif
    /* x·w of four sums that take turns, as `score_row` has them; in one vector, which halves the instructions. */
    #if defined(__AVX__)
    typedef double fastlin_quad __attribute__((vector_size(32), aligned(8), may_alias));
    static inline double fastlin_dot(const double* w, const int32_t* indices, const double* x, ptrdiff_t m,
                                     ptrdiff_t ahead)
    {
        fastlin_quad sums = {0};
        ptrdiff_t p = 0;
        double a;
        for (; p + 4 <= m; p += 4) {
            uint64_t j, k; /* two indices each: to load is what takes the time */
            memcpy(&j, indices + p, sizeof j);
            memcpy(&k, indices + p + 2, sizeof k);
            if (ahead) {
                fastlin_fetch(x + p + ahead);
                fastlin_fetch(indices + p + ahead);
            }
            sums += *(const fastlin_quad*)(x + p) *
                    (fastlin_quad){w[(uint32_t)j], w[j >> 32], w[(uint32_t)k], w[k >> 32]};
        }
        a = sums[0];
        for (; p < m; p++)
            a += x[p] * w[indices[p]];
        return (a + sums[1]) + (sums[2] + sums[3]);
    }
    #else
    static inline double fastlin_dot(const double* w, const int32_t* indices, const double* x, ptrdiff_t m,
                                     ptrdiff_t ahead)
    {
        double a = 0, b = 0, c = 0, d = 0;
        ptrdiff_t p = 0;
        (void)ahead;
        for (; p + 4 <= m; p += 4) {
            a += x[p] * w[indices[p]];
            b += x[p + 1] * w[indices[p + 1]];
            c += x[p + 2] * w[indices[p + 2]];
            d += x[p + 3] * w[indices[p + 3]];
        }
        for (; p < m; p++)
            a += x[p] * w[indices[p]];
        return (a + b) + (c + d);
    }
    #endif
    static inline double fastlin_from_double(int64_t b) { double x; memcpy(&x, &b, 8); return x; }
    static inline double fastlin_from_float(int64_t b) { int32_t c = (int32_t)b; float x; memcpy(&x, &c, 4); return x; }
    """
    double double_of_bits "fastlin_from_double"(int64_t) noexcept
    double float_of_bits "fastlin_from_float"(int64_t) noexcept
    void fetch "fastlin_fetch"(const void*) noexcept
    int32_t count_descents "fastlin_descents"(const int32_t*, Py_ssize_t) noexcept
    bint some_outside "fastlin_outside"(const int32_t*, Py_ssize_t, uint32_t) noexcept
    void double_extremes "fastlin_doubles_extremes"(const double*, Py_ssize_t, double*, double*) noexcept
    void float_extremes "fastlin_floats_extremes"(const float*, Py_ssize_t, float*, float*) noexcept
    int64_t largest_double "fastlin_doubles_largest"(const double*, Py_ssize_t, int*, int*) noexcept
    int32_t largest_float "fastlin_floats_largest"(const float*, Py_ssize_t, int*, int*) noexcept
    double dot "fastlin_dot"(const double*, const int32_t*, const double*, Py_ssize_t, Py_ssize_t) noexcept
    const int64_t NEAR_BYTES "(1 << 20)"       # what the nearer cache holds

cdef enum:
    BLOCK_NNZ = 2048         # proved, and read again before they leave the nearest cache
    NEAR_NNZ = 1 << 20       # that a cache holds, so that the processor is in time with the next block
    FAR_BLOCK_NNZ = 16384    # beside weights that are fetched, which a block begins without


cdef inline bint have_columns(const int64_t* ends, Py_ssize_t n_rows, const int32_t* indices, int64_t n_columns,
                              bint* disorder) noexcept nogil:
    """Whether every index is that of a column; `disorder` becomes true where those of a row do not rise strictly.

    Descents are counted over all non-zeros at once, and those between rows taken off. Where none is left, the first and
    the last index of a row say where all of it are.
    """
    cdef int64_t p, q
    cdef int32_t descents = count_descents(indices, ends[n_rows] - ends[0])
    cdef bint outside = False
    cdef Py_ssize_t row
    for row in range(n_rows):
        p = ends[row] - ends[0]
        q = ends[row + 1] - ends[0]
        if p < q:
            outside |= indices[p] < 0 or indices[q - 1] >= n_columns
            if p > 0:
                descents -= indices[p] <= indices[p - 1]
    if descents:
        disorder[0] = True
        return not some_outside(indices, ends[n_rows] - ends[0], <uint32_t>n_columns - 1)
    return not outside


cdef inline bint some_negative(const number* values, int64_t n) noexcept nogil:
    cdef int64_t p
    for p in range(n):
        if values[p] < 0:
            return True
    return False


cdef inline bint are_valid(const int64_t* ends, Py_ssize_t n_rows, const int32_t* indices, const number* values,
                           int64_t n_columns, double limit, bint nonnegative) noexcept nogil:
    """Whether rows have columns, and values that weights may meet: or NaN, of which a score is none that is finite."""
    cdef bint disorder = False
    cdef number least, greatest
    if not have_columns(ends, n_rows, indices, n_columns, &disorder) or disorder:
        return False
    if number is float:
        float_extremes(values, ends[n_rows] - ends[0], &least, &greatest)
    else:
        double_extremes(values, ends[n_rows] - ends[0], &least, &greatest)
    return greatest <= limit and least >= (0 if nonnegative else -limit)


def validate_csr(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values, int64_t n_columns):
    """Prove a CSR: 0 = indptr[0] ≤ … ≤ indptr[n] ≤ nnz, 0 ≤ j < n_columns, and every x finite.

    Returns (canonical, negative, zeros, largest) or, where something is wrong, None: `csr_check.find_fault` finds it.
    `canonical`: the indices of every row rise strictly. `negative`, `zeros`: some value is below 0, is an explicit 0.
    """
    cdef Py_ssize_t i = 0, n, rows = indptr.shape[0] - 1
    cdef int64_t nnz = indices.shape[0] if indices.shape[0] < values.shape[0] else values.shape[0]
    cdef int64_t infinite = 0x7F800000 if number is float else 0x7FF0000000000000LL
    cdef const int64_t* ends = &indptr[0]
    cdef int64_t columns = n_columns if n_columns < 1LL << 31 else 1LL << 31
    cdef bint valid = ends[0] == 0 and n_columns >= 0, negative = False
    cdef int64_t largest = 0, of_block, first
    cdef int minus = 0, zeros = 0
    cdef bint disorder = False
    with nogil:
        while valid and i < rows:
            n = 0
            first = ends[i]
            while i + n < rows and (n == 0 or ends[i + n] - first < BLOCK_NNZ):
                n += 1
                if not ends[i + n - 1] <= ends[i + n] <= nnz:
                    valid = False
                    break
            if valid and first < ends[i + n]:
                valid = have_columns(ends + i, n, &indices[0] + first, columns, &disorder)
                if number is float:
                    of_block = largest_float(&values[0] + first, ends[i + n] - first, &minus, &zeros)
                else:
                    of_block = largest_double(&values[0] + first, ends[i + n] - first, &minus, &zeros)
                largest = of_block if of_block > largest else largest
            i += n
        valid = valid and largest < infinite
        if valid and minus:
            negative = some_negative(&values[0], ends[rows])
    if not valid:
        return None
    return (not disorder, bool(negative), bool(zeros),
            float_of_bits(largest) if number is float else double_of_bits(largest))


cdef inline bint are_finite(const double* scores, Py_ssize_t n) noexcept nogil:
    """Whether nothing is infinite or NaN: zeros times it add up to 0."""
    cdef Py_ssize_t i
    cdef double a = 0, b = 0, c = 0, d = 0
    for i in range(0, n - 3, 4):
        a += 0 * scores[i]
        b += 0 * scores[i + 1]
        c += 0 * scores[i + 2]
        d += 0 * scores[i + 3]
    for i in range(n - n % 4, n):
        a += 0 * scores[i]
    return (a + b) + (c + d) == 0


cdef inline void score_near(const int64_t* indptr, const int32_t* indices, const number* values, Py_ssize_t n,
                            const real* w, double bias, double* scores, Py_ssize_t ahead) noexcept nogil:
    """`score_rows` of one column, which fetches what is so many non-zeros ahead."""
    cdef Py_ssize_t i, place
    cdef int64_t p, end
    cdef real a, b, c, d
    cdef uint8_t[BLOCK_ROWS] order
    order_by_length(indptr, n, order)
    for place in range(n):
        i = order[place]
        p = indptr[i] - indptr[0]
        end = indptr[i + 1] - indptr[0]
        if number is double and real is double:
            scores[i] = dot(w, indices + p, values + p, end - p, ahead) + bias
            continue
        a = 0
        b = 0
        c = 0
        d = 0
        while p + 4 <= end:
            fetch(values + p + BLOCK_NNZ)
            fetch(indices + p + BLOCK_NNZ)
            a += <real>values[p] * w[indices[p]]
            b += <real>values[p + 1] * w[indices[p + 1]]
            c += <real>values[p + 2] * w[indices[p + 2]]
            d += <real>values[p + 3] * w[indices[p + 3]]
            p += 4
        while p < end:
            a += <real>values[p] * w[indices[p]]
            p += 1
        scores[i] = (a + b) + (c + d) + bias


cdef inline void score_near_pairs(const int64_t* indptr, const int32_t* indices, const number* values, Py_ssize_t n,
                                  const real* W, const double* bias, double* scores) noexcept nogil:
    """`score_rows` of two columns."""
    cdef Py_ssize_t i
    cdef int64_t p = 0, end
    cdef const real* w
    cdef real x
    cdef real[4][2] sums
    cdef int k, s
    for i in range(n):
        end = indptr[i + 1] - indptr[0]
        for s in range(4):
            for k in range(2):
                sums[s][k] = 0
        while p + 4 <= end:
            fetch(values + p + BLOCK_NNZ)
            fetch(indices + p + BLOCK_NNZ)
            for s in range(4):
                w = W + 2 * <int64_t>indices[p + s]
                x = <real>values[p + s]
                sums[s][0] += x * w[0]
                sums[s][1] += x * w[1]
            p += 4
        while p < end:
            w = W + 2 * <int64_t>indices[p]
            x = <real>values[p]
            sums[0][0] += x * w[0]
            sums[0][1] += x * w[1]
            p += 1
        for k in range(2):
            scores[2 * i + k] = ((sums[0][k] + sums[1][k]) + sums[2][k]) + sums[3][k] + bias[k]


@cython.final
cdef class LinearScorer:
    """Weights W [V, K] and intercepts, and what values may meet them; bound once, for rows of any number."""

    cdef object owners
    cdef const float[:, ::1] floats
    cdef const double[:, ::1] doubles
    cdef const double[::1] bias
    cdef void* W
    cdef bint single, nonnegative
    cdef Py_ssize_t V, K
    cdef double limit

    def __cinit__(self, W, const double[::1] bias, double limit, bint nonnegative):
        self.single = W.itemsize == sizeof(float)
        if self.single:
            self.floats = W
        else:
            self.doubles = W
        self.V, self.K = W.shape
        if bias.shape[0] != self.K or self.V < 1 or self.K < 1:
            raise ValueError(f"{bias.shape[0]} intercepts do not fit weights of shape {W.shape}")
        self.W = <void*>&self.floats[0, 0] if self.single else <void*>&self.doubles[0, 0]
        self.bias, self.limit, self.nonnegative = bias, limit, nonnegative

    def score(self, indptr, const int32_t[::1] indices, values, Py_ssize_t start, Py_ssize_t stop,
              double[:, ::1] scores, int64_t[::1] labels):
        """Score the rows [start, stop) into their places in `scores` or, where that is empty, choose their `labels`.

        Returns whether these rows are well formed; if not, what was written means nothing.
        """
        cdef const int32_t[::1] narrow
        cdef const int64_t[::1] wide
        cdef const float[::1] floats
        cdef const double[::1] doubles
        cdef const int32_t* short_ends = NULL
        cdef const int64_t* long_ends = NULL
        cdef const int32_t* columns = &indices[0] if indices.shape[0] else NULL
        cdef const void* numbers = NULL
        cdef bint single = values.itemsize == sizeof(float), valid
        cdef Py_ssize_t n = len(indptr) - 1, nnz = indices.shape[0]
        cdef double* out = &scores[0, 0] if scores.shape[0] else NULL
        cdef int64_t* best = &labels[0] if labels.shape[0] else NULL
        if not 0 <= start <= stop <= n or len(values) != nnz or indptr[0] != 0:
            return False
        if (out != NULL and (scores.shape[0] != n or scores.shape[1] != self.K)) or (
                best != NULL and labels.shape[0] != n) or (out == NULL) == (best == NULL):
            raise ValueError(f"there is no room for the scores or labels of {n} rows")
        if indptr.itemsize == sizeof(int32_t):
            narrow = indptr
            short_ends = &narrow[0]
        else:
            wide = indptr
            long_ends = &wide[0]
        if single:
            floats = values
            numbers = <void*>&floats[0] if nnz else NULL
        else:
            doubles = values
            numbers = <void*>&doubles[0] if nnz else NULL
        spare = <double*>allocate(BLOCK_ROWS * self.K + self.K, sizeof(double))
        if spare == NULL:
            raise MemoryError
        with nogil:
            if self.single and single:
                valid = score_range(self, <const float*>self.W, short_ends, long_ends, columns, <const float*>numbers,
                                    nnz, start, stop, out, best, spare)
            elif self.single:
                valid = score_range(self, <const float*>self.W, short_ends, long_ends, columns,
                                    <const double*>numbers, nnz, start, stop, out, best, spare)
            elif single:
                valid = score_range(self, <const double*>self.W, short_ends, long_ends, columns,
                                    <const float*>numbers, nnz, start, stop, out, best, spare)
            else:
                valid = score_range(self, <const double*>self.W, short_ends, long_ends, columns,
                                    <const double*>numbers, nnz, start, stop, out, best, spare)
        free(spare)
        return valid


cdef bint score_range(LinearScorer model, const real* W, const int32_t* short_ends, const int64_t* long_ends,
                      const int32_t* indices, const number* values, int64_t nnz, Py_ssize_t start, Py_ssize_t stop,
                      double* scores, int64_t* labels, double* spare) noexcept nogil:
    """`LinearScorer.score`; `spare` holds the scores of a block, and a row of them."""
    cdef Py_ssize_t i = start, n, row, K = model.K
    cdef bint near = K <= 2 and model.V * K * <int64_t>sizeof(real) <= NEAR_BYTES
    cdef int64_t most = BLOCK_NNZ if near else FAR_BLOCK_NNZ
    cdef double* block = spare
    cdef int64_t[BLOCK_ROWS + 1] ends
    ends[0] = long_ends[start] if long_ends != NULL else short_ends[start]
    if not 0 <= ends[0] <= nnz:
        return False
    while i < stop:
        n = 0
        while n < BLOCK_ROWS and i + n < stop and (n == 0 or ends[n] - ends[0] < most):
            n += 1
            ends[n] = long_ends[i + n] if long_ends != NULL else short_ends[i + n]
            if not ends[n - 1] <= ends[n] <= nnz:
                return False
        if not are_valid(ends, n, indices + ends[0], values + ends[0], model.V, model.limit, model.nonnegative):
            return False
        if scores != NULL:
            block = scores + i * K
        if near and K == 2:
            score_near_pairs(ends, indices + ends[0], values + ends[0], n, W, &model.bias[0], block)
        elif near:
            score_near(ends, indices + ends[0], values + ends[0], n, W, model.bias[0], block,
                       BLOCK_NNZ if nnz > NEAR_NNZ else 0)
        else:
            score_rows(ends, indices + ends[0], values + ends[0], n, W, K, &model.bias[0],
                       <real*>(spare + BLOCK_ROWS * K), block, False)
        if not are_finite(block, n * K):
            return False
        if labels != NULL:
            for row in range(n):
                labels[i + row] = best_label(block + row * K, K)
        ends[0] = ends[n]
        i += n
    return True
