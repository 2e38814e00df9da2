"""Stochastic steps of a CRF: a step for every mini-batch of sequences, which costs their non-zeros.

With g the mean gradient of the batch's −log p(y | x), λ₁ and λ₂ the priors' share of a sequence, t the steps so far:

    SGD       η = η₀ / (1 + η₀ λ₂ t),   θ ← (1 − η λ₂) θ − η g          θ = scale · w: a step changes `scale` and some w
    Adagrad   h = 1e-10 + √Σ g²,        θ ← soft(h θ − η₀ g, η₀ λ₁) / (h + η₀ λ₂)         (Duchi, Hazan & Singer 2011)

In Adagrad a weight without a gradient has g = 0 and the same h, so n steps of rest are, with ρ = h / (h + η₀ λ₂) and
τ = η₀ λ₁ / (h + η₀ λ₂), |θ| ← max(0, ρⁿ |θ| − τ (1 − ρⁿ) / (1 − ρ)): they are owed until the feature is next seen.

Weights are one vector: the table [D, K] of features seen with many labels, weights of the few labels of the others,
pairs of labels [K, K], and for order 2 triples [K, K, K].
"""

from libc.math cimport INFINITY, exp, expm1, fabs, log1p, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastlin.engine.core.allocation cimport checked_product
from fastlin.engine.chain.chain cimport Chain, Room, close_room, open_room, reserve, value_of
from fastlin.engine.core.csr cimport number
from fastlin.engine.chain.hybrid cimport Hybrid, score
from fastlin.engine.core.mathx cimport exponential
from fastlin.engine.chain.chain_inference cimport infer

cdef struct Rule:
    bint adagrad
    double eta0, l1, l2


cdef inline double soft(double x, double threshold) noexcept nogil:
    return x - threshold if x > threshold else x + threshold if x < -threshold else 0.0


cdef inline double rested(double theta, double squares, double n, const Rule* rule) noexcept nogil:
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


cdef inline void adapt(double* theta, double* squares, double g, const Rule* rule) noexcept nogil:
    """One step of Adagrad."""
    cdef double h
    squares[0] += g * g
    h = 1e-10 + sqrt(squares[0])
    theta[0] = soft(h * theta[0] - rule.eta0 * g, rule.eta0 * rule.l1) / (h + rule.eta0 * rule.l2)


cdef inline void lay_out(Chain* chain, double* memory) noexcept nogil:
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


cdef inline void tie(Chain* chain, const double* two, const double* three, double scale, double* A) noexcept nogil:
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


cdef struct Batch:           # what the kernel works on; the sequences of a mini-batch are at `order`
    const int64_t* indptr
    const int32_t* features
    const int64_t* sequences
    const int32_t* y
    const int64_t* order
    Py_ssize_t n
    const int64_t* starts
    const int32_t* labels    # of all weights of features
    Py_ssize_t n_links
    double* w
    double* links            # the last of w
    double* squares
    double* sums             # of Adagrad's gradients, zeros between steps
    int64_t* settled         # steps
    double* counts           # of pairs and triples of labels: expected less observed
    double* residuals        # [tokens, P]
    int64_t stride           # of the values; 0: ones for one sequence stand for all


cdef inline int64_t place_of(const Batch* these, const Hybrid* weights, int64_t j, int64_t q) noexcept nogil:
    """Where the weight q, of the feature j, is."""
    cdef int64_t D = weights.D, K = weights.K
    return j * K + these.labels[q] if j < D else D * K + q - these.starts[D]


cdef inline void wake(const Batch* these, const Hybrid* weights, const Rule* rule, int64_t t) noexcept nogil:
    """Pay what the features of a batch owe."""
    cdef int64_t n, p, q, j, place
    for n in range(these.n):
        for p in range(these.indptr[these.sequences[these.order[n]]],
                       these.indptr[these.sequences[these.order[n] + 1]]):
            j = these.features[p]
            if these.settled[j] == t:
                continue
            for q in range(these.starts[j], these.starts[j + 1]):
                place = place_of(these, weights, j, q)
                these.w[place] = rested(these.w[place], these.squares[place], <double>(t - these.settled[j]), rule)
            these.settled[j] = t


cdef inline void observe(const Batch* these, const int32_t* y, Py_ssize_t T, Py_ssize_t K, bint triples) noexcept nogil:
    """Take the pairs and triples of a sequence's labels from the counts."""
    cdef Py_ssize_t t
    for t in range(1, T):
        these.counts[y[t - 1] * K + y[t]] -= 1
        if triples and t > 1:
            these.counts[K * K + (y[t - 2] * K + y[t - 1]) * K + y[t]] -= 1


