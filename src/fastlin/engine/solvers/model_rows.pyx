"""Products with the curvature of quadratic models of two labels, row by row, and the rows that a model reads.

A row's part of ∇²f p is its values times the curvature of its score, which is its values times p: both while the row
is in cache, and what they read and write beside it is as long as the model,

    out += x h (x·p).

Where there is an intercept its number stands behind those of the weights. `label_rows` has those of K labels.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport number, real
from fastlin.engine.core.csr_view cimport CSRView


cdef int64_t select_from(CSRView rows, const number* x, const int32_t* places, int64_t* indptr, int32_t* indices,
                         real* values, int64_t at) noexcept nogil:
    cdef int64_t q
    cdef int32_t place
    cdef Py_ssize_t i
    for i in range(rows.start, rows.stop):
        for q in range(rows.indptr[i], rows.indptr[i + 1]):
            place = places[rows.indices[q]]
            if place >= 0:
                indices[at] = place
                values[at] = <real>x[q]
                at += 1
        indptr[i + 1] = at
    return at


def select(CSRView rows not None, const int32_t[::1] places, int64_t[::1] indptr, int32_t[::1] indices,
           real[::1] values):
    """Copy the non-zeros of some rows whose column has a place, under that place, to where indptr says they begin.

    There has to be room: so many values as the columns have.
    """
    if indptr.shape[0] <= rows.stop or values.shape[0] != indices.shape[0]:
        raise ValueError(f"{indptr.shape[0]} beginnings, {indices.shape[0]} indices and {values.shape[0]} values do "
                         f"not fit rows {rows.start} to {rows.stop}")
    if rows.start == rows.stop or not values.shape[0]:
        indptr[rows.start + 1:rows.stop + 1] = indptr[rows.start]
        return
    with nogil:
        if rows.single:
            select_from(rows, <const float*>rows.values, &places[0], &indptr[0], &indices[0], &values[0],
                        indptr[rows.start])
        else:
            select_from(rows, <const double*>rows.values, &places[0], &indptr[0], &indices[0], &values[0],
                        indptr[rows.start])


@cython.final
cdef class WeightRows:
    """Rows of a model's features, whose scores have one column: a weight of each, and an intercept behind them or not.
    """

    cdef CSRView view
    cdef readonly Py_ssize_t size, n_intercepts

    def __cinit__(self, CSRView rows not None, Py_ssize_t size, Py_ssize_t n_intercepts):
        if size < 0 or n_intercepts not in (0, 1):
            raise ValueError(f"{size} weights and {n_intercepts} intercepts do not fit one column of scores")
        self.view, self.size, self.n_intercepts = rows, size, n_intercepts

    cdef int check(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_numbers, Py_ssize_t n_labels,
                   Py_ssize_t n_rows) except -1:
        """Prove that some of the rows, numbers of the weights and intercepts, and numbers of the rows fit together."""
        if not self.view.start <= start <= stop <= self.view.stop or n_rows < stop:
            raise ValueError(f"rows {start} to {stop} do not fit {self.view.stop} rows with {n_rows} numbers")
        if n_numbers != self.size + self.n_intercepts or n_labels != 1:
            raise ValueError(f"{n_numbers} numbers of {n_labels} labels do not fit {self.size} weights and "
                             f"{self.n_intercepts} intercepts of one")
        return 0


cdef inline double dot(const int32_t* indices, const number* x, int64_t m, const double* p) noexcept nogil:
    """Σ x p; four sums, so that the additions overlap."""
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef int64_t q = 0
    while q + 4 <= m:
        a += x[q] * p[indices[q]]
        b += x[q + 1] * p[indices[q + 1]]
        c += x[q + 2] * p[indices[q + 2]]
        d += x[q + 3] * p[indices[q + 3]]
        q += 4
    while q < m:
        a += x[q] * p[indices[q]]
        q += 1
    return (a + b) + (c + d)


cdef void scores_of(WeightRows at, const number* x, Py_ssize_t start, Py_ssize_t stop, const double* p,
                    double* S) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef double bias = p[at.size] if at.n_intercepts else 0
    cdef Py_ssize_t i
    for i in range(start, stop):
        S[i] = bias + dot(at.view.indices + indptr[i], x + indptr[i], indptr[i + 1] - indptr[i], p)


def scores(WeightRows at not None, Py_ssize_t start, Py_ssize_t stop, const double[::1] p, double[:, ::1] S):
    """S[0, i] = Σ_j x_ij p_j, and the intercept, of the rows [start, stop)."""
    at.check(start, stop, p.shape[0], S.shape[0], S.shape[1])
    if start == stop or not p.shape[0]:
        return
    with nogil:
        if at.view.single:
            scores_of(at, <const float*>at.view.values, start, stop, &p[0], &S[0, 0])
        else:
            scores_of(at, <const double*>at.view.values, start, stop, &p[0], &S[0, 0])


cdef void curve_one(WeightRows at, const number* x, Py_ssize_t start, Py_ssize_t stop, const double* h,
                    const double* p, double* out) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef const int32_t* indices = at.view.indices
    cdef double bias = p[at.size] if at.n_intercepts else 0, u
    cdef Py_ssize_t i
    cdef int64_t q
    for i in range(start, stop):
        u = h[i] * (bias + dot(indices + indptr[i], x + indptr[i], indptr[i + 1] - indptr[i], p))
        for q in range(indptr[i], indptr[i + 1]):
            out[indices[q]] += u * x[q]
        if at.n_intercepts:
            out[at.size] += u


def curve_binary(WeightRows at not None, Py_ssize_t start, Py_ssize_t stop, const double[:, ::1] h,
                 const double[::1] p, double[::1] out):
    """out[j] += Σ_i x_ij h[0, i] x_i·p of the rows [start, stop), whose scores have one column."""
    at.check(start, stop, p.shape[0], h.shape[0], h.shape[1])
    at.check(start, stop, out.shape[0], 1, h.shape[1])
    if start == stop or not p.shape[0]:
        return
    with nogil:
        if at.view.single:
            curve_one(at, <const float*>at.view.values, start, stop, &h[0, 0], &p[0], &out[0])
        else:
            curve_one(at, <const double*>at.view.values, start, stop, &h[0, 0], &p[0], &out[0])
