"""K-means: the nearest centre of each row, sums of the rows of each cluster, and how far the centres move.

A centre is a column of sums S [V, K] times a scale: 1/mass, or 1/‖S_k‖ on the sphere. The score of a row is
s_k = (x·S_k) scale_k − shift_k, with shift_k = ½‖c_k‖² or, on the sphere, 0: the largest has the nearest centre.

A feature's sums change only if one of its rows has changed its cluster. Such features are marked and summed anew, over
the columns and in the order of the rows, so that what has been learnt never depends on the way there; the others cost
a look at their rows, no more. Late iterations, of which there are most, change few rows.
"""

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t

from fastlin.engine.core.csr cimport number, squared_norm
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.core.mathx cimport exponentials, array_max


def squared_norms(const int64_t[::1] indptr, const number[::1] values, double[::1] norms):
    """norms[i] = ‖x_i‖², where `values` begin at the first row."""
    cdef Py_ssize_t i
    if norms.shape[0] and values.shape[0] < indptr[norms.shape[0]] - indptr[0]:
        raise ValueError(f"there are {values.shape[0]} values for the non-zeros of {norms.shape[0]} rows")
    with nogil:
        for i in range(norms.shape[0]):
            norms[i] = squared_norm(&values[0] + (indptr[i] - indptr[0]), indptr[i + 1] - indptr[i])


def add_columns_up(CSRView rows not None, double[::1] sums):
    """sums[j] += Σ_i x_ij of some rows, in their order."""
    if rows.stop > rows.start and rows.n_values < rows.indptr[rows.stop] - rows.indptr[rows.start]:
        raise ValueError(f"there are {rows.n_values} values for the indices of rows {rows.start} to {rows.stop}")
    with nogil:
        if rows.single:
            add_values_up(rows, <const float*>rows.values, sums)
        else:
            add_values_up(rows, <const double*>rows.values, sums)


cdef void add_values_up(CSRView rows, const number* values, double[::1] sums) noexcept nogil:
    cdef int64_t p
    for p in range(rows.indptr[rows.start], rows.indptr[rows.stop]):
        sums[rows.indices[p]] += values[p]


def assign_nearest(double[:, ::1] scores, const double[::1] scale, const double[::1] shift, int32_t[::1] labels,
                   double[::1] best):
    """The lowest of the clusters with the highest score, and that score; x·S becomes the scores."""
    cdef Py_ssize_t i, k, K = scores.shape[1], top
    cdef double* s
    with nogil:
        for i in range(scores.shape[0]):
            s = &scores[i, 0]
            for k in range(K):
                s[k] = s[k] * scale[k] - shift[k]
            top = 0
            for k in range(1, K):
                top = k if s[k] > s[top] else top
            labels[i] = <int32_t>top
            best[i] = s[top]


def soft_assign(double[:, ::1] scores, const double[::1] scale, const double[::1] shift, double temperature,
                const double[::1] weights, double[:, ::1] shares):
    """shares = w softmax(s / t); returns Σ w t log Σ_k exp(s_k / t). No weights stand for ones."""
    cdef Py_ssize_t i, k, K = scores.shape[1]
    cdef double top, total, weight = 1.0, value = 0
    cdef double* s
    cdef bint weighted = weights.shape[0] > 0
    with nogil:
        for i in range(scores.shape[0]):
            s = &scores[i, 0]
            for k in range(K):
                s[k] = s[k] * scale[k] - shift[k]
            top = array_max(s, K)
            for k in range(K):                # first the difference: s / t alone may overflow
                s[k] = (s[k] - top) / temperature
            total = exponentials(s, K, 0.0, &shares[i, 0])
            if weighted:
                weight = weights[i]
            value += weight * (top + temperature * log(total))
            for k in range(K):
                shares[i, k] *= weight / total
    return value


def mark_changed_columns(const int64_t[::1] indptr, const int32_t[::1] rows, Py_ssize_t low, Py_ssize_t high,
                         const uint8_t[::1] changed, uint8_t[::1] touched):
    """touched[j] becomes 1 where one of the rows of column j has changed."""
    cdef Py_ssize_t j
    cdef int64_t p, base = indptr[low], end
    with nogil:
        for j in range(low, high):
            p = indptr[j] - base
            end = indptr[j + 1] - base
            while p < end and not touched[j]:
                touched[j] = changed[rows[p]]
                p += 1


