"""The squared losses of SVMs by the scores of rows: the hinge, one against the rest, for several labels together.

With z = ±1, C the weight of a row in the problem of a label (own_C where z = 1) and the shortfall ξ = max(0, 1 − z s),
where a row's z is that of its label or, of a row that may have several, of its set of labels:

    loss  Σ C ξ²,      residual  −2 C z ξ,      curvature  2C where ξ > 0
    along a line s + αu:   φ′(α) = θ·d + α d·d − Σ 2 C z u ξ(α),      φ″(α) = d·d + Σ 2 C u² of the rows with ξ(α) > 0

And the ε-insensitive loss of a target, where z = sgn(y − s) and ξ = max(0, |y − s| − ε), with the same formulas.
"""

cimport cython
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate_zeros
from fastlin.engine.core.interruption cimport look


cdef struct RowSides:
    int64_t label
    const uint8_t* members           # NULL: the row has one label
    double C, own_C
    const double* of_rest            # NULL: no factors
    const double* of_own


cdef inline bint has_label(const RowSides* row, int64_t one, Py_ssize_t k) noexcept nogil:
    """Whether a row has the label `one`, that of column k."""
    return row.members[k] if row.members != NULL else one == row.label


cdef inline double cost_of(const RowSides* row, Py_ssize_t k, bint own) noexcept nogil:
    """C of a row in the problem of column k."""
    cdef double cost = row.own_C if own else row.C
    return cost * (row.of_own[k] if own else row.of_rest[k]) if row.of_own != NULL else cost


@cython.final
cdef class Sides:
    """The sides of rows in the problems of some labels, `ones`, and what they cost there.

    Where a row may have several labels, its label is the number of a set, `members` [sets, K] says which of these
    labels are in each, and `factors`, [2, K], what C is multiplied by without a label, and with it; else both are of
    length 0.
    """

    cdef const int32_t[::1] labels
    cdef const int64_t[::1] ones
    cdef const double[::1] C, own_C
    cdef const uint8_t[:, ::1] members
    cdef const double[:, ::1] factors

    def __cinit__(self, const int32_t[::1] labels, const int64_t[::1] ones, const double[::1] C,
                  const double[::1] own_C, const uint8_t[:, ::1] members, const double[:, ::1] factors):
        cdef Py_ssize_t K = ones.shape[0]
        if not labels.shape[0] == C.shape[0] == own_C.shape[0]:
            raise ValueError(f"weights do not fit {labels.shape[0]} rows")
        if (members.shape[0] and members.shape[1] != K) or (
                factors.shape[0] and (factors.shape[0] != 2 or factors.shape[1] != K)):
            raise ValueError(f"sets of labels, or their factors, do not fit {K} columns")
        self.labels, self.ones, self.C, self.own_C = labels, ones, C, own_C
        self.members, self.factors = members, factors

    cdef inline RowSides of_row(self, Py_ssize_t i) noexcept nogil:
        """Those of a row."""
        cdef RowSides row = RowSides(self.labels[i], NULL, self.C[i], self.own_C[i], NULL, NULL)
        if self.members.shape[0]:
            row.members = &self.members[row.label, 0]
        if self.factors.shape[0]:
            row.of_rest, row.of_own = &self.factors[0, 0], &self.factors[1, 0]
        return row


