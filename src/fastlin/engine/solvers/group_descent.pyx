"""Block coordinate descent on the quadratic model of K labels' loss with a group penalty, over columns.

A block is all the weights of a feature. With residuals r = w(p − e_y) and steps u = X d (and of the intercepts) of the
scores the model is

    r·u + ½ Σ_i w_i (Σ_k p_k u_k² − (Σ_k p_k u_k)²) + Σ_j λ_j ‖z_j‖₂

and the gradient of its loss the columns' products with w(v − p s), where v = r/w + pu and s = Σ_k p_k u_k. A diagonal D
bounds the curvature of a block, and a visit takes the block to the optimum of g·δ + ½ Σ_k D_k δ_k² + λ‖z + δ‖. With
b = Dz − g that is zero where ‖b‖ ≤ λ, else z_k = b_k t / (D_k t + λ) with the t = ‖z‖ that solves

    Σ_k b_k² / (D_k t + λ)² = 1

by Newton's method on (Σ …)^−½ = 1, a concave function: from below no step goes too far. Arrays of rows are [n, K]: a
block reads all labels of a row at once.
"""

cimport cython
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t

import numpy as np

from fastlin.engine.core.csr cimport number
from fastlin.engine.core.csr_view cimport CSRView

cdef int MAX_ROOT_STEPS = 50
cdef double ROOT_ACCURACY = 1e-13


@cython.final
cdef class WeightBlocks:
    """Blocks of weights: block c has column features[c] and the weights starts[c] … starts[c + 1] − 1 of these labels.

    The labels of a block ascend.
    """

    cdef CSRView view
    cdef readonly Py_ssize_t n_rows, n_labels, size, n_weights
    cdef const int32_t[::1] features, labels
    cdef const int64_t[::1] starts
    cdef double[:, ::1] spare        # of the weights of a block

    def __cinit__(self, CSRView columns not None, const int32_t[::1] features, const int64_t[::1] starts,
                  const int32_t[::1] labels, Py_ssize_t n_rows, Py_ssize_t n_labels):
        cdef Py_ssize_t c
        cdef int64_t q
        if starts.shape[0] != features.shape[0] + 1 or starts[0] != 0 or starts[features.shape[0]] != labels.shape[0]:
            raise ValueError(f"{features.shape[0]} blocks do not fit {labels.shape[0]} weights")
        for c in range(features.shape[0]):
            if not (columns.start <= features[c] < columns.stop and starts[c] <= starts[c + 1] <= labels.shape[0]):
                raise ValueError(f"block {c} is of no column, or its weights do not follow those before")
            for q in range(starts[c], starts[c + 1]):
                if not (labels[q - 1] if q > starts[c] else -1) < labels[q] < n_labels:
                    raise ValueError(f"weight {q} is of no label, or not of one after the label before")
        self.view, self.features, self.starts, self.labels = columns, features, starts, labels
        self.n_rows, self.n_labels, self.size, self.n_weights = n_rows, n_labels, features.shape[0], labels.shape[0]
        self.spare = np.empty((2, n_labels + 1))

    cdef int check(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_numbers, Py_ssize_t n_rows,
                   Py_ssize_t n_labels) except -1:
        """Prove that some of the blocks, numbers of all weights and numbers of the rows fit together."""
        if not 0 <= start <= stop <= self.size or n_numbers != self.n_weights:
            raise ValueError(f"blocks {start} to {stop} and {n_numbers} numbers do not fit {self.size} blocks")
        if n_labels != self.n_labels or n_rows != self.n_rows:
            raise ValueError(f"[{n_rows}, {n_labels}] numbers do not fit {self.n_rows} rows of {self.n_labels} labels")
        return 0


cdef inline void add_row(double x, const double* row, const int32_t* labels, int64_t m, Py_ssize_t K,
                         double* sums) noexcept nogil:
    """sums += x · row[labels]."""
    cdef int64_t a
    if m == K:
        for a in range(m):
            sums[a] += x * row[a]
    else:
        for a in range(m):
            sums[a] += x * row[labels[a]]


cdef void dots_of(WeightBlocks at, const number* x, Py_ssize_t start, Py_ssize_t stop, bint squared, const double* R,
                  double* out) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef const int32_t* rows = at.view.indices
    cdef const int32_t* labels
    cdef double real
    cdef int64_t a, m, first, q
    cdef Py_ssize_t c
    for c in range(start, stop):
        first = at.starts[c]
        m = at.starts[c + 1] - first
        labels = &at.labels[0] + first
        for a in range(m):
            out[first + a] = 0
        for q in range(indptr[at.features[c]], indptr[at.features[c] + 1]):
            real = x[q]
            add_row(real * real if squared else real, R + rows[q] * at.n_labels, labels, m, at.n_labels, out + first)


