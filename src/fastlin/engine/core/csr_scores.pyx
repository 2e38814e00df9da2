"""Scores and labels of the rows of a CSR as it lies, proved while it is read: S = XW + b, or argmax_k S.

A prediction reads its rows once, so a pass that proves the matrix (csr_check.pyx) and a copy of scipy's int32 `indptr`
would cost as much as the scores. Here a block of rows is proved, 0.3 ns a non-zero, and scored while it is in cache:

    0 = indptr[0] ≤ … ≤ indptr[n] ≤ nnz,  0 ≤ j < V, rising in a row,  |x| ≤ limit,  and of counts x ≥ 0

Where that is not so the kernel says no more than so: whoever proves matrices finds out what is wrong, and where, or
puts the rows in order, so that the same rows have the same scores to the last bit, however they lie.

One column of weights that fit into the nearer cache is read without prefetching, which takes a third of the time of
short rows; sums are those of `score_row`, bit for bit. There the next block's rows are fetched instead, which the
processor does not foresee while it is at this one's a second time: 15 % of 200,000 rows' time.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate
from fastlin.engine.core.csr cimport number, real, score_rows
from fastlin.engine.core.losses cimport best_label

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    static inline int64_t fastlin_bits_double(double x) { int64_t b; memcpy(&b, &x, 8); return b; }
    static inline int64_t fastlin_bits_float(float x) { int32_t b; memcpy(&b, &x, 4); return b; }
    static inline void fastlin_fetch(const void* p) { __builtin_prefetch(p, 0, 2); }
    """
    int64_t bits_of_double "fastlin_bits_double"(double) noexcept nogil
    int64_t bits_of_float "fastlin_bits_float"(float) noexcept nogil
    void fetch "fastlin_fetch"(const void*) noexcept nogil
    const int64_t NEAR_BYTES "(1 << 20)"       # what the nearer cache holds

cdef enum:
    BLOCK_ROWS = 64
    BLOCK_NNZ = 2048         # proved, and read again before they leave the nearest cache
    FAR_BLOCK_NNZ = 16384    # beside weights that are fetched, which a block begins without


cdef inline int64_t bits_of(number x) noexcept nogil:
    """Integers in the order of the numbers that are not negative; of these that are, all are below 0."""
    if number is float:
        return bits_of_float(x)
    else:
        return bits_of_double(x)


cdef inline bint are_valid(const int64_t* ends, Py_ssize_t n_rows, const int32_t* indices, const number* values,
                           uint32_t n_columns, double limit, bint nonnegative) noexcept nogil:
    """Whether rows have columns and values that weights may meet: over all non-zeros at once, which vectorises.

    Where a row begins, indices may fall: those places are looked at once more.
    """
    cdef int64_t p, size, largest = 0, unsigned_bits = 0x7FFFFFFFFFFFFFFFLL, most = bits_of(<number>limit)
    cdef int32_t outside = 0, negative = 0, descents = 0
    cdef int64_t n = ends[n_rows] - ends[0]
    cdef Py_ssize_t row
    if number is float:
        unsigned_bits = 0x7FFFFFFF
        most = most if most < 0x7F800000 else 0x7F7FFFFF  # a limit of float64 is infinite here
    for p in range(n):
        outside |= <uint32_t>indices[p] >= n_columns
        size = bits_of(values[p]) & unsigned_bits
        largest = size if size > largest else largest
        negative |= values[p] < 0
    for p in range(1, n):
        descents += indices[p] <= indices[p - 1]
    for row in range(1, n_rows):
        p = ends[row] - ends[0]
        if 0 < p and ends[row] < ends[row + 1]:
            descents -= indices[p] <= indices[p - 1]
    return not descents and not outside and largest <= most and not (negative and nonnegative)


cdef inline void score_near(const int64_t* indptr, const int32_t* indices, const number* values, Py_ssize_t n,
                            const real* w, double bias, double* scores) noexcept nogil:
    """`score_rows` of one column."""
    cdef Py_ssize_t i
    cdef int64_t p = 0, end
    cdef real a, b, c, d
    for i in range(n):
        end = indptr[i + 1] - indptr[0]
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
    cdef bint near = K == 1 and model.V * <int64_t>sizeof(real) <= NEAR_BYTES
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
        if not are_valid(ends, n, indices + ends[0], values + ends[0], <uint32_t>model.V, model.limit,
                         model.nonnegative):
            return False
        if scores != NULL:
            block = scores + i * K
        if near:
            score_near(ends, indices + ends[0], values + ends[0], n, W, model.bias[0], block)
        else:
            score_rows(ends, indices + ends[0], values + ends[0], n, W, K, &model.bias[0],
                       <real*>(spare + BLOCK_ROWS * K), block, False)
        if labels != NULL:
            for row in range(n):
                labels[i + row] = best_label(block + row * K, K)
        ends[0] = ends[n]
        i += n
    return True
