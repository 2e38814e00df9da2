"""The optimum of a quadratic model of the rows' losses in one column of scores, with an L1 term.

With residuals r, curvatures h and steps u = X d + b of the scores, the model of the loss is r·u + ½ Σ_i h_i u_i². With
the columns a_j = √h ∘ x_j, copied for it once, and q = √h u + r/√h it is ½ ‖q‖² less what it began with: a visit of a
weight reads one array of rows, and its gradient is a_j·q. The intercept, whose column is √h, is at the model's optimum
all the time: where a weight moves by δ it moves by −δ (a_j·√h)/Σh, which adds one number times √h to q.

Coordinate descent finds out which weights are zero. As soon as hardly any comes or goes, conjugate gradients on those
that are not zero finish the model, without the intercept, which follows. Their columns are laid out by rows, so that
one pass makes a product, a row's numbers in cache; columns that many rows have are full there, which needs no places.
"""

cimport cython
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t

import numpy as np

from fastlin.engine.core.csr cimport number, real
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.core.interruption cimport look


cdef enum:
    BLOCK = 1 << 22              # non-zeros that are read before signals are looked at
    LANES = 16                   # numbers of the full columns of a row that are added side by side
    MAX_VISITS = 12              # of coordinate descent in one model
    MAX_CUT_STEPS = 5            # of conjugate gradients in a row

cdef enum Outcome:               # of conjugate gradients, and the step along what they found
    CONVERGED = 1
    CUT = 2                      # not all of it was gone

cdef double MODEL_TOLERANCE = 0.25     # of the way of the first visit: the model is solved
cdef double STEADY_SHARE = 0.01        # of the weights that are not zero: so few come or go at the end of descent
cdef double FULL_SHARE = 0.25          # of the rows: columns with more of them are full
cdef double ALL_SHARE = 1.1            # of the non-zeros of weights that are not zero: so many are laid out at most
cdef double MISSING_SHARE = 0.02       # of the weights that are not zero: so many stay out of a layout that is there
cdef double CG_TOLERANCE = 0.25        # of the residual
cdef double CROSSING_SHARE = 0.2       # of √weights, beside one: where more would change their sign, descend
cdef double LEAST_CURVATURE = 1e-24    # of a row, beside its residual, which is divided by √h


cdef struct ModelWeights:
    Py_ssize_t n_rows, size
    const int64_t* indptr        # of the columns of the data
    const int32_t* rows
    const int32_t* features      # of the weights
    const int64_t* starts        # of the a of each
    double* z
    const double* l1             # the penalties are l1 |z| + ½ ridge z² + shift z
    const double* ridge
    const double* shift
    const double* curvature      # with the ridge, where the intercept follows
    double* cross                # a·√h
    double* scale                # √h
    double* q                    # without the intercept's bias √h
    double total                 # Σ h; 0 without an intercept
    double bias


cdef struct Visit:
    Py_ssize_t changed           # weights that became zero, or left it
    double way                   # Σ |δ| curvature


cdef struct Rows:
    Py_ssize_t n_full            # a multiple of the lanes
    const int64_t* indptr        # of the other columns
    int32_t* places


cdef inline Py_ssize_t block_end(const int64_t* indptr, Py_ssize_t start, Py_ssize_t size) noexcept nogil:
    """Where a block of lines ends that has bounded work: behind its first line at the earliest."""
    cdef Py_ssize_t low = start + 1, high = size, middle
    if indptr[size] - indptr[start] <= BLOCK:
        return size
    while low < high:
        middle = low + (high - low + 1) // 2
        if indptr[middle] - indptr[start] <= BLOCK:
            low = middle
        else:
            high = middle - 1
    return low


cdef inline Py_ssize_t end_of_rows(const Rows* at, Py_ssize_t start, Py_ssize_t n_rows) noexcept nogil:
    """The same of rows, which have numbers in full columns, too."""
    cdef Py_ssize_t most = 1 + BLOCK // (1 + at.n_full)
    return block_end(at.indptr, start, start + most if most < n_rows - start else n_rows)


