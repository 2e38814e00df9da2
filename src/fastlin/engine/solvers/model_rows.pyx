"""Products with the curvature of quadratic models, row by row, and the rows that such a model reads.

A row's part of ∇²f p is its values times the curvature of its scores, which are its values times p: both while the row
is in cache, and what they read and write beside it is as long as the model. Scores of two labels have one column,

    out += x h (x·p),        of K labels        out_k += x w (q_k u_k − q_k Σ q u),   u_k = x·p_k,

where q are the probabilities at θ. Where there are intercepts their numbers stand behind those of the weights.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate
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
    """Rows of a model's features, the first of whose weights is starts[feature], each of one of the labels.

    Where there is one label, every feature has one weight.
    """

    cdef CSRView view
    cdef readonly Py_ssize_t n_labels, size, n_intercepts
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] labels

    def __cinit__(self, CSRView rows not None, const int64_t[::1] starts, const int32_t[::1] labels,
                  Py_ssize_t n_labels, Py_ssize_t n_intercepts):
        cdef Py_ssize_t c, j
        for c in range(labels.shape[0]):
            if not 0 <= labels[c] < n_labels:
                raise ValueError(f"weight {c} is of no label")
        for j in range(starts.shape[0] - 1):
            if not starts[j] <= starts[j + 1] or (n_labels == 1 and starts[j] != j):
                raise ValueError(f"the weights of feature {j} do not fit those of the next")
        if starts[0] != 0 or starts[starts.shape[0] - 1] != labels.shape[0] or n_intercepts not in (0, n_labels):
            raise ValueError(f"the weights of {starts.shape[0] - 1} features or {n_intercepts} intercepts do not fit "
                             f"{labels.shape[0]} weights of {n_labels} labels")
        self.view, self.starts, self.labels = rows, starts, labels
        self.n_labels, self.size, self.n_intercepts = n_labels, labels.shape[0], n_intercepts

    cdef int check(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_numbers, Py_ssize_t n_labels,
                   Py_ssize_t n_rows) except -1:
        """Prove that some of the rows, numbers of the weights and intercepts, and numbers of the rows fit together."""
        if not self.view.start <= start <= stop <= self.view.stop or n_rows < stop:
            raise ValueError(f"rows {start} to {stop} do not fit {self.view.stop} rows with {n_rows} numbers")
        if n_numbers != self.size + self.n_intercepts or n_labels != self.n_labels:
            raise ValueError(f"{n_numbers} numbers of {n_labels} labels do not fit {self.size} weights, "
                             f"{self.n_intercepts} intercepts and {self.n_labels} labels")
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


cdef inline void score_labels(WeightRows at, const number* x, Py_ssize_t i, const double* p, double* u) noexcept nogil:
    """u_k = Σ x p_k, and the intercepts, of row i."""
    cdef const int64_t* starts = &at.starts[0]
    cdef const int32_t* labels = &at.labels[0]
    cdef Py_ssize_t k
    cdef int64_t q, c
    cdef int32_t j
    for k in range(at.n_labels):
        u[k] = p[at.size + k] if at.n_intercepts else 0
    for q in range(at.view.indptr[i], at.view.indptr[i + 1]):
        j = at.view.indices[q]
        for c in range(starts[j], starts[j + 1]):
            u[labels[c]] += x[q] * p[c]


cdef void scores_of(WeightRows at, const number* x, Py_ssize_t start, Py_ssize_t stop, const double* p, double* u,
                    double* S, Py_ssize_t n_rows) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef double bias = p[at.size] if at.n_intercepts else 0
    cdef Py_ssize_t i, k
    for i in range(start, stop):
        if at.n_labels == 1:
            S[i] = bias + dot(at.view.indices + indptr[i], x + indptr[i], indptr[i + 1] - indptr[i], p)
            continue
        score_labels(at, x, i, p, u)
        for k in range(at.n_labels):
            S[k * n_rows + i] = u[k]


def scores(WeightRows at not None, Py_ssize_t start, Py_ssize_t stop, const double[::1] p, double[:, ::1] S):
    """S[k, i] = Σ_j x_ij p[j, k], and the intercepts, of the rows [start, stop)."""
    cdef double* u
    at.check(start, stop, p.shape[0], S.shape[0], S.shape[1])
    if start == stop or not p.shape[0]:
        return
    u = <double*>allocate(at.n_labels, sizeof(double))
    if u == NULL:
        raise MemoryError
    with nogil:
        if at.view.single:
            scores_of(at, <const float*>at.view.values, start, stop, &p[0], u, &S[0, 0], S.shape[1])
        else:
            scores_of(at, <const double*>at.view.values, start, stop, &p[0], u, &S[0, 0], S.shape[1])
    free(u)


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


cdef void gram_of(WeightRows at, const number* x, Py_ssize_t start, Py_ssize_t stop, const double* h,
                  double* out) noexcept nogil:
    cdef const int32_t* indices = at.view.indices
    cdef double hx
    cdef double* row
    cdef int64_t q, r
    cdef Py_ssize_t i
    for i in range(start, stop):
        for q in range(at.view.indptr[i], at.view.indptr[i + 1]):
            hx = h[i] * x[q]
            row = out + indices[q] * at.size
            for r in range(at.view.indptr[i], at.view.indptr[i + 1]):
                row[indices[r]] += hx * x[r]


def gram(WeightRows at not None, Py_ssize_t start, Py_ssize_t stop, const double[:, ::1] h, double[:, ::1] out):
    """out[j, k] += Σ_i h[0, i] x_ij x_ik of the rows [start, stop), whose scores have one column."""
    at.check(start, stop, at.size + at.n_intercepts, h.shape[0], h.shape[1])
    if at.n_labels != 1 or out.shape[0] != at.size or out.shape[1] != at.size:
        raise ValueError(f"[{out.shape[0]}, {out.shape[1]}] products of {at.n_labels} labels do not fit {at.size} "
                         "weights of one")
    if start == stop or not at.size:
        return
    with nogil:
        if at.view.single:
            gram_of(at, <const float*>at.view.values, start, stop, &h[0, 0], &out[0, 0])
        else:
            gram_of(at, <const double*>at.view.values, start, stop, &h[0, 0], &out[0, 0])


cdef void curve_many(WeightRows at, const number* x, Py_ssize_t start, Py_ssize_t stop, const double* w,
                     const double* Q, const double* p, double* u, double* out) noexcept nogil:
    cdef const int64_t* starts = &at.starts[0]
    cdef const int32_t* labels = &at.labels[0]
    cdef const double* probabilities
    cdef double total, weight
    cdef Py_ssize_t i, k
    cdef int64_t q, c
    cdef int32_t j
    for i in range(start, stop):
        probabilities = Q + i * at.n_labels
        weight = w[i] if w != NULL else 1
        score_labels(at, x, i, p, u)
        total = 0
        for k in range(at.n_labels):
            u[k] *= probabilities[k]
            total += u[k]
        for k in range(at.n_labels):
            u[k] = weight * (u[k] - probabilities[k] * total)
            if at.n_intercepts:
                out[at.size + k] += u[k]
        for q in range(at.view.indptr[i], at.view.indptr[i + 1]):
            j = at.view.indices[q]
            for c in range(starts[j], starts[j + 1]):
                out[c] += x[q] * u[labels[c]]


def curve_softmax(WeightRows at not None, Py_ssize_t start, Py_ssize_t stop, const double[::1] w,
                  const double[:, ::1] Q, const double[::1] p, double[::1] out):
    """out[j, k] += Σ_i x_ij w_i (q_k u_k − q_k Σ q u) of the rows [start, stop); no w stands for ones."""
    cdef double* u
    cdef const double* weights = &w[0] if w.shape[0] else NULL
    at.check(start, stop, p.shape[0], Q.shape[1], Q.shape[0])
    at.check(start, stop, out.shape[0], Q.shape[1], w.shape[0] or Q.shape[0])
    if start == stop or not p.shape[0]:
        return
    u = <double*>allocate(at.n_labels, sizeof(double))
    if u == NULL:
        raise MemoryError
    with nogil:
        if at.view.single:
            curve_many(at, <const float*>at.view.values, start, stop, weights, &Q[0, 0], &p[0], u, &out[0])
        else:
            curve_many(at, <const double*>at.view.values, start, stop, weights, &Q[0, 0], &p[0], u, &out[0])
    free(u)
