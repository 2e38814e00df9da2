"""The steps: how far an instance moves the weights. Schedules, PA, MIRA, Adagrad, FTRL, AROW.

`UpdateRule` is what a user chose ("adaptive" lowers its eta0); `Counters` is the scalar state of a run; `ScaleEpoch` is
what a scale factor left behind when it was reset. The three mirror the numpy dtypes in `fastlin.optim.update_rules`,
field by field: where these, which checkpoints hold, have another name, it stands in brackets.
"""

from libc.math cimport copysign, fabs, pow, sqrt
from libc.stdint cimport int64_t

from fastlin.engine.core.csr cimport real

cdef enum Step:
    GRADIENT = 0
    PASSIVE_AGGRESSIVE = 1
    PASSIVE_AGGRESSIVE_SQUARED = 2
    MIRA = 3
    ADAGRAD = 4
    FTRL = 5
    AROW = 6

cdef enum Schedule:
    CONSTANT = 0
    OPTIMAL = 1
    INVSCALING = 2
    INVERSE = 3
    PEGASOS = 4

cdef extern from *:
    const double MAX_SQUARES "1e280"       # beyond it a variance is 0 in all but name
    const double MAX_SLOPE "1e12"          # of a loss, of which a step is made: scikit-learn's

cdef struct UpdateRule:
    int64_t loss
    int64_t step
    int64_t schedule
    int64_t fit_intercept
    int64_t project          # Pegasos: scale θ into the ball of radius 1/√alpha
    int64_t batch_size
    int64_t average_from     # the first t whose weights count in the average; 0: no average
    double eta0
    double power
    double offset            # t_opt of the schedule "optimal"
    double alpha
    double l1
    double l2
    double C                 # of PA and MIRA; AROW's 1/r
    double cancellation      # how much larger than θ the average's S·W/T may grow before a new scale epoch starts
    double weight_bound      # [reach] weights never grow beyond this
    double intercept_decay   # the intercept's share of a step; to PA and MIRA the square of its value
    int64_t one_vs_rest      # a problem of two labels for each column, instead of one of all labels
    double epsilon           # of losses of residuals

cdef struct Counters:
    int64_t t                # instances counted
    int64_t steps
    int64_t averaged         # steps in the average
    int64_t scale_epoch      # [generation] its number
    int64_t updates          # since the caller last set it to 0, like mistakes and loss
    int64_t mistakes         # rows for which another label was predicted before their step
    double loss
    double scale             # A: θ = A·W for features of this scale epoch
    double average_weight    # [mass] Σ A_t over the averaged steps of this scale epoch
    double debt              # Σ η_t λ₁ / A_t over the steps of this scale epoch
    double norm              # ‖W‖², kept for Pegasos's projection only
    double weight_bound      # [reach] an upper bound of |W|

cdef struct ScaleEpoch:
    double scale
    double average_weight    # [mass]
    double debt


cdef inline double gradient_step(double slope, double step) noexcept nogil:
    """−step·slope; of labels, where a run gone astray may come back as rates fall, slopes are clipped."""
    return -step * (copysign(MAX_SLOPE, slope) if fabs(slope) > MAX_SLOPE else slope)


cdef inline double rate(const UpdateRule* rule, int64_t t) noexcept nogil:
    if rule.schedule == OPTIMAL:
        return 1.0 / (rule.alpha * (rule.offset + t - 1))
    if rule.schedule == INVSCALING:
        return rule.eta0 / pow(<double>t, rule.power)
    if rule.schedule == INVERSE:
        return rule.eta0 / (1.0 + rule.eta0 * rule.alpha * t)
    if rule.schedule == PEGASOS:
        return 1.0 / (rule.alpha * t)
    return rule.eta0


cdef inline double shrinkage(const UpdateRule* rule, int64_t t, double eta) noexcept nogil:
    """1 − ηλ₂; for Pegasos without the rounding of η, so that at t = 1 it is 0 and not 10⁻¹⁶."""
    if rule.schedule == PEGASOS:
        return 1.0 - rule.l2 / (rule.alpha * t)
    return 1.0 - eta * rule.l2


cdef inline double passive_aggressive_step(const UpdateRule* rule, double loss, double norm,
                                           double weight) noexcept nogil:
    """τ of Crammer et al. 2006 (PA, PA-I and PA-II), with C_i = weight·C; norm is ‖f(x,y) − f(x,r)‖²."""
    cdef double tau
    if norm <= 0 or loss <= 0:
        return 0.0
    if rule.step == PASSIVE_AGGRESSIVE_SQUARED:
        return loss / (norm + 0.5 / (weight * rule.C))
    tau = loss / norm
    return tau if tau < weight * rule.C else weight * rule.C


cdef inline void sift_down(double* heap, Py_ssize_t size, Py_ssize_t parent) noexcept nogil:
    """Restore the order of a heap, largest first, below `parent`."""
    cdef double value = heap[parent]
    cdef Py_ssize_t child = 2 * parent + 1
    while child < size:
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[parent] = heap[child]
        parent = child
        child = 2 * parent + 1
    heap[parent] = value


