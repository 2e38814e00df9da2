"""Word classes by exchange: each word moves to the class in which the class bigrams are most likely.

    F = Σ_ab h(N_ab) − Σ_a h(N_a·) − Σ_b h(N_·b),   h(n) = n log n

is the log-likelihood of p(w | v) = p(c(w) | c(v)) p(w | c(w)) but for a term that no class changes (Martin, Liermann &
Ney 1998, eq. 5). N_ab counts how often a word of class a is followed by one of class b.

A word that leaves its class takes its own bigrams with it; what each class would gain by it is then a sum over the
classes beside which the word stands, and runs along rows of h(N), which lie by class (and once more turned round), so
that the inner loop has no index to look up but that of the table of h.
"""

from libc.math cimport log
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

cdef double ROUNDING = 1e-9  # of a gain: no reason to move


cdef inline double entropy_term(const double* table, int64_t size, int64_t n) noexcept nogil:
    """h(n), from the table where it reaches."""
    return table[n] if n < size else n * log(<double>n)


cdef inline void add_gains(const int64_t* counts, const double* terms, int64_t more, const double* table, int64_t size,
                           Py_ssize_t K, double* gains) noexcept nogil:
    """gains[k] += h(counts[k] + more) − h(counts[k])."""
    cdef Py_ssize_t k
    for k in range(K):
        gains[k] += entropy_term(table, size, counts[k] + more) - terms[k]