cdef inline void expect(const Batch* these, const Chain* chain, const double* exact, const double* Q) noexcept nogil:
    """Add expected transitions: `exact` [size, P], and Q, to be multiplied by M."""
    cdef Py_ssize_t h, i, j, c, K = chain.K, P = chain.P
    cdef double g
    for h in range(chain.rows):
        for i in range(K):
            c = (h * P + i) * P
            for j in range(K):
                g = exact[c + j] + Q[c + j] * chain.M[c + j]
                these.counts[i * K + j] += g
                if chain.rows > 1 and h < K:
                    these.counts[K * K + (h * K + i) * K + j] += g


cdef inline double residuals_of(const Batch* these, const Hybrid* weights, const number* values, const Chain* chain,
                                Room* room, double scale, double* exact) noexcept nogil:
    """Residuals and counts of a batch; returns its Σ −log p(y | x), −∞ where scores have left the numbers."""
    cdef int64_t n, s
    cdef Py_ssize_t T, t, k, P = chain.P
    cdef double log_z, loss = 0
    cdef double* r = these.residuals
    for n in range(these.n):
        s = these.sequences[these.order[n]]
        T = these.sequences[these.order[n] + 1] - s
        if T == 0:
            continue
        score(weights, these.indptr + s, these.features + these.indptr[s], values + these.indptr[s] * these.stride,
              T, P, room.S)
        if scale != 1:
            for k in range(T * P):
                room.S[k] *= scale
        log_z = infer(chain, room, T, NULL, NULL, exact, NULL)
        if not -INFINITY < log_z < INFINITY:
            return -INFINITY
        loss += log_z - value_of(chain, room.S, T, NULL, NULL, these.y + s)
        memcpy(r, room.p, T * P * sizeof(double))
        for t in range(T):
            r[t * P + these.y[s + t]] -= 1
        r += T * P
        observe(these, these.y + s, T, weights.K, chain.rows > 1)
    return loss


cdef inline void scatter(const Batch* these, const Hybrid* weights, const number* values, Py_ssize_t P, double factor,
                         double* target) noexcept nogil:
    """target += factor · Xᵀ R, for the weights of features."""
    cdef int64_t n, token, p, q, j
    cdef double x
    cdef const double* r = these.residuals
    for n in range(these.n):
        for token in range(these.sequences[these.order[n]], these.sequences[these.order[n] + 1]):
            for p in range(these.indptr[token], these.indptr[token + 1]):
                j, x = these.features[p], factor * values[p * these.stride]
                for q in range(these.starts[j], these.starts[j + 1]):
                    target[place_of(these, weights, j, q)] += x * r[these.labels[q]]
            r += P


cdef inline void adapt_features(const Batch* these, const Hybrid* weights, const Rule* rule, int64_t t) noexcept nogil:
    """A step of Adagrad for every feature of a batch, once."""
    cdef int64_t n, p, q, j, place
    for n in range(these.n):
        for p in range(these.indptr[these.sequences[these.order[n]]],
                       these.indptr[these.sequences[these.order[n] + 1]]):
            j = these.features[p]
            if these.settled[j] != t:
                continue
            for q in range(these.starts[j], these.starts[j + 1]):
                place = place_of(these, weights, j, q)
                adapt(&these.w[place], &these.squares[place], these.sums[place], rule)
                these.sums[place] = 0
            these.settled[j] = t + 1


cdef Py_ssize_t most_tokens(const int64_t[::1] sequences, const int64_t[::1] order, Py_ssize_t batch) noexcept nogil:
    """Of a mini-batch."""
    cdef Py_ssize_t n, tokens = 0, most = 0
    for n in range(order.shape[0]):
        if n % batch == 0:
            tokens = 0
        tokens += sequences[order[n] + 1] - sequences[order[n]]
        most = max(most, tokens)
    return most


