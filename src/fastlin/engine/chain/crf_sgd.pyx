"""Stochastic steps of a CRF: a step for every mini-batch of sequences, which costs their non-zeros.

With g the mean gradient of the batch's −w log p(y | x), w the weight of a sequence, λ₁ and λ₂ the priors' share of a
sequence, t the steps so far:

    SGD       η = η₀ / (1 + η₀ λ₂ t),   θ ← (1 − η λ₂) θ − η g          θ = scale · w: a step changes `scale` and some w
    Adagrad   h = 1e-10 + √Σ g²,        θ ← soft(h θ − η₀ g, η₀ λ₁) / (h + η₀ λ₂)         (Duchi, Hazan & Singer 2011)

In Adagrad a weight without a gradient has g = 0 and the same h, so n steps of rest are, with ρ = h / (h + η₀ λ₂) and
τ = η₀ λ₁ / (h + η₀ λ₂), |θ| ← max(0, ρⁿ |θ| − τ (1 − ρⁿ) / (1 − ρ)): they are owed until the feature is next seen.

Weights are one vector: the table [D, K] of features seen with many labels, weights of the few labels of the others,
pairs of labels [K, K], and for order 2 triples [K, K, K].
"""

cimport cython
from libc.math cimport INFINITY, exp, expm1, fabs, log1p, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastlin.engine.core.allocation cimport checked_product
from fastlin.engine.chain.chain cimport Chain, Trellis, free_trellis, allocate_trellis, allocate_doubles, path_score
from fastlin.engine.core.csr cimport number
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.chain.hybrid_weights cimport HybridWeights, score_tokens
from fastlin.engine.core.mathx cimport exponential
from fastlin.engine.chain.chain_inference cimport chain_marginals
from fastlin.engine.chain.token_labels cimport TokenLabelSets, TokenLabels, all_known, restrict_scores

cdef struct StepRule:
    bint adagrad
    double eta0, l1, l2


cdef inline double soft_threshold(double x, double threshold) noexcept nogil:
    return x - threshold if x > threshold else x + threshold if x < -threshold else 0.0


cdef inline double decayed_weight(double theta, double squares, double n, const StepRule* rule) noexcept nogil:
    """A weight after n steps without a gradient."""
    cdef double h, decay, kept, size
    if theta == 0 or n == 0 or (rule.l1 == 0 and rule.l2 == 0):
        return theta
    h = 1e-10 + sqrt(squares)
    decay = -n * log1p(rule.eta0 * rule.l2 / h)              # log ρⁿ
    kept = exp(decay)
    size = kept * fabs(theta)
    if rule.l1 > 0:                                          # τ / (1 − ρ) = λ₁ / λ₂
        size -= -expm1(decay) * rule.l1 / rule.l2 if rule.l2 > 0 else n * rule.eta0 * rule.l1 / h
    return 0.0 if size <= 0 else size if theta > 0 else -size


cdef inline void adagrad_step(double* theta, double* squares, double g, const StepRule* rule) noexcept nogil:
    """One step of Adagrad."""
    cdef double h
    squares[0] += g * g
    h = 1e-10 + sqrt(squares[0])
    theta[0] = soft_threshold(h * theta[0] - rule.eta0 * g, rule.eta0 * rule.l1) / (h + rule.eta0 * rule.l2)


cdef inline void set_chain_arrays(Chain* chain, double* memory) noexcept nogil:
    """A chain's arrays, A [size, P] first, in a piece of memory."""
    cdef Py_ssize_t c, size = chain.size, P = chain.P, K = chain.K
    cdef double* ends = memory + (2 * size + P) * P
    chain.A, chain.M, chain.MT = memory, memory + size * P, memory + 2 * size * P
    chain.start, chain.end = ends, ends + P
    for c in range(size * P):
        memory[c] = -INFINITY
    memset(memory + size * P, 0, (size + P) * P * sizeof(double))
    for c in range(P + size):
        ends[c] = 0.0 if c % P < K else -INFINITY


