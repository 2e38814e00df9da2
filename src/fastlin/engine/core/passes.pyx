"""The passes over a block of rows: forward S = XW + b, backward G += XᵀR, and class counts.

A pass takes rows [start, stop) and, backward, the columns [low, high), so that threads can share a block: each
row has one reader that writes its scores, each weight one writer that adds in the order of the rows. The
result has the same bits for every number of threads.
"""

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.core.csr cimport fetch_add_row, number, prefetch, real, score_rows
from fastlin.engine.core.mathx cimport logarithm


cdef enum:
    PREFETCH_AHEAD = 64      # non-zeros
    NEAR_BYTES = 1 << 20     # what the nearer cache holds
    FAR_COLUMNS = 1 << 18    # pairs of so many columns are beyond the cache: prefetching fewer costs half as much again


cdef inline Py_ssize_t lower_bound(const int32_t* indices, Py_ssize_t m, Py_ssize_t column) noexcept nogil:
    """The number of sorted indices below `column`."""
    cdef Py_ssize_t low = 0, middle
    while low < m:
        middle = (low + m) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            m = middle
    return low


def forward(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values,
            Py_ssize_t start, Py_ssize_t stop, const real[:, ::1] W, const double[::1] bias, real[::1] raw,
            double[:, ::1] scores, bint more=False):
    """scores[i − start] = Wᵀx_i + bias, where `values` and `indices` begin at row `start`; `more`: += Wᵀx_i."""
    cdef bint some = indices.shape[0] > 0
    if start == stop:
        return
    with nogil:
        score_rows(&indptr[start], &indices[0] if some else NULL, &values[0] if some else NULL, stop - start,
                   &W[0, 0] if some else NULL, W.shape[1], &bias[0], &raw[0], &scores[0, 0], more)


def column_dots(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values,
                Py_ssize_t start, Py_ssize_t stop, const real[::1] r, double[::1] out, bint more=False):
    """out[j − start] = Σ x r[i] over line j: `forward` of one column, for short lines and an r that stays in cache.

    Most features of a text occur once or twice, where what `forward` does to prefetch costs three times the sum itself.
    """
    cdef int64_t j, base = indptr[start], p = 0, end
    cdef double a, b
    with nogil:
        for j in range(start, stop):
            end = indptr[j + 1] - base
            a = 0
            b = 0
            while p + 2 <= end:
                a += <double>values[p] * r[indices[p]]
                b += <double>values[p + 1] * r[indices[p + 1]]
                p += 2
            if p < end:
                a += <double>values[p] * r[indices[p]]
                p += 1
            out[j - start] = a + b + (out[j - start] if more else 0)


cdef struct ActiveRow:
    Py_ssize_t row           # −1: none
    int64_t start            # its non-zeros inside the columns
    int64_t size


cdef inline ActiveRow next_active(const int64_t* indptr, const int32_t* indices, Py_ssize_t row, Py_ssize_t stop,
                                  const double* R, Py_ssize_t K, Py_ssize_t low, Py_ssize_t high,
                                  bint whole) noexcept nogil:
    """The first row from `row` on with non-zeros in the columns and a residual that is not all zero."""
    cdef ActiveRow found
    cdef Py_ssize_t k
    for row in range(row, stop):
        for k in range(K):
            if R[row * K + k] != 0:
                break
        else:
            continue
        found.start = indptr[row]
        found.size = indptr[row + 1] - found.start
        if not whole:
            found.start += lower_bound(indices + indptr[row], found.size, low)
            found.size = indptr[row] + lower_bound(indices + indptr[row], found.size, high) - found.start
        if found.size > 0:
            found.row = row
            return found
    found.row = -1
    found.start = 0
    found.size = 0
    return found


def backward(const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] values,
             Py_ssize_t start, Py_ssize_t stop, const double[:, ::1] R,
             Py_ssize_t low, Py_ssize_t high, double[:, ::1] G):
    """G[j] += Σ_i x_ij R[i] for low ≤ j < high, over the rows whose residual is not all zero."""
    cdef Py_ssize_t K = G.shape[1]
    cdef bint whole = low == 0 and high == G.shape[0]
    cdef ActiveRow now, then
    cdef const int32_t* columns
    cdef const double* reals
    if indices.shape[0] == 0:
        return
    columns = &indices[0] - indptr[start]
    reals = &values[0] - indptr[start]
    with nogil:
        now = next_active(&indptr[0], columns, start, stop, &R[0, 0], K, low, high, whole)
        while now.row >= 0:
            then = next_active(&indptr[0], columns, now.row + 1, stop, &R[0, 0], K, low, high, whole)
            fetch_add_row(&G[0, 0], K, columns + now.start, reals + now.start, now.size, &R[now.row, 0],
                          columns + then.start if then.row >= 0 else columns + now.start, then.size)
            now = then


