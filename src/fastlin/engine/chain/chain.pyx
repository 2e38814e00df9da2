"""Chains, a block of sequences a call: marginals, best paths, scores of given paths.

The scores of a chain come padded, as `chain_from_arrays` takes them, those of tokens without padding:
scores [n, K], edges [n, K, K], offsets [n, rows, K], of which an array of length 0 stands for none.
"""

cimport cython
from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport checked_product
from fastlin.engine.chain.chain cimport (
    LANES, Chain, Trellis, chain_from_arrays, free_trellis, longest_sequence, allocate_trellis, check_starts,
    allocate_doubles, path_score,
)
from fastlin.engine.chain.viterbi_dense cimport viterbi_forward_dense, backtrack_dense
from fastlin.engine.chain.nbest cimport PartialPaths, n_best
from fastlin.engine.chain.viterbi cimport viterbi_forward, viterbi
from fastlin.engine.chain.chain_inference cimport chain_marginals

LABEL_PADDING = LANES


cdef void pad_rows(const double* source, Py_ssize_t rows, Py_ssize_t K, Py_ssize_t P, double* target) noexcept nogil:
    """Rows of K numbers as rows of P, filled up with −∞."""
    cdef Py_ssize_t r, j
    for r in range(rows):
        for j in range(K):
            target[r * P + j] = source[r * K + j]
        for j in range(K, P):
            target[r * P + j] = -INFINITY


