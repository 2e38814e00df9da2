"""Coordinate descent on the quadratic model of a log-linear loss with an L1 term, over columns of the rows' matrix.

With residuals r = w(p − e_y) and steps u = X d (and of the intercepts) of the scores, the model is

    two labels in one column     r·u + ½ Σ_i h_i u_i²,                        h = w p (1 − p)
    K labels                     r·u + ½ Σ_i w_i (Σ_k p_k u_k² − (Σ_k p_k u_k)²)

and its gradient the columns' products with v = r + hu, or w(v − p s) with v = r/w + pu and s = Σ_k p_k u_k: a step of
one weight changes v and s at the column's rows, and no score is needed. Two labels' intercept is at the model's optimum
all the time: where a weight moves by δ it moves by −δ Σ x h / Σ h, which adds a multiple of h to v, one number for all
rows; the products of the columns with h are known. Arrays of rows are label-major, [K, n], so that the weights of one
label after the other find theirs in cache.
"""

cimport cython
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport number
from fastlin.engine.core.csr_view cimport CSRView


@cython.final
cdef class WeightPlaces:
    """Weights of a model, of column features[c] and label labels[c], where the matrix is laid out by columns."""

    cdef CSRView view
    cdef readonly Py_ssize_t n_rows, n_labels, size
    cdef const int32_t[::1] features, labels

    def __cinit__(self, CSRView columns not None, const int32_t[::1] features, const int32_t[::1] labels,
                  Py_ssize_t n_rows, Py_ssize_t n_labels):
        cdef Py_ssize_t c
        if features.shape[0] != labels.shape[0]:
            raise ValueError(f"{features.shape[0]} features and {labels.shape[0]} labels do not fit together")
        for c in range(features.shape[0]):
            if not (columns.start <= features[c] < columns.stop and 0 <= labels[c] < n_labels):
                raise ValueError(f"weight {c} is of no column, or of no label")
        self.view, self.features, self.labels = columns, features, labels
        self.n_rows, self.n_labels, self.size = n_rows, n_labels, features.shape[0]

    cdef int check(self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_numbers, Py_ssize_t n_labels,
                   Py_ssize_t n_rows) except -1:
        """Prove that some of the weights, numbers of all of them and numbers of the rows fit together."""
        if not 0 <= start <= stop <= self.size or n_numbers != self.size:
            raise ValueError(f"weights {start} to {stop} and {n_numbers} numbers do not fit {self.size} weights")
        if n_labels != self.n_labels or n_rows != self.n_rows:
            raise ValueError(f"[{n_labels}, {n_rows}] numbers do not fit {self.n_rows} rows of {self.n_labels} labels")
        return 0


cdef inline double gather(const int32_t* rows, const number* x, int64_t m, const double* v) noexcept nogil:
    """Σ x v; four sums, so that the additions overlap."""
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef int64_t p = 0
    while p + 4 <= m:
        a += x[p] * v[rows[p]]
        b += x[p + 1] * v[rows[p + 1]]
        c += x[p + 2] * v[rows[p + 2]]
        d += x[p + 3] * v[rows[p + 3]]
        p += 4
    while p < m:
        a += x[p] * v[rows[p]]
        p += 1
    return (a + b) + (c + d)


cdef void dots_of(WeightPlaces at, const number* x, Py_ssize_t start, Py_ssize_t stop, const double* R,
                  double* out) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef int64_t first
    cdef Py_ssize_t c
    for c in range(start, stop):
        first = indptr[at.features[c]]
        out[c] = gather(at.view.indices + first, x + first, indptr[at.features[c] + 1] - first,
                        R + at.labels[c] * at.n_rows)


def dots(WeightPlaces at not None, Py_ssize_t start, Py_ssize_t stop, const double[:, ::1] R, double[::1] out):
    """out[c] = Σ_i x_ij R[k, i] of the weights [start, stop)."""
    at.check(start, stop, out.shape[0], R.shape[0], R.shape[1])
    if start == stop:
        return
    with nogil:
        if at.view.single:
            dots_of(at, <const float*>at.view.values, start, stop, &R[0, 0], &out[0])
        else:
            dots_of(at, <const double*>at.view.values, start, stop, &R[0, 0], &out[0])


