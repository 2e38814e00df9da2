"""Labels of tokens to learn from, bound and looked at once."""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t


@cython.final
cdef class TokenLabels:
    """Codes of K labels: −1 for a label that is not known, −2 − m for one of those that `members` [n, K] marks in m.

    Tokens with one label each are `codes` of which none is below 0, and `members` of length 0. No `weights` of
    sequences stand for ones.
    """

    def __cinit__(self, const int32_t[::1] codes, Py_ssize_t K, const uint8_t[:, ::1] members,
                  const double[::1] weights):
        cdef Py_ssize_t t, m, k, s, n_sets = members.shape[0]
        cdef bint some
        if K < 1 or (n_sets and members.shape[1] != K):
            raise ValueError(f"sets of {members.shape[1]} labels do not fit {K}")
        for m in range(n_sets):
            some = False
            for k in range(K):
                some = some or members[m, k] != 0
            if not some:
                raise ValueError(f"the set {m} has no label")
        self.codes, self.members, self.n = codes, members, codes.shape[0]
        for t in range(self.n):
            if not -2 - n_sets < codes[t] < K:
                raise ValueError(f"token {t} has the code {codes[t]}, of {K} labels and {n_sets} sets")
            self.partial = self.partial or codes[t] < 0
        self.sets.K, self.sets.n = K, n_sets
        if n_sets:
            self.sets.members = &members[0, 0]
        if self.n:
            self.y = &codes[0]
        self.weights, self.n_sequences = weights, weights.shape[0]
        for s in range(self.n_sequences):
            if not 0 < weights[s] < INFINITY:
                raise ValueError(f"sequence {s} has the weight {weights[s]}")
        if self.n_sequences:
            self.w = &weights[0]

    def check_sequences(self, Py_ssize_t n):
        """Check that there are weights of n sequences, or none."""
        if self.w != NULL and self.n_sequences != n:
            raise ValueError(f"weights of {self.n_sequences} sequences do not fit {n}")
