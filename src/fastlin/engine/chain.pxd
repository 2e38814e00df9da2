"""Inference on one chain of T tokens with K labels, order 1 or 2.

    s(y) = Σ_t S[t, y_t] + start[y_0] + Σ_{t≥1} (A[c_t, y_t] + edges[t, y_{t−1}, y_t] + offsets[t, c_t]) + end[c_T]

c_t is the history of token t, a state of t − 1: the label i, or for order 2 the pair (h, i), with h = K where there is
no label before. A step leads from the state (h, i) to (i, j), so with the states of one i side by side both orders are
one loop: the vector of the labels j that follow is contiguous, at `onward(c)`.

Sums over paths run in the linear domain (Rabiner 1989, with every token's numbers relative to their largest):

    α_t(j) = e_t(j) Σ_c α_{t−1}(c) M(c, j) / z_t,    β_{t−1}(c) = Σ_j M(c, j) e_t(j) β_t(j) / z_t,    p_t = α_t β_t

with z_t = Σ_c α_{t−1}(c): the sum of a token is known long before the next token's division by it, where the usual
Σ_c α_t(c) = 1 would have each token wait for its own sum.

A number that underflows is below 1e-307, and the share of all paths that is lost with it is at most that times β_t,
since Σ_c α_{t−1}(c) / z_t = 1. So no β / z may exceed `FAR`, or the chain is done anew with logarithms. The loops skip a
state only where the scores forbid it, for its β has to be looked at.
"""

from libc.math cimport INFINITY, exp, log1p
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from fastlin.engine.mathx cimport add_up, exponential, logarithm

cdef extern from "chain.h" nogil:
    const double FAR "FASTLIN_FAR"
    void step "fastlin_step"(const double* a, const double* M, Py_ssize_t K, Py_ssize_t P, double* out) noexcept
    void outer "fastlin_outer"(const double* A, const double* V, Py_ssize_t T, Py_ssize_t P, double* Q) noexcept

cdef enum:
    LANES = 8            # vectors of labels are padded to a multiple of it

cdef struct Chain:
    Py_ssize_t K, P      # labels; numbers in a vector of labels: the rest are −∞ or, not logarithms, 0
    Py_ssize_t rows      # 1, or for order 2 K + 1 labels before the last
    Py_ssize_t size      # numbers in a vector of states, rows · P
    const double* start  # [P]
    const double* A      # [size, P]
    const double* M      # [size, P]  exp(A − shift)
    const double* MT     # [P, P]     its transpose, for order 1
    const double* end    # [size]
    double shift         # the largest of A

cdef struct Room:        # of one thread, for a chain of up to so many tokens
    double* S            # [T, P]     scores
    double* p            # [T, P]     e, then the marginals
    double* alpha        # [T, size]
    double* V            # [T, size]  e β / z
    double* beta         # [2, size]
    double* z            # [T + 1]
    double* factors      # [T, size]  exp of the offsets, or NULL
    double* steps        # [T, P, P]  M ∘ exp of the edges, or NULL
    double* Q            # [size, P]  Σ_t α_t v_{t+1}ᵀ, to be multiplied by M
    bint logs            # whether α has logarithms


# --- what kernels begin and end with ---------------------------------------------------------------------------------


