"""A sparse row: score it against the weights W[V, K], add it to them, its norm."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

cdef enum:
    BLOCK_ROWS = 64

ctypedef fused real:
    float
    double

ctypedef fused number:
    float
    double

cdef extern from "tile.h" nogil:
    void prefetch "fastlin_prefetch"(const void*) noexcept
    void prefetch_range "fastlin_prefetch_range"(const void*, const void*) noexcept
    void fastlin_score_float_float(float*, const float*, Py_ssize_t, const int32_t*, const float*, Py_ssize_t,
                                   const int32_t*, Py_ssize_t) noexcept
    void fastlin_score_float_double(float*, const float*, Py_ssize_t, const int32_t*, const double*, Py_ssize_t,
                                    const int32_t*, Py_ssize_t) noexcept
    void fastlin_score_double_float(double*, const double*, Py_ssize_t, const int32_t*, const float*, Py_ssize_t,
                                    const int32_t*, Py_ssize_t) noexcept
    void fastlin_score_double_double(double*, const double*, Py_ssize_t, const int32_t*, const double*, Py_ssize_t,
                                     const int32_t*, Py_ssize_t) noexcept
    void fastlin_score_near_float_float(float*, const float*, Py_ssize_t, const int32_t*, const float*,
                                        Py_ssize_t) noexcept
    void fastlin_score_near_double_double(double*, const double*, Py_ssize_t, const int32_t*, const double*,
                                          Py_ssize_t) noexcept
    void fastlin_add_float_float(float*, Py_ssize_t, const int32_t*, const float*, Py_ssize_t, const float*) noexcept
    void fastlin_add_float_double(float*, Py_ssize_t, const int32_t*, const double*, Py_ssize_t, const float*) noexcept
    void fastlin_add_double_float(double*, Py_ssize_t, const int32_t*, const float*, Py_ssize_t, const double*) noexcept
    void fastlin_add_double_double(double*, Py_ssize_t, const int32_t*, const double*, Py_ssize_t,
                                   const double*) noexcept
    void fetch_add_row "fastlin_fetch_add_double_double"(double*, Py_ssize_t, const int32_t*, const double*, Py_ssize_t,
                                                         const double*, const int32_t*, Py_ssize_t) noexcept


cdef inline void score_row(real* out, const real* W, Py_ssize_t K, const int32_t* indices, const number* values,
                           Py_ssize_t m, const int32_t* ahead, Py_ssize_t m_ahead) noexcept nogil:
    """out[k] = Σ_j x_j W[j, k]; meanwhile the weights of the first of the m_ahead features in `ahead` are fetched."""
    if real is float and number is float:
        fastlin_score_float_float(out, W, K, indices, values, m, ahead, m_ahead)
    elif real is float:
        fastlin_score_float_double(out, W, K, indices, values, m, ahead, m_ahead)
    elif number is float:
        fastlin_score_double_float(out, W, K, indices, values, m, ahead, m_ahead)
    else:
        fastlin_score_double_double(out, W, K, indices, values, m, ahead, m_ahead)


cdef inline void score_near_row(real* out, const real* W, Py_ssize_t K, const int32_t* indices, const real* values,
                                Py_ssize_t m) noexcept nogil:
    """`score_row` of weights that the nearer cache holds."""
    if real is float:
        fastlin_score_near_float_float(out, W, K, indices, values, m)
    else:
        fastlin_score_near_double_double(out, W, K, indices, values, m)


cdef inline void score_rows(const int64_t* indptr, const int32_t* indices, const number* values, Py_ssize_t n,
                            const real* W, Py_ssize_t K, const double* bias, real* raw, double* scores,
                            bint more) noexcept nogil:
    """scores[i] = Wᵀx_i + bias of n rows, where `values` and `indices` begin at the first; `more`: += Wᵀx_i."""
    cdef Py_ssize_t i, k, follows
    cdef int64_t p, m, ahead, m_ahead
    cdef double* row = scores
    for i in range(n):
        p = indptr[i] - indptr[0]
        m = indptr[i + 1] - indptr[i]
        ahead = p + m if i + 1 < n else p
        m_ahead = indptr[i + 2] - indptr[i + 1] if i + 1 < n else 0
        if more:
            if m == 0:
                row += K
                continue
            follows = i + 1                    # the next that is not empty
            while follows < n and m_ahead == 0:
                m_ahead = indptr[follows + 1] - indptr[follows]
                follows += 1
        if m == 0 and m_ahead == 0:
            for k in range(K):
                row[k] = bias[k]
        else:
            score_row(raw, W, K, indices + p, values + p, m, indices + ahead, m_ahead)
            for k in range(K):
                row[k] = raw[k] + (row[k] if more else bias[k])
        row += K


cdef inline void add_row(real* W, Py_ssize_t K, const int32_t* indices, const number* values,
                         Py_ssize_t m, const real* change) noexcept nogil:
    """W[j, k] += x_j change[k]."""
    if real is float and number is float:
        fastlin_add_float_float(W, K, indices, values, m, change)
    elif real is float:
        fastlin_add_float_double(W, K, indices, values, m, change)
    elif number is float:
        fastlin_add_double_float(W, K, indices, values, m, change)
    else:
        fastlin_add_double_double(W, K, indices, values, m, change)


cdef inline void add_row_to_pair(real* W, Py_ssize_t K, const int32_t* indices, const real* values,
                                 Py_ssize_t m, Py_ssize_t to, Py_ssize_t rival, real change) noexcept nogil:
    """Two labels only: W[j, to] += x_j change, W[j, rival] −= x_j change."""
    cdef Py_ssize_t p
    cdef real step
    cdef real* w
    for p in range(m):
        w = W + indices[p] * K
        step = values[p] * change
        w[to] += step
        w[rival] -= step


cdef inline double squared_norm(const real* values, Py_ssize_t m) noexcept nogil:
    """Σ x_j², in float64; four sums, so that the additions overlap."""
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t p = 0
    while p + 4 <= m:
        a += <double>values[p] * values[p]
        b += <double>values[p + 1] * values[p + 1]
        c += <double>values[p + 2] * values[p + 2]
        d += <double>values[p + 3] * values[p + 3]
        p += 4
    while p < m:
        a += <double>values[p] * values[p]
        p += 1
    return (a + b) + (c + d)


cdef inline void order_by_length(const int64_t* ends, Py_ssize_t n, uint8_t* order) noexcept nogil:
    """Up to BLOCK_ROWS rows, short ones first: loops whose ends the processor foresees take two thirds of the time."""
    cdef uint8_t[BLOCK_ROWS + 1] starts
    cdef Py_ssize_t i
    cdef int64_t m
    cdef int place = 0, count
    memset(starts, 0, sizeof(starts))
    for i in range(n):
        m = ends[i + 1] - ends[i]
        starts[m if m < BLOCK_ROWS else BLOCK_ROWS] += 1
    for i in range(BLOCK_ROWS + 1):
        count = starts[i]
        starts[i] = <uint8_t>place
        place += count
    for i in range(n):
        m = ends[i + 1] - ends[i]
        m = m if m < BLOCK_ROWS else BLOCK_ROWS
        order[starts[m]] = <uint8_t>i
        starts[m] += 1
