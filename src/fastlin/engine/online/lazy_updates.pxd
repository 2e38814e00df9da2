"""Lazy weight state: what a feature owes since an instance last touched it, paid when it is touched again.

θ = A·W, with A the product of all shrinkages (1 − η_t λ₂). Three debts grow while a feature rests:

  L1        soft thresholds add up in units of W:  Σ η_t λ₁/A_t  (`Counters.debt`)
  scale     A may not become tiny. When it falls below a floor a new scale epoch starts with A = 1, and a
            feature of an older one is multiplied by the old A at its next touch. Nothing ever costs O(V).
  average   Σ_t θ_t = Σ_t A_t W_t. A change c·x of W at step s counts in all later sums, so with the average's weight
            S_t = Σ_{r ≤ t} A_r the sum is S·W − Σ_s S_{s−1} c_s x_s. The second term is linear in x: the
            coefficients −S_{s−1} c_s of an instance are kept in a residual R[n, K] over all epochs, and one
            backward pass, XᵀR, takes them into `total` at the end. An averaged epoch costs one row of R
            an instance, where the usual way writes a second weight for every non-zero.
            S·W − total cancels where the mean of A is far above A itself: there, too, a new scale epoch starts.

Adagrad has a scale for each weight, so its debts are counted in steps (`touched`), with ρ = h/(h + η₀λ₂):
after n steps θ = sgn θ·max(0, ρⁿ|θ| − τ(1 − ρⁿ)/(1 − ρ)), τ = η₀λ₁/h. FTRL's weights rest unchanged: they owe the
average only.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.csr cimport prefetch, prefetch_range, real
from fastlin.engine.core.mathx cimport exponential, logarithm
from fastlin.engine.online.update_rules cimport FTRL, Counters, ScaleEpoch, UpdateRule, soft_threshold

cdef enum:
    TOGETHER = 8             # features that catch up together

cdef struct LazyState:
    Py_ssize_t K
    double* total            # [V, K]; NULL where nothing is averaged
    double* squares          # [V, K] Σg²; Adagrad
    double* z                # [V, K]; FTRL
    double* root             # [V, K] √Σg²; FTRL
    double* batch_gradient   # [V, K] the gradient of a mini-batch; Adagrad and FTRL
    double* debt             # [V]; L1
    int32_t* scale_epoch     # [V]; scaled steps
    int64_t* touched         # [V]; Adagrad, and FTRL that is averaged or takes mini-batches
    const ScaleEpoch* past


cdef inline void catch_up_scaled(const UpdateRule* rule, const Counters* counters, const LazyState* lazy, real* W,
                                 Py_ssize_t j) noexcept nogil:
    """Bring feature j into the present scale epoch and pay its L1."""
    cdef Py_ssize_t k, K = lazy.K
    cdef real* w = W + j * K
    cdef const ScaleEpoch* past
    cdef double owed
    cdef bint alive
    if lazy.scale_epoch != NULL and lazy.scale_epoch[j] < counters.scale_epoch:
        while lazy.scale_epoch[j] < counters.scale_epoch:
            past = lazy.past + lazy.scale_epoch[j]
            owed = past.debt - lazy.debt[j] if lazy.debt != NULL else 0.0
            alive = False
            if lazy.total != NULL:                        # no L1 here
                for k in range(K):
                    lazy.total[j * K + k] += past.average_weight * w[k]
            for k in range(K):
                w[k] = <real>(soft_threshold(w[k], owed) * past.scale)
                alive = alive or w[k] != 0
            lazy.scale_epoch[j] = lazy.scale_epoch[j] + 1 if alive else <int32_t>counters.scale_epoch
            if lazy.debt != NULL:
                lazy.debt[j] = 0
    if lazy.debt != NULL and lazy.debt[j] < counters.debt:
        owed = counters.debt - lazy.debt[j]
        for k in range(K):
            w[k] = <real>soft_threshold(w[k], owed)
        lazy.debt[j] = counters.debt


cdef inline double one_minus_exp(double z) noexcept nogil:
    """1 − e^−z for z ≥ 0 without cancellation: e^−z − 1 by its own series where z is small."""
    cdef double p, x = z if z < 0.4 else 0.4
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
    return x * p if z < 0.4 else 1.0 - exponential(-z)


cdef inline double log1p_positive(double q) noexcept nogil:
    """log(1 + q) for q ≥ 0, the rounding of 1 + q made good."""
    cdef double u = 1.0 + q
    return logarithm(u) + (q - (u - 1.0)) / u


cdef inline void catch_up_adagrad(const UpdateRule* rule, const Counters* counters, const LazyState* lazy, real* W,
                                  Py_ssize_t j) noexcept nogil:
    """Pay feature j's shrinkages, thresholds and share of the average for the steps since its last touch."""
    cdef Py_ssize_t k, K = lazy.K
    cdef int64_t rested = counters.steps - lazy.touched[j]
    cdef double steps = <double>rested
    cdef double averaged = <double>(rested if rested < counters.averaged else counters.averaged)
    cdef bint decays = rule.step != FTRL
    cdef double l1 = rule.eta0 * rule.l1 * decays, l2 = rule.eta0 * rule.l2 * decays
    cdef real* w = W + j * K
    cdef const double* squares = lazy.squares + j * K
    cdef double* total = lazy.total + j * K if lazy.total != NULL else NULL
    cdef double h, q, decay
    if rested == 0:
        return
    lazy.touched[j] = counters.steps
    if total != NULL and l2 == 0:
        for k in range(K):
            total[k] += averaged * w[k]
    elif total != NULL:                                   # no L1 here: θ, ρθ, ρ²θ, …
        for k in range(K):
            q = l2 / (1e-10 + sqrt(squares[k]))
            decay = log1p_positive(q)
            total[k] += w[k] * exponential(-decay * (steps - averaged)) * (one_minus_exp(decay * averaged) / q)
    if l2 == 0:
        if l1 > 0:
            for k in range(K):
                w[k] = <real>soft_threshold(w[k], steps * l1 / (1e-10 + sqrt(squares[k])))
        return
    if l1 == 0:
        for k in range(K):
            w[k] = <real>(w[k] * exponential(-log1p_positive(l2 / (1e-10 + sqrt(squares[k]))) * steps))
        return
    for k in range(K):
        h = 1e-10 + sqrt(squares[k])
        q = l2 / h                                        # ρ = 1/(1 + q)
        decay = steps * log1p_positive(q)
        w[k] = <real>soft_threshold(w[k] * exponential(-decay), l1 / h * one_minus_exp(decay) * (1 + q) / q)