cdef inline void add_column(const int32_t* rows, const number* values, int64_t m, const int32_t* labels,
                            const double* weights, double* sums) noexcept nogil:
    """sums[y_i] += w_i x_i over the rows of a column; NULL stands for weights of one."""
    cdef int64_t p
    if weights == NULL:
        for p in range(m):
            sums[labels[rows[p]]] += values[p]
    else:
        for p in range(m):
            sums[labels[rows[p]]] += weights[rows[p]] * values[p]


def sum_columns(CSRView columns not None, const int32_t[::1] labels, const double[::1] weights,
                const uint8_t[::1] touched, double[:, ::1] sums):
    """sums[j, y_i] += w_i x_ij over the rows of each column that is touched."""
    cdef const int32_t* y = &labels[0] if labels.shape[0] > 0 else NULL
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    check_columns(columns, sums.shape[0], touched.shape[0])
    with nogil:
        if columns.single:
            add_columns(columns, <const float*>columns.values, y, w, touched, sums)
        else:
            add_columns(columns, <const double*>columns.values, y, w, touched, sums)


cdef int check_columns(CSRView columns, Py_ssize_t n_sums, Py_ssize_t n_touched) except -1:
    if n_sums < columns.stop or n_touched < columns.stop:
        raise ValueError(f"sums of {n_sums} and marks of {n_touched} columns do not fit {columns.stop}")
    return 0


cdef void add_columns(CSRView columns, const number* values, const int32_t* labels, const double* weights,
                      const uint8_t[::1] touched, double[:, ::1] sums) noexcept nogil:
    cdef const int64_t* indptr = columns.indptr
    cdef Py_ssize_t j
    cdef int64_t m
    for j in range(columns.start, columns.stop):
        m = indptr[j + 1] - indptr[j]
        if touched[j] and m > 0:
            add_column(columns.indices + indptr[j], values + indptr[j], m, labels, weights, &sums[j, 0])


def update_sums(CSRView columns not None, const int32_t[::1] labels, const double[::1] weights,
                const uint8_t[::1] touched, double[:, ::1] sums, const double[::1] before, const double[::1] after,
                double[:, ::1] S, double[:, ::1] found):
    """`sum_columns`, after which the sums take the place of S and are zeros again; without any rows they begin at zero.

    Of the columns that are touched, Σ S², Σ S'², Σ S S' and Σ (after S' − before S)² are added to `found`.
    """
    cdef const int32_t* y = &labels[0] if labels.shape[0] > 0 else NULL
    cdef const double* w = &weights[0] if weights.shape[0] > 0 else NULL
    cdef double[::1] spare = found[0].copy()
    check_columns(columns, sums.shape[0] if sums.shape[0] else S.shape[0], touched.shape[0])
    spare[:] = 0
    with nogil:
        if columns.single:
            replace_sums(columns, <const float*>columns.values, y, w, touched, sums, &before[0], &after[0], S, found,
                         &spare[0])
        else:
            replace_sums(columns, <const double*>columns.values, y, w, touched, sums, &before[0], &after[0], S, found,
                         &spare[0])


cdef inline void exchange(double* sum, const double* before, const double* after, double* S,
                          double[:, ::1] found) noexcept nogil:
    """The new sums of a column in the place of the old, and zeros in their own."""
    cdef Py_ssize_t k
    cdef double old, new, step
    for k in range(found.shape[1]):
        old = S[k]
        new = sum[k]
        sum[k] = 0
        step = new * after[k] - old * before[k]
        found[0, k] += old * old
        found[1, k] += new * new
        found[2, k] += old * new
        found[3, k] += step * step
        S[k] = new