cdef inline double gather(const int32_t* rows, const number* a, int64_t m, const double* q) noexcept nogil:
    """Σ a q; four sums, so that the additions overlap."""
    cdef double s = 0, t = 0, u = 0, v = 0
    cdef int64_t p = 0
    while p + 4 <= m:
        s += a[p] * q[rows[p]]
        t += a[p + 1] * q[rows[p + 1]]
        u += a[p + 2] * q[rows[p + 2]]
        v += a[p + 3] * q[rows[p + 3]]
        p += 4
    while p < m:
        s += a[p] * q[rows[p]]
        p += 1
    return (s + t) + (u + v)


cdef inline double soft_threshold(double z, double amount) noexcept nogil:
    """argmin ½(a − z)² + amount |a|."""
    if z > amount:
        return z - amount
    return z + amount if z < -amount else 0.0


cdef void scale_columns(ModelWeights* w, const real* x, number* a, Py_ssize_t start, Py_ssize_t stop, double* squares,
                        double* slopes, double* largest) noexcept nogil:
    """a = √h x, Σ a², a·√h, a·q and max |x| of the weights [start, stop)."""
    cdef const int32_t* rows
    cdef const real* values
    cdef number* own
    cdef double square, product, slope
    cdef real most, size
    cdef int64_t first, p
    cdef Py_ssize_t c
    for c in range(start, stop):
        first = w.indptr[w.features[c]]
        rows = w.rows + first
        values = x + first
        own = a + w.starts[c]
        square = 0
        product = 0
        slope = 0
        most = 0
        for p in range(w.starts[c + 1] - w.starts[c]):
            size = fabs(values[p])
            most = size if size > most else most
            own[p] = <number>(values[p] * w.scale[rows[p]])
            square += <double>own[p] * own[p]
            product += own[p] * w.scale[rows[p]]
            slope += own[p] * w.q[rows[p]]
        squares[c] = square
        w.cross[c] = product
        slopes[c] = slope
        largest[c] = most


cdef void visit(ModelWeights* w, const number* a, Py_ssize_t start, Py_ssize_t stop, Visit* done) noexcept nogil:
    """Take each of the weights [start, stop) to the optimum of its own."""
    cdef const int32_t* rows
    cdef const number* own
    cdef double* q = w.q
    cdef double slope, new, step, bias = w.bias
    cdef int64_t m, p
    cdef Py_ssize_t c
    for c in range(start, stop):
        m = w.starts[c + 1] - w.starts[c]
        rows = w.rows + w.indptr[w.features[c]]
        own = a + w.starts[c]
        slope = gather(rows, own, m, q) + bias * w.cross[c] + w.ridge[c] * w.z[c] + w.shift[c]
        new = soft_threshold(w.z[c] - slope / w.curvature[c], w.l1[c] / w.curvature[c])
        step = new - w.z[c]
        if step == 0:
            continue
        done.way += fabs(step) * w.curvature[c]
        done.changed += (new != 0) != (w.z[c] != 0)
        w.z[c] = new
        for p in range(m):
            q[rows[p]] += own[p] * step
        if w.total > 0:
            bias -= step * w.cross[c] / w.total
    w.bias = bias


cdef void fill_rows(ModelWeights* w, const number* a, const int32_t* laid, Py_ssize_t n_full, Py_ssize_t start,
                    Py_ssize_t stop, Rows* at, int64_t* cursor, number* sparse, number* full) noexcept nogil:
    """Write weights, the first n_full of all full, to their rows; cursor[i] is where row i goes on."""
    cdef int64_t p, to
    cdef int32_t row
    cdef Py_ssize_t f, c, place
    for f in range(start, stop):
        c = laid[f]
        place = f if f < n_full else at.n_full + f - n_full
        for p in range(w.starts[c + 1] - w.starts[c]):
            row = w.rows[w.indptr[w.features[c]] + p]
            if f < n_full:
                full[row * at.n_full + f] = a[w.starts[c] + p]
            else:
                to = cursor[row]
                cursor[row] = to + 1
                at.places[to] = <int32_t>place
                sparse[to] = a[w.starts[c] + p]


