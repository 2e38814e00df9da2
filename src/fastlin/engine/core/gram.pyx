"""Weighted Gram matrices Σ_i w_i x_i x_iᵀ of rows of few columns: the Hessians of linear models.

A sparse row adds a product for each pair of its non-zeros. Where most columns are filled, eight rows are written out
and added together, each line of the matrix read and written once for all of them.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from fastlin.engine.core.allocation cimport allocate_zeros, checked_product
from fastlin.engine.core.csr cimport number
from fastlin.engine.core.csr_view cimport CSRView

cdef enum:
    LANES = 8                        # rows written out


cdef void add_pairs(CSRView rows, const number* reals, Py_ssize_t start, Py_ssize_t stop, const double* weights,
                    Py_ssize_t V, double* H) noexcept nogil:
    """A row's pairs, each once: in whichever triangle the order of its columns says."""
    cdef const int64_t* indptr = rows.indptr
    cdef const int32_t* columns = rows.indices
    cdef Py_ssize_t i
    cdef int64_t a, b
    cdef double x
    cdef double* line
    for i in range(start, stop):
        if weights[i] == 0:
            continue
        for a in range(indptr[i], indptr[i + 1]):
            x = weights[i] * reals[a]
            line = H + columns[a] * V
            for b in range(indptr[i], a + 1):
                line[columns[b]] += x * reals[b]


cdef void add_lanes(const double* lanes, const double* w, Py_ssize_t V, double* H) noexcept nogil:
    """The lower triangle of Σ w x xᵀ of the rows written out."""
    cdef const double* x0 = lanes
    cdef const double* x1 = x0 + V
    cdef const double* x2 = x1 + V
    cdef const double* x3 = x2 + V
    cdef const double* x4 = x3 + V
    cdef const double* x5 = x4 + V
    cdef const double* x6 = x5 + V
    cdef const double* x7 = x6 + V
    cdef double c0, c1, c2, c3, c4, c5, c6, c7
    cdef double* line
    cdef Py_ssize_t j, k
    for j in range(V):
        c0 = w[0] * x0[j]
        c1 = w[1] * x1[j]
        c2 = w[2] * x2[j]
        c3 = w[3] * x3[j]
        c4 = w[4] * x4[j]
        c5 = w[5] * x5[j]
        c6 = w[6] * x6[j]
        c7 = w[7] * x7[j]
        line = H + j * V
        for k in range(j + 1):
            line[k] += (c0 * x0[k] + c1 * x1[k] + c2 * x2[k] + c3 * x3[k]
                        + c4 * x4[k] + c5 * x5[k] + c6 * x6[k] + c7 * x7[k])


cdef void add_written_out(CSRView rows, const number* reals, Py_ssize_t start, Py_ssize_t stop, const double* weights,
                          Py_ssize_t V, double* H, double* lanes) noexcept nogil:
    """The same of rows of which most columns are filled; `lanes` are zeros, [LANES, V]."""
    cdef const int64_t* indptr = rows.indptr
    cdef const int32_t* columns = rows.indices
    cdef double[LANES] w
    cdef Py_ssize_t i, held = 0
    cdef int64_t p
    memset(w, 0, sizeof(w))
    for i in range(start, stop):
        if weights[i] != 0:
            w[held] = weights[i]
            for p in range(indptr[i], indptr[i + 1]):
                lanes[held * V + columns[p]] += reals[p]
            held += 1
        if held == LANES or (held and i + 1 == stop):
            add_lanes(lanes, w, V, H)
            memset(w, 0, sizeof(w))
            memset(lanes, 0, held * V * sizeof(double))
            held = 0


cdef void add_of(CSRView rows, const number* reals, Py_ssize_t start, Py_ssize_t stop, const double* weights,
                 Py_ssize_t V, double* H, double* lanes) noexcept nogil:
    if lanes != NULL:
        add_written_out(rows, reals, start, stop, weights, V, H, lanes)
    else:
        add_pairs(rows, reals, start, stop, weights, V, H)


def add_weighted_gram(CSRView rows not None, Py_ssize_t start, Py_ssize_t stop, const double[::1] weights,
                      double[:, ::1] H, bint write_out):
    """H += Σ w_i x_i x_iᵀ of the rows [start, stop): each pair of columns in one of its two places."""
    cdef Py_ssize_t V = H.shape[0]
    cdef double* lanes = NULL
    if H.shape[1] != V or not rows.start <= start <= stop <= min(rows.stop, weights.shape[0]):
        raise ValueError(f"rows {start} to {stop} do not fit {weights.shape[0]} weights, [{V}, {H.shape[1]}] sums")
    if start == stop or V == 0:
        return
    if write_out:
        lanes = <double*>allocate_zeros(checked_product(LANES, V), sizeof(double))
        if lanes == NULL:
            raise MemoryError
    with nogil:
        if rows.single:
            add_of(rows, <const float*>rows.values, start, stop, &weights[0], V, &H[0, 0], lanes)
        else:
            add_of(rows, <const double*>rows.values, start, stop, &weights[0], V, &H[0, 0], lanes)
    free(lanes)
