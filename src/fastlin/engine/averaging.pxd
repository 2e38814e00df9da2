"""Lazy weight state: what a feature owes since an instance last touched it, paid when it is touched again.

θ = A·W, with A the product of all shrinkages (1 − η_t λ₂). Three debts grow while a feature rests:

  L1        soft thresholds add up in units of W:  Σ η_t λ₁/A_t  (Clock.debt)
  scale     A may not become tiny. When it falls below a floor a new generation starts with A = 1, and a
            feature of an older one is multiplied by the old A at its next touch. Nothing ever costs O(V).
  average   Σ_t θ_t = Σ_t A_t W_t. A change c·x of W at step s counts in all later sums, so with the mass
            S_t = Σ_{r ≤ t} A_r the sum is S·W − Σ_s S_{s−1} c_s x_s. The second term is linear in x: the
            coefficients −S_{s−1} c_s of an instance are kept in a residual R[n, K] over all epochs, and one
            backward pass, XᵀR, takes them into `total` at the end. An averaged epoch costs one row of R
            an instance, where the usual way writes a second weight for every non-zero (DESIGN: 25–150 %).
            S·W − total cancels where the mean of A is far above A itself: there, too, a new generation starts.

Adagrad has a scale for each weight, so its debts are counted in steps (`touched`), with ρ = h/(h + η₀λ₂):
after n steps θ = sgn θ·max(0, ρⁿ|θ| − τ(1 − ρⁿ)/(1 − ρ)), τ = η₀λ₁/h.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.csr cimport real
from fastlin.engine.mathx cimport exponential, logarithm
from fastlin.engine.steps cimport Clock, Generation, Rule, soft

cdef struct Lazy:
    Py_ssize_t K
    double* total            # [V, K]; NULL where nothing is averaged
    double* squares          # [V, K] Σg²; Adagrad
    double* pending          # [V, K] the gradient of a mini-batch; Adagrad
    double* debt             # [V]; L1
    int32_t* generation      # [V]; scaled steps
    int64_t* touched         # [V]; Adagrad
    const Generation* past


cdef inline void settle_scaled(const Rule* rule, const Clock* clock, const Lazy* lazy, real* W, Py_ssize_t j) noexcept nogil:
    """Bring feature j into the present generation and pay its L1."""
    cdef Py_ssize_t k, K = lazy.K
    cdef real* w = W + j * K
    cdef const Generation* past
    cdef double value, owed
    cdef bint alive
    if lazy.generation != NULL and lazy.generation[j] < clock.generation:
        while lazy.generation[j] < clock.generation:
            past = lazy.past + lazy.generation[j]
            owed = past.debt - lazy.debt[j] if lazy.debt != NULL else 0.0
            alive = False
            for k in range(K):
                value = soft(w[k], owed)
                if lazy.total != NULL:
                    lazy.total[j * K + k] += past.mass * value
                w[k] = <real>(value * past.scale)
                alive = alive or w[k] != 0
            lazy.generation[j] = lazy.generation[j] + 1 if alive else <int32_t>clock.generation
            if lazy.debt != NULL:
                lazy.debt[j] = 0
    if lazy.debt != NULL and lazy.debt[j] < clock.debt:
        owed = clock.debt - lazy.debt[j]
        for k in range(K):
            w[k] = <real>soft(w[k], owed)
        lazy.debt[j] = clock.debt


cdef inline double series(double z) noexcept nogil:
    """1 − e^−z for z ≥ 0 without cancellation: e^−z − 1 by its own series where z is small."""
    cdef double p, far = 1.0 - exponential(-z)
    cdef double x = z if z < 0.4 else 0.4
    p = 1.0 - x / 14.0
    p = 1.0 - x / 13.0 * p
    p = 1.0 - x / 12.0 * p
    p = 1.0 - x / 11.0 * p
    p = 1.0 - x / 10.0 * p
    p = 1.0 - x / 9.0 * p
    p = 1.0 - x / 8.0 * p
    p = 1.0 - x / 7.0 * p
    p = 1.0 - x / 6.0 * p
    p = 1.0 - x / 5.0 * p
    p = 1.0 - x / 4.0 * p
    p = 1.0 - x / 3.0 * p
    p = 1.0 - x / 2.0 * p
    return x * p if z < 0.4 else far


cdef inline double log1p_positive(double q) noexcept nogil:
    """log(1 + q) for q ≥ 0, the rounding of 1 + q made good."""
    cdef double u = 1.0 + q
    return logarithm(u) + (q - (u - 1.0)) / u


cdef inline void settle_adagrad(const Rule* rule, const Clock* clock, const Lazy* lazy, real* W, Py_ssize_t j) noexcept nogil:
    """Pay feature j's shrinkages, thresholds and share of the average for the steps since its last touch."""
    cdef Py_ssize_t k, K = lazy.K
    cdef int64_t steps = clock.steps - lazy.touched[j]
    cdef int64_t averaged = steps if steps < clock.averaged else clock.averaged
    cdef real* w = W + j * K
    cdef double h, q, decay, kept, value
    if steps == 0:
        return
    lazy.touched[j] = clock.steps
    if rule.l2 == 0 and rule.l1 == 0:
        if lazy.total != NULL:
            for k in range(K):
                lazy.total[j * K + k] += averaged * <double>w[k]
        return
    for k in range(K):
        h = 1e-10 + sqrt(lazy.squares[j * K + k])
        q = rule.eta0 * rule.l2 / h                      # ρ = 1/(1 + q)
        decay = log1p_positive(q)
        if lazy.total != NULL:                           # no L1 here: θ, ρθ, ρ²θ, …
            kept = w[k] * exponential(-decay * (steps - averaged))
            lazy.total[j * K + k] += kept * (series(decay * averaged) / q if q > 0 else <double>averaged)
        value = w[k] * exponential(-decay * steps)
        if rule.l1 > 0:
            value = soft(value, rule.eta0 * rule.l1 / h * (series(decay * steps) * (1 + q) / q if q > 0 else <double>steps))
        w[k] = <real>value


cdef inline void settle(const Rule* rule, const Clock* clock, const Lazy* lazy, real* W, Py_ssize_t j) noexcept nogil:
    if lazy.touched != NULL:
        settle_adagrad(rule, clock, lazy, W, j)
    else:
        settle_scaled(rule, clock, lazy, W, j)