cdef inline void set_transitions(Chain* chain, const double* two, const double* three, double scale,
                                 double* A) noexcept nogil:
    """A, M and Mᵀ, one behind the other, from weights of pairs and of triples, times `scale`."""
    cdef Py_ssize_t h, i, j, c, K = chain.K, P = chain.P
    cdef double top = -INFINITY
    cdef double* M = A + chain.size * P
    cdef double* MT = M + chain.size * P
    for h in range(chain.rows):
        for i in range(K):
            c = (h * P + i) * P
            for j in range(K):
                A[c + j] = two[i * K + j] + (three[(h * K + i) * K + j] if chain.rows > 1 and h < K else 0.0)
                A[c + j] *= scale
                top = A[c + j] if A[c + j] > top else top
    chain.shift = top
    for c in range(chain.size * P):
        M[c] = exponential(A[c] - top)
    if chain.rows == 1:
        for i in range(K):
            for j in range(K):
                MT[j * P + i] = M[i * P + j]


cdef struct SequenceBatch:   # what the kernel works on; the sequences of a mini-batch are at `order`
    const int64_t* indptr
    const int32_t* features
    const int64_t* sequences
    const int32_t* y
    TokenLabelSets sets
    bint partial             # whether there are labels that are not known
    const double* weights    # of the sequences, or NULL: all are 1
    const int64_t* order
    Py_ssize_t n
    const int64_t* starts
    const int32_t* labels    # of all weights of features
    Py_ssize_t n_transitions
    double* w
    double* transitions      # the last of w
    double* squares
    double* sums             # of Adagrad's gradients, zeros between steps
    int64_t* touched         # steps
    double* counts           # of pairs and triples of labels: expected less observed
    double* residuals        # [tokens, P]
    int64_t stride           # of the values; 0: ones for one sequence stand for all


cdef inline int64_t weight_place(const SequenceBatch* batch, const HybridWeights* weights, int64_t j,
                                 int64_t q) noexcept nogil:
    """Where the weight q, of the feature j, is."""
    cdef int64_t D = weights.D, K = weights.K
    return j * K + batch.labels[q] if j < D else D * K + q - batch.starts[D]


cdef inline void catch_up(const SequenceBatch* batch, const HybridWeights* weights, const StepRule* rule,
                          int64_t t) noexcept nogil:
    """Pay what the features of a batch owe."""
    cdef int64_t n, p, q, j, place
    for n in range(batch.n):
        for p in range(batch.indptr[batch.sequences[batch.order[n]]],
                       batch.indptr[batch.sequences[batch.order[n] + 1]]):
            j = batch.features[p]
            if batch.touched[j] == t:
                continue
            for q in range(batch.starts[j], batch.starts[j + 1]):
                place = weight_place(batch, weights, j, q)
                batch.w[place] = decayed_weight(batch.w[place], batch.squares[place], <double>(t - batch.touched[j]),
                                                rule)
            batch.touched[j] = t


cdef inline void subtract_observed(const SequenceBatch* batch, const int32_t* y, Py_ssize_t T, Py_ssize_t K,
                                   bint triples, double weight) noexcept nogil:
    """Take the pairs and triples of a sequence's labels from the counts."""
    cdef Py_ssize_t t
    for t in range(1, T):
        batch.counts[y[t - 1] * K + y[t]] -= weight
        if triples and t > 1:
            batch.counts[K * K + (y[t - 2] * K + y[t - 1]) * K + y[t]] -= weight


cdef inline void add_expected(const SequenceBatch* batch, const Chain* chain, const double* exact, const double* Q,
                              double sign) noexcept nogil:
    """Add expected transitions, or take them away: `exact` [size, P], and Q, to be multiplied by M."""
    cdef Py_ssize_t h, i, j, c, K = chain.K, P = chain.P
    cdef double g
    for h in range(chain.rows):
        for i in range(K):
            c = (h * P + i) * P
            for j in range(K):
                g = sign * (exact[c + j] + Q[c + j] * chain.M[c + j])
                batch.counts[i * K + j] += g
                if chain.rows > 1 and h < K:
                    batch.counts[K * K + (h * K + i) * K + j] += g


cdef inline void add_all_expected(const SequenceBatch* batch, const Chain* chain, Trellis* trellis, Trellis* allowed,
                                  double weight, double* exact) noexcept nogil:
    """Add what is expected of sequences of one weight to the counts, and begin anew."""
    cdef Py_ssize_t n = chain.size * chain.P
    add_expected(batch, chain, exact, trellis.Q, weight)
    memset(trellis.Q, 0, n * sizeof(double))
    if batch.partial:
        add_expected(batch, chain, exact + n, allowed.Q, -weight)
        memset(allowed.Q, 0, n * sizeof(double))
    memset(exact, 0, 2 * n * sizeof(double))