cdef inline void catch_up_column(const UpdateRule* rule, const Counters* counters, const LazyState* lazy, real* W,
                                 const int32_t* indices, Py_ssize_t m) noexcept nogil:
    """`catch_up_adagrad` of different features, a vector of them at a time: one column, λ₂ alone and no average."""
    cdef double[TOGETHER] h
    cdef double[TOGETHER] rested
    cdef double l2 = rule.eta0 * rule.l2
    cdef Py_ssize_t first = 0, p, size
    cdef int32_t j
    for p in range(TOGETHER):
        h[p], rested[p] = 1.0, 0.0
    while first < m:
        size = m - first if m - first < TOGETHER else TOGETHER
        for p in range(size):
            j = indices[first + p]
            h[p], rested[p] = lazy.squares[j], <double>(counters.steps - lazy.touched[j])
            lazy.touched[j] = counters.steps
        for p in range(TOGETHER):
            h[p] = exponential(-log1p_positive(l2 / (1e-10 + sqrt(h[p]))) * rested[p])
        for p in range(size):
            W[indices[first + p]] = <real>(W[indices[first + p]] * h[p])
        first += size


cdef inline void catch_up(const UpdateRule* rule, const Counters* counters, const LazyState* lazy, real* W,
                          Py_ssize_t j) noexcept nogil:
    if lazy.touched != NULL:
        catch_up_adagrad(rule, counters, lazy, W, j)
    else:
        catch_up_scaled(rule, counters, lazy, W, j)


cdef inline void catch_up_row(const UpdateRule* rule, const Counters* counters, const LazyState* lazy,
                              const int64_t* indptr, const int32_t* indices, int64_t i, int64_t ahead,
                              real* W) noexcept nogil:
    """Pay the debts of row i's features, and fetch those of row `ahead`."""
    cdef int64_t p, j, start = indptr[i], m = indptr[i + 1] - start, m_ahead = indptr[ahead + 1] - indptr[ahead]
    cdef const int32_t* soon = indices + indptr[ahead]
    cdef bint together = (lazy.K == 1 and lazy.touched != NULL and lazy.squares != NULL and lazy.total == NULL
                          and rule.l1 == 0 and rule.l2 > 0)
    for p in range(m if m > m_ahead else m_ahead):
        if p < m_ahead:
            j = soon[p]
            if lazy.debt != NULL:
                prefetch(lazy.debt + j)
            if lazy.scale_epoch != NULL:
                prefetch(lazy.scale_epoch + j)
            if lazy.touched != NULL:
                prefetch(lazy.touched + j)
            if lazy.squares != NULL:
                prefetch_range(lazy.squares + j * lazy.K, lazy.squares + (j + 1) * lazy.K)
            if lazy.total != NULL:
                prefetch_range(lazy.total + j * lazy.K, lazy.total + (j + 1) * lazy.K)
        if p < m and not together:
            catch_up(rule, counters, lazy, W, indices[start + p])
    if together:
        catch_up_column(rule, counters, lazy, W, indices + start, m)