cdef class ClassBigrams:
    """N, the counts of class bigrams, and the words that make them.

    `followers` and `predecessors` are the bigrams of words as a CSR (indptr, words, counts), and the same turned round;
    `classes` has the class of each word, and changes; `reserved` classes take no words in. table[n] = h(n).
    """

    cdef const int64_t[::1] next_indptr, next_counts, last_indptr, last_counts
    cdef const int32_t[::1] next_words, last_words
    cdef const double[::1] table
    cdef const uint8_t[::1] reserved
    cdef int32_t[::1] classes
    cdef int64_t[:, ::1] counts, turned        # N and its transpose
    cdef double[:, ::1] terms, turned_terms    # h of both
    cdef int64_t[::1] starts, ends             # N_a· and N_·b
    cdef int64_t[::1] following, preceding     # of the word at hand, by class; without those beside itself
    cdef int64_t itself                        # how often it stands beside itself
    cdef double[::1] gains

    def __init__(self, followers, predecessors, table, classes, reserved):
        cdef Py_ssize_t v, j, K = len(reserved)
        self.next_indptr, self.next_words, self.next_counts = followers
        self.last_indptr, self.last_words, self.last_counts = predecessors
        self.table, self.classes, self.reserved = table, classes, reserved
        self.counts, self.turned = np.zeros((K, K), np.int64), np.zeros((K, K), np.int64)
        self.terms, self.turned_terms = np.zeros((K, K)), np.zeros((K, K))
        self.starts, self.ends = np.zeros(K, np.int64), np.zeros(K, np.int64)
        self.following, self.preceding = np.zeros(K, np.int64), np.zeros(K, np.int64)
        self.gains = np.zeros(K)
        with nogil:
            for v in range(self.classes.shape[0]):
                for j in range(self.next_indptr[v], self.next_indptr[v + 1]):
                    self.counts[self.classes[v], self.classes[self.next_words[j]]] += self.next_counts[j]
            for v in range(K):
                for j in range(K):
                    self.starts[v] += self.counts[v, j]
                    self.ends[j] += self.counts[v, j]
            for v in range(K):
                self.refresh(v)

    def objective(self):
        """F."""
        cdef Py_ssize_t a, b
        cdef double total = 0
        for a in range(self.counts.shape[0]):
            for b in range(self.counts.shape[0]):
                total += self.terms[a, b]
            total -= self.term(self.starts[a]) + self.term(self.ends[a])
        return total

    def exchange(self, const int32_t[::1] words):
        """Let each of these words move to its best class, in turn; returns how many moved, and what F gained.

        Among equals a word stays, or takes the first.
        """
        cdef Py_ssize_t i, old, best
        cdef int64_t moved = 0
        cdef double gain = 0
        with nogil:
            for i in range(words.shape[0]):
                old = self.classes[words[i]]
                self.read(words[i])
                self.move(old, -1)
                best = self.best(old)
                gain += self.gains[best] - self.gains[old]
                self.move(best, 1)
                self.classes[words[i]] = <int32_t>best
                moved += best != old
        return moved, gain

    cdef double term(self, int64_t n) noexcept nogil:
        return entropy_term(&self.table[0], self.table.shape[0], n)

    cdef void read(self, int64_t w) noexcept nogil:
        """The bigrams of a word, by the classes beside it."""
        cdef Py_ssize_t j
        self.following[:] = 0
        self.preceding[:] = 0
        self.itself = 0
        for j in range(self.next_indptr[w], self.next_indptr[w + 1]):
            if self.next_words[j] == w:
                self.itself = self.next_counts[j]
            else:
                self.following[self.classes[self.next_words[j]]] += self.next_counts[j]
        for j in range(self.last_indptr[w], self.last_indptr[w + 1]):
            if self.last_words[j] != w:
                self.preceding[self.classes[self.last_words[j]]] += self.last_counts[j]

    cdef Py_ssize_t best(self, Py_ssize_t old) noexcept nogil:
        """The class that gains most by the word at hand, which is in none; `gains` say how much."""
        cdef Py_ssize_t k, best = old, K = self.gains.shape[0]
        cdef int64_t size = self.table.shape[0], leaving = self.itself, arriving = self.itself
        cdef const double* h = &self.table[0]
        cdef double* gains = &self.gains[0]
        cdef int64_t own, after, before
        self.gains[:] = 0
        for k in range(K):
            after, before = self.following[k], self.preceding[k]
            leaving += after
            arriving += before
            if after:
                add_gains(&self.turned[k, 0], &self.turned_terms[k, 0], after, h, size, K, gains)
            if before:
                add_gains(&self.counts[k, 0], &self.terms[k, 0], before, h, size, K, gains)
        for k in range(K):                     # N_kk takes both at once, and the word's own bigrams
            own, after, before = self.counts[k, k], self.following[k], self.preceding[k]
            gains[k] += self.term(own) - self.term(own + after) - self.term(own + before)
            gains[k] += self.term(own + after + before + self.itself)
            gains[k] += self.term(self.starts[k]) - self.term(self.starts[k] + leaving)
            gains[k] += self.term(self.ends[k]) - self.term(self.ends[k] + arriving)
        for k in range(K):
            if gains[k] > gains[best] + ROUNDING and not self.reserved[k]:
                best = k
        return best

    cdef void move(self, Py_ssize_t a, int sign) noexcept nogil:
        """Let a class gain the word at hand (sign 1) or lose it (−1)."""
        cdef Py_ssize_t b
        self.starts[a] += sign * self.itself
        self.ends[a] += sign * self.itself
        self.counts[a, a] += sign * self.itself
        for b in range(self.gains.shape[0]):
            self.counts[a, b] += sign * self.following[b]
            self.counts[b, a] += sign * self.preceding[b]
            self.starts[a] += sign * self.following[b]
            self.ends[a] += sign * self.preceding[b]
        self.refresh(a)

    cdef void refresh(self, Py_ssize_t a) noexcept nogil:
        """What is derived from N, after its row and its column a have changed."""
        cdef Py_ssize_t b
        for b in range(self.gains.shape[0]):
            self.turned[b, a] = self.counts[a, b]
            self.turned[a, b] = self.counts[b, a]
            self.terms[a, b] = self.turned_terms[b, a] = self.term(self.counts[a, b])
            self.terms[b, a] = self.turned_terms[a, b] = self.term(self.counts[b, a])