def squared_hinge(const double[:, ::1] scores, Sides sides not None, double[:, ::1] residual,
                  double[:, ::1] curvature, double[::1] losses):
    """Residuals and curvatures of rows, [n, K], and the loss of each column."""
    cdef Py_ssize_t i, k, n = scores.shape[0], K = scores.shape[1]
    cdef double z, xi, cost
    cdef bint own
    cdef RowSides row
    cdef const int64_t[::1] ones = sides.ones
    if not (residual.shape[0] == curvature.shape[0] == sides.labels.shape[0] == n
            and residual.shape[1] == curvature.shape[1] == losses.shape[0] == sides.ones.shape[0] == K):
        raise ValueError(f"residuals, curvatures or losses do not fit [{n}, {K}] scores")
    losses[:] = 0
    with nogil:
        for i in range(n):
            row = sides.of_row(i)
            for k in range(K):
                own = has_label(&row, ones[k], k)
                z = 1.0 if own else -1.0
                cost = cost_of(&row, k, own)
                xi = 1.0 - z * scores[i, k]
                xi = xi if xi > 0 else 0.0
                residual[i, k] = -2 * cost * z * xi
                curvature[i, k] = 2 * cost if xi > 0 else 0.0
                losses[k] += cost * xi * xi


cdef struct LineSearch:              # φ along the direction of a column, in the place where its search is
    double step, low, high           # the minimum is between low and high
    double slope, bend               # Σ C ℓ′ and Σ C ℓ″ at the step
    double linear, square            # θ·d and d·d
    double share                     # of C
    double near                      # |φ′| that ends the search


cdef bint advance(LineSearch* line) noexcept nogil:
    """Whether φ′ is near 0; else Newton's step on φ′, or within the bracket where that leaves it."""
    cdef double slope = line.share * line.slope + (line.linear + line.step * line.square)
    cdef double bend = line.share * line.bend + line.square
    cdef double newton = line.step
    if fabs(slope) <= line.near:
        return True
    if slope < 0:
        line.low = line.step
    elif slope > 0:
        line.high = line.step
    if bend > 0:
        newton = line.step - slope / bend
    if line.low < newton < line.high:
        line.step = newton
    elif line.high < INFINITY:
        line.step = 0.5 * (line.low + line.high)
    else:
        line.step = 2 * line.step
    return False


cdef bint advance_all(LineSearch* lines, Py_ssize_t K) noexcept nogil:
    """Whether all are near; those that are stay."""
    cdef Py_ssize_t k
    cdef bint near = True
    for k in range(K):
        if not advance(&lines[k]):
            near = False
    return near


cdef LineSearch* begin_lines(const double[:, ::1] lines, Py_ssize_t K) except NULL:
    """Searches that begin at the step of 1; lines [4, K]: θ·d, d·d, shares of C and what is near."""
    cdef Py_ssize_t k
    cdef LineSearch* found
    if lines.shape[0] != 4 or lines.shape[1] != K:
        raise ValueError(f"lines do not fit {K} columns")
    found = <LineSearch*>allocate_zeros(max(K, 1), sizeof(LineSearch))
    if found == NULL:
        raise MemoryError
    for k in range(K):
        found[k] = LineSearch(1, 0, INFINITY, 0, 0, lines[0, k], lines[1, k], lines[2, k], lines[3, k])
    return found


cdef void add_derivatives(const double[:, ::1] scores, const double[:, ::1] along, Sides sides,
                          LineSearch* lines) noexcept nogil:
    cdef Py_ssize_t i, k, K = scores.shape[1]
    cdef double z, u, xi, cost
    cdef bint own
    cdef RowSides row
    for k in range(K):
        lines[k].slope = lines[k].bend = 0
    for i in range(scores.shape[0]):
        row = sides.of_row(i)
        for k in range(K):
            own = has_label(&row, sides.ones[k], k)
            z = 1.0 if own else -1.0
            u = along[i, k]
            cost = cost_of(&row, k, own)
            xi = 1.0 - z * (scores[i, k] + lines[k].step * u)
            if xi > 0:
                lines[k].slope -= 2 * cost * z * u * xi
                lines[k].bend += 2 * cost * u * u


