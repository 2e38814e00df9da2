"""Dual coordinate ascent for linear SVMs, a row at a time, for several labels together.

One against the rest (Hsieh et al. 2008). For each label, with z_i = ±1, C_i the weight of row i (which may be another
where z_i = 1, as class weights want, and another for each label and side where a row may have several labels), D = 0
and U = C_i for the hinge, D = 1/(2C_i) and U = ∞ for its square:

    max  Σ α_i − ½‖θ‖² − ½ Σ D α_i²,   θ = Σ z_i α_i x_i,   0 ≤ α_i ≤ U
    G_i = z_i θ·x_i − 1 + D α_i,       α_i ← clip(α_i − G_i/(‖x_i‖² + D), 0, U)

Crammer and Singer (Keerthi et al. 2008). With e_ik = [k ≠ y_i] and D on α_iy only:

    max  −½ Σ‖θ_k‖² − Σ e_ik α_ik − ½ Σ D α_iy²,   θ_k = Σ α_ik x_i,   Σ_k α_ik = 0,   α_ik ≤ 0 (k ≠ y),   α_iy ≤ U
    G_ik = θ_k·x_i + e_ik + D α_ik [k = y];        all α_i at once: see `step_crammer_singer`

Regression (Ho & Lin 2012). With the target t_i and ε, one column:

    max  Σ t_i β_i − ε|β_i| − ½ D β_i² − ½‖θ‖²,   θ = Σ β_i x_i,   −U ≤ β_i ≤ U
    g_i = θ·x_i − t_i + D β_i,       β_i ← clip(shrink(β_i − g_i/(‖x_i‖² + D), ε/(‖x_i‖² + D)), −U, U)

All: duality gap = Σ_i gap_i with gap_i ≥ 0 known from the scores of row i alone. So every visit tells what is left to
be won at a row, and the order of the next epochs follows from that: a row whose gap is small waits, each time twice
as long; a row at its bounds whose G_i is beyond all that the last epoch met is dropped until the next inspection of all
rows (Hsieh's shrinking). The sum of the last known gaps is the estimate that calls for an inspection.

Measured (one core with AVX-512; IMDB: 1 column, 20 Newsgroups: 20 labels), times as shares of what is here:
* without waiting, Hsieh's shrinking alone: 1.3–3; waiting without dropping: up to 1.6 (hinge, C = 1); the gain of the
  dual in place of the gap to decide who waits: 1.1–1.7.
* labels one after the other: 4; four together 1.3, all twenty 1.0. Eight fill a cache line and leave threads work.
* float32 weights: 0.8–1.1, and θ drifts from Σ z α x. Features renumbered by frequency: 1.1–1.6, sorting included.
* conjugate gradients on the free variables after every tenth round of slow progress: two thirds of the visits, 1–4
  times the time (Crammer–Singer: 20 times).
* Crammer–Singer's threshold by Newton's method: sweeps over K that vectorise, no sorting.
"""

cimport cython
from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate_zeros, checked_product
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.core.csr cimport add_row, number, prefetch, prefetch_range, score_row, squared_norm

cdef enum:
    DROPPED = -1                     # `skip` of a row that waits for the next inspection

cdef struct EpochState:
    int64_t squared                  # the loss: squared hinge, or hinge
    int64_t joint                    # Crammer–Singer, or one against the rest
    int64_t first                    # the label of column 0
    int64_t regression               # rows have targets, not labels
    int64_t patience                 # the longest wait, in epochs
    double scaling                   # the value of the intercept's feature, or 0
    double epsilon                   # the residual that costs nothing, in regression
    double bar                       # a row whose gap is not larger waits
    double gap                       # Σ of the gaps met
    double gain                      # by how much the dual has risen
    double loss                      # Σ C ℓ            `objective_and_gap`
    double linear                    # the dual + ½‖θ‖²   adds to both

cdef struct ShrinkingBounds:         # Hsieh's M and m, a number a column: those of the last epoch, and of this one
    const double* high
    const double* low
    double* top
    double* bottom


cdef struct RowCost:                 # of one row and the labels on one side of it
    double C
    double D
    double U
    double curvature
    double inverse


cdef inline RowCost cost_of(EpochState* task, double C, double norm) noexcept nogil:
    cdef double D = 0.5 / C if task.squared else 0.0, U = HUGE_VAL if task.squared else C
    return RowCost(C, D, U, norm + D, 1.0 / (norm + D))