cdef inline Chain chain_of(tuple padded, Py_ssize_t K):
    """A chain of arrays start [P], A and M [size, P], Mᵀ [P, P], end [size] and a shift, which have to live as long."""
    cdef const double[::1] start = padded[0], end = padded[4]
    cdef const double[:, ::1] A = padded[1], M = padded[2], MT = padded[3]
    cdef Py_ssize_t P = start.shape[0]
    return Chain(K, P, A.shape[0] // P, A.shape[0], &start[0], &A[0, 0], &M[0, 0], &MT[0, 0], &end[0], padded[5])


cdef inline Py_ssize_t longest(const int64_t[::1] starts, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t s, most = 0
    for s in range(first, last):
        most = max(most, starts[s + 1] - starts[s])
    return most


cdef inline double* reserve(Py_ssize_t n) except NULL:
    cdef double* numbers = <double*>malloc(max(n, 1) * sizeof(double))
    if not numbers:
        raise MemoryError
    return numbers


cdef inline int open_room(Room* room, const Chain* chain, Py_ssize_t T, bint offsets, bint edges) except -1:
    """Memory for the sums over the paths of chains of up to T tokens; to be closed even if this fails."""
    cdef Py_ssize_t P = chain.P, size = chain.size
    memset(room, 0, sizeof(Room))
    room.p = reserve(T * P)
    room.alpha = reserve(T * size)
    room.V = reserve((T + 1) * size)
    room.beta = reserve(2 * size)
    room.z = reserve(T + 1)
    room.factors = reserve(T * size) if offsets else NULL
    room.steps = reserve(T * P * P) if edges else NULL
    room.Q = reserve(size * P)
    memset(room.Q, 0, size * P * sizeof(double))
    return 0


cdef inline void close_room(Room* room) noexcept:
    """All but S, which is the caller's."""
    free(room.p)
    free(room.alpha)
    free(room.V)
    free(room.beta)
    free(room.z)
    free(room.factors)
    free(room.steps)
    free(room.Q)


# --- parts -----------------------------------------------------------------------------------------------------------


cdef inline Py_ssize_t onward(const Chain* chain, Py_ssize_t i) noexcept nogil:
    """Where the states that follow a state (h, i) begin."""
    return i * chain.P if chain.rows > 1 else 0


cdef inline double top_of(const double* x, Py_ssize_t n) noexcept nogil:
    """max x; in lanes, or each comparison would wait for the one before."""
    cdef double lanes[LANES]
    cdef double top
    cdef Py_ssize_t j = 0, lane
    for lane in range(LANES):
        lanes[lane] = -INFINITY
    while j + LANES <= n:
        for lane in range(LANES):
            lanes[lane] = x[j + lane] if x[j + lane] > lanes[lane] else lanes[lane]
        j += LANES
    for lane in range(4):
        lanes[lane] = lanes[lane + 4] if lanes[lane + 4] > lanes[lane] else lanes[lane]
    top = max(max(lanes[0], lanes[1]), max(lanes[2], lanes[3]))
    while j < n:
        top = x[j] if x[j] > top else top
        j += 1
    return top


cdef inline double total(const double* x, Py_ssize_t n) noexcept nogil:
    """Σ x, of a multiple of 8 numbers."""
    cdef double lanes[LANES]
    cdef Py_ssize_t j, lane
    for lane in range(LANES):
        lanes[lane] = 0
    j = 0
    while j < n:
        for lane in range(LANES):
            lanes[lane] += x[j + lane]
        j += LANES
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))


cdef inline double relative(const double* x, Py_ssize_t n, double* out) noexcept nogil:
    """out = exp(x − max x); returns the maximum, −∞ where no number is larger."""
    cdef double top = top_of(x, n)
    cdef Py_ssize_t j
    if top == -INFINITY:
        return top
    for j in range(n):
        out[j] = exponential(x[j] - top)
    return top


cdef inline double value_of(const Chain* chain, const double* S, Py_ssize_t T, const double* edges,
                            const double* offsets, const int32_t* y) noexcept nogil:
    """s(y)."""
    cdef Py_ssize_t t, h, state
    cdef double value
    if T == 0:
        return 0.0
    state = (chain.rows - 1) * chain.P + y[0]
    value = chain.start[y[0]] + S[y[0]]
    for t in range(1, T):
        value += S[t * chain.P + y[t]] + chain.A[state * chain.P + y[t]]
        if edges:
            value += edges[(t * chain.K + y[t - 1]) * chain.K + y[t]]
        if offsets:
            value += offsets[t * chain.size + state]
        h = y[t - 1] if chain.rows > 1 else 0
        state = h * chain.P + y[t]
    return value + chain.end[state]


# --- sums over paths -------------------------------------------------------------------------------------------------