cdef void replace_sums(CSRView columns, const number* values, const int32_t* labels, const double* weights,
                       const uint8_t[::1] touched, double[:, ::1] sums, const double* before, const double* after,
                       double[:, ::1] S, double[:, ::1] found, double* spare) noexcept nogil:
    """`update_sums` over values of a type; `spare` are zeros for a column's sums that nobody has begun."""
    cdef const int64_t* indptr = columns.indptr
    cdef Py_ssize_t j
    cdef int64_t m
    cdef double* sum = spare
    cdef bint begun = sums.shape[0] > 0
    for j in range(columns.start, columns.stop):
        if not touched[j]:
            continue
        if begun:
            sum = &sums[j, 0]
        m = indptr[j + 1] - indptr[j]
        if m > 0:
            add_column(columns.indices + indptr[j], values + indptr[j], m, labels, weights, sum)
        exchange(sum, before, after, &S[j, 0], found)


def squared_distances(CSRView rows not None, const double[:, ::1] S, const double[::1] scale,
                      const double[::1] squares, const int32_t[::1] labels, double[::1] found):
    """found = ‖x_i − c‖² for the centre c of the row's own label, whose ‖c‖² is in `squares`.

    Over the row's features as they are, and ‖c‖² less that of those features for the others: no cancellation where a
    row lies on its centre.
    """
    if not labels.shape[0] == found.shape[0] == rows.stop - rows.start:
        raise ValueError(f"{labels.shape[0]} labels do not fit {rows.stop - rows.start} rows")
    with nogil:
        if rows.single:
            measure_rows(rows, <const float*>rows.values, S, &scale[0], &squares[0], labels, found)
        else:
            measure_rows(rows, <const double*>rows.values, S, &scale[0], &squares[0], labels, found)


cdef void measure_rows(CSRView rows, const number* values, const double[:, ::1] S, const double* scale,
                       const double* squares, const int32_t[::1] labels, double[::1] found) noexcept nogil:
    """`squared_distances` of values of a type."""
    cdef int64_t i, p, end
    cdef Py_ssize_t y
    cdef double b, c, inside, own, more_inside, more_own        # two sums each, which wait for one another half as long
    for i in range(rows.start, rows.stop):
        y = labels[i - rows.start]
        inside = more_inside = 0
        own = more_own = 0
        p = rows.indptr[i]
        end = rows.indptr[i + 1]
        while p + 2 <= end:
            b = S[rows.indices[p], y] * scale[y]
            c = S[rows.indices[p + 1], y] * scale[y]
            inside += b * b
            more_inside += c * c
            own += (values[p] - b) * (values[p] - b)
            more_own += (values[p + 1] - c) * (values[p + 1] - c)
            p += 2
        if p < end:
            b = S[rows.indices[p], y] * scale[y]
            inside += b * b
            own += (values[p] - b) * (values[p] - b)
        c = squares[y] - (inside + more_inside)
        found[i - rows.start] = own + more_own + (c if c > 1e-13 * squares[y] else 0.0)


def add_batch(CSRView rows not None, const int32_t[::1] labels, const double[::1] weights, double[:, ::1] S,
              double[::1] squares):
    """S[:, y_i] += w_i x_i, row after row, and squares[k] = ‖S_k‖² with it; no weights stand for ones.

    ‖S + wx‖² = ‖S‖² + w(2 x·S + w‖x‖²): a batch costs its non-zeros, however many features there are.
    """
    if labels.shape[0] != rows.stop - rows.start:
        raise ValueError(f"{labels.shape[0]} labels do not fit {rows.stop - rows.start} rows")
    with nogil:
        if rows.single:
            add_rows(rows, <const float*>rows.values, labels, weights, S, &squares[0])
        else:
            add_rows(rows, <const double*>rows.values, labels, weights, S, &squares[0])


cdef void add_rows(CSRView rows, const number* values, const int32_t[::1] labels, const double[::1] weights,
                   double[:, ::1] S, double* squares) noexcept nogil:
    """`add_batch` of values of a type."""
    cdef int64_t i, p
    cdef Py_ssize_t y
    cdef double weight = 1.0, x, inside, own
    cdef bint weighted = weights.shape[0] > 0
    for i in range(rows.start, rows.stop):
        y = labels[i - rows.start]
        if weighted:
            weight = weights[i - rows.start]
        inside = 0
        own = 0
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            x = values[p]
            inside += x * S[rows.indices[p], y]
            own += x * x
            S[rows.indices[p], y] += weight * x
        squares[y] += weight * (2 * inside + weight * own)