def descend(const int64_t[::1] indptr, const int32_t[::1] indices, const number[::1] values,
            const int64_t[::1] sequences, const int32_t[::1] y, const int64_t[::1] order, Py_ssize_t batch,
            const int64_t[::1] starts, Py_ssize_t D, Py_ssize_t single, const int32_t[::1] labels, Py_ssize_t K,
            Py_ssize_t rows, double[::1] w, const double[::1] linked, double[::1] scale, double[::1] squares,
            double[::1] sums, int64_t[::1] settled, int64_t t, bint adagrad, double eta0, double l1, double l2):
    """Take a step for each `batch` of the sequences in `order`; t steps have been taken before.

    Where there are fewer `values` than `indices`, all are ones, and there are as many as the longest sequence needs.
    `linked` has a one for every pair and triple of labels that has a weight, else zero. `squares`, `sums` (zeros) and
    `settled`, the step up to which a feature is settled, are Adagrad's. Returns Σ −log p(y | x), each before its step,
    −∞ where scores have left the numbers.
    """
    cdef Py_ssize_t n_links = linked.shape[0], P = (K + 7) // 8 * 8, size = rows * P, first = 0, k
    cdef Py_ssize_t room_of = most_tokens(sequences, order, batch)
    cdef Rule rule = Rule(adagrad, eta0, l1, l2)
    cdef Chain chain
    cdef Hybrid weights
    cdef Batch these
    cdef Room room
    cdef const number* amounts = &values[0] if values.shape[0] else NULL
    cdef double* memory = NULL
    cdef double eta, step, found, loss = 0
    memset(&room, 0, sizeof(Room))
    memset(&chain, 0, sizeof(Chain))
    memset(&these, 0, sizeof(Batch))
    memset(&weights, 0, sizeof(Hybrid))
    chain.K, chain.P, chain.rows, chain.size = K, P, rows, size
    weights.K, weights.D, weights.single, weights.starts, weights.table = K, D, single, &starts[0], &w[0]
    these.indptr, these.sequences, these.y, these.starts = &indptr[0], &sequences[0], &y[0], &starts[0]
    these.w, these.links, these.n_links = &w[0], &w[w.shape[0] - n_links], n_links
    these.settled = &settled[0] if settled.shape[0] else NULL
    these.stride = values.shape[0] == indices.shape[0]
    if labels.shape[0]:
        these.labels, these.features = &labels[0], &indices[0]
        weights.labels, weights.theta = these.labels + starts[D], &w[D * K]
    if adagrad:
        these.squares, these.sums = &squares[0], &sums[0]
    try:
        open_room(&room, &chain, room_of, False, False)
        memory = reserve(checked_product(3 * size + P, P) + P + size + n_links + checked_product(2 * P, room_of))
        lay_out(&chain, memory)
        these.counts = memory + (2 * size + P) * P + P + size
        room.S = these.counts + n_links + size * P
        these.residuals = room.S + room_of * P
        with nogil:
            while first < order.shape[0]:
                these.order, these.n = &order[first], min(batch, order.shape[0] - first)
                first += batch
                if adagrad:
                    wake(&these, &weights, &rule, t)
                tie(&chain, these.links, these.links + K * K, scale[0], memory)
                memset(these.counts, 0, (n_links + size * P) * sizeof(double))
                memset(room.Q, 0, size * P * sizeof(double))
                found = residuals_of(&these, &weights, amounts, &chain, &room, scale[0], these.counts + n_links)
                loss += found
                if found == -INFINITY:
                    break
                expect(&these, &chain, these.counts + n_links, room.Q)
                eta = eta0 / (1 + eta0 * l2 * t)
                if adagrad:
                    scatter(&these, &weights, amounts, P, 1.0 / these.n, these.sums)
                    adapt_features(&these, &weights, &rule, t)
                    for k in range(n_links):
                        if linked[k] != 0:
                            adapt(&these.links[k], &squares[w.shape[0] - n_links + k], these.counts[k] / these.n, &rule)
                else:
                    scale[0] *= 1 - eta * l2
                    step = eta / (these.n * scale[0])
                    scatter(&these, &weights, amounts, P, -step, these.w)
                    for k in range(n_links):
                        these.links[k] -= step * linked[k] * these.counts[k]
                t += 1
    finally:
        close_room(&room)
        free(memory)
    return loss


def settle(const int64_t[::1] starts, Py_ssize_t D, const int32_t[::1] labels, Py_ssize_t K, double[::1] w,
           const double[::1] squares, int64_t[::1] settled, int64_t t, double eta0, double l1, double l2):
    """Adagrad's weights of all features after t steps."""
    cdef int64_t j, q, place
    cdef Rule rule = Rule(True, eta0, l1, l2)
    with nogil:
        for j in range(starts.shape[0] - 1):
            for q in range(starts[j], starts[j + 1]):
                place = j * K + labels[q] if j < D else D * K + q - starts[D]
                w[place] = rested(w[place], squares[place], <double>(t - settled[j]), &rule)
            settled[j] = t