cdef void moments_of(WeightPlaces at, const number* x, Py_ssize_t start, Py_ssize_t stop, const double* H,
                     const double* R, double* squares, double* cross, double* slopes) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef const int32_t* rows = at.view.indices
    cdef const double* h
    cdef const double* r
    cdef double square, product, slope, xh
    cdef int64_t p
    cdef Py_ssize_t c
    for c in range(start, stop):
        h = H + at.labels[c] * at.n_rows
        r = R + at.labels[c] * at.n_rows
        square = 0
        product = 0
        slope = 0
        for p in range(indptr[at.features[c]], indptr[at.features[c] + 1]):
            xh = x[p] * h[rows[p]]
            square += x[p] * xh
            product += xh
            slope += x[p] * r[rows[p]]
        squares[c] = square
        cross[c] = product
        slopes[c] = slope


def moments(WeightPlaces at not None, Py_ssize_t start, Py_ssize_t stop, const double[:, ::1] H,
            const double[:, ::1] R, double[::1] squares, double[::1] cross, double[::1] slopes):
    """Σ_i x² H[k, i], Σ_i x H[k, i] and Σ_i x R[k, i] of the weights [start, stop), in one pass."""
    at.check(start, stop, squares.shape[0], H.shape[0], H.shape[1])
    at.check(start, stop, cross.shape[0], R.shape[0], R.shape[1])
    at.check(start, stop, slopes.shape[0], R.shape[0], R.shape[1])
    if start == stop:
        return
    with nogil:
        if at.view.single:
            moments_of(at, <const float*>at.view.values, start, stop, &H[0, 0], &R[0, 0], &squares[0], &cross[0],
                       &slopes[0])
        else:
            moments_of(at, <const double*>at.view.values, start, stop, &H[0, 0], &R[0, 0], &squares[0], &cross[0],
                       &slopes[0])


cdef void add_to(WeightPlaces at, const number* x, Py_ssize_t start, Py_ssize_t stop, const double* steps,
                 double* S) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef const int32_t* rows = at.view.indices
    cdef double* s
    cdef double step
    cdef int64_t p
    cdef Py_ssize_t c
    for c in range(start, stop):
        step = steps[c]
        if step == 0:
            continue
        s = S + at.labels[c] * at.n_rows
        for p in range(indptr[at.features[c]], indptr[at.features[c] + 1]):
            s[rows[p]] += step * x[p]


def add(WeightPlaces at not None, Py_ssize_t start, Py_ssize_t stop, const double[::1] steps, double[:, ::1] S):
    """S[k, i] += x_ij steps[c] of the weights [start, stop)."""
    at.check(start, stop, steps.shape[0], S.shape[0], S.shape[1])
    if start == stop:
        return
    with nogil:
        if at.view.single:
            add_to(at, <const float*>at.view.values, start, stop, &steps[0], &S[0, 0])
        else:
            add_to(at, <const double*>at.view.values, start, stop, &steps[0], &S[0, 0])


cdef inline double soft_threshold(double z, double amount) noexcept nogil:
    """argmin ½(a − z)² + amount |a|."""
    if z > amount:
        return z - amount
    return z + amount if z < -amount else 0.0


@cython.final
cdef class Penalties:
    """What each weight adds to the model, l1 |z| + ½ ridge z² + shift z, and the model's curvature, ridge included."""

    cdef double[::1] l1, ridge, shift, curvature
    cdef Py_ssize_t size

    def __cinit__(self, double[::1] l1, double[::1] ridge, double[::1] shift, double[::1] curvature):
        self.size = l1.shape[0]
        if not ridge.shape[0] == shift.shape[0] == curvature.shape[0] == self.size:
            raise ValueError(f"ridges, shifts or curvatures do not fit {self.size} weights")
        self.l1, self.ridge, self.shift, self.curvature = l1, ridge, shift, curvature