cdef inline bint step_one_vs_rest(EpochState* task, const double* s, Py_ssize_t K, const double* side, RowCost own,
                                  RowCost other, double* alpha, double* change, const ShrinkingBounds* limits,
                                  bint* rests) noexcept nogil:
    """One step for every label, z its `side`; change = zΔα. Branch-free, so that it vectorises over the labels."""
    cdef double z, G, a, b, d, C, D, U, curvature, violation, gap = 0, gain = 0, moved = 0
    cdef bint squared = task.squared
    cdef Py_ssize_t k
    cdef int quiet = 1
    for k in range(K):
        z = side[k]
        C = own.C if z > 0 else other.C
        D = own.D if z > 0 else other.D
        U = own.U if z > 0 else other.U
        curvature = own.curvature if z > 0 else other.curvature
        a = alpha[k]
        G = z * s[k] - 1.0 + D * a
        b = a - G * (own.inverse if z > 0 else other.inverse)
        b = b if b > 0 else 0.0
        b = b if b < U else U
        quiet &= ((a == 0) & (G > limits.high[k])) | ((a == U) & (G < limits.low[k]))
        violation = G if (a > 0) | (G < 0) else 0.0
        violation = violation if (a < U) | (G > 0) else 0.0
        limits.top[k] = violation if violation > limits.top[k] else limits.top[k]
        limits.bottom[k] = violation if violation < limits.bottom[k] else limits.bottom[k]
        if squared:
            gap += C * G * G if G < D * a else a * (G - 0.5 * D * a)
        else:
            gap += a * G if G > 0 else (a - U) * G
        d = b - a
        gain -= d * (G + 0.5 * d * curvature)
        moved += d if d > 0 else -d
        alpha[k] = b
        change[k] = z * d
    task.gap += gap
    task.gain += gain
    rests[0] = quiet
    return moved != 0


cdef inline double positive_part(double x) noexcept nogil:
    return x if x > 0 else 0.0


cdef inline bint step_regression(EpochState* task, double s, double target, RowCost cost, double* beta,
                                 double* change, const ShrinkingBounds* limits, bint* rests) noexcept nogil:
    """The dual over one β, exactly; change = Δβ.

    The violation is the least slope in size that either side of β has: of β = 0, what |g| is above ε.
    """
    cdef double b = beta[0], size = fabs(b), g = s - target + cost.D * b, moved, gap, violation, side, d
    cdef double r = target - s, excess = positive_part(fabs(r) - task.epsilon)
    if task.squared:
        gap = cost.C * excess * excess - b * r + task.epsilon * size + 0.5 * cost.D * b * b
    else:
        gap = cost.C * excess - b * r + task.epsilon * size
    side = g + task.epsilon if b > 0 else task.epsilon - g     # of the objective in |β|
    if b == 0:
        violation = positive_part(fabs(g) - task.epsilon)
        rests[0] = fabs(g) < task.epsilon - limits.high[0]
    else:
        violation = fabs(side) if size < cost.U else positive_part(side)
        rests[0] = size == cost.U and side < -limits.high[0]
    limits.top[0] = violation if violation > limits.top[0] else limits.top[0]
    moved = b - g * cost.inverse
    d = positive_part(fabs(moved) - task.epsilon * cost.inverse)
    d = d if d < cost.U else cost.U
    moved = d if moved > 0 else -d
    d = moved - b
    task.gap += positive_part(gap)
    task.gain -= d * (g + 0.5 * d * cost.curvature) + task.epsilon * (fabs(moved) - size)
    beta[0] = moved
    change[0] = d
    return d != 0

cdef bint step_each_cost(EpochState* task, const double* s, Py_ssize_t K, const double* side, double C, double norm,
                         const double* factors, double* alpha, double* change, const ShrinkingBounds* limits,
                         bint* rests) noexcept nogil:
    """`step_one_vs_rest` of labels whose sides weigh C times their factors, [2, K]: one label at a time."""
    cdef ShrinkingBounds of_label
    cdef RowCost own, other
    cdef bint rests_here, moved = False
    cdef Py_ssize_t k
    rests[0] = True
    for k in range(K):
        of_label = ShrinkingBounds(limits.high + k, limits.low + k, limits.top + k, limits.bottom + k)
        other = cost_of(task, factors[k] * C, norm)
        own = cost_of(task, factors[K + k] * C, norm)
        rests_here = False
        moved |= step_one_vs_rest(task, s + k, 1, side + k, own, other, alpha + k, change + k, &of_label, &rests_here)
        rests[0] &= rests_here
    return moved