cdef inline double full_dot(const number* own, const double* t, Py_ssize_t n_full) noexcept nogil:
    """The part of a row's numbers in full columns."""
    cdef double sums[LANES]
    cdef Py_ssize_t k = 0, lane
    for lane in range(LANES):
        sums[lane] = 0
    while k < n_full:
        for lane in range(LANES):
            sums[lane] += own[k + lane] * t[k + lane]
        k += LANES
    for lane in range(LANES // 2):
        sums[lane] += sums[lane + LANES // 2]
    for lane in range(LANES // 4):
        sums[lane] += sums[lane + LANES // 4]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


cdef inline double row_dot(Rows* at, const number* sparse, const number* full, Py_ssize_t i,
                           const double* t) noexcept nogil:
    """a_i·t."""
    cdef int64_t start = at.indptr[i]
    cdef double s = gather(at.places + start, sparse + start, at.indptr[i + 1] - start, t)
    return s + full_dot(full + i * at.n_full, t, at.n_full) if at.n_full else s


cdef void multiply(Rows* at, const number* sparse, const number* full, Py_ssize_t start, Py_ssize_t stop,
                   const double* t, double* out) noexcept nogil:
    """out += Aᵀ(A t) of the rows [start, stop)."""
    cdef const number* own
    cdef double s
    cdef int64_t p
    cdef Py_ssize_t i, k
    for i in range(start, stop):
        s = row_dot(at, sparse, full, i, t)
        own = full + i * at.n_full
        for k in range(at.n_full):
            out[k] += own[k] * s
        for p in range(at.indptr[i], at.indptr[i + 1]):
            out[at.places[p]] += sparse[p] * s


cdef void gather_rows(Rows* at, const number* sparse, const number* full, Py_ssize_t start, Py_ssize_t stop,
                      const double* q, double* out) noexcept nogil:
    """out += Aᵀq of the rows [start, stop)."""
    cdef const number* own
    cdef int64_t p
    cdef Py_ssize_t i, k
    for i in range(start, stop):
        own = full + i * at.n_full
        for k in range(at.n_full):
            out[k] += own[k] * q[i]
        for p in range(at.indptr[i], at.indptr[i + 1]):
            out[at.places[p]] += sparse[p] * q[i]


cdef void advance_rows(Rows* at, const number* sparse, const number* full, Py_ssize_t start, Py_ssize_t stop,
                       const double* t, double* q) noexcept nogil:
    """q += A t of the rows [start, stop)."""
    cdef Py_ssize_t i
    for i in range(start, stop):
        q[i] += row_dot(at, sparse, full, i, t)


@cython.final
cdef class BinarySolver:
    """The model of some features' weights, which it solves; the intercept is beside them if there is a total, Σ h."""

    cdef ModelWeights w
    cdef Rows at
    cdef CSRView view
    cdef object allocate                     # memory that models take in turns
    cdef object held, values                 # arrays that pointers are into, and a
    cdef bint single
    cdef object sparse, full                 # of the weights that are laid out by rows
    cdef int64_t[::1] starts, indptr
    cdef int32_t[::1] places, place_of       # of the weights; −1 of those that are not laid out
    cdef readonly Py_ssize_t n_places, n_layouts

    def __init__(self, CSRView view not None, const int32_t[::1] features not None, const double[::1] h not None,
                 const double[::1] r not None, bint has_intercept, double intercept_ridge, bint single, allocate):
        """`single` says whether a is float32."""
        cdef Py_ssize_t i, c, n = h.shape[0], size = features.shape[0]
        cdef double s
        cdef double[::1] scale = np.empty(n), q = np.empty(n), cross = np.empty(size)
        cdef int64_t[::1] starts = np.zeros(size + 1, np.int64)
        if r.shape[0] != n:
            raise ValueError(f"{r.shape[0]} residuals do not fit {n} rows")
        for c in range(size):
            if not view.start <= features[c] < view.stop:
                raise ValueError(f"weight {c} is of no column")
            starts[c + 1] = starts[c] + view.indptr[features[c] + 1] - view.indptr[features[c]]
        self.w.total = intercept_ridge if has_intercept else 0.0
        for i in range(n):
            s = h[i] if h[i] > LEAST_CURVATURE * fabs(r[i]) else LEAST_CURVATURE * fabs(r[i])
            if has_intercept:
                self.w.total += s
            scale[i] = sqrt(s)
            q[i] = r[i] / scale[i] if s > 0 else 0.0
        self.allocate = allocate
        self.single = single
        self.values = allocate("scaled", starts[size], np.float32 if single else np.float64)
        self.view, self.starts, self.held = view, starts, (features, scale, q, cross)
        self.w.n_rows, self.w.size, self.w.indptr, self.w.rows = n, size, view.indptr, view.indices
        self.w.starts, self.w.bias = &starts[0], 0.0
        if size:
            self.w.features, self.w.cross = &features[0], &cross[0]
        if n:
            self.w.scale, self.w.q = &scale[0], &q[0]
        self.n_places = self.n_layouts = 0

    @property
    def total(self):
        """Σ h with the intercept's ridge, 0 without an intercept."""
        return self.w.total

    @property
    def bias(self):
        """The intercept's step."""
        return self.w.bias

    def prepare(self):
        """Copy the columns; returns Σ a², a·√h, a·q and max |x| of each."""
        squares, slopes, largest = np.empty(self.w.size), np.empty(self.w.size), np.empty(self.w.size)
        if self.single:
            self._prepare[float](self.values, squares, slopes, largest)
        else:
            self._prepare[double](self.values, squares, slopes, largest)
        return squares, self.held[3].base, slopes, largest

    cdef int _prepare(self, number[::1] a, double[::1] squares, double[::1] slopes, double[::1] largest) except -1:
        cdef Py_ssize_t start = 0, stop
        while start < self.w.size and a.shape[0]:
            stop = block_end(&self.starts[0], start, self.w.size)
            with nogil:
                if self.view.single:
                    scale_columns(&self.w, <const float*>self.view.values, &a[0], start, stop, &squares[0],
                                  &slopes[0], &largest[0])
                else:
                    scale_columns(&self.w, <const double*>self.view.values, &a[0], start, stop, &squares[0],
                                  &slopes[0], &largest[0])
            look()
            start = stop
        return 0

    def set_penalties(self, double[::1] z not None, const double[::1] l1 not None, const double[::1] ridge not None,
                      const double[::1] shift not None, const double[::1] curvature not None, double bias):
        """What is added to the loss, the curvature with it, and where to begin; z will be the optimum."""
        cdef Py_ssize_t n = self.w.size
        if not z.shape[0] == l1.shape[0] == ridge.shape[0] == shift.shape[0] == curvature.shape[0] == n:
            raise ValueError(f"penalties do not fit {n} weights")
        self.held = (*self.held, z, l1, ridge, shift, curvature)
        self.w.bias = bias
        if n:
            self.w.z, self.w.l1, self.w.ridge = &z[0], &l1[0], &ridge[0]
            self.w.shift, self.w.curvature = &shift[0], &curvature[0]

    def solve(self, Py_ssize_t limit, Py_ssize_t max_limit):
        """Go towards the optimum; returns the limit of the next model's conjugate gradients.

        What comes after is written for both types of a; `kind` says which, and is not read.
        """
        if len(self.held) == 4:
            raise ValueError("the model has no penalties yet")
        if not self.values.shape[0]:
            return limit
        if self.single:
            return self._solve[float](limit, max_limit, NULL)
        return self._solve[double](limit, max_limit, NULL)

    cdef Py_ssize_t _solve(self, Py_ssize_t limit, Py_ssize_t max_limit, const number* kind) except -1:
        cdef Py_ssize_t c, kept, _visit, _step
        cdef int how
        cdef double first = 0
        cdef bint finished = False, steady
        cdef Visit done
        for _visit in range(MAX_VISITS):
            done = Visit(0, 0.0)
            self._descend(kind, &done)
            first = done.way if done.way > first else first
            if done.way <= MODEL_TOLERANCE * first or (finished and not done.changed):
                break
            kept = 0
            for c in range(self.w.size):
                kept += self.w.z[c] != 0
            steady = done.changed <= max(1, <Py_ssize_t>(STEADY_SHARE * kept))
            finished = False
            if steady:
                for _step in range(MAX_CUT_STEPS):
                    how = self._step(limit, kind)
                    if not how & CUT:
                        break
                finished = how & CONVERGED
                if not finished:
                    limit = min(2 * limit, max_limit)
        return limit

    cdef int _descend(self, const number* kind, Visit* done) except -1:
        """Visit every weight."""
        cdef number[::1] a = self.values
        cdef Py_ssize_t start = 0, stop
        while start < self.w.size:
            stop = block_end(&self.starts[0], start, self.w.size)
            with nogil:
                visit(&self.w, &a[0], start, stop, done)
            look()
            start = stop
        return 0

    cdef int _lay_out(self, const number* kind) except -1:
        """Lay the columns of weights that are not zero out by rows, unless they are, or of all if they are as many."""
        cdef Py_ssize_t c, i, n_free = 0, missing = 0, n_full = 0, n_sparse = 0, n = self.w.n_rows
        cdef int64_t nnz = 0, m
        cdef bint all_of_them
        cdef number[::1] a = self.values, sparse_values, full_values
        for c in range(self.w.size):
            if self.w.z[c] != 0:
                n_free += 1
                nnz += self.starts[c + 1] - self.starts[c]
                missing += self.n_layouts == 0 or self.place_of[c] < 0
        if not missing or (self.n_layouts and missing <= MISSING_SHARE * n_free):
            return 0
        all_of_them = self.starts[self.w.size] <= ALL_SHARE * nnz
        cdef int32_t[::1] laid = np.empty(self.w.size, np.int32), others = np.empty(self.w.size, np.int32)
        cdef int32_t[::1] place_of = np.full(self.w.size, -1, np.int32)
        cdef int64_t[::1] indptr = np.zeros(n + 2, np.int64)
        nnz = 0
        for c in range(self.w.size):
            m = self.starts[c + 1] - self.starts[c]
            if not (all_of_them or self.w.z[c] != 0):
                continue
            if m > FULL_SHARE * n:
                place_of[c] = laid[n_full] = <int32_t>c
                n_full += 1
            else:
                others[n_sparse] = <int32_t>c
                n_sparse += 1
                nnz += m
        self.at.n_full = (n_full + LANES - 1) // LANES * LANES
        for c in range(n_full):
            place_of[laid[c]] = <int32_t>c
        for c in range(n_sparse):
            place_of[others[c]] = <int32_t>(self.at.n_full + c)
            laid[n_full + c] = others[c]
        self.places = self.allocate("places", nnz + 1, np.int32)
        self.at.places = &self.places[0]
        self.sparse = self.allocate("sparse", nnz + 1, self.values.dtype)
        self.full = self.allocate("full", n * self.at.n_full + 1, self.values.dtype)
        self.full.fill(0)
        sparse_values, full_values = self.sparse, self.full
        self._count(others[:n_sparse], indptr)
        for i in range(2, n + 2):
            indptr[i] += indptr[i - 1]
        c = 0
        while c < n_full + n_sparse:
            i = self._block_of(laid, c, n_full + n_sparse)
            with nogil:
                fill_rows(&self.w, &a[0], &laid[0], n_full, c, i, &self.at, &indptr[1], &sparse_values[0],
                          &full_values[0])
            look()
            c = i
        self.indptr, self.place_of = indptr, place_of
        self.at.indptr = &indptr[0]
        self.n_places = self.at.n_full + n_sparse
        self.n_layouts += 1
        return 0

    cdef Py_ssize_t _block_of(self, const int32_t[::1] some, Py_ssize_t start, Py_ssize_t size):
        """Where a block of some of the weights ends that has bounded work."""
        cdef int64_t work = 0
        while start < size and work <= BLOCK:
            work += self.starts[some[start] + 1] - self.starts[some[start]]
            start += 1
        return start

    cdef int _count(self, const int32_t[::1] some, int64_t[::1] indptr) except -1:
        """indptr[i + 2] += the non-zeros that row i has of some of the weights."""
        cdef Py_ssize_t c = 0, stop, f
        cdef int64_t p
        while c < some.shape[0]:
            stop = self._block_of(some, c, some.shape[0])
            with nogil:
                while c < stop:
                    f = self.w.features[some[c]]
                    for p in range(self.w.indptr[f], self.w.indptr[f + 1]):
                        indptr[self.w.rows[p] + 2] += 1
                    c += 1
            look()
        return 0

    cdef int _multiply(self, const number* kind, const double[::1] t, double[::1] product) except -1:
        """AᵀA t."""
        cdef number[::1] sparse = self.sparse, full = self.full
        cdef Py_ssize_t start = 0, stop
        product[:] = 0
        while start < self.w.n_rows:
            stop = end_of_rows(&self.at, start, self.w.n_rows)
            with nogil:
                multiply(&self.at, &sparse[0], &full[0], start, stop, &t[0], &product[0])
            look()
            start = stop
        return 0

    cdef int _step(self, Py_ssize_t limit, const number* kind) except -1:
        """Conjugate gradients on the weights that are not zero, and a step along what they find: see `Outcome`.

        Weights that would change their sign become zero. The step is halved while that makes the model worse, but not
        below the first sign that changes: within the orthant the model gets better all the way.
        """
        self._lay_out(kind)
        cdef ModelWeights* w = &self.w
        cdef Py_ssize_t c, f, _iteration, n_free = 0, n_crossing, row = 0, stop, n = self.n_places
        cdef number[::1] sparse = self.sparse, full = self.full
        cdef double[:, ::1] room = np.zeros((10, n))
        cdef double[::1] z = room[0], g = room[1], r = room[2], t = room[3], p = room[4], inverse = room[5]
        cdef double[::1] cross = room[6], ridge = room[7], l1 = room[8], product = room[9]
        cdef bint crosses
        cdef double size = 0, first, bend, before, along, step, share = 2, border = 1, change
        if n == 0:
            return CONVERGED
        while row < w.n_rows:
            stop = end_of_rows(&self.at, row, w.n_rows)
            with nogil:
                gather_rows(&self.at, &sparse[0], &full[0], row, stop, w.q, &g[0])
            look()
            row = stop
        for c in range(w.size):
            f = self.place_of[c]
            if f < 0:
                continue
            if w.z[c] == 0:
                g[f] = 0
                continue
            n_free += 1
            z[f], cross[f], ridge[f], l1[f], inverse[f] = w.z[c], w.cross[c], w.ridge[c], w.l1[c], 1 / w.curvature[c]
            g[f] += w.bias * cross[f] + ridge[f] * z[f] + w.shift[c]
            r[f] = -g[f] - (l1[f] if z[f] > 0 else -l1[f])
            p[f] = r[f] * inverse[f]
            size += r[f] * p[f]
        first = size
        for _iteration in range(limit):
            if not size > CG_TOLERANCE**2 * first:
                break
            self._multiply(kind, p, product)
            along = dot(cross, p) / w.total if w.total > 0 else 0.0
            bend = 0
            for f in range(n):
                if inverse[f] == 0:
                    product[f] = 0
                    continue
                product[f] += ridge[f] * p[f] - along * cross[f]
                bend += p[f] * product[f]
            if not bend > 0:
                break
            step, before, size, n_crossing = size / bend, size, 0, 0
            for f in range(n):
                t[f] += step * p[f]
                r[f] -= step * product[f]
                size += r[f] * r[f] * inverse[f]
                n_crossing += (z[f] + t[f]) * z[f] < 0
            if n_crossing > 1 + CROSSING_SHARE * sqrt(n_free):
                break
            for f in range(n):
                p[f] = r[f] * inverse[f] + (size / before) * p[f]
        for f in range(n):
            if (z[f] + t[f]) * z[f] < 0 and z[f] / -t[f] < border:
                border = z[f] / -t[f]
        while True:
            share = 0.5 * share if 0.5 * share > border else border
            for f in range(n):
                crosses = (z[f] + t[f]) * z[f] < 0 and z[f] / -t[f] <= share
                p[f] = -z[f] if crosses else share * t[f]
            if share <= border:
                break
            self._multiply(kind, p, product)
            along = dot(cross, p)
            change = -0.5 * along**2 / w.total if w.total > 0 else 0.0
            for f in range(n):
                change += p[f] * (g[f] + 0.5 * (product[f] + ridge[f] * p[f]))
                change += l1[f] * (fabs(z[f] + p[f]) - fabs(z[f]))
            if not change > 0:
                break
        for c in range(w.size):
            f = self.place_of[c]
            if f >= 0 and inverse[f] > 0:
                w.z[c] = 0.0 if p[f] == -z[f] else z[f] + p[f]
        row = 0
        while row < w.n_rows:
            stop = end_of_rows(&self.at, row, w.n_rows)
            with nogil:
                advance_rows(&self.at, &sparse[0], &full[0], row, stop, &p[0], w.q)
            look()
            row = stop
        if w.total > 0:
            w.bias -= dot(cross, p) / w.total
        return (CONVERGED if size <= CG_TOLERANCE**2 * first else 0) | (CUT if share < 1 else 0)


cdef double dot(const double[::1] a, const double[::1] b) noexcept:
    """Σ a b."""
    cdef double total = 0
    cdef Py_ssize_t f
    for f in range(a.shape[0]):
        total += a[f] * b[f]
    return total