cdef inline double batch_residuals(const SequenceBatch* batch, const HybridWeights* weights, const number* values,
                                   const Chain* chain, Trellis* trellis, Trellis* allowed, double scale,
                                   double* exact) noexcept nogil:
    """Residuals and counts of a batch; returns its Σ −w log p(y | x), −∞ where scores have left the numbers.

    `exact` [2, size, P] is added the transitions that Q does not have: expected ones, and those of allowed paths.
    """
    cdef int64_t n, s
    cdef Py_ssize_t T, t, k, P = chain.P
    cdef double log_z, own, loss = 0, weight = 1
    cdef const int32_t* y
    cdef bint known
    cdef double* r = batch.residuals
    for n in range(batch.n):
        s = batch.sequences[batch.order[n]]
        T = batch.sequences[batch.order[n] + 1] - s
        if T == 0:
            continue
        score_tokens(weights, batch.indptr + s, batch.features + batch.indptr[s],
                     values + batch.indptr[s] * batch.stride, T, P, trellis.S)
        if scale != 1:
            for k in range(T * P):
                trellis.S[k] *= scale
        log_z = chain_marginals(chain, trellis, T, NULL, NULL, exact, NULL)
        if not -INFINITY < log_z < INFINITY:
            return -INFINITY
        y = batch.y + s
        known = not batch.partial or all_known(y, T)
        if known:
            own = path_score(chain, trellis.S, T, NULL, NULL, y)
        else:
            restrict_scores(&batch.sets, y, T, P, trellis.S, allowed.S)
            own = chain_marginals(chain, allowed, T, NULL, NULL, exact + chain.size * P, NULL)
        if batch.weights != NULL:
            weight = batch.weights[batch.order[n]]
        loss += weight * (log_z - own)
        memcpy(r, trellis.p, T * P * sizeof(double))
        if known:
            for t in range(T):
                r[t * P + y[t]] -= 1
            subtract_observed(batch, y, T, weights.K, chain.rows > 1, weight)
        else:
            for t in range(T):
                for k in range(weights.K):
                    r[t * P + k] -= allowed.p[t * P + k]
        if weight != 1:
            for k in range(T * P):
                r[k] *= weight
        if batch.weights != NULL:
            add_all_expected(batch, chain, trellis, allowed, weight, exact)
        r += T * P
    return loss


cdef inline void add_feature_gradient(const SequenceBatch* batch, const HybridWeights* weights, const number* values,
                                      Py_ssize_t P, double factor, double* target) noexcept nogil:
    """target += factor · Xᵀ R, for the weights of features."""
    cdef int64_t n, token, p, q, j
    cdef double x
    cdef const double* r = batch.residuals
    for n in range(batch.n):
        for token in range(batch.sequences[batch.order[n]], batch.sequences[batch.order[n] + 1]):
            for p in range(batch.indptr[token], batch.indptr[token + 1]):
                j, x = batch.features[p], factor * values[p * batch.stride]
                for q in range(batch.starts[j], batch.starts[j + 1]):
                    target[weight_place(batch, weights, j, q)] += x * r[batch.labels[q]]
            r += P


cdef inline void adagrad_features(const SequenceBatch* batch, const HybridWeights* weights, const StepRule* rule,
                                  int64_t t) noexcept nogil:
    """A step of Adagrad for every feature of a batch, once."""
    cdef int64_t n, p, q, j, place
    for n in range(batch.n):
        for p in range(batch.indptr[batch.sequences[batch.order[n]]],
                       batch.indptr[batch.sequences[batch.order[n] + 1]]):
            j = batch.features[p]
            if batch.touched[j] != t:
                continue
            for q in range(batch.starts[j], batch.starts[j + 1]):
                place = weight_place(batch, weights, j, q)
                adagrad_step(&batch.w[place], &batch.squares[place], batch.sums[place], rule)
                batch.sums[place] = 0
            batch.touched[j] = t + 1


cdef Py_ssize_t max_batch_tokens(const int64_t[::1] sequences, const int64_t[::1] order,
                                 Py_ssize_t batch_size) noexcept nogil:
    """Of a mini-batch."""
    cdef Py_ssize_t n, tokens = 0, most = 0
    for n in range(order.shape[0]):
        if n % batch_size == 0:
            tokens = 0
        tokens += sequences[order[n] + 1] - sequences[order[n]]
        most = max(most, tokens)
    return most