cdef inline bint mira_step(const double* s, Py_ssize_t K, Py_ssize_t y, double norm, double C,
                           double* direction, double* heap) noexcept nogil:
    """min ½‖θ − θ_t‖² + Cξ under (θ_y − θ_r)·x ≥ 1 − ξ for all r ≠ y, exactly, in O(K log K).

    With ℓ_r = 1 − s_y + s_r the solution is τ_r = max(0, ℓ_r − μ)/‖x‖². Over the m largest ℓ, either
    the sum of τ is free, μ = Σℓ/(m + 1), or it is C, μ = (Σℓ − C‖x‖²)/m. Losses leave the heap, largest
    first, for as long as they exceed the μ of those before them.
    """
    cdef Py_ssize_t k, size = 0, taken = 0
    cdef double loss, mu = 0, total = 0, sum_tau = 0
    for k in range(K):
        direction[k] = 0
        loss = 1.0 - s[y] + s[k]
        if k != y and loss > 0:
            heap[size] = loss
            size += 1
    if size == 0 or norm <= 0:
        return False
    for k in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, k)
    while size > 0 and heap[0] > mu:
        total += heap[0]
        taken += 1
        mu = total / (taken + 1)
        if mu > norm * C:
            mu = (total - norm * C) / taken
        size -= 1
        heap[0] = heap[size]
        sift_down(heap, size, 0)
    for k in range(K):
        loss = 1.0 - s[y] + s[k]
        if k != y and loss > mu:
            direction[k] = -(loss - mu) / norm
            sum_tau -= direction[k]
    direction[y] = sum_tau
    return True


cdef inline double soft_threshold(double value, double threshold) noexcept nogil:
    """sgn(value)·max(0, |value| − threshold), without a branch."""
    cdef double size = fabs(value) - threshold
    return copysign(size if size > 0 else 0.0, value)


cdef inline void adagrad_step(const UpdateRule* rule, real* w, double* squares, const double* g, double x,
                              Py_ssize_t K) noexcept nogil:
    """h = 1e-10 + √Σg²;  θ ← (hθ − η₀g)/(h + η₀λ₂), then the threshold η₀λ₁/h."""
    cdef Py_ssize_t k
    cdef double gradient, h, value
    for k in range(K):
        gradient = g[k] * x
        squares[k] += gradient * gradient
        h = 1e-10 + sqrt(squares[k])
        value = (h * w[k] - rule.eta0 * gradient) / (h + rule.eta0 * rule.l2)
        w[k] = <real>soft_threshold(value, rule.eta0 * rule.l1 / h)


cdef inline void adagrad_bias(const UpdateRule* rule, double* value, double* squares, const double* g,
                              Py_ssize_t K) noexcept nogil:
    """The intercept is the feature that is always 1, unpenalised."""
    cdef Py_ssize_t k
    for k in range(K):
        squares[k] += g[k] * g[k]
        value[k] -= rule.eta0 * g[k] / (1e-10 + sqrt(squares[k]))


cdef inline double ftrl_weight(const UpdateRule* rule, double z, double root, double l1, double l2) noexcept nogil:
    """θ = 0 where |z| ≤ λ₁, else −(z − sgn(z)λ₁)/((1 + √n)/α + λ₂); numerator and denominator times α."""
    return -soft_threshold(z, l1) * rule.eta0 / (1.0 + root + rule.eta0 * l2)


cdef inline void ftrl_step(const UpdateRule* rule, real* w, double* z, double* root, const double* g, double x,
                           Py_ssize_t K) noexcept nogil:
    """σ = (√(n + g²) − √n)/α;  z ← z + g − σθ;  n ← n + g²; `root` is √n, which saves a square root a weight."""
    cdef Py_ssize_t k
    cdef double gradient, grown, inverse = 1.0 / rule.eta0
    for k in range(K):
        gradient = g[k] * x
        grown = sqrt(root[k] * root[k] + gradient * gradient)
        z[k] += gradient - (grown - root[k]) * inverse * w[k]
        root[k] = grown
        w[k] = <real>ftrl_weight(rule, z[k], grown, rule.l1, rule.l2)


cdef inline void ftrl_bias(const UpdateRule* rule, double* value, double* z, double* root, double g) noexcept nogil:
    """FTRL's step of one intercept, unpenalised."""
    cdef double grown = sqrt(root[0] * root[0] + g * g)
    z[0] += g - (grown - root[0]) / rule.eta0 * value[0]
    root[0] = grown
    value[0] = ftrl_weight(rule, z[0], grown, 0.0, 0.0)


cdef inline double variance(const UpdateRule* rule, double squares) noexcept nogil:
    """σ of a weight whose precision, 1 at first, has grown by x²/r at each of its steps; `squares` is their Σx²."""
    return 1.0 / (1.0 + rule.C * squares)


cdef inline void arow_step(const UpdateRule* rule, real* w, double* squares, double change, double x,
                           double square) noexcept nogil:
    """θ ← θ + ασx, then 1/σ ← 1/σ + x²/r: the minimum of KL(N(θ, σ) ‖ N(θ_t, σ_t)) + (ℓ² + xᵀσx)/2r."""
    w[0] = <real>(w[0] + change * variance(rule, squares[0]) * x)
    squares[0] = squares[0] + square if squares[0] + square < MAX_SQUARES else MAX_SQUARES