cdef inline double prepare(const Chain* chain, Room* room, Py_ssize_t T, const double* edges,
                           const double* offsets) noexcept nogil:
    """e of every token, and the factors of edges and offsets; returns the logarithm of what they are relative to."""
    cdef Py_ssize_t t, i, j, K = chain.K, P = chain.P
    cdef double base = chain.shift * (T - 1), top
    cdef double* factors
    for j in range(P):
        room.V[j] = room.S[j] + chain.start[j]
    base += relative(room.V, P, room.p)
    for t in range(1, T):
        base += relative(room.S + t * P, P, room.p + t * P)
    for t in range(1, T):
        if offsets:
            base += relative(offsets + t * chain.size, chain.size, room.factors + t * chain.size)
        if edges:
            top = top_of(edges + t * K * K, K * K)
            base += top
            factors = room.steps + t * P * P
            memset(factors, 0, P * P * sizeof(double))
            for i in range(K):
                for j in range(K):
                    factors[i * P + j] = exponential(edges[(t * K + i) * K + j] - top) * chain.M[i * P + j]
    return base


cdef inline void advance(const Chain* chain, const Room* room, Py_ssize_t t) noexcept nogil:
    """α_t, but for e and z, from α_{t−1}."""
    cdef Py_ssize_t h, i, j, c, P = chain.P
    cdef const double* source = room.alpha + (t - 1) * chain.size
    cdef const double* row
    cdef double* out = room.alpha + t * chain.size
    cdef double* target
    if room.factors:
        for c in range(chain.size):
            room.beta[c] = source[c] * room.factors[t * chain.size + c]
        source = room.beta
    if chain.rows == 1:
        row = chain.M
        if room.steps:
            row = room.steps + t * P * P
        step(source, row, chain.K, P, out)
        return
    memset(out, 0, chain.size * sizeof(double))
    for h in range(chain.rows):
        for i in range(chain.K):
            c = h * P + i
            if source[c] == 0:
                continue
            target = out + i * P
            row = chain.M + c * P
            for j in range(P):
                target[j] += source[c] * row[j]


cdef inline bint forward(const Chain* chain, Room* room, Py_ssize_t T) noexcept nogil:
    """α and z; False where they leave the safe numbers."""
    cdef Py_ssize_t t, h, j, P = chain.P, size = chain.size
    cdef double scale
    cdef double* alpha = room.alpha
    cdef const double* e = room.p
    memset(alpha, 0, size * sizeof(double))
    for j in range(P):
        alpha[(chain.rows - 1) * P + j] = e[j]
    room.z[0] = 1
    for t in range(1, T):
        room.z[t] = total(alpha, size)
        if not 1 / FAR < room.z[t] < FAR:
            return False
        scale = 1 / room.z[t]
        advance(chain, room, t)
        alpha += size
        e += P
        for h in range(chain.rows):
            for j in range(P):
                alpha[h * P + j] *= e[j] * scale
    return True


cdef inline bint forbidden(const Chain* chain, const Room* room, Py_ssize_t t, Py_ssize_t h,
                           Py_ssize_t i) noexcept nogil:
    """Whether the scores alone exclude the state (h, i) at token t."""
    if room.S[t * chain.P + i] == -INFINITY:
        return True
    if chain.rows == 1:
        return False
    return h != chain.K if t == 0 else h == chain.K or room.S[(t - 1) * chain.P + h] == -INFINITY


cdef inline void retreat(const Chain* chain, Room* room, Py_ssize_t t, const double* v,
                         double* on_edges) noexcept nogil:
    """β_{t−1}, but for the factors of offsets, state by state, and perhaps the pairs of labels at t."""
    cdef Py_ssize_t h, i, j, c, K = chain.K, P = chain.P
    cdef const double* M = chain.M
    cdef const double* next_
    cdef double share, sum_
    cdef double* pairs
    if room.steps:
        M = room.steps + t * P * P
    for h in range(chain.rows):
        for i in range(K):
            c = h * P + i
            next_ = v + onward(chain, i)
            pairs = on_edges + (t * K + i) * K if on_edges else NULL
            if forbidden(chain, room, t - 1, h, i):
                room.beta[c] = 0
                if pairs:
                    memset(pairs, 0, K * sizeof(double))
                continue
            share = room.alpha[(t - 1) * chain.size + c]
            if room.factors:
                share *= room.factors[t * chain.size + c]
            sum_ = 0
            for j in range(K):
                sum_ += M[c * P + j] * next_[j]
            room.beta[c] = sum_
            if pairs:
                for j in range(K):
                    pairs[j] = share * M[c * P + j] * next_[j]