cdef inline double crammer_singer_threshold(const double* B, Py_ssize_t K, double B_y, double share, double cap,
                                            double start) noexcept nogil:
    """The root β of f(β) = Σ_k min(0, β − B_k) + min(cap, share·(β − B_y)), from a start with f ≤ 0.

    f rises and is concave and piecewise linear: Newton's method climbs to the root and arrives. B_y itself is not
    among the B_k, for which −∞ stands there.
    """
    cdef double beta = start, f, slope, b, old
    cdef Py_ssize_t k, _step
    for _step in range(K + 2):
        b = share * (beta - B_y)
        f = b if b < cap else cap
        slope = share if b < cap else 0.0
        for k in range(K):
            b = beta - B[k]
            f += b if b < 0 else 0.0
            slope += 1.0 if b < 0 else 0.0
        if not (f < 0 and slope > 0):
            break
        old = beta
        beta -= f / slope
        if not beta > old:
            break
    return beta


cdef inline bint step_crammer_singer(EpochState* task, const double* s, Py_ssize_t K, Py_ssize_t y, double C,
                                     double norm, double* alpha, double* change, double* spare) noexcept nogil:
    """The dual over all α of a row, exactly: α_k = min(0, (β − B_k)/‖x‖²), Σ α = 0, with B = G − ‖x‖²α; change = Δα.

    Scores are taken relative to s_y, B to B_y or to the largest: cap may be far smaller than they are.
    """
    cdef double D = 0.5 / C if task.squared else 0.0, cap = HUGE_VAL if task.squared else norm * C
    cdef double share = norm / (norm + D), inverse = 1.0 / norm
    cdef double a_y = alpha[y], top = -HUGE_VAL, highest = 0, gap = 0, gain = 0, total = 0, factor = 1.0
    cdef double G, B, b, d, beta, margin, B_y = -norm * a_y
    cdef Py_ssize_t k
    for k in range(K):                                     # G and B relative to s_y
        G = s[k] - s[y] + 1.0
        G = G if k != y else 0.0
        B = G - norm * alpha[k] - B_y
        B = B if k != y else -HUGE_VAL
        spare[k] = B
        change[k] = G
        highest = B if B > highest else highest
        top = G if G > top else top
        gap += alpha[k] * G
    margin = share * highest if task.squared else cap
    if highest > margin:                                   # f ≤ 0 so much left of the largest B: that becomes 0
        for k in range(K):
            spare[k] -= highest
        beta = crammer_singer_threshold(spare, K, -highest, share, cap, -margin)
    else:                                                  # f ≤ 0 at B_y
        beta = crammer_singer_threshold(spare, K, 0.0, share, cap, 0.0)
    for k in range(K):
        b = (beta - spare[k]) * inverse
        b = b if b < 0 else 0.0
        spare[k] = b if k != y else 0.0
        total -= spare[k]
    if not task.squared and total > C:
        factor = C / total
        total = C
    for k in range(K):
        b = factor * spare[k] if k != y else total
        G = change[k]
        d = b - alpha[k]
        gain -= d * (G + 0.5 * norm * d)
        spare[k] = b
        change[k] = d
    gain -= 0.5 * D * (total - a_y) * (total + a_y)
    gap += C * top * top + 0.5 * D * a_y * a_y if task.squared else C * top
    task.gap += gap if gap > 0 else 0.0
    if not gain > 0:
        return False
    task.gain += gain
    for k in range(K):
        alpha[k] = spare[k]
    return True