def dots(WeightBlocks at not None, Py_ssize_t start, Py_ssize_t stop, bint squared, const double[:, ::1] R,
         double[::1] out):
    """out[q] = Σ_i x_ij R[i, k], or Σ_i x_ij² R[i, k], of the weights of the blocks [start, stop)."""
    at.check(start, stop, out.shape[0], R.shape[0], R.shape[1])
    if at.n_weights == 0:
        return
    with nogil:
        if at.view.single:
            dots_of(at, <const float*>at.view.values, start, stop, squared, &R[0, 0], &out[0])
        else:
            dots_of(at, <const double*>at.view.values, start, stop, squared, &R[0, 0], &out[0])


cdef void add_to(WeightBlocks at, const number* x, Py_ssize_t start, Py_ssize_t stop, const double* steps,
                 double* S) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef const int32_t* rows = at.view.indices
    cdef const int32_t* labels
    cdef double* s
    cdef int64_t a, m, first, q
    cdef Py_ssize_t c, K = at.n_labels
    for c in range(start, stop):
        first = at.starts[c]
        m = at.starts[c + 1] - first
        labels = &at.labels[0] + first
        for q in range(indptr[at.features[c]], indptr[at.features[c] + 1]):
            s = S + rows[q] * K
            if m == K:
                for a in range(m):
                    s[a] += x[q] * steps[first + a]
            else:
                for a in range(m):
                    s[labels[a]] += x[q] * steps[first + a]


def add(WeightBlocks at not None, Py_ssize_t start, Py_ssize_t stop, const double[::1] steps, double[:, ::1] S):
    """S[i, k] += x_ij steps[q] of the weights of the blocks [start, stop)."""
    at.check(start, stop, steps.shape[0], S.shape[0], S.shape[1])
    if at.n_weights == 0:
        return
    with nogil:
        if at.view.single:
            add_to(at, <const float*>at.view.values, start, stop, &steps[0], &S[0, 0])
        else:
            add_to(at, <const double*>at.view.values, start, stop, &steps[0], &S[0, 0])


cdef inline double solve_norm(const double* b, const double* D, int64_t m, double strength,
                              double least) noexcept nogil:
    """The t with Σ b² / (Dt + λ)² = 1, from a t that is not above it."""
    cdef double t = least, total, slope, u, step
    cdef int64_t a
    cdef int _
    for _ in range(MAX_ROOT_STEPS):
        total = 0
        slope = 0
        for a in range(m):
            u = b[a] / (D[a] * t + strength)
            total += u * u
            slope += u * u * D[a] / (D[a] * t + strength)
        step = (total * sqrt(total) - total) / slope if slope > 0 else 0
        if not step > ROOT_ACCURACY * t:
            break
        t += step
    return t


cdef bint shrink_block(double* b, const double* D, int64_t m, double strength) noexcept nogil:
    """b becomes argmin ½ Σ D z² − b·z + λ‖z‖; returns whether that is not zero."""
    cdef double largest = 0, size = 0, most = 0, t
    cdef int64_t a
    for a in range(m):
        largest = max(largest, fabs(b[a]))
        most = max(most, D[a])
    if largest > 0:
        for a in range(m):
            b[a] /= largest
            size += b[a] * b[a]
    size = sqrt(size)
    strength /= largest if largest > 0 else 1.0
    if not size > strength:
        for a in range(m):
            b[a] = 0
        return False
    t = solve_norm(b, D, m, strength, (size - strength) / most)
    for a in range(m):
        b[a] *= largest * t / (D[a] * t + strength)
    return True


@cython.final
cdef class BlockPenalties:
    """What the model has beside its rows: λ ‖z‖ of each block, and of each weight ½ ridge z² + shift z.

    `curvature` is D of each weight, ridge included.
    """

    cdef double[::1] strengths, ridge, shift, curvature
    cdef Py_ssize_t size, n_weights

    def __cinit__(self, double[::1] strengths, double[::1] ridge, double[::1] shift, double[::1] curvature):
        self.size, self.n_weights = strengths.shape[0], ridge.shape[0]
        if not shift.shape[0] == curvature.shape[0] == self.n_weights:
            raise ValueError(f"shifts or curvatures do not fit {self.n_weights} weights")
        self.strengths, self.ridge, self.shift, self.curvature = strengths, ridge, shift, curvature


cdef struct GroupDescent:
    Py_ssize_t changed               # blocks that became zero, or left it
    double violation                 # Σ |δ| D


