"""One sentence at a time: scores and the best path of a few tokens, with weights, chain and memory bound once.

Scores are those of `passes.forward` or `observed_weights.forward`, and paths those of `chain.best_paths`, sum by sum:
the labels are the same, ties included.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcmp

import numpy as np

from fastlin.engine.core.allocation cimport checked_product
from fastlin.engine.core.csr cimport real, score_row
from fastlin.engine.core.observed_weights cimport add_observed
from fastlin.engine.chain.chain cimport Chain, allocate_doubles, chain_from_arrays
from fastlin.engine.chain.viterbi cimport viterbi
from fastlin.engine.chain.viterbi_dense cimport backtrack_dense, viterbi_forward_dense

cdef enum:
    MIN_ROOM = 64            # tokens


@cython.final
cdef class SentenceTagger:
    """Weights of features and of transitions, and the memory of one sentence: for one thread at a time.

    `weights` are a C-contiguous table [V, K], or (starts, labels, θ) of the labels that each feature has. `watched` are
    arrays that a user may write to: `unchanged` compares them with what they were. Scores above `largest` are none.
    """

    cdef Chain chain
    cdef Py_ssize_t K, n_features, n, room
    cdef bint sparse, single
    cdef double largest
    cdef object padded
    cdef list names, watched
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] labels
    cdef const double[::1] theta
    cdef const double[:, ::1] doubles
    cdef const float[:, ::1] floats
    cdef double* AT          # [P, P]
    cdef double* S           # [room, P]
    cdef double* best        # [room, size]
    cdef double* raw         # [K] of the type of the weights
    cdef double* values      # [room for the non-zeros of a token] ones
    cdef Py_ssize_t n_ones
    cdef int32_t* back       # [room, size]
    cdef int32_t* path       # [room]

    def __cinit__(self, weights, tuple padded, list names, double largest, list watched):
        cdef Py_ssize_t i, j
        self.padded, self.names, self.largest = padded, names, largest
        self.watched = [(array, array.copy()) for array in watched]
        self.K = len(names)
        self.chain = chain_from_arrays(padded, self.K)
        self.sparse = isinstance(weights, tuple)
        if self.sparse:
            self.starts, self.labels, self.theta = weights
            self.n_features = self.starts.shape[0] - 1
            if self.n_features < 0 or not self.labels.shape[0] == self.theta.shape[0] >= self.starts[self.n_features]:
                raise ValueError(f"{self.theta.shape[0]} weights do not fit {self.n_features} features")
            for i in range(self.n_features):
                if not 0 <= self.starts[i] <= self.starts[i + 1]:
                    raise ValueError(f"the weights of feature {i} begin behind those of the next")
            for i in range(self.labels.shape[0]):
                if not 0 <= self.labels[i] < self.K:
                    raise ValueError(f"weight {i} is of the label {self.labels[i]}, of {self.K}")
        else:
            self.single = weights.itemsize == sizeof(float)
            if self.single:
                self.floats = weights
            else:
                self.doubles = weights
            self.n_features = weights.shape[0]
            if weights.shape[1] != self.K:
                raise ValueError(f"weights of {weights.shape[1]} labels do not fit {self.K}")
        self.AT = allocate_doubles(self.chain.P * self.chain.P)
        self.raw = allocate_doubles(self.K)
        for i in range(self.chain.P if self.chain.rows == 1 else 0):
            for j in range(self.chain.P):
                self.AT[j * self.chain.P + i] = self.chain.A[i * self.chain.P + j]
        self.make_room(MIN_ROOM)

    def __dealloc__(self):
        free(self.AT)
        free(self.raw)
        free(self.values)
        self.free_room()

    cdef void free_room(self) noexcept:
        free(self.S)
        free(self.best)
        free(self.back)
        free(self.path)
        self.S = self.best = NULL
        self.back = self.path = NULL
        self.room = 0

    cdef int make_room(self, Py_ssize_t n) except -1:
        """Memory for a sentence of n tokens."""
        cdef Py_ssize_t most = max(n, 2 * self.room)
        if n <= self.room:
            return 0
        self.free_room()
        self.S = allocate_doubles(checked_product(most, self.chain.P))
        self.best = allocate_doubles(checked_product(most + 3, self.chain.size))
        self.back = <int32_t*>allocate_doubles(checked_product(most, self.chain.size) // 2 + 1)
        self.path = <int32_t*>allocate_doubles(most // 2 + 1)
        self.room = most
        return 0

    cdef int make_ones(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t p
        if n <= self.n_ones:
            return 0
        free(self.values)
        self.values, self.n_ones = NULL, 0
        self.values = allocate_doubles(2 * n)
        self.n_ones = 2 * n
        for p in range(self.n_ones):
            self.values[p] = 1.0
        return 0

    def unchanged(self):
        """Whether the arrays that were watched are what they were."""
        cdef const double[::1] now, then
        for array, copy in self.watched:
            now, then = array.reshape(-1), copy.reshape(-1)
            if now.shape[0] and memcmp(&now[0], &then[0], now.shape[0] * sizeof(double)) != 0:
                return False
        return True

    def score(self, const int64_t[::1] indptr, const int32_t[::1] indices, const double[::1] values, Py_ssize_t n):
        """Take the scores of n tokens, whose features are indices[indptr[t]:indptr[t + 1]]; without values, all 1.

        False: they are no numbers.
        """
        cdef Py_ssize_t t, k, P = self.chain.P
        cdef int64_t p, m, most = 0
        cdef double* s
        cdef const double* x
        cdef const int32_t* pair_labels = &self.labels[0] if self.sparse and self.labels.shape[0] else NULL
        cdef const double* theta = &self.theta[0] if pair_labels != NULL else NULL
        self.n = 0
        if not (0 <= n < indptr.shape[0] and indptr[0] == 0 and indptr[n] <= indices.shape[0]
                and (values is None or indptr[n] <= values.shape[0])):
            raise ValueError(f"{n} tokens do not fit {indices.shape[0]} features")
        for t in range(n):
            if indptr[t + 1] < indptr[t]:
                raise ValueError(f"token {t} ends before it begins")
            most = max(most, indptr[t + 1] - indptr[t])
        for p in range(indptr[n]):
            if not 0 <= indices[p] < self.n_features:
                raise ValueError(f"there is no feature {indices[p]}: there are {self.n_features}")
        self.make_room(n)
        self.make_ones(most)
        for t in range(n):
            p, m, s = indptr[t], indptr[t + 1] - indptr[t], self.S + t * P
            for k in range(P):
                s[k] = 0.0 if k < self.K else -INFINITY
            if m == 0:
                continue
            x = self.values if values is None else &values[p]
            if self.sparse:
                add_observed(&indices[p], x, m, &self.starts[0], pair_labels, theta, s)
            elif self.single:
                score_table(&self.floats[0, 0], self.K, &indices[p], x, m, <float*>self.raw, s)
            else:
                score_table(&self.doubles[0, 0], self.K, &indices[p], x, m, self.raw, s)
        for t in range(n):
            for k in range(self.K):
                if not self.S[t * P + k] <= self.largest:
                    return False
        self.n = n
        return True

    def scores(self):
        """The scores of the tokens, [n, K]; a new array."""
        cdef Py_ssize_t t, k
        found = np.empty((self.n, self.K))
        cdef double[:, ::1] to = found
        for t in range(self.n):
            for k in range(self.K):
                to[t, k] = self.S[t * self.chain.P + k]
        return found

    def replace(self, Py_ssize_t t, const double[::1] row):
        """Have these scores of a token."""
        cdef Py_ssize_t k
        if not 0 <= t < self.n or row.shape[0] != self.K:
            raise ValueError(f"{row.shape[0]} scores of token {t} do not fit {self.n} tokens of {self.K} labels")
        for k in range(self.K):
            self.S[t * self.chain.P + k] = row[k]

    def decode(self):
        """The labels of the best path; None: there is none."""
        cdef double value
        cdef Py_ssize_t t
        cdef list found
        if self.n == 0:
            return []
        if self.chain.rows == 1:
            viterbi_forward_dense(&self.chain, self.n, self.S, self.best)
            value = backtrack_dense(&self.chain, self.n, self.best, self.AT, self.path)
        else:
            value = viterbi(&self.chain, self.n, self.S, NULL, NULL, self.best, self.best + 2 * self.chain.size,
                            self.back, self.path)
        if value == -INFINITY:
            return None
        found = [None] * self.n
        for t in range(self.n):
            found[t] = self.names[self.path[t]]
        return found


cdef inline void score_table(const real* W, Py_ssize_t K, const int32_t* indices, const double* values, int64_t m,
                             real* raw, double* s) noexcept nogil:
    """s = Wᵀx, in the type of the weights."""
    cdef Py_ssize_t k
    score_row(raw, W, K, indices, values, m, indices, 0)
    for k in range(K):
        s[k] = raw[k] + 0.0