@cython.final
cdef class SvmRows:
    """Rows of a segment with their labels, the weights of their losses and ‖x‖², for all blocks of labels.

    A row weighs own_C in the problem of its own label, and C in those of the others; in a joint problem both are equal.
    Rows of regression have targets, and no labels.
    """

    cdef CSRView view
    cdef const int32_t[::1] labels
    cdef const double[::1] C, own_C, norms, targets

    def __cinit__(self, CSRView rows not None, const int32_t[::1] labels, const double[::1] C,
                  const double[::1] own_C, const double[::1] norms, const double[::1] targets):
        cdef Py_ssize_t n = rows.stop
        if not C.shape[0] == own_C.shape[0] == norms.shape[0] == max(labels.shape[0], targets.shape[0]) == n:
            raise ValueError(f"labels, targets, C or norms do not fit {n} rows")
        if labels.shape[0] and targets.shape[0]:
            raise ValueError("rows have labels or targets")
        self.view, self.labels, self.C, self.own_C, self.norms = rows, labels, C, own_C, norms
        self.targets = targets


@cython.final
cdef class RowDuals:
    """Rows in the dual of a block of labels: α [n, K], gaps, rounds until one is due, rounds that it rests then."""

    cdef double[:, ::1] alpha
    cdef double[::1] gaps
    cdef int32_t[::1] skip, wait

    def __cinit__(self, double[:, ::1] alpha, double[::1] gaps, int32_t[::1] skip, int32_t[::1] wait):
        if not alpha.shape[0] == gaps.shape[0] == skip.shape[0] == wait.shape[0]:
            raise ValueError(f"gaps, skip or wait do not fit the dual variables of {alpha.shape[0]} rows")
        self.alpha, self.gaps, self.skip, self.wait = alpha, gaps, skip, wait


@cython.final
cdef class BlockWeights:
    """The weights [V, K] and intercepts of a block of labels, its task, and Hsieh's bounds [4, K], old and new.

    Where rows may have several labels, theirs are numbers of sets, `members` [sets, K] says which of these labels are
    in each, and `factors`, [2, K], what the costs of rows without a label, and with it, are multiplied by; else both
    are of length 0.
    """

    cdef EpochState[::1] task
    cdef double[:, ::1] W, limits
    cdef double[::1] bias
    cdef const uint8_t[:, ::1] members
    cdef const double[:, ::1] factors
    cdef double* spare               # [4, K]

    def __cinit__(self, EpochState[::1] task, double[:, ::1] W, double[::1] bias, double[:, ::1] limits,
                  const uint8_t[:, ::1] members, const double[:, ::1] factors):
        cdef Py_ssize_t K = W.shape[1]
        if task.shape[0] == 0 or bias.shape[0] != K or limits.shape[0] != 4 or limits.shape[1] != K:
            raise ValueError(f"intercepts or limits do not fit {K} columns")
        if (members.shape[0] and members.shape[1] != K) or (
                factors.shape[0] and (factors.shape[0] != 2 or factors.shape[1] != K or not members.shape[0])):
            raise ValueError(f"sets of labels, or their factors, do not fit {K} columns")
        self.task, self.W, self.bias, self.limits = task, W, bias, limits
        self.members, self.factors = members, factors
        self.spare = <double*>allocate_zeros(checked_product(4, K), sizeof(double))
        if self.spare == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.spare)

    cdef inline bint has(self, int64_t label, Py_ssize_t k) noexcept nogil:
        """Whether a row of a label, or of a set of labels, has that of column k."""
        return self.members[label, k] if self.members.shape[0] else label - self.task[0].first == k


cdef int check_kind(EpochState* task, SvmRows rows, Py_ssize_t K) except -1:
    """Prove that the rows have what the task wants: targets and one column, or labels."""
    if (rows.targets.shape[0] if task.regression else rows.labels.shape[0]) != rows.view.stop:
        raise ValueError(f"{rows.view.stop} rows have no {'targets' if task.regression else 'labels'}")
    if task.regression and K != 1:
        raise ValueError(f"regression has one column, got {K}")
    return 0


def coordinate_epoch(BlockWeights weights not None, SvmRows rows not None, RowDuals duals not None,
                     const int64_t[::1] order, Py_ssize_t position, int64_t budget):
    """Visit the rows order[position:], at most `budget` multiply–adds; returns the position reached."""
    if duals.alpha.shape[0] != rows.view.stop or duals.alpha.shape[1] != weights.W.shape[1]:
        raise ValueError(f"dual variables of shape ({duals.alpha.shape[0]}, {duals.alpha.shape[1]}) do not fit")
    check_kind(&weights.task[0], rows, duals.alpha.shape[1])
    with nogil:
        if rows.view.single:
            position = visit_rows(weights, rows, duals, <const float*>rows.view.values, order, position, budget)
        else:
            position = visit_rows(weights, rows, duals, <const double*>rows.view.values, order, position, budget)
    return position