cdef struct Descent:
    Py_ssize_t changed               # weights that became zero, or left it
    double violation                 # Σ |δ| curvature


cdef inline double move(Penalties of, Py_ssize_t c, double slope, double* z, Descent* done) noexcept nogil:
    """Take a weight to the optimum of its own; returns its step."""
    cdef double curvature = of.curvature[c], new, step
    slope += of.ridge[c] * z[c] + of.shift[c]
    new = soft_threshold(z[c] - slope / curvature, of.l1[c] / curvature)
    step = new - z[c]
    if step != 0:
        done.violation += fabs(step) * curvature
        done.changed += (new != 0) != (z[c] != 0)
        z[c] = new
    return step


cdef void descend_one(WeightPlaces at, const number* x, Py_ssize_t start, Py_ssize_t stop, Penalties of,
                      const double* h, const double* cross, double total, double* v, double* z, double* bias,
                      Descent* done) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef const int32_t* rows
    cdef const number* reals
    cdef double step, b = bias[0]
    cdef int64_t first, m, p
    cdef Py_ssize_t c
    for c in range(start, stop):
        first = indptr[at.features[c]]
        m = indptr[at.features[c] + 1] - first
        rows = at.view.indices + first
        reals = x + first
        step = move(of, c, gather(rows, reals, m, v) + b * cross[c], z, done)
        if step == 0:
            continue
        for p in range(m):
            v[rows[p]] += h[rows[p]] * reals[p] * step
        if total > 0:
            b -= step * cross[c] / total
    bias[0] = b


def descend_binary(WeightPlaces at not None, Py_ssize_t start, Py_ssize_t stop, Penalties of not None,
                   const double[::1] h, const double[::1] cross, double total, double[::1] v, double[::1] z,
                   double[::1] bias):
    """One visit of each of the weights [start, stop) of two labels in one column.

    cross[c] = Σ x h and total = Σ h, or 0 without an intercept, whose step bias[0] is not yet in v.
    Returns how many became zero or left it, and Σ |δ| curvature.
    """
    cdef Descent done = Descent(0, 0)
    at.check(start, stop, z.shape[0], 1, v.shape[0])
    at.check(start, stop, cross.shape[0], at.n_labels, h.shape[0])
    if of.size != at.size or bias.shape[0] != 1:
        raise ValueError(f"penalties of {of.size} weights and {bias.shape[0]} intercepts do not fit {at.size} weights")
    if start == stop:
        return 0, 0.0
    with nogil:
        if at.view.single:
            descend_one(at, <const float*>at.view.values, start, stop, of, &h[0], &cross[0], total, &v[0], &z[0],
                        &bias[0], &done)
        else:
            descend_one(at, <const double*>at.view.values, start, stop, of, &h[0], &cross[0], total, &v[0], &z[0],
                        &bias[0], &done)
    return done.changed, done.violation


def descend_gram(Penalties of not None, const double[:, ::1] gram, double[::1] slopes, double[::1] z):
    """One visit of every weight of a model whose curvature is a matrix; the slopes follow.

    Returns how many became zero or left it, and Σ |δ| curvature.
    """
    cdef Descent done = Descent(0, 0)
    cdef double step
    cdef Py_ssize_t c, j
    if not gram.shape[0] == gram.shape[1] == slopes.shape[0] == z.shape[0] == of.size:
        raise ValueError(f"[{gram.shape[0]}, {gram.shape[1]}] products do not fit {of.size} weights")
    with nogil:
        for c in range(of.size):
            step = move(of, c, slopes[c], &z[0], &done)
            if step != 0:
                for j in range(of.size):
                    slopes[j] += step * gram[c, j]
    return done.changed, done.violation


