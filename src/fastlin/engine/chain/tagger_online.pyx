"""Online learning of chains, sequence by sequence: decode, compare, change what differs (Collins 2002).

    ŷ = argmax s(x, y′)        Δ = f(x, y) − f(x, ŷ)        θ ← θ + τ Δ

    perceptron   τ = 1
    pa           τ = min(C, (√d(y, ŷ) − θ·Δ) / ‖Δ‖²)    PA-I, prediction-based (Crammer et al. 2006)
    mira         θ ← θ + Σ α_i Δ_i over the n best paths: the minimum of ½‖θ′ − θ‖² + C Σ ξ_i under
                 θ′·Δ_i ≥ d(y, ŷ_i) − ξ_i (McDonald, Crammer & Pereira 2005)

where d counts the labels that differ. A sequence of weight w has τ = w, and w C in the place of C. Of labels that are
known in part, the best path that they allow stands for y: y = argmax s(x, y′) over these. The average
θ̄ = (1/T) Σ_t θ_t over the sequences is θ − U/T: a change at sequence t, counted from 0, is missing in t of the sums,
and U sums t times the changes (Daumé 2006).

A step touches the weights of its tokens and transitions, and nothing else.

Every weight has a place: first those of the table, then of the few, of pairs of labels, of triples.
"""

cimport cython
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate, allocate_zeros, checked_product
from fastlin.engine.chain.beam cimport Beam, beam_search
from fastlin.engine.chain.chain cimport LANES, Chain, path_score
from fastlin.engine.core.csr cimport number, prefetch
from fastlin.engine.core.csr_view cimport CSRView
from fastlin.engine.chain.sparse_difference cimport (
    SparseDifferences, add_to_difference, clear_differences, free_differences, gram_matrix, solve_mira_dual
)
from fastlin.engine.chain.hybrid_weights cimport HybridWeights, TokenWeights, score_tokens
from fastlin.engine.chain.token_labels cimport TokenLabels, all_known, restrict_scores
from fastlin.engine.chain.viterbi_dense cimport viterbi_forward_dense, backtrack_dense
from fastlin.engine.chain.nbest cimport PartialPaths, n_best

cdef enum:
    PERCEPTRON, PASSIVE_AGGRESSIVE, MIRA

cdef enum:
    DONE, OVERFLOW, NO_MEMORY


cdef extern from *:
    """
    #define FASTLIN_MAX_SCORE 1e250
    """
    const double MAX_SCORE "FASTLIN_MAX_SCORE"   # which no score, and no sum of weights, may exceed

cdef packed struct TaggerRule:
    int64_t loss, n_best, beam_width
    double C

cdef packed struct TaggerCounters:
    int64_t t                # sequences so far
    int64_t updates, wrong   # of the epoch: sequences, labels
    double loss
    double weight_bound      # [reach, in the dtype] no weight is larger