@cython.final
cdef class _PaddedSequences:
    """The scores of one sequence after the other, padded."""

    cdef Chain chain
    cdef double* S           # [T, P]
    cdef double* padded      # [T, size]: offsets
    cdef double* offsets     # the same, or NULL
    cdef const double* edges
    cdef const double[:, ::1] scores
    cdef const double[:, :, ::1] all_edges, all_offsets

    def __cinit__(self, const double[:, ::1] scores, const double[:, :, ::1] edges, const double[:, :, ::1] offsets):
        self.scores, self.all_edges, self.all_offsets = scores, edges, offsets

    cdef int check_and_allocate(self, Chain chain, const int64_t[::1] starts, Py_ssize_t first,
                                Py_ssize_t last) except -1:
        """Prove that the sequences and all that is said of their tokens fit the chain, and make room for each."""
        cdef Py_ssize_t most, n = self.scores.shape[0], K = chain.K
        check_starts(starts, first, last, n)
        if self.all_edges.shape[0] and not (self.all_edges.shape[0] == n and chain.rows == 1
                                            and self.all_edges.shape[1] == self.all_edges.shape[2] == K):
            raise ValueError(f"edges do not fit {n} tokens of {K} labels")
        if self.all_offsets.shape[0] and not (self.all_offsets.shape[0] == n and self.all_offsets.shape[2] == K
                                              and self.all_offsets.shape[1] == chain.rows):
            raise ValueError(f"offsets do not fit {n} tokens of {K} labels")
        most = longest_sequence(starts, first, last)
        self.chain = chain
        self.S = allocate_doubles(checked_product(most, chain.P))
        self.padded = allocate_doubles(checked_product(most, chain.size) if self.all_offsets.shape[0] else 1)
        return 0

    def __dealloc__(self):
        free(self.S)
        free(self.padded)

    cdef void load(self, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
        """The scores of the tokens start … stop − 1."""
        cdef Py_ssize_t K = self.chain.K, P = self.chain.P
        self.edges, self.offsets = NULL, NULL
        if stop == start:
            return
        pad_rows(&self.scores[start, 0], stop - start, K, P, self.S)
        if self.all_edges.shape[0]:
            self.edges = &self.all_edges[start, 0, 0]
        if self.all_offsets.shape[0]:
            pad_rows(&self.all_offsets[start, 0, 0], (stop - start) * self.chain.rows, K, P, self.padded)
            self.offsets = self.padded


cdef void add_end_counts(const Chain* chain, Trellis* trellis, Py_ssize_t T, double[::1] starts,
                         double[::1] ends) noexcept nogil:
    """Add the marginals of the first label and of the last state."""
    cdef Py_ssize_t j, c
    cdef double top = -INFINITY, total = 0
    cdef const double* alpha = trellis.alpha + (T - 1) * chain.size
    for j in range(chain.P):
        starts[j] += trellis.p[j]
    for c in range(chain.size):
        top = max(top, chain.end[c] + (alpha[c] if trellis.logs else 0.0))
    for c in range(chain.size):
        trellis.beta[c] = exp(chain.end[c] - top + alpha[c]) if trellis.logs else alpha[c] * exp(chain.end[c] - top)
        total += trellis.beta[c]
    for c in range(chain.size):
        ends[c] += trellis.beta[c] / total


@cython.final
cdef class ChainCounts:
    """Expected numbers of first labels [P], of transitions [size, P] and of last states [size], to be added to.

    Transitions without rows: nothing is counted.
    """

    cdef double[::1] first_labels, last_states
    cdef double[:, ::1] transitions

    def __cinit__(self, double[::1] first_labels, double[:, ::1] transitions, double[::1] last_states):
        self.first_labels, self.transitions, self.last_states = first_labels, transitions, last_states


def marginals(tuple padded, const double[:, ::1] scores, const double[:, :, ::1] edges,
              const double[:, :, ::1] offsets, const int64_t[::1] starts, Py_ssize_t first, Py_ssize_t last,
              double[:, ::1] p, double[::1] log_z, ChainCounts expected not None):
    """p[t, k] of the tokens of the sequences first … last − 1, and their log Z, −∞ where there is no path.

    What is expected of these sequences is added to the counts.
    """
    cdef double[:, ::1] counts = expected.transitions
    cdef double[::1] first_labels = expected.first_labels, last_states = expected.last_states
    cdef Py_ssize_t K = scores.shape[1], s, t, j, begin, T, longest_
    cdef _PaddedSequences sequences = _PaddedSequences(scores, edges, offsets)
    cdef Chain chain = chain_from_arrays(padded, K)
    cdef Trellis trellis
    cdef bint counting = counts.shape[0] > 0
    cdef double* counted = &counts[0, 0] if counting else NULL
    cdef double* pairs = NULL
    sequences.check_and_allocate(chain, starts, first, last)
    longest_ = longest_sequence(starts, first, last)
    if p.shape[0] != scores.shape[0] or p.shape[1] != K or log_z.shape[0] < last:
        raise ValueError("no room for the marginals")
    if counting and not (counts.shape[0] == chain.size == last_states.shape[0]
                         and counts.shape[1] == chain.P == first_labels.shape[0]):
        raise ValueError("no room for the counts")
    try:
        allocate_trellis(&trellis, &chain, longest_, offsets.shape[0] > 0, edges.shape[0] > 0)
        if counting and edges.shape[0] > 0:
            pairs = allocate_doubles(checked_product(longest_, K * K))
        with nogil:
            for s in range(first, last):
                begin, T = starts[s], starts[s + 1] - starts[s]
                sequences.load(begin, begin + T)
                trellis.S = sequences.S
                log_z[s] = chain_marginals(&chain, &trellis, T, sequences.edges, sequences.offsets, counted, pairs)
                if log_z[s] == -INFINITY:
                    continue
                for t in range(T):
                    for j in range(K):
                        p[begin + t, j] = trellis.p[t * chain.P + j]
                if counting and T > 0:
                    add_end_counts(&chain, &trellis, T, first_labels, last_states)
            if counting:
                for t in range(chain.size):
                    for j in range(chain.P):
                        counts[t, j] += trellis.Q[t * chain.P + j] * chain.M[t * chain.P + j]
    finally:
        free_trellis(&trellis)
        free(pairs)


def best_paths(tuple padded, const double[:, ::1] scores, const double[:, :, ::1] edges,
               const double[:, :, ::1] offsets, const int64_t[::1] starts, Py_ssize_t first, Py_ssize_t last,
               int32_t[::1] y, double[::1] values):
    """The best path y of every sequence first … last − 1, and its score, −∞ where there is none.

    Order 2 goes the way that leaves out forbidden states: words of a dictionary have few labels.
    """
    cdef Py_ssize_t s, i, j, begin, T, longest_
    cdef _PaddedSequences sequences = _PaddedSequences(scores, edges, offsets)
    cdef Chain chain = chain_from_arrays(padded, scores.shape[1])
    cdef bint plain = chain.rows == 1 and edges.shape[0] == 0 and offsets.shape[0] == 0
    cdef double* numbers = NULL
    cdef double* AT = NULL
    cdef int32_t* back = NULL
    sequences.check_and_allocate(chain, starts, first, last)
    longest_ = longest_sequence(starts, first, last)
    if y.shape[0] != scores.shape[0] or values.shape[0] < last:
        raise ValueError("no room for the paths")
    try:
        numbers = allocate_doubles(checked_product(longest_ if plain else 3, chain.size))
        AT = allocate_doubles(chain.P * chain.P if plain else 1)
        back = <int32_t*>allocate_doubles(1 if plain else checked_product(longest_, chain.size) // 2 + 1)
        with nogil:
            for i in range(chain.P if plain else 0):
                for j in range(chain.P):
                    AT[j * chain.P + i] = chain.A[i * chain.P + j]
            for s in range(first, last):
                begin, T = starts[s], starts[s + 1] - starts[s]
                sequences.load(begin, begin + T)
                if plain and T > 0:
                    viterbi_forward_dense(&chain, T, sequences.S, numbers)
                    values[s] = backtrack_dense(&chain, T, numbers, AT, &y[begin])
                    continue
                values[s] = viterbi(&chain, T, sequences.S, sequences.edges, sequences.offsets, numbers,
                                    numbers + 2 * chain.size, back, &y[begin] if T > 0 else NULL)
    finally:
        free(numbers)
        free(AT)
        free(back)


def nbest_paths(tuple padded, const double[:, ::1] scores, const double[:, :, ::1] edges,
                const double[:, :, ::1] offsets, int32_t[:, ::1] paths, double[::1] values):
    """The n best paths [n, T] of one sequence that has all the scores; returns how many there are."""
    cdef Py_ssize_t T = scores.shape[0], found = 0
    cdef _PaddedSequences sequences = _PaddedSequences(scores, edges, offsets)
    cdef Chain chain = chain_from_arrays(padded, scores.shape[1])
    cdef PartialPaths partials = PartialPaths(NULL, NULL, 0, 0, 0)
    cdef double* reached = NULL
    cdef int64_t[2] one = [0, T]
    if T == 0 or paths.shape[0] != values.shape[0] or paths.shape[0] == 0 or paths.shape[1] != T:
        raise ValueError("no room for the paths")
    sequences.check_and_allocate(chain, <int64_t[:2]>one, 0, 1)
    try:
        reached = allocate_doubles(checked_product(T + 1, chain.size))
        with nogil:
            sequences.load(0, T)
            viterbi_forward(&chain, T, sequences.S, sequences.edges, sequences.offsets, reached,
                            reached + T * chain.size, NULL)
            found = n_best(&chain, &partials, T, sequences.edges, sequences.offsets, reached,
                           values.shape[0], &paths[0, 0], &values[0])
    finally:
        free(reached)
        free(partials.all_)
        free(partials.heap)
    if found < 0:
        raise MemoryError
    return found


def path_scores(tuple padded, const double[:, ::1] scores, const double[:, :, ::1] edges,
                const double[:, :, ::1] offsets, const int64_t[::1] starts, Py_ssize_t first, Py_ssize_t last,
                const int32_t[::1] y, double[::1] found):
    """s(y) of every sequence first … last − 1."""
    cdef Py_ssize_t s, t, begin, T
    cdef _PaddedSequences sequences = _PaddedSequences(scores, edges, offsets)
    cdef Chain chain = chain_from_arrays(padded, scores.shape[1])
    sequences.check_and_allocate(chain, starts, first, last)
    if y.shape[0] != scores.shape[0] or found.shape[0] < last:
        raise ValueError("labels that do not fit the tokens")
    for t in range(starts[first], starts[last]):
        if not 0 <= y[t] < chain.K:
            raise ValueError(f"token {t} has the label {y[t]}, of {chain.K}")
    with nogil:
        for s in range(first, last):
            begin, T = starts[s], starts[s + 1] - starts[s]
            sequences.load(begin, begin + T)
            found[s] = path_score(&chain, sequences.S, T, sequences.edges, sequences.offsets,
                                  &y[begin] if T > 0 else NULL)