cdef void add_normal_product(CSRView rows, const number* values, Py_ssize_t start, Py_ssize_t stop,
                             const double* weights, double shift, double* cells, bint far,
                             double* scores) noexcept nogil:
    """`normal_product` over values of a type; `far`: the pairs are beyond the cache."""
    cdef const int64_t* indptr = rows.indptr
    cdef const int32_t* indices = rows.indices
    cdef double a, b
    cdef int64_t p, ahead, end
    cdef Py_ssize_t i
    for i in range(start, stop):
        p = indptr[i]
        end = indptr[i + 1]
        ahead = indptr[i + 2] if far and i + 2 <= stop else end
        a = 0
        b = 0
        while p + 2 <= end:
            a += values[p] * cells[2 * indices[p]]
            b += values[p + 1] * cells[2 * indices[p + 1]]
            p += 2
        if p < end:
            a += values[p] * cells[2 * indices[p]]
        scores[i] = a + b - shift
        a = weights[i] * scores[i]
        for p in range(end, ahead):
            prefetch(cells + 2 * indices[p])
        for p in range(indptr[i], end):
            cells[2 * indices[p] + 1] += a * values[p]


def normal_product(CSRView rows not None, Py_ssize_t start, Py_ssize_t stop, const double[::1] weights, double shift,
                   double[:, ::1] pairs, double[::1] scores):
    """scores[i] = x_i·p − shift, and q += Σ_i w_i scores[i] x_i, of rows [start, stop): a column's (p, q) lie together.

    So a row is read once for both, and what it scatters to is in the cache by what it gathered from.
    """
    cdef bint far = pairs.shape[0] > FAR_COLUMNS
    cdef double* cells
    if pairs.shape[1] != 2 or not weights.shape[0] == scores.shape[0] == rows.stop:
        raise ValueError(f"{rows.stop} rows want a weight and a score each, columns pairs")
    if not rows.start <= start <= stop <= rows.stop:
        raise ValueError(f"rows {start} to {stop} are not among {rows.start} to {rows.stop}")
    if start == stop:
        return
    cells = &pairs[0, 0] if pairs.shape[0] else NULL
    with nogil:
        if rows.single:
            add_normal_product(rows, <const float*>rows.values, start, stop, &weights[0], shift, cells, far, &scores[0])
        else:
            add_normal_product(rows, <const double*>rows.values, start, stop, &weights[0], shift, cells, far,
                               &scores[0])


def class_counts(const int64_t[::1] indptr, const int32_t[::1] indices, const real[::1] values,
                 Py_ssize_t start, Py_ssize_t stop, const int32_t[::1] labels, const double[::1] weights,
                 Py_ssize_t low, Py_ssize_t high, double[:, ::1] C):
    """C[j, y_i] += w_i x_ij for low ≤ j < high: the backward pass of one-hot residuals.

    Cells are fetched ahead unless the nearer cache holds all of them, where that takes half the time.
    """
    cdef Py_ssize_t K = C.shape[1]
    cdef int64_t i, base = indptr[start], end = indptr[stop] - base, p, first, last, soon, row = start
    cdef double weight = 1.0
    cdef double* column
    cdef double* next_column = &C[0, labels[start]] if end > 0 else NULL
    cdef bint whole = low == 0 and high == C.shape[0], weighted = weights.shape[0] > 0
    cdef bint near = C.shape[0] * K * <Py_ssize_t>sizeof(double) <= NEAR_BYTES
    if end == 0:
        return
    with nogil:
        for i in range(start, stop):
            first = indptr[i] - base
            last = indptr[i + 1] - base
            if first == last:
                continue
            if not whole:
                last = first + lower_bound(&indices[first], last - first, high)
                first += lower_bound(&indices[first], last - first, low)
            column = &C[0, labels[i]]
            if weighted:
                weight = weights[i]
            if near:
                for p in range(first, last):
                    column[indices[p] * K] += weight * values[p]
                continue
            for p in range(first, last):
                soon = p + PREFETCH_AHEAD if p + PREFETCH_AHEAD < end else p
                while soon >= indptr[row + 1] - base:     # the cell to fetch lies under its own row's label
                    row += 1
                    next_column = &C[0, labels[row]]
                prefetch(next_column + indices[soon] * K)
                column[indices[p] * K] += weight * values[p]


def leave_one_out_scores(CSRView rows not None, const int32_t[::1] labels, const double[::1] weights,
                         const double[:, ::1] C, const double[::1] totals, const double[::1] prior,
                         const double[::1] measure, double[::1] own):
    """own[i − start] = Σ_j x_j log φ_yj for the row's own label y, the row's counts taken out of C and totals first."""
    cdef const int64_t* indptr = rows.indptr
    cdef const int32_t* indices = rows.indices
    cdef const double* values = <const double*>rows.values
    cdef int64_t i, p, j
    if rows.single or own.shape[0] != rows.stop - rows.start:
        raise ValueError(f"{rows.stop - rows.start} rows of float64 and a number for each are wanted")
    cdef double length, total, value, own_count
    cdef Py_ssize_t y
    with nogil:
        for i in range(rows.start, rows.stop):
            y = labels[i]
            length = 0
            value = 0
            for p in range(indptr[i], indptr[i + 1]):
                length += values[p]
            total = totals[y] - weights[i] * length
            for p in range(indptr[i], indptr[i + 1]):
                if values[p] == 0:
                    continue
                j = indices[p]
                if total <= 1e-12 * totals[y]:                 # the label has no counts but these, less rounding
                    value += values[p] * log(measure[j])
                    continue
                own_count = C[j, y] - weights[i] * values[p]
                own_count = own_count if own_count > 1e-12 * C[j, y] else 0.0
                own_count += prior[j]
                value += values[p] * (logarithm(own_count) - logarithm(total) if own_count > 0 else log(0.0))
            own[i - rows.start] = value