@cython.final
cdef class OnlineTagger:
    """Weights that learn, and what a step needs beside them.

    `table` [D, K], `starts`, `single`, `labels` and `few` are those of `hybrid_weights.pxd`, `two` [K, K] and
    `three` [K, K, K] the transitions; `three` of length 0 is order 1. `seen…` say which pairs have a weight, and of
    length 0: all. `sums` are U in the same shapes; of length 0 there is no average.
    """

    cdef TaggerRule rule
    cdef TaggerCounters[::1] counters
    cdef TokenWeights tokens
    cdef HybridWeights weights       # of the tokens
    cdef Chain chain
    cdef Beam beam
    cdef PartialPaths partials
    cdef SparseDifferences difference
    cdef bint averaged
    cdef Py_ssize_t order
    cdef double[:, ::1] table, sum_table, two, sum_two
    cdef double[:, :, ::1] three, sum_three
    cdef double[::1] few, sum_few
    cdef const uint8_t[:, ::1] seen_table, seen_two
    cdef const uint8_t[:, :, ::1] seen_three
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] labels
    cdef int64_t first_few, first_two, first_three     # places
    cdef double* A           # [size, P]
    cdef double* AT          # [P, P]
    cdef double* zeros       # [size]
    cdef double* G           # [n_best, n_best]
    cdef double* losses      # [n_best]
    cdef double* alpha       # [n_best]
    cdef double* found       # [n_best]   the scores of paths
    cdef Py_ssize_t longest
    cdef double* S           # [longest, P]
    cdef double* best        # [longest, size]
    cdef int32_t* paths      # [n_best, longest]
    cdef double* allowed     # [longest, P]   scores of what labels known in part allow
    cdef int32_t* target     # [longest]      the best path among these

    def __cinit__(self, TaggerRule rule, TaggerCounters[::1] counters, const int64_t[::1] starts, Py_ssize_t single,
                  const int32_t[::1] labels, weights, sums, seen):
        cdef Py_ssize_t K, P, rows
        self.rule, self.counters, self.starts, self.labels = rule, counters, starts, labels
        self.table, self.few, self.two, self.three = weights
        self.sum_table, self.sum_few, self.sum_two, self.sum_three = sums
        self.seen_table, self.seen_two, self.seen_three = seen
        self.averaged = self.sum_two.shape[0] > 0
        self.order = 2 if self.three.shape[0] else 1
        K = self.two.shape[0]
        P = (K + LANES - 1) // LANES * LANES
        rows = K + 1 if self.three.shape[0] else 1
        self.tokens = TokenWeights(weights[0], starts, single, labels, weights[1], K)
        self.weights = self.tokens.weights
        self.first_few = self.table.shape[0] * K
        self.first_two = self.first_few + self.few.shape[0]
        self.first_three = self.first_two + K * K
        self.A = <double*>allocate(checked_product(rows * P, P), sizeof(double))
        self.AT = <double*>allocate(checked_product(P, P), sizeof(double))
        self.zeros = <double*>allocate_zeros(rows * P, sizeof(double))
        self.G = <double*>allocate(checked_product(rule.n_best, rule.n_best + 3), sizeof(double))
        if not (self.A and self.AT and self.zeros and self.G):
            raise MemoryError
        self.losses = self.G + rule.n_best * rule.n_best
        self.alpha, self.found = self.losses + rule.n_best, self.losses + 2 * rule.n_best
        self.difference.most = rule.n_best
        self.chain = Chain(K, P, rows, rows * P, self.zeros, self.A, NULL, NULL, self.zeros, 0.0)
        self.beam.width = min(rule.beam_width, rows * P)
        if self.beam.width:
            self.beam.kept = <double*>allocate(self.beam.width, sizeof(double))
            self.beam.heap = <double*>allocate(self.beam.width, sizeof(double))
            self.beam.best = <double*>allocate(rows * P, sizeof(double))
            self.beam.origin = <int32_t*>allocate(rows * P, sizeof(int32_t))
            if not (self.beam.kept and self.beam.heap and self.beam.best and self.beam.origin):
                raise MemoryError
        self.set_transitions()

    def __dealloc__(self):
        free_differences(&self.difference)
        free(self.A)
        free(self.AT)
        free(self.zeros)
        free(self.G)
        free(self.beam.kept)
        free(self.beam.heap)
        free(self.beam.best)
        free(self.beam.origin)
        free(self.partials.all_)
        free(self.partials.heap)
        self.free_buffers()

    cdef void free_buffers(self) noexcept nogil:
        free(self.S)
        free(self.best)
        free(self.paths)
        free(self.beam.states)
        free(self.beam.back)
        free(self.allowed)
        free(self.target)
        self.S = self.best = self.allowed = NULL
        self.paths = self.target = self.beam.states = self.beam.back = NULL
        self.longest = 0

    cdef bint allocate_buffers(self, Py_ssize_t T) noexcept nogil:
        """Memory for sequences of up to T tokens; False if there is none."""
        if T <= self.longest:
            return True
        self.free_buffers()
        self.S = <double*>allocate(checked_product(T, self.chain.P), sizeof(double))
        self.best = <double*>allocate(checked_product(T, self.chain.size), sizeof(double))
        self.paths = <int32_t*>allocate(checked_product(T, self.rule.n_best), sizeof(int32_t))
        self.beam.states = <int32_t*>allocate(checked_product(T, self.beam.width), sizeof(int32_t))
        self.beam.back = <int32_t*>allocate(checked_product(T, self.beam.width), sizeof(int32_t))
        self.allowed = <double*>allocate(checked_product(T, self.chain.P), sizeof(double))
        self.target = <int32_t*>allocate(T, sizeof(int32_t))
        if not (self.S and self.best and self.paths and self.beam.states and self.beam.back and self.allowed
                and self.target):
            self.free_buffers()
            return False
        self.longest = T
        return True

    # Transitions, as the chain has them

    cdef void set_transitions(self) noexcept nogil:
        cdef Py_ssize_t i, j, P = self.chain.P
        for i in range(self.chain.size * P):
            self.A[i] = -INFINITY
        for i in range(P * P):
            self.AT[i] = -INFINITY
        for i in range(self.chain.K):
            for j in range(self.chain.K):
                self.set_transition(i, j)

    cdef void set_transition(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """The scores of j after i are those of the weights again."""
        cdef Py_ssize_t h, P = self.chain.P
        if self.chain.rows == 1:
            self.A[i * P + j] = self.AT[j * P + i] = self.two[i, j]
            return
        for h in range(self.chain.K):
            self.A[(h * P + i) * P + j] = self.two[i, j] + self.three[h, i, j]
        self.A[(self.chain.K * P + i) * P + j] = self.two[i, j]

    # Steps

    cdef inline void add_to_pair(self, Py_ssize_t i, Py_ssize_t j, double change) noexcept nogil:
        if self.seen_two.shape[0] and not self.seen_two[i, j]:
            return
        self.two[i, j] += change
        if self.averaged:
            self.sum_two[i, j] += self.counters[0].t * change
        self.set_transition(i, j)

    cdef inline void add_to_triple(self, Py_ssize_t h, Py_ssize_t i, Py_ssize_t j, double change) noexcept nogil:
        if self.seen_three.shape[0] and not self.seen_three[h, i, j]:
            return
        self.three[h, i, j] += change
        if self.averaged:
            self.sum_three[h, i, j] += self.counters[0].t * change
        self.set_transition(i, j)

    cdef void add_to_weight(self, int64_t place, double change) noexcept nogil:
        """Add to the weight at a place."""
        cdef Py_ssize_t K = self.chain.K
        cdef int64_t q
        if place < self.first_few:
            (&self.table[0, 0])[place] += change
            if self.averaged:
                (&self.sum_table[0, 0])[place] += self.counters[0].t * change
        elif place < self.first_two:
            self.few[place - self.first_few] += change
            if self.averaged:
                self.sum_few[place - self.first_few] += self.counters[0].t * change
        elif place < self.first_three:
            q = place - self.first_two
            self.add_to_pair(q // K, q % K, change)
        else:
            q = place - self.first_three
            self.add_to_triple(q // (K * K), q // K % K, q % K, change)

    cdef void add_token(self, const int32_t* indices, const number* values, int64_t m, Py_ssize_t right,
                        Py_ssize_t wrong, double step) noexcept nogil:
        """θ_right += step · x, θ_wrong −= step · x."""
        cdef int64_t p, q, of_table = self.starts[self.weights.D]
        cdef Py_ssize_t K = self.chain.K, j
        cdef double x, late = self.counters[0].t
        cdef double* w = &self.table[0, 0] if self.weights.D else NULL
        cdef double* u = &self.sum_table[0, 0] if self.averaged and self.weights.D else NULL
        cdef bint every = self.seen_table.shape[0] == 0
        if u:
            for p in range(m):
                if indices[p] < self.weights.D:
                    prefetch(u + indices[p] * K + right)
                    prefetch(u + indices[p] * K + wrong)
        for p in range(m):
            j, x = indices[p], step * values[p]
            if j < self.weights.D:
                if every or self.seen_table[j, right]:
                    w[j * K + right] += x
                    if u:
                        u[j * K + right] += late * x
                if every or self.seen_table[j, wrong]:
                    w[j * K + wrong] -= x
                    if u:
                        u[j * K + wrong] -= late * x
                continue
            for q in range(self.starts[j] - of_table, self.starts[j + 1] - of_table):
                if self.labels[q] == right or self.labels[q] == wrong:
                    self.few[q] += x if self.labels[q] == right else -x
                    if self.averaged:
                        self.sum_few[q] += late * (x if self.labels[q] == right else -x)

    cdef void add_transitions(self, const int32_t* y, double change, const int32_t* other, Py_ssize_t T) noexcept nogil:
        """Add to the transitions of y that are not those of the other path at the same tokens."""
        cdef Py_ssize_t t
        for t in range(1, T):
            if y[t] == other[t] and y[t - 1] == other[t - 1]:
                if self.chain.rows == 1 or t < 2 or y[t - 2] == other[t - 2]:
                    continue
            else:
                self.add_to_pair(y[t - 1], y[t], change)
            if self.chain.rows > 1 and t > 1:
                self.add_to_triple(y[t - 2], y[t - 1], y[t], change)

    # Differences

    cdef void add_token_difference(self, Py_ssize_t i, const int32_t* indices, const number* values, int64_t m,
                                   Py_ssize_t label, double sign) noexcept nogil:
        """Δ_i += sign · x at the weights of a label."""
        cdef int64_t p, q, of_table = self.starts[self.weights.D]
        cdef Py_ssize_t j
        for p in range(m):
            j = indices[p]
            if j < self.weights.D:
                if self.seen_table.shape[0] == 0 or self.seen_table[j, label]:
                    add_to_difference(&self.difference, j * self.chain.K + label, i, sign * values[p])
                continue
            for q in range(self.starts[j] - of_table, self.starts[j + 1] - of_table):
                if self.labels[q] == label:
                    add_to_difference(&self.difference, self.first_few + q, i, sign * values[p])

    cdef void add_transition_differences(self, Py_ssize_t i, const int32_t* y, const int32_t* other, Py_ssize_t T,
                                         double sign) noexcept nogil:
        """Δ_i += sign at the transitions of y that are not those of the other path at the same tokens."""
        cdef Py_ssize_t t, K = self.chain.K
        cdef int64_t pair
        for t in range(1, T):
            pair = y[t - 1] * K + y[t]
            if y[t] == other[t] and y[t - 1] == other[t - 1]:
                if self.chain.rows == 1 or t < 2 or y[t - 2] == other[t - 2]:
                    continue
            elif self.seen_two.shape[0] == 0 or self.seen_two[y[t - 1], y[t]]:
                add_to_difference(&self.difference, self.first_two + pair, i, sign)
            if self.chain.rows > 1 and t > 1:
                if self.seen_three.shape[0] == 0 or self.seen_three[y[t - 2], y[t - 1], y[t]]:
                    add_to_difference(&self.difference, self.first_three + y[t - 2] * K * K + pair, i, sign)

    cdef void add_differences(self) noexcept nogil:
        """θ += Σ α_i Δ_i."""
        cdef int64_t r
        cdef Py_ssize_t i, n = self.difference.n
        cdef double change
        for r in range(self.difference.used):
            change = 0
            for i in range(n):
                change += self.alpha[i] * self.difference.rows[r * n + i]
            if change != 0:
                self.add_to_weight(self.difference.places[r], change)

    cdef bint check_overflow(self, double step, double largest) noexcept nogil:
        """Whether all numbers stay within reach, should weights change by `step` times a feature; then they may."""
        cdef double weight_bound = self.counters[0].weight_bound + step * max(largest, 1.0)
        if not weight_bound < MAX_SCORE / (max(largest, 1.0) * (self.counters[0].t + 1)):
            return False
        self.counters[0].weight_bound = weight_bound
        return True


# --- a step ----------------------------------------------------------------------------------------------------------


cdef Py_ssize_t decode(OnlineTagger tagger, Py_ssize_t T, const int32_t* y, double* value) noexcept nogil:
    """The best path into machine.paths; its length, which is below T where the right labels have left the beam."""
    if tagger.beam.width:
        return beam_search(&tagger.chain, &tagger.beam, T, tagger.S, NULL, NULL, y, tagger.paths, value)
    viterbi_forward_dense(&tagger.chain, T, tagger.S, tagger.best)
    value[0] = backtrack_dense(&tagger.chain, T, tagger.best, tagger.AT, tagger.paths)
    return T


cdef const int32_t* choose_target(OnlineTagger tagger, TokenLabels labels, int64_t begin,
                                  Py_ssize_t T) noexcept nogil:
    """The labels of a sequence, whose scores are known: given ones, or the best of the paths that they allow."""
    cdef const int32_t* y = labels.y + begin
    if not labels.partial or all_known(y, T):
        return y
    restrict_scores(&labels.sets, y, T, tagger.chain.P, tagger.S, tagger.allowed)
    viterbi_forward_dense(&tagger.chain, T, tagger.allowed, tagger.best)
    backtrack_dense(&tagger.chain, T, tagger.best, tagger.AT, tagger.target)
    return tagger.target


cdef Py_ssize_t count_different(const int32_t* y, const int32_t* other, Py_ssize_t T) noexcept nogil:
    cdef Py_ssize_t t, n = 0
    for t in range(T):
        n += y[t] != other[t]
    return n


cdef bint compute_differences(OnlineTagger tagger, const int64_t* indptr, const int32_t* indices, const number* values,
                              const int32_t* y, Py_ssize_t n, Py_ssize_t T, Py_ssize_t L) noexcept nogil:
    """Δ of the n paths, of L tokens each, that lie T apart; False if there is no memory."""
    cdef Py_ssize_t i, t
    cdef int64_t p, m, most = 0
    cdef const int32_t* other
    for i in range(n):
        for t in range(L):
            if tagger.paths[i * T + t] != y[t]:
                most += 2 * (indptr[t + 1] - indptr[t]) + 4 * tagger.order * tagger.order
    tagger.difference.n = n
    if not clear_differences(&tagger.difference, most):
        return False
    for i in range(n):
        other = tagger.paths + i * T
        for t in range(L):
            if other[t] != y[t]:
                p, m = indptr[t] - indptr[0], indptr[t + 1] - indptr[t]
                tagger.add_token_difference(i, indices + p, values + p, m, y[t], 1.0)
                tagger.add_token_difference(i, indices + p, values + p, m, other[t], -1.0)
        tagger.add_transition_differences(i, y, other, L, 1.0)
        tagger.add_transition_differences(i, other, y, L, -1.0)
    gram_matrix(&tagger.difference, tagger.G)
    return True


cdef int learn_from_best(OnlineTagger tagger, const int64_t* indptr, const int32_t* indices, const number* values,
                         const int32_t* y, Py_ssize_t T, double weight, double largest) noexcept nogil:
    """A step of the perceptron, or PA, on a sequence whose scores are known."""
    cdef TaggerCounters* counters = &tagger.counters[0]
    cdef const int32_t* path = tagger.paths
    cdef double value = 0, loss, tau = weight
    cdef Py_ssize_t t, L = decode(tagger, T, y, &value), wrong = count_different(y, path, L)
    cdef int64_t p
    if wrong == 0:
        return DONE
    loss = max(value - path_score(&tagger.chain, tagger.S, L, NULL, NULL, y), 0.0)
    if tagger.rule.loss == PASSIVE_AGGRESSIVE:
        loss += sqrt(<double>wrong)
        if not compute_differences(tagger, indptr, indices, values, y, 1, T, L):
            return NO_MEMORY
        tau = min(weight * tagger.rule.C, loss / tagger.G[0]) if tagger.G[0] > 0 else 0.0
        tagger.alpha[0] = tau
    if not tagger.check_overflow(2 * tau * wrong, largest):
        return OVERFLOW
    counters.updates += 1
    counters.wrong += wrong
    counters.loss += weight * loss
    if tagger.rule.loss == PASSIVE_AGGRESSIVE:
        tagger.add_differences()
        return DONE
    for t in range(L):
        if path[t] != y[t]:
            p = indptr[t] - indptr[0]
            tagger.add_token(indices + p, values + p, indptr[t + 1] - indptr[t], y[t], path[t], tau)
    tagger.add_transitions(y, tau, path, L)
    tagger.add_transitions(path, -tau, y, L)
    return DONE


cdef int learn_from_nbest(OnlineTagger tagger, const int64_t* indptr, const int32_t* indices, const number* values,
                          const int32_t* y, Py_ssize_t T, double weight, double largest) noexcept nogil:
    """A step of MIRA."""
    cdef TaggerCounters* counters = &tagger.counters[0]
    cdef Py_ssize_t i, t, n = 0, d, first = 0, found
    cdef double own, loss = 0, step = 0
    cdef int32_t* paths = tagger.paths
    viterbi_forward_dense(&tagger.chain, T, tagger.S, tagger.best)
    found = n_best(&tagger.chain, &tagger.partials, T, NULL, NULL, tagger.best, tagger.rule.n_best,
                   paths, tagger.found)
    if found < 0:
        return NO_MEMORY
    own = path_score(&tagger.chain, tagger.S, T, NULL, NULL, y)
    for i in range(found):
        d = count_different(y, paths + i * T, T)
        first = d if i == 0 else first
        if d:                                  # the right path is no rival of itself
            for t in range(T):
                paths[n * T + t] = paths[i * T + t]
            tagger.losses[n] = d + tagger.found[i] - own
            loss = max(loss, tagger.losses[n])
            n += 1
    counters.wrong += first
    if loss == 0:
        return DONE
    if not compute_differences(tagger, indptr, indices, values, y, n, T, T):
        return NO_MEMORY
    solve_mira_dual(tagger.G, tagger.losses, n, weight * tagger.rule.C, tagger.alpha)
    for i in range(n):
        step += 2 * tagger.alpha[i] * count_different(y, paths + i * T, T)
    if not tagger.check_overflow(step, largest):
        return OVERFLOW
    counters.updates += 1
    counters.loss += weight * loss
    tagger.add_differences()
    return DONE


def run(OnlineTagger tagger not None, CSRView tokens not None, const int64_t[::1] sequences,
        TokenLabels labels not None, double largest, const int64_t[::1] order, Py_ssize_t position, int64_t budget,
        tuple changes=()):
    """Learn from the sequences `order` from `position` on, while the budget of multiply–adds lasts.

    `changes`: objects, names of attributes and their values, which are set right before: a signal handler sees both or
    neither.

    No value is beyond ±largest. Returns the position that is next, and whether a step there would carry the numbers out
    of range: then it was not taken.
    """
    cdef int status = DONE
    if sequences[sequences.shape[0] - 1] > tokens.stop or labels.n < sequences[sequences.shape[0] - 1]:
        raise ValueError(f"{tokens.stop} tokens and {labels.n} labels do not fit the sequences")
    labels.check_sequences(sequences.shape[0] - 1)
    if labels.sets.K > tagger.chain.K or (labels.partial and labels.sets.K != tagger.chain.K):
        raise ValueError(f"labels of {labels.sets.K} do not fit weights of {tagger.chain.K}")
    before = []                                           # what is freed may run Python code: later
    for changed, name, value in changes:
        before.append(getattr(changed, name))
        setattr(changed, name, value)
    with nogil:
        if tokens.single:
            position = learn_sequences(tagger, tokens, <const float*>tokens.values, &sequences[0], labels, largest,
                                       order, position, budget, &status)
        else:
            position = learn_sequences(tagger, tokens, <const double*>tokens.values, &sequences[0], labels, largest,
                                       order, position, budget, &status)
    if status == NO_MEMORY:
        raise MemoryError
    return position, status == OVERFLOW


cdef Py_ssize_t learn_sequences(OnlineTagger tagger, CSRView tokens, const number* values, const int64_t* sequences,
                                TokenLabels labels, double largest, const int64_t[::1] order, Py_ssize_t position,
                                int64_t budget, int* status) noexcept nogil:
    """`run`; returns the position that is next."""
    cdef Py_ssize_t s, T
    cdef int64_t begin, offset
    cdef const int64_t* indptr
    cdef const int32_t* y
    cdef double weight = 1
    while position < order.shape[0] and budget > 0:
        s = order[position]
        begin, T = sequences[s], sequences[s + 1] - sequences[s]
        if T > 0:
            if not tagger.allocate_buffers(T):
                status[0] = NO_MEMORY
                break
            indptr, offset = tokens.indptr + begin, tokens.indptr[begin]
            score_tokens(&tagger.weights, indptr, tokens.indices + offset, values + offset, T, tagger.chain.P, tagger.S)
            y = choose_target(tagger, labels, begin, T)
            if labels.w != NULL:
                weight = labels.w[s]
            if tagger.rule.loss == MIRA:
                status[0] = learn_from_nbest(tagger, indptr, tokens.indices + offset, values + offset, y, T,
                                             weight, largest)
            else:
                status[0] = learn_from_best(tagger, indptr, tokens.indices + offset, values + offset, y, T,
                                            weight, largest)
            if status[0] != DONE:
                break
            budget -= (indptr[T] - offset) * tagger.chain.K + T * tagger.chain.size * tagger.chain.P
            tagger.counters[0].t += 1          # what is empty does not count
        position += 1
    return position