cdef inline void sum_pairs(const Chain* chain, Room* room, Py_ssize_t T) noexcept nogil:
    """Q += Σ_t α_t v_{t+1}ᵀ; α takes up its factors of offsets."""
    cdef Py_ssize_t t, h, i, j, c, P = chain.P, size = chain.size
    cdef const double* next_
    cdef double share
    if room.factors:
        for c in range((T - 1) * size):
            room.alpha[c] *= room.factors[size + c]
    if chain.rows == 1:
        outer(room.alpha, room.V + P, T - 1, P, room.Q)
        return
    for t in range(T - 1):
        for h in range(chain.rows):
            for i in range(chain.K):
                c = h * P + i
                share = room.alpha[t * size + c]
                if share == 0:
                    continue
                next_ = room.V + (t + 1) * size + onward(chain, i)
                for j in range(P):
                    room.Q[c * P + j] += share * next_[j]


cdef inline bint backward(const Chain* chain, Room* room, Py_ssize_t T, double last, double* on_edges) noexcept nogil:
    """Marginals from β, and Σ α vᵀ into Q, or of pairs of labels into `on_edges` [T, K, K] where edges have scores.

    `last` is the largest end, to which z[T] is relative. False, and Q as it was, where β leaves the safe numbers.
    """
    cdef Py_ssize_t t, h, j, c, P = chain.P, size = chain.size
    cdef double scale = 0
    cdef double* beta = room.beta
    cdef double* p
    cdef double* v
    cdef double* alpha = room.alpha + (T - 1) * size
    for c in range(size):
        beta[c] = exponential(chain.end[c] - last)
        scale += alpha[c] * beta[c]
    if not 1 / FAR < scale < FAR:
        return False
    room.z[T] = scale
    for c in range(size):
        beta[c] /= scale
    for t in range(T - 1, -1, -1):
        p, alpha = room.p + t * P, room.alpha + t * size
        v = room.V + t * size
        scale = 1 / room.z[t] if t > 0 else 1.0
        if not top_of(beta, size) * scale < FAR:
            return False
        for h in range(chain.rows):
            for j in range(P):
                v[h * P + j] = p[j] * beta[h * P + j] * scale
        for j in range(P):
            p[j] = alpha[j] * beta[j]
        for h in range(1, chain.rows):
            for j in range(P):
                p[j] += alpha[h * P + j] * beta[h * P + j]
        if t == 0:
            break
        if chain.rows == 1 and not room.steps:
            step(v, chain.MT, chain.K, P, beta)
        else:
            retreat(chain, room, t, v, on_edges)
        if room.factors:
            for c in range(size):
                beta[c] *= room.factors[t * size + c]
    if not room.steps:
        sum_pairs(chain, room, T)
    return True


cdef inline double add_logs(double a, double b) noexcept nogil:
    """log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    return a if b == -INFINITY else a + log1p(exp(b - a))


cdef inline double link(const Chain* chain, const Room* room, Py_ssize_t t, Py_ssize_t c, Py_ssize_t i, Py_ssize_t j,
                        const double* edges, const double* offsets) noexcept nogil:
    """The score of the step from the state c = (h, i) to the label j at t, without the token's own."""
    cdef double score = chain.A[c * chain.P + j]
    if edges:
        score += edges[(t * chain.K + i) * chain.K + j]
    if offsets:
        score += offsets[t * chain.size + c]
    return score


cdef inline double settle(double* x, Py_ssize_t n) noexcept nogil:
    """Take the maximum out of logarithms, and return it: what is left does not lose digits to a long chain."""
    cdef double top = top_of(x, n)
    cdef Py_ssize_t c
    if top > -INFINITY:
        for c in range(n):
            x[c] -= top
    return top