cdef Py_ssize_t visit_rows(BlockWeights weights, SvmRows rows, RowDuals duals, const number* reals,
                           const int64_t[::1] order, Py_ssize_t position, int64_t budget) noexcept nogil:
    """`coordinate_epoch` over values of a type."""
    cdef Py_ssize_t K = weights.W.shape[1], end = order.shape[0], k
    cdef int64_t i, y, start, m, next_row, work = 0
    cdef const int64_t* indptr = rows.view.indptr
    cdef const int32_t* columns = rows.view.indices
    cdef const int32_t* labels = NULL
    cdef const double* targets = NULL
    cdef const double* C = &rows.C[0]
    cdef const double* own_C = &rows.own_C[0]
    cdef const double* norms = &rows.norms[0]
    cdef double* W = &weights.W[0, 0]
    cdef double* bias = &weights.bias[0]
    cdef double* scores = weights.spare
    cdef double* change = scores + K
    cdef double* side = change + 2 * K
    cdef const uint8_t* members = &weights.members[0, 0] if weights.members.shape[0] else NULL
    cdef const double* factors = &weights.factors[0, 0] if weights.factors.shape[0] else NULL
    cdef double* alpha = &duals.alpha[0, 0]
    cdef double* gaps = &duals.gaps[0]
    cdef int32_t* skip = &duals.skip[0]
    cdef int32_t* wait = &duals.wait[0]
    cdef EpochState* t = &weights.task[0]
    cdef ShrinkingBounds bounds = ShrinkingBounds(&weights.limits[0, 0], &weights.limits[1, 0], &weights.limits[2, 0],
                                                  &weights.limits[3, 0])
    cdef RowCost own, other
    cdef bint rests, moved
    cdef double before
    if t.regression:
        targets = &rows.targets[0]
    else:
        labels = &rows.labels[0]
    while position < end and work < budget:
        i = order[position]
        position += 1
        start = indptr[i]
        m = indptr[i + 1] - start
        work += (m + 1) * (K + 7)
        if position + 8 < end:
            next_row = order[position + 8]
            prefetch(indptr + next_row)
            prefetch(C + next_row)
            prefetch(own_C + next_row)
            prefetch(norms + next_row)
            prefetch(gaps + next_row)
            if labels != NULL:
                prefetch(labels + next_row)
            else:
                prefetch(targets + next_row)
            prefetch_range(alpha + next_row * K, alpha + (next_row + 1) * K)
            next_row = order[position + 2]
            prefetch_range(columns + indptr[next_row], columns + indptr[next_row + 1])
            prefetch_range(reals + indptr[next_row], reals + indptr[next_row + 1])
        next_row = order[position] if position < end else i
        score_row(scores, W, K, columns + start, reals + start, m, columns + indptr[next_row],
                  indptr[next_row + 1] - indptr[next_row] if next_row != i else 0)
        for k in range(K):
            scores[k] += t.scaling * bias[k]
        before = t.gap
        rests = False
        if t.regression:
            moved = step_regression(t, scores[0], targets[i], cost_of(t, C[i], norms[i]), alpha + i, change, &bounds,
                                    &rests)
        elif t.joint:
            moved = step_crammer_singer(t, scores, K, labels[i], C[i], norms[i], alpha + i * K, change, change + K)
        else:
            y = labels[i] - t.first
            if members == NULL:
                for k in range(K):
                    side[k] = 1.0 if k == y else -1.0
            else:
                for k in range(K):
                    side[k] = 1.0 if members[labels[i] * K + k] else -1.0
            if factors != NULL:
                moved = step_each_cost(t, scores, K, side, C[i], norms[i], factors, alpha + i * K, change, &bounds,
                                       &rests)
            else:
                other = cost_of(t, C[i], norms[i])
                own = cost_of(t, own_C[i], norms[i]) if own_C[i] != C[i] else other
                moved = step_one_vs_rest(t, scores, K, side, own, other, alpha + i * K, change, &bounds, &rests)
        if moved:
            for k in range(K):
                bias[k] += t.scaling * change[k]
            add_row(W, K, columns + start, reals + start, m, change)
        gaps[i] = t.gap - before
        if rests:
            skip[i] = DROPPED
            gaps[i] = 0
        else:
            wait[i] = <int32_t>min(2 * wait[i] + 1, t.patience) if gaps[i] <= t.bar else 0
            skip[i] = wait[i]
    return position


