"""Weighted Gram matrices Σ_i w_i x_i x_iᵀ of rows: the Hessians of linear models of one column of scores.

Of few columns they are written out. A sparse row adds a product for each pair of its non-zeros. Where most columns are
filled, eight rows are written out and added together, each line of the matrix read and written once for all of them.

Of more columns conjugate gradients take products with them. Each is one pass over the rows: a row's score goes back to
its columns while its non-zeros are in cache.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset

from fastlin.engine.core.allocation cimport allocate_zeros, checked_product
from fastlin.engine.core.csr cimport number
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.core.interruption cimport look

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


cdef void add_squares(CSRView rows, const number* reals, const double* weights, double* sums) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t p
    for i in range(rows.start, rows.stop):
        if weights[i] == 0:
            continue
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            sums[rows.indices[p]] += weights[i] * reals[p] * reals[p]


def add_gram_diagonal(CSRView rows not None, const double[::1] weights, double[::1] sums):
    """sums += diag(Σ w_i x_i x_iᵀ)."""
    if weights.shape[0] < rows.stop:
        raise ValueError(f"{weights.shape[0]} weights do not fit {rows.stop} rows")
    if rows.start == rows.stop or not sums.shape[0]:
        return
    with nogil:
        if rows.single:
            add_squares(rows, <const float*>rows.values, &weights[0], &sums[0])
        else:
            add_squares(rows, <const double*>rows.values, &weights[0], &sums[0])


cdef struct GramSystem:              # (Σ w (x, 1)(x, 1)ᵀ + diag(ridge)) s = −g, without the 1 if there is no bias
    Py_ssize_t V, size, n_active     # size: with the bias
    const int64_t* active            # the rows whose weights are not 0, counted from the first row
    const int64_t* indptr
    const int32_t* columns
    const double* weights
    const double* ridge
    double* u                        # (x, 1)·p of each of them


cdef inline double dot(const double* a, const double* b, Py_ssize_t n) noexcept nogil:
    """Σ a b; four sums, so that the additions overlap."""
    cdef double s = 0, t = 0, v = 0, w = 0
    cdef Py_ssize_t j = 0
    while j + 4 <= n:
        s += a[j] * b[j]
        t += a[j + 1] * b[j + 1]
        v += a[j + 2] * b[j + 2]
        w += a[j + 3] * b[j + 3]
        j += 4
    while j < n:
        s += a[j] * b[j]
        j += 1
    return (s + t) + (v + w)


cdef inline double score_of(const int32_t* columns, const number* x, int64_t m, const double* p,
                            double bias) noexcept nogil:
    """(x, 1)·p of a row of m non-zeros; two sums, so that the additions overlap."""
    cdef double s = bias, t = 0
    cdef int64_t q = 0
    while q + 2 <= m:
        s += x[q] * p[columns[q]]
        t += x[q + 1] * p[columns[q + 1]]
        q += 2
    if q < m:
        s += x[q] * p[columns[q]]
    return s + t


cdef void score_and_scatter(GramSystem* at, const number* reals, const double* p, double* out) noexcept nogil:
    """out = (Σ w (x, 1)(x, 1)ᵀ + diag(ridge)) p, and u = (x, 1)·p of each active row."""
    cdef const int32_t* columns
    cdef const number* x
    cdef double bias = p[at.V] if at.size > at.V else 0.0, s, total = 0
    cdef int64_t i, m, q
    cdef Py_ssize_t k, j
    for j in range(at.size):
        out[j] = at.ridge[j] * p[j]
    for k in range(at.n_active):
        i = at.active[k]
        columns = at.columns + at.indptr[i]
        x = reals + at.indptr[i]
        m = at.indptr[i + 1] - at.indptr[i]
        s = score_of(columns, x, m, p, bias)
        at.u[k] = s
        s *= at.weights[i]
        for q in range(m):
            out[columns[q]] += x[q] * s
        total += s
    if at.size > at.V:
        out[at.V] += total


cdef void score_inactive(GramSystem* at, Py_ssize_t n, const number* reals, const double* p,
                         double* scores) noexcept nogil:
    """(x, 1)·p of the rows of no weight, which the products left out."""
    cdef double bias = p[at.V] if at.size > at.V else 0.0
    cdef Py_ssize_t i
    cdef int64_t first
    for i in range(n):
        if at.weights[i] == 0:
            first = at.indptr[i]
            scores[i] = score_of(at.columns + first, reals + first, at.indptr[i + 1] - first, p, bias)


cdef void multiply(GramSystem* at, CSRView rows, const double* p, double* out) noexcept nogil:
    if rows.single:
        score_and_scatter(at, <const float*>rows.values, p, out)
    else:
        score_and_scatter(at, <const double*>rows.values, p, out)


cdef double advance(GramSystem* at, double rate, const double* p, const double* Hp, const double* diagonal, double* s,
                    double* r, double* z, double* scores) noexcept nogil:
    """s += α p, with the scores of active rows, and r −= α H p; returns r·z, z = r / diagonal."""
    cdef Py_ssize_t k, j
    for k in range(at.n_active):
        scores[at.active[k]] += rate * at.u[k]
    for j in range(at.size):
        s[j] += rate * p[j]
        r[j] -= rate * Hp[j]
        z[j] = r[j] / diagonal[j]
    return dot(r, z, at.size)


cdef void redirect(GramSystem* at, double rate, const double* z, double* p) noexcept nogil:
    """p = z + β p."""
    cdef Py_ssize_t j
    for j in range(at.size):
        p[j] = z[j] + rate * p[j]


def solve_gram(CSRView rows not None, const double[::1] weights, const double[::1] ridge, const double[::1] diagonal,
               const double[::1] gradient, Py_ssize_t n_columns, double tolerance, Py_ssize_t limit, double[::1] step,
               double[::1] scores):
    """Solve (Σ_i w_i (x_i, 1)(x_i, 1)ᵀ + diag(ridge)) s = −g by conjugate gradients, all entries of `diagonal` > 0.

    `diagonal`, that of the matrix at best, preconditions. They end as soon as the residual in its metric is at most
    `tolerance` times the first, or after `limit` products; then `scores` is s·(x, 1) of every row. `step`, s, has
    n_columns entries and, if there is a bias, one more. Returns the number of products. Signals are looked at after
    each: the rows are to be few. Those whose weight is 0 are left out of the products.
    """
    cdef Py_ssize_t size = step.shape[0], n = rows.stop - rows.start, count = 0, i, j
    cdef GramSystem at
    cdef double* memory
    cdef int64_t* active
    cdef double *r, *z, *p, *Hp
    cdef double first = 0, now = 0, before, curvature
    if not (n_columns <= size <= n_columns + 1 and ridge.shape[0] == diagonal.shape[0] == gradient.shape[0] == size
            and scores.shape[0] == n and weights.shape[0] >= rows.stop):
        raise ValueError(f"[{n}, {n_columns}] rows do not fit {size} weights, {scores.shape[0]} scores")
    if size == 0 or n == 0:
        return 0
    memory = <double*>allocate_zeros(checked_product(4, size) + checked_product(2, n), sizeof(double))
    if memory == NULL:
        raise MemoryError
    r, z, p, Hp = memory, memory + size, memory + 2 * size, memory + 3 * size
    active = <int64_t*>(memory + 4 * size + n)
    at = GramSystem(n_columns, size, 0, active, rows.indptr + rows.start, rows.indices, &weights[rows.start], &ridge[0],
                    memory + 4 * size)
    try:
        with nogil:
            for j in range(size):
                r[j] = -gradient[j]
                p[j] = r[j] / diagonal[j]
            for i in range(n):
                scores[i] = 0
                if at.weights[i] != 0:
                    active[at.n_active] = i
                    at.n_active += 1
            for j in range(size):
                step[j] = 0
            first = now = dot(r, p, size)
        while count < limit and now > 0:
            with nogil:
                multiply(&at, rows, p, Hp)
                curvature = dot(p, Hp, size)
                count += 1
            look()
            if not curvature > 0:
                break
            with nogil:
                before = now
                now = advance(&at, now / curvature, p, Hp, &diagonal[0], &step[0], r, z, &scores[0])
                if now > tolerance * tolerance * first:
                    redirect(&at, now / before, z, p)
                else:
                    now = 0
        with nogil:
            if rows.single:
                score_inactive(&at, n, <const float*>rows.values, &step[0], &scores[0])
            else:
                score_inactive(&at, n, <const double*>rows.values, &step[0], &scores[0])
    finally:
        free(memory)
    return count