@cython.final
cdef class CRFWeights:
    """The weights on their way, how they lie, and what Adagrad remembers of each, for as long as a fit.

    `w` holds the table [n_tabled, K], the few weights of the other features, whose `labels` begin at `starts` for each
    feature, and those of pairs and triples of labels, of which `has_weight` says with a one or a zero which there are.
    `rows` is 1, or for order 2 K + 1. `adagrad` are Σg², the sums of gradients (zeros), and the step up to which a
    feature has caught up; of length 0 for SGD, whose weights are `scale` times w.
    """

    cdef HybridWeights weights
    cdef SequenceBatch batch
    cdef Py_ssize_t rows, n_features
    cdef bint adagrad
    cdef double[::1] w, scale, squares, sums
    cdef const double[::1] has_weight
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] labels
    cdef int64_t[::1] touched

    def __cinit__(self, const int64_t[::1] starts, Py_ssize_t n_tabled, Py_ssize_t single, const int32_t[::1] labels,
                  Py_ssize_t K, Py_ssize_t rows, double[::1] w, const double[::1] has_weight, double[::1] scale,
                  tuple adagrad):
        cdef Py_ssize_t n = starts.shape[0] - 1, of_features = w.shape[0] - has_weight.shape[0]
        self.starts, self.labels, self.w, self.has_weight, self.scale = starts, labels, w, has_weight, scale
        self.squares, self.sums, self.touched = adagrad
        self.rows, self.n_features, self.adagrad = rows, n, self.squares.shape[0] > 0
        if not (0 <= n_tabled <= n and n_tabled <= single <= n and labels.shape[0] == starts[n]):
            raise ValueError(f"{n_tabled} features of a table and {labels.shape[0]} labels do not fit {n} features")
        if of_features != n_tabled * K + starts[n] - starts[n_tabled] or has_weight.shape[0] < K * K:
            raise ValueError(f"{w.shape[0]} weights, {has_weight.shape[0]} of them of transitions, are not what fits")
        if self.adagrad and not (self.squares.shape[0] == self.sums.shape[0] == w.shape[0]
                                 and self.touched.shape[0] == n):
            raise ValueError(f"Adagrad's sums of {self.squares.shape[0]} weights do not fit {w.shape[0]}")
        self.weights.K, self.weights.D, self.weights.single = K, n_tabled, single
        self.weights.starts, self.weights.table = &starts[0], &w[0]
        self.batch.starts, self.batch.w, self.batch.n_transitions = &starts[0], &w[0], has_weight.shape[0]
        self.batch.transitions = &w[0] + of_features
        if labels.shape[0]:
            self.batch.labels = &labels[0]
            self.weights.labels, self.weights.theta = self.batch.labels + starts[n_tabled], &w[0] + n_tabled * K
        if self.touched.shape[0]:
            self.batch.touched = &self.touched[0]
        if self.adagrad:
            self.batch.squares, self.batch.sums = &self.squares[0], &self.sums[0]


def sgd_epoch(CRFWeights weights not None, CSRView tokens not None, const int64_t[::1] sequences,
              TokenLabels labels not None, const int64_t[::1] order, Py_ssize_t batch_size, int64_t t, double eta0,
              double l1, double l2):
    """Take a step for every `batch_size` of the sequences in `order`; t steps have been taken before.

    Where there are fewer values than indices, all are ones, and there are as many as the longest sequence needs.
    Returns Σ −log p(y | x), each before its step, −∞ where scores have left the numbers; y may be known in part.
    """
    cdef StepRule rule = StepRule(weights.adagrad, eta0, l1, l2)
    cdef SequenceBatch batch = weights.batch
    if sequences[sequences.shape[0] - 1] != tokens.stop or labels.n != tokens.stop:
        raise ValueError(f"sequences of {sequences[sequences.shape[0] - 1]} and labels of {labels.n} tokens do not "
                         f"fit {tokens.stop}")
    labels.check_sequences(sequences.shape[0] - 1)
    if labels.sets.K != weights.weights.K:
        raise ValueError(f"labels of {labels.sets.K} do not fit weights of {weights.weights.K}")
    batch.indptr, batch.features, batch.sequences, batch.y = tokens.indptr, tokens.indices, &sequences[0], labels.y
    batch.sets, batch.partial, batch.weights = labels.sets, labels.partial, labels.w
    batch.stride = tokens.n_values == tokens.n_indices
    if tokens.single:
        return take_steps(weights, &batch, <const float*>tokens.values, &rule, order, batch_size,
                          max_batch_tokens(sequences, order, batch_size), t)
    return take_steps(weights, &batch, <const double*>tokens.values, &rule, order, batch_size,
                      max_batch_tokens(sequences, order, batch_size), t)