cdef inline double forward_in_logs(const Chain* chain, Room* room, Py_ssize_t T, const double* edges,
                                   const double* offsets) noexcept nogil:
    """log α, the largest of each token 0; returns log Z."""
    cdef Py_ssize_t t, h, i, j, c, d, P = chain.P, size = chain.size
    cdef double log_z = 0, top, score
    cdef double* alpha = room.alpha
    for c in range(T * size):
        alpha[c] = -INFINITY
    for j in range(chain.K):
        alpha[(chain.rows - 1) * P + j] = room.S[j] + chain.start[j]
    for t in range(T):
        if t > 0:
            for h in range(chain.rows):
                for i in range(chain.K):
                    c = h * P + i
                    if alpha[(t - 1) * size + c] == -INFINITY:
                        continue
                    for j in range(chain.K):
                        d = t * size + onward(chain, i) + j
                        score = link(chain, room, t, c, i, j, edges, offsets) + room.S[t * P + j]
                        alpha[d] = add_logs(alpha[d], alpha[(t - 1) * size + c] + score)
        room.z[t] = settle(alpha + t * size, size)
        log_z += room.z[t]
    top = -INFINITY
    for c in range(size):
        top = add_logs(top, alpha[(T - 1) * size + c] + chain.end[c])
    return log_z + top


cdef inline double in_logs(const Chain* chain, Room* room, Py_ssize_t T, const double* edges, const double* offsets,
                           double* counts, double* on_edges) noexcept nogil:
    """What `forward` and `backward` do, with logarithms of α and β; returns log Z, −∞ where there is no path.

    Expected transitions go to `counts` [size, P] at once, if that is not NULL.
    """
    cdef Py_ssize_t t, h, i, j, c, K = chain.K, P = chain.P, size = chain.size
    cdef double log_z = forward_in_logs(chain, room, T, edges, offsets), score, share, base
    cdef double* alpha
    cdef double* beta = room.beta
    cdef double* after = room.beta + size
    cdef double* p
    if not log_z > -INFINITY:
        return log_z
    if on_edges:
        memset(on_edges, 0, T * K * K * sizeof(double))
    for c in range(size):
        beta[c] = chain.end[c]
    for t in range(T - 1, -1, -1):
        alpha, p, base = room.alpha + t * size, room.p + t * P, -INFINITY
        for c in range(size):
            base = add_logs(base, alpha[c] + beta[c])
        memset(p, 0, P * sizeof(double))
        for h in range(chain.rows):
            for j in range(K):
                p[j] += exp(alpha[h * P + j] + beta[h * P + j] - base)
        if t == 0:
            break
        base += room.z[t]
        for c in range(size):
            after[c], beta[c] = beta[c], -INFINITY
        for h in range(chain.rows):
            for i in range(K):
                c = h * P + i
                if alpha[c - size] == -INFINITY:
                    continue
                for j in range(K):
                    score = link(chain, room, t, c, i, j, edges, offsets) + room.S[t * P + j]
                    score += after[onward(chain, i) + j]
                    beta[c] = add_logs(beta[c], score)
                    share = exp(alpha[c - size] + score - base)
                    if counts:
                        counts[c * P + j] += share
                    if on_edges:
                        on_edges[(t * K + i) * K + j] += share
        settle(beta, size)
    return log_z


cdef inline double infer(const Chain* chain, Room* room, Py_ssize_t T, const double* edges, const double* offsets,
                         double* counts, double* on_edges) noexcept nogil:
    """Marginals of the chain whose scores are in `room`, into its p; returns log Z, −∞ where there is no path.

    Expected transitions are added to room.Q, which is to be multiplied by M, or, where logarithms are needed or edges
    have scores, to `counts`; `on_edges` has those of every token.
    """
    cdef double log_z, last
    cdef Py_ssize_t t, i, j, K = chain.K, P = chain.P
    if T == 0:
        return 0.0
    log_z = prepare(chain, room, T, edges, offsets)
    last = top_of(chain.end, chain.size)
    if log_z == -INFINITY or last == -INFINITY:
        return -INFINITY
    room.logs = not (forward(chain, room, T) and backward(chain, room, T, last, on_edges))
    if room.logs:
        return in_logs(chain, room, T, edges, offsets, counts, on_edges)
    if on_edges and counts:
        for t in range(1, T):
            for i in range(K):
                for j in range(K):
                    counts[i * P + j] += on_edges[(t * K + i) * K + j]
    for t in range(T + 1):
        room.z[t] = logarithm(room.z[t])
    return log_z + last + add_up(room.z, T + 1)