cdef void gather_gradient(WeightBlocks at, const number* x, Py_ssize_t c, const double* w, const double* P,
                          const double* V, const double* s, double* sums) noexcept nogil:
    """sums = Σ x w (v − p s) of a block."""
    cdef const int32_t* rows = at.view.indices
    cdef int64_t a, q, m = at.starts[c + 1] - at.starts[c]
    cdef const int32_t* labels = &at.labels[0] + at.starts[c]
    cdef Py_ssize_t K = at.n_labels
    cdef const double* p
    cdef const double* v
    cdef double real, total
    for a in range(m):
        sums[a] = 0
    for q in range(at.view.indptr[at.features[c]], at.view.indptr[at.features[c] + 1]):
        real = x[q] * w[rows[q]] if w != NULL else x[q]
        total = s[rows[q]]
        v = V + rows[q] * K
        p = P + rows[q] * K
        if m == K:
            for a in range(m):
                sums[a] += real * (v[a] - p[a] * total)
        else:
            for a in range(m):
                sums[a] += real * (v[labels[a]] - p[labels[a]] * total)


cdef void move_rows(WeightBlocks at, const number* x, Py_ssize_t c, const double* steps, const double* P, double* V,
                    double* s) noexcept nogil:
    """v += p x δ and s += Σ_k p x δ of a block's rows."""
    cdef const int32_t* rows = at.view.indices
    cdef int64_t a, q, m = at.starts[c + 1] - at.starts[c]
    cdef const int32_t* labels = &at.labels[0] + at.starts[c]
    cdef Py_ssize_t K = at.n_labels
    cdef const double* p
    cdef double* v
    cdef double moved, total, real
    for q in range(at.view.indptr[at.features[c]], at.view.indptr[at.features[c] + 1]):
        v = V + rows[q] * K
        p = P + rows[q] * K
        total = 0
        real = x[q]
        if m == K:
            for a in range(m):
                moved = p[a] * real * steps[a]
                v[a] += moved
                total += moved
        else:
            for a in range(m):
                moved = p[labels[a]] * real * steps[a]
                v[labels[a]] += moved
                total += moved
        s[rows[q]] += total


cdef void descend_blocks(WeightBlocks at, const number* x, Py_ssize_t start, Py_ssize_t stop, BlockPenalties of,
                         const double* w, const double* P, double* V, double* s, double* z,
                         GroupDescent* done) noexcept nogil:
    cdef double* b = &at.spare[0, 0]
    cdef double* steps = &at.spare[1, 0]
    cdef const double* D
    cdef double violation
    cdef int64_t a, m, first
    cdef Py_ssize_t c
    cdef bint was, stays
    for c in range(start, stop):
        first = at.starts[c]
        m = at.starts[c + 1] - first
        D = &of.curvature[0] + first
        gather_gradient(at, x, c, w, P, V, s, b)
        was = False
        for a in range(m):
            was = was or z[first + a] != 0
            b[a] = (D[a] - of.ridge[first + a]) * z[first + a] - of.shift[first + a] - b[a]
        stays = shrink_block(b, D, m, of.strengths[c])
        if not (was or stays):
            continue
        violation = 0
        for a in range(m):
            steps[a] = b[a] - z[first + a]
            violation += fabs(steps[a]) * D[a]
            z[first + a] = b[a]
        if violation == 0:
            continue
        done.violation += violation
        done.changed += was != stays
        move_rows(at, x, c, steps, P, V, s)


def descend(WeightBlocks at not None, Py_ssize_t start, Py_ssize_t stop, BlockPenalties of not None,
            const double[::1] w, const double[:, ::1] P, double[:, ::1] V, double[::1] s, double[::1] z):
    """One visit of each of the blocks [start, stop); no w stands for ones.

    Returns how many became zero or left it, and Σ |δ| D.
    """
    cdef GroupDescent done = GroupDescent(0, 0)
    cdef const double* weights = &w[0] if w.shape[0] else NULL
    at.check(start, stop, z.shape[0], P.shape[0], P.shape[1])
    at.check(start, stop, of.n_weights, V.shape[0], V.shape[1])
    if of.size != at.size or s.shape[0] != at.n_rows or w.shape[0] not in (0, at.n_rows):
        raise ValueError(f"penalties of {of.size} blocks, {s.shape[0]} sums or {w.shape[0]} weights do not fit")
    if at.n_weights == 0:
        return 0, 0.0
    with nogil:
        if at.view.single:
            descend_blocks(at, <const float*>at.view.values, start, stop, of, weights, &P[0, 0], &V[0, 0], &s[0], &z[0],
                           &done)
        else:
            descend_blocks(at, <const double*>at.view.values, start, stop, of, weights, &P[0, 0], &V[0, 0], &s[0],
                           &z[0], &done)
    return done.changed, done.violation