cdef double take_steps(CRFWeights state, SequenceBatch* batch, const number* values, const StepRule* rule,
                       const int64_t[::1] order, Py_ssize_t batch_size, Py_ssize_t max_tokens, int64_t t) except? -1:
    """`sgd_epoch`, of batches of at most so many tokens."""
    cdef HybridWeights weights = state.weights
    cdef Py_ssize_t K = weights.K, P = (K + 7) // 8 * 8, size = state.rows * P, n_transitions = batch.n_transitions
    cdef Py_ssize_t first = 0, k
    cdef Chain chain
    cdef Trellis trellis, allowed
    cdef const double* has_weight = &state.has_weight[0]
    cdef double* scale = &state.scale[0]
    cdef double* squares = NULL
    cdef double* memory = NULL
    cdef double eta, step, found, loss = 0
    memset(&trellis, 0, sizeof(Trellis))
    memset(&allowed, 0, sizeof(Trellis))
    memset(&chain, 0, sizeof(Chain))
    chain.K, chain.P, chain.rows, chain.size = K, P, state.rows, size
    if rule.adagrad:
        squares = batch.squares + (batch.transitions - batch.w)
    try:
        allocate_trellis(&trellis, &chain, max_tokens, False, False)
        if batch.partial:
            allocate_trellis(&allowed, &chain, max_tokens, False, False)
            allowed.S = allocate_doubles(checked_product(max_tokens, P))
        memory = allocate_doubles(checked_product(4 * size + P, P) + P + size + n_transitions
                                  + checked_product(2 * P, max_tokens))
        set_chain_arrays(&chain, memory)
        batch.counts = memory + (2 * size + P) * P + P + size
        trellis.S = batch.counts + n_transitions + 2 * size * P
        batch.residuals = trellis.S + max_tokens * P
        with nogil:
            memset(batch.counts, 0, (n_transitions + 2 * size * P) * sizeof(double))
            memset(trellis.Q, 0, size * P * sizeof(double))
            if batch.partial:
                memset(allowed.Q, 0, size * P * sizeof(double))
            while first < order.shape[0]:
                batch.order, batch.n = &order[first], min(batch_size, order.shape[0] - first)
                first += batch_size
                if rule.adagrad:
                    catch_up(batch, &weights, rule, t)
                set_transitions(&chain, batch.transitions, batch.transitions + K * K, scale[0], memory)
                memset(batch.counts, 0, n_transitions * sizeof(double))
                found = batch_residuals(batch, &weights, values, &chain, &trellis, &allowed, scale[0],
                                        batch.counts + n_transitions)
                loss += found
                if found == -INFINITY:
                    break
                if batch.weights == NULL:
                    add_all_expected(batch, &chain, &trellis, &allowed, 1.0, batch.counts + n_transitions)
                eta = rule.eta0 / (1 + rule.eta0 * rule.l2 * t)
                if rule.adagrad:
                    add_feature_gradient(batch, &weights, values, P, 1.0 / batch.n, batch.sums)
                    adagrad_features(batch, &weights, rule, t)
                    for k in range(n_transitions):
                        if has_weight[k] != 0:
                            adagrad_step(&batch.transitions[k], &squares[k], batch.counts[k] / batch.n, rule)
                else:
                    scale[0] *= 1 - eta * rule.l2
                    step = eta / (batch.n * scale[0])
                    add_feature_gradient(batch, &weights, values, P, -step, batch.w)
                    for k in range(n_transitions):
                        batch.transitions[k] -= step * has_weight[k] * batch.counts[k]
                t += 1
    finally:
        free_trellis(&trellis)
        free(allowed.S)
        free_trellis(&allowed)
        free(memory)
    return loss


def catch_up_all(CRFWeights state not None, int64_t t, double eta0, double l1, double l2):
    """Adagrad's weights of all features after t steps."""
    cdef int64_t j, q, place
    cdef const SequenceBatch* all = &state.batch
    cdef StepRule rule = StepRule(True, eta0, l1, l2)
    if not state.adagrad:
        raise ValueError("weights of SGD owe nothing")
    with nogil:
        for j in range(state.n_features):
            for q in range(all.starts[j], all.starts[j + 1]):
                place = weight_place(all, &state.weights, j, q)
                all.w[place] = decayed_weight(all.w[place], all.squares[place], <double>(t - all.touched[j]), &rule)
            all.touched[j] = t