# --- the best path ---------------------------------------------------------------------------------------------------


cdef inline void follow(const Chain* chain, Py_ssize_t t, const double* S, const double* edges, const double* offsets,
                        const double* before, double* best, double* origin) noexcept nogil:
    """best(i, j) = max_h before(h, i) + A + …, and the lowest h that attains it; order 1: best(j) over i."""
    cdef Py_ssize_t h, i, j, c, P = chain.P, K = chain.K
    cdef double reach, score, place
    cdef const double* A
    cdef const double* edge
    cdef double* target
    cdef double* source
    for c in range(chain.size):
        best[c], origin[c] = -INFINITY, 0
    for i in range(K):
        target, source = best + onward(chain, i), origin + onward(chain, i)
        for h in range(chain.rows):
            c = h * P + i
            reach = before[c] + (offsets[t * chain.size + c] if offsets else 0.0)
            if reach == -INFINITY:
                continue
            A = chain.A + c * P
            place = h if chain.rows > 1 else i
            if edges:
                edge = edges + (t * K + i) * K
                for j in range(K):
                    score = reach + (A[j] + edge[j])
                    if score > target[j]:
                        target[j], source[j] = score, place
            else:
                for j in range(P):
                    score = reach + A[j]
                    source[j] = place if score > target[j] else source[j]
                    target[j] = score if score > target[j] else target[j]
    for h in range(chain.rows):
        for j in range(P):
            best[h * P + j] += S[t * P + j]


cdef inline double reach(const Chain* chain, Py_ssize_t T, const double* S, const double* edges, const double* offsets,
                         double* best, double* origin, int32_t* back) noexcept nogil:
    """The best score of a path to every state of every token, best [T, size], or with `back` of two tokens in turns.

    `back` [T, size] receives what the states come from. Returns the score of the best path, −∞ if there is none.
    """
    cdef Py_ssize_t t, j, c, size = chain.size
    cdef double* now = best
    cdef double* before
    cdef double top = -INFINITY
    for c in range(size):
        best[c] = -INFINITY
    for j in range(chain.K):
        best[(chain.rows - 1) * chain.P + j] = chain.start[j] + S[j]
    for t in range(1, T):
        before = now
        now = best + (t % 2 if back else t) * size
        follow(chain, t, S, edges, offsets, before, now, origin)
        if back:
            for c in range(size):
                back[t * size + c] = <int32_t>origin[c]
    for c in range(size):
        now[c] += chain.end[c]
        top = now[c] if now[c] > top else top
    return top


cdef inline double viterbi(const Chain* chain, Py_ssize_t T, const double* S, const double* edges,
                           const double* offsets, double* best, double* origin, int32_t* back,
                           int32_t* y) noexcept nogil:
    """The best path into y, of those that are equally good the one whose last label is the lowest; and so on.

    best [2, size], origin [size], back [T, size]. Returns its score, −∞ where there is no path.
    """
    cdef Py_ssize_t t, h, i, state = -1, P = chain.P
    cdef double top
    cdef const double* last
    if T == 0:
        return 0.0
    top = reach(chain, T, S, edges, offsets, best, origin, back)
    if top == -INFINITY:
        return top
    last = best + ((T - 1) % 2) * chain.size
    for i in range(chain.K):
        for h in range(chain.rows):
            if state < 0 and last[h * P + i] == top:
                state = h * P + i
    for t in range(T - 1, -1, -1):
        y[t] = <int32_t>(state % P)
        if t == 0:
            break
        if chain.rows > 1:
            state = back[t * chain.size + state] * P + state // P
        else:
            state = back[t * chain.size + state]
    return top