def search_lines(const double[:, ::1] scores, const double[:, ::1] along, Sides sides not None,
                 const double[:, ::1] lines, Py_ssize_t limit, double[::1] steps):
    """The step of each column to the minimum of P(θ + αd), by at most `limit` evaluations of φ′ and φ″.

    `lines`, [4, K], are θ·d, d·d, the column's share of C, and the |φ′| that ends its search.
    """
    cdef Py_ssize_t n = scores.shape[0], K = scores.shape[1], k
    cdef LineSearch* at
    cdef bint near = False
    if not (along.shape[0] == sides.labels.shape[0] == n and along.shape[1] == steps.shape[0] == K
            and sides.ones.shape[0] == K):
        raise ValueError(f"a direction, or steps, do not fit [{n}, {K}] scores")
    at = begin_lines(lines, K)
    try:
        while not near and limit > 0:
            with nogil:
                add_derivatives(scores, along, sides, at)
                near = advance_all(at, K)
            limit -= 1
            look()
        for k in range(K):
            steps[k] = at[k].step
    finally:
        free(at)


cdef inline double insensitive(double r, double epsilon) noexcept nogil:
    """z ξ of a residual: how far it is from the tube, and on which side."""
    if r > epsilon:
        return r - epsilon
    return r + epsilon if r < -epsilon else 0.0


cdef int prove_targets(Py_ssize_t n, Py_ssize_t K, const double[::1] targets, const double[::1] C) except -1:
    if not targets.shape[0] == C.shape[0] == n or K != 1:
        raise ValueError(f"targets or weights do not fit [{n}, {K}] scores")
    return 0


def squared_insensitive(const double[:, ::1] scores, const double[::1] targets, double epsilon, const double[::1] C,
                        double[:, ::1] residual, double[:, ::1] curvature, double[::1] losses):
    """Residuals, curvatures and loss of rows by their scores of one target, [n, 1]."""
    cdef Py_ssize_t i, n = scores.shape[0]
    cdef double zxi
    prove_targets(n, scores.shape[1], targets, C)
    if not (residual.shape[0] == curvature.shape[0] == n and residual.shape[1] == curvature.shape[1] == 1
            and losses.shape[0] == 1):
        raise ValueError(f"residuals, curvatures or losses do not fit [{n}, 1] scores")
    losses[0] = 0
    with nogil:
        for i in range(n):
            zxi = insensitive(targets[i] - scores[i, 0], epsilon)
            residual[i, 0] = -2 * C[i] * zxi
            curvature[i, 0] = 2 * C[i] if zxi != 0 else 0.0
            losses[0] += C[i] * zxi * zxi


cdef void add_insensitive_derivatives(const double[:, ::1] scores, const double[:, ::1] along,
                                      const double[::1] targets, double epsilon, const double[::1] C,
                                      LineSearch* line) noexcept nogil:
    cdef Py_ssize_t i
    cdef double u, zxi
    line.slope = line.bend = 0
    for i in range(scores.shape[0]):
        u = along[i, 0]
        zxi = insensitive(targets[i] - scores[i, 0] - line.step * u, epsilon)
        if zxi != 0:
            line.slope -= 2 * C[i] * u * zxi
            line.bend += 2 * C[i] * u * u


def search_insensitive_line(const double[:, ::1] scores, const double[:, ::1] along, const double[::1] targets,
                            double epsilon, const double[::1] C, const double[:, ::1] lines, Py_ssize_t limit,
                            double[::1] steps):
    """The same of the ε-insensitive loss of one target."""
    cdef Py_ssize_t n = scores.shape[0]
    cdef LineSearch* at
    cdef bint near = False
    prove_targets(n, scores.shape[1], targets, C)
    if not (along.shape[0] == n and along.shape[1] == steps.shape[0] == 1):
        raise ValueError(f"a direction, or a step, do not fit [{n}, 1] scores")
    at = begin_lines(lines, 1)
    try:
        while not near and limit > 0:
            with nogil:
                add_insensitive_derivatives(scores, along, targets, epsilon, C, at)
                near = advance(at)
            limit -= 1
            look()
        steps[0] = at.step
    finally:
        free(at)
