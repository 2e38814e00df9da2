"""Products with the curvature of quadratic models of K labels, row by row.

A row's part of ∇²f p is its values times the curvature of its scores, which are its values times p: both while the row
is in cache, and what they read and write beside it is as long as the model,

    out_k += x w (q_k u_k − q_k Σ q u),   u_k = x·p_k,

where q are the probabilities at θ. Features with weights of many labels have numbers for all K, which vectors read and
write as in a pass over all weights; of the others each weight is looked up by its label. Numbers of a model are those
of the former, [n_full, K], those of the latter, one feature after the other, and those of the intercepts. Looking up
every weight took 17 ms a product where this takes 2.6 (20 Newsgroups bodies at C = 10, 8,400 weights of 5,400
features).
"""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate
from fastlin.engine.core.csr cimport add_row, number, score_row
from fastlin.engine.core.csr_view cimport CSRView


@cython.final
cdef class LabelWeightRows:
    """Rows of a model's features: of those with numbers for all labels, and of those with a list of labels.

    Feature j of the latter has the weights starts[j] … starts[j + 1] − 1 of them, of these labels.
    """

    cdef CSRView full, listed
    cdef readonly Py_ssize_t n_labels, n_full, size, n_intercepts
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] labels

    def __cinit__(self, CSRView full not None, Py_ssize_t n_full, CSRView listed not None, const int64_t[::1] starts,
                  const int32_t[::1] labels, Py_ssize_t n_labels, Py_ssize_t n_intercepts):
        cdef Py_ssize_t c, j
        for c in range(labels.shape[0]):
            if not 0 <= labels[c] < n_labels:
                raise ValueError(f"weight {c} is of no label")
        for j in range(starts.shape[0] - 1):
            if not starts[j] <= starts[j + 1]:
                raise ValueError(f"the weights of feature {j} do not fit those of the next")
        if starts[0] != 0 or starts[starts.shape[0] - 1] != labels.shape[0] or n_intercepts not in (0, n_labels):
            raise ValueError(f"the weights of {starts.shape[0] - 1} features or {n_intercepts} intercepts do not fit "
                             f"{labels.shape[0]} weights of {n_labels} labels")
        if n_full < 0 or full.start != listed.start or full.stop != listed.stop or full.single != listed.single:
            raise ValueError(f"rows {full.start} to {full.stop} do not fit rows {listed.start} to {listed.stop}")
        self.full, self.listed, self.starts, self.labels = full, listed, starts, labels
        self.n_labels, self.n_full, self.n_intercepts = n_labels, n_full, n_intercepts
        self.size = n_full * n_labels + labels.shape[0]

    cdef int check(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_numbers, Py_ssize_t n_labels,
                   Py_ssize_t n_rows) except -1:
        """Prove that some of the rows, numbers of the weights and intercepts, and numbers of the rows fit together."""
        if not self.full.start <= start <= stop <= self.full.stop or n_rows < stop:
            raise ValueError(f"rows {start} to {stop} do not fit {self.full.stop} rows with {n_rows} numbers")
        if n_numbers != self.size + self.n_intercepts or n_labels != self.n_labels:
            raise ValueError(f"{n_numbers} numbers of {n_labels} labels do not fit {self.size} weights, "
                             f"{self.n_intercepts} intercepts and {self.n_labels} labels")
        return 0


cdef inline void score_labels(LabelWeightRows at, const number* full, const number* listed, Py_ssize_t i,
                              const double* p, double* u) noexcept nogil:
    """u_k = Σ x p_k, and the intercepts, of row i."""
    cdef const int64_t* starts = &at.starts[0]
    cdef const int32_t* labels = &at.labels[0]
    cdef const double* own = p + at.n_full * at.n_labels
    cdef Py_ssize_t k
    cdef int64_t q = at.full.indptr[i], c, m = at.full.indptr[i + 1] - q
    cdef int32_t j
    if m:
        score_row(u, p, at.n_labels, at.full.indices + q, full + q, m, at.full.indices + q, 0)
    else:
        for k in range(at.n_labels):
            u[k] = 0
    for q in range(at.listed.indptr[i], at.listed.indptr[i + 1]):
        j = at.listed.indices[q]
        for c in range(starts[j], starts[j + 1]):
            u[labels[c]] += listed[q] * own[c]
    if at.n_intercepts:
        for k in range(at.n_labels):
            u[k] += p[at.size + k]


cdef void scores_of(LabelWeightRows at, const number* full, const number* listed, Py_ssize_t start, Py_ssize_t stop,
                    const double* p, double* u, double* S, Py_ssize_t n_rows) noexcept nogil:
    cdef Py_ssize_t i, k
    for i in range(start, stop):
        score_labels(at, full, listed, i, p, u)
        for k in range(at.n_labels):
            S[k * n_rows + i] = u[k]


def scores(LabelWeightRows at not None, Py_ssize_t start, Py_ssize_t stop, const double[::1] p, double[:, ::1] S):
    """S[k, i] = Σ_j x_ij p[j, k], and the intercepts, of the rows [start, stop)."""
    cdef double* u
    at.check(start, stop, p.shape[0], S.shape[0], S.shape[1])
    if start == stop or not p.shape[0]:
        return
    u = <double*>allocate(at.n_labels, sizeof(double))
    if u == NULL:
        raise MemoryError
    with nogil:
        if at.full.single:
            scores_of(at, <const float*>at.full.values, <const float*>at.listed.values, start, stop, &p[0], u,
                      &S[0, 0], S.shape[1])
        else:
            scores_of(at, <const double*>at.full.values, <const double*>at.listed.values, start, stop, &p[0], u,
                      &S[0, 0], S.shape[1])
    free(u)


cdef void curve_of(LabelWeightRows at, const number* full, const number* listed, Py_ssize_t start, Py_ssize_t stop,
                   const double* w, const double* Q, const double* p, double* u, double* out) noexcept nogil:
    cdef const int64_t* starts = &at.starts[0]
    cdef const int32_t* labels = &at.labels[0]
    cdef const double* probabilities
    cdef double* own = out + at.n_full * at.n_labels
    cdef double total, weight
    cdef Py_ssize_t i, k
    cdef int64_t q, c
    cdef int32_t j
    for i in range(start, stop):
        probabilities = Q + i * at.n_labels
        weight = w[i] if w != NULL else 1
        score_labels(at, full, listed, i, p, u)
        total = 0
        for k in range(at.n_labels):
            u[k] *= probabilities[k]
            total += u[k]
        for k in range(at.n_labels):
            u[k] = weight * (u[k] - probabilities[k] * total)
        if at.n_intercepts:
            for k in range(at.n_labels):
                out[at.size + k] += u[k]
        q = at.full.indptr[i]
        add_row(out, at.n_labels, at.full.indices + q, full + q, at.full.indptr[i + 1] - q, u)
        for q in range(at.listed.indptr[i], at.listed.indptr[i + 1]):
            j = at.listed.indices[q]
            for c in range(starts[j], starts[j + 1]):
                own[c] += listed[q] * u[labels[c]]


def curve(LabelWeightRows at not None, Py_ssize_t start, Py_ssize_t stop, const double[::1] w, const double[:, ::1] Q,
          const double[::1] p, double[::1] out):
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
        if at.full.single:
            curve_of(at, <const float*>at.full.values, <const float*>at.listed.values, start, stop, weights, &Q[0, 0],
                     &p[0], u, &out[0])
        else:
            curve_of(at, <const double*>at.full.values, <const double*>at.listed.values, start, stop, weights,
                     &Q[0, 0], &p[0], u, &out[0])
    free(u)