cdef inline double gather_softmax(const int32_t* rows, const number* x, int64_t m, const double* w, const double* vp,
                                  const double* s) noexcept nogil:
    """Σ x w (v − p s)."""
    cdef double a = 0, b = 0
    cdef int64_t q = 0
    cdef Py_ssize_t i, k
    if w != NULL:
        for q in range(m):
            i = rows[q]
            a += x[q] * w[i] * (vp[2 * i] - vp[2 * i + 1] * s[i])
        return a
    while q + 2 <= m:
        i = rows[q]
        k = rows[q + 1]
        a += x[q] * (vp[2 * i] - vp[2 * i + 1] * s[i])
        b += x[q + 1] * (vp[2 * k] - vp[2 * k + 1] * s[k])
        q += 2
    if q < m:
        i = rows[q]
        a += x[q] * (vp[2 * i] - vp[2 * i + 1] * s[i])
    return a + b


cdef inline void scatter_softmax(const int32_t* rows, const number* x, int64_t m, double step, double* vp,
                                 double* s) noexcept nogil:
    """v += p x step and s += p x step; all of 4 rows is read before any is written, so that loads overlap."""
    cdef double v[4]
    cdef double sums[4]
    cdef double moved
    cdef Py_ssize_t i, row
    cdef int64_t q = 0
    while q + 4 <= m:
        for i in range(4):
            row = rows[q + i]
            moved = vp[2 * row + 1] * x[q + i] * step
            v[i] = vp[2 * row] + moved
            sums[i] = s[row] + moved
        for i in range(4):
            row = rows[q + i]
            vp[2 * row] = v[i]
            s[row] = sums[i]
        q += 4
    while q < m:
        row = rows[q]
        moved = vp[2 * row + 1] * x[q] * step
        vp[2 * row] += moved
        s[row] += moved
        q += 1


cdef void descend_many(WeightPlaces at, const number* x, Py_ssize_t start, Py_ssize_t stop, Penalties of,
                       const double* w, double* VP, double* s, double* z, Descent* done) noexcept nogil:
    cdef const int64_t* indptr = at.view.indptr
    cdef const int32_t* rows
    cdef const number* reals
    cdef double* vp
    cdef double step
    cdef int64_t first, m
    cdef Py_ssize_t c
    for c in range(start, stop):
        first = indptr[at.features[c]]
        m = indptr[at.features[c] + 1] - first
        rows = at.view.indices + first
        reals = x + first
        vp = VP + 2 * at.labels[c] * at.n_rows
        step = move(of, c, gather_softmax(rows, reals, m, w, vp, s), z, done)
        if step == 0:
            continue
        scatter_softmax(rows, reals, m, step, vp, s)


def descend_softmax(WeightPlaces at not None, Py_ssize_t start, Py_ssize_t stop, Penalties of not None,
                    const double[::1] w, double[:, :, ::1] VP, double[::1] s, double[::1] z):
    """One visit of each of the weights [start, stop) of K labels; v and p are pairs, no w stands for ones.

    Returns how many became zero or left it, and Σ |δ| curvature.
    """
    cdef Descent done = Descent(0, 0)
    cdef const double* weights = &w[0] if w.shape[0] else NULL
    at.check(start, stop, z.shape[0], VP.shape[0], VP.shape[1])
    if of.size != at.size or VP.shape[2] != 2:
        raise ValueError(f"penalties of {of.size} weights or {VP.shape[2]} numbers of a row do not fit {at.size} "
                         "weights")
    if s.shape[0] != at.n_rows or w.shape[0] not in (0, at.n_rows):
        raise ValueError(f"{s.shape[0]} sums or {w.shape[0]} weights do not fit {at.n_rows} rows")
    if start == stop:
        return 0, 0.0
    with nogil:
        if at.view.single:
            descend_many(at, <const float*>at.view.values, start, stop, of, weights, &VP[0, 0, 0], &s[0], &z[0], &done)
        else:
            descend_many(at, <const double*>at.view.values, start, stop, of, weights, &VP[0, 0, 0], &s[0], &z[0],
                         &done)
    return done.changed, done.violation