def due_rows(int32_t[::1] skip, int64_t[::1] order):
    """Write the rows whose wait is over into `order`; returns how many. The others come an epoch nearer."""
    cdef Py_ssize_t i, size = 0
    with nogil:
        for i in range(skip.shape[0]):
            order[size] = i
            size += skip[i] == 0
            skip[i] -= skip[i] > 0
    return size


def objective_and_gap(BlockWeights weights not None, const double[:, ::1] scores, Py_ssize_t start,
                      SvmRows rows not None, const double[:, ::1] alpha, double[::1] gaps, int32_t[::1] skip):
    """The gaps of rows from their scores: exact as long as the weights rest. Rows with C = 0 stay out.

    Adds to the task's loss and linear. A dropped row that can move, and one with much to win, is due.
    """
    cdef Py_ssize_t i, k, y, K = scores.shape[1]
    cdef EpochState* t = &weights.task[0]
    cdef const double[::1] C = rows.C
    cdef bint own
    cdef double D, G, a, cost, shortfall, loss, top, gap, linear
    check_kind(t, rows, K)
    if not 0 <= start <= start + scores.shape[0] <= rows.C.shape[0] == alpha.shape[0] or K != weights.W.shape[1]:
        raise ValueError(f"{scores.shape[0]} rows from {start} and {alpha.shape[0]} dual variables do not fit")
    with nogil:
        for i in range(start, start + scores.shape[0]):
            if C[i] == 0:
                continue
            y = 0 if t.regression else rows.labels[i] - t.first
            D = 0.5 / C[i] if t.squared else 0.0
            loss = 0
            gap = 0
            linear = 0
            if t.regression:
                a = alpha[i, 0]
                G = rows.targets[i] - scores[i - start, 0]
                top = positive_part(fabs(G) - t.epsilon)
                loss = C[i] * (top * top if t.squared else top)
                linear = rows.targets[i] * a - t.epsilon * fabs(a) - 0.5 * D * a * a
                gap = loss + t.epsilon * fabs(a) + 0.5 * D * a * a - a * G
            elif t.joint:
                top = 0
                for k in range(K):
                    G = scores[i - start, k] - scores[i - start, y] + (k != y)
                    top = G if G > top else top
                    gap += alpha[i, k] * G
                    linear -= (k != y) * alpha[i, k]
                loss = C[i] * (top * top if t.squared else top)
                gap += loss + 0.5 * D * alpha[i, y] * alpha[i, y]
                linear -= 0.5 * D * alpha[i, y] * alpha[i, y]
            else:
                for k in range(K):
                    own = weights.has(rows.labels[i], k)
                    shortfall = 1.0 - (scores[i - start, k] if own else -scores[i - start, k])
                    cost = rows.own_C[i] if own else C[i]
                    if weights.factors.shape[0]:
                        cost *= weights.factors[own, k]
                    D = 0.5 / cost if t.squared else 0.0
                    a = alpha[i, k]
                    linear += a - 0.5 * D * a * a
                    gap += 0.5 * D * a * a - a * shortfall
                    if shortfall > 0:
                        shortfall *= cost * shortfall if t.squared else cost
                        gap += shortfall
                        loss += shortfall
            gaps[i] = gap if gap > 0 else 0.0
            t.loss += loss
            t.linear += linear
            if gaps[i] > (0 if skip[i] == DROPPED else t.bar):
                skip[i] = 0


def squared_norms(const int64_t[::1] indptr, const number[::1] values, double[::1] norms):
    """norms[i] = ‖x_i‖²."""
    cdef Py_ssize_t i
    if values.shape[0] == 0:
        norms[:] = 0
        return
    with nogil:
        for i in range(norms.shape[0]):
            norms[i] = squared_norm(&values[0] + indptr[i], indptr[i + 1] - indptr[i])


def squared_frobenius_norm(const double[:, ::1] W):
    """‖W‖², a sum for each row of W."""
    cdef Py_ssize_t j
    cdef double total = 0
    with nogil:
        for j in range(W.shape[0]):
            total += squared_norm(&W[j, 0], W.shape[1])
    return total
