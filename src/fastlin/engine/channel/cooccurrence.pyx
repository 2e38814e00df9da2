"""EM for lexical channels (Brown, Della Pietra, Della Pietra & Mercer 1993): a pass over pairs of sentences.

For a source e₀ … e_l and an observed sentence f₁ … f_m, with d_j = Σ_i a(i | j, l, m) t(f_j | e_i), expected are

    (e, f)   t(f | e) Σ a(i | j, l, m) / d_j   over the places where e = e_i and f = f_j
    (i, j)   a(i | j, l, m) t(f_j | e_i) / d_j

t holds words that stand in one pair only, as a CSR by source word. Each place (i, j) of each pair knows the number of
its entry there, 4 bytes found once: for the words of one source word at a time, in a dense table. So an E-step is a
gather and two sums by pairs, and the M-step a sum by source words, whose row of t stays in the cache; both have one
writer for each number, and no hash; without the numbers, adding d_j up by source words needs as many copies of d as
there are threads.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memset
from cython cimport final

import numpy as np

from fastlin.engine.core.allocation cimport allocate, allocate_zeros
from fastlin.engine.core.mathx cimport logarithm

cdef enum:
    AHEAD = 8                                  # source words: what is observed beside them is fetched so long before

cdef extern from * nogil:
    """
    #include <stddef.h>
    #include <stdint.h>
    static inline void fastlin_add_gathered(const double *restrict t, const int32_t *restrict entries,
                                            double *restrict sums, ptrdiff_t n)
    {
        for (ptrdiff_t j = 0; j < n; j++)
            sums[j] += t[entries[j]];
    }
    static inline void fastlin_add_weighted(const double *restrict t, const int32_t *restrict entries,
                                            const double *restrict a, double *restrict sums, ptrdiff_t n)
    {
        for (ptrdiff_t j = 0; j < n; j++)
            sums[j] += a[j] * t[entries[j]];
    }
    /* what each place has of its observed word, added to `expected` */
    static inline void fastlin_add_shares(const double *restrict t, const int32_t *restrict entries,
                                          const double *restrict a, const double *restrict inverse,
                                          double *restrict expected, ptrdiff_t n)
    {
        for (ptrdiff_t j = 0; j < n; j++)
            expected[j] += a[j] * t[entries[j]] * inverse[j];
    }
    """
    void prefetch "__builtin_prefetch"(const void*) noexcept
    void add_gathered "fastlin_add_gathered"(const double*, const int32_t*, double*, Py_ssize_t) noexcept
    void add_weighted "fastlin_add_weighted"(
        const double*, const int32_t*, const double*, double*, Py_ssize_t) noexcept
    void add_shares "fastlin_add_shares"(
        const double*, const int32_t*, const double*, const double*, double*, Py_ssize_t) noexcept


@final
cdef class Cooccurrences:
    """Pairs of sentences, each word of a source beside each word observed with it.

    `source` and `observed` hold the numbers of words, below `n_source` and `n_observed`; sentence k of a side is
    [starts[k], starts[k + 1]).
    """

    cdef const int32_t[::1] source, observed
    cdef const int64_t[::1] source_starts, observed_starts
    cdef int32_t[::1] pair, position           # k and i of the words of all sources, by their numbers
    cdef int64_t[::1] word_starts              # where those of each number begin
    cdef int64_t[::1] entry_starts             # where the entries of a pair begin: by i, then j
    cdef int32_t[::1] entries
    cdef Py_ssize_t n_observed
    cdef double alpha, mass
    cdef readonly int64_t n_places             # of all pairs: Σ l m

    def __init__(self, source, source_starts, observed, observed_starts, Py_ssize_t n_source, Py_ssize_t n_observed):
        cdef Py_ssize_t k, q, w, n
        cdef int64_t at
        self.source, self.source_starts = source, source_starts
        self.observed, self.observed_starts = observed, observed_starts
        self.n_observed = n_observed
        n = self.source_starts.shape[0] - 1
        self.pair, self.position = np.empty(len(source), np.int32), np.empty(len(source), np.int32)
        self.word_starts, self.entry_starts = np.zeros(n_source + 2, np.int64), np.zeros(n + 1, np.int64)
        with nogil:
            for k in range(n):
                for q in range(self.source_starts[k], self.source_starts[k + 1]):
                    self.word_starts[self.source[q] + 2] += 1
                self.entry_starts[k + 1] = self.entry_starts[k] + self.length(k) * (
                    self.source_starts[k + 1] - self.source_starts[k])
            for w in range(n_source):
                self.word_starts[w + 2] += self.word_starts[w + 1]
            for k in range(n):
                for q in range(self.source_starts[k], self.source_starts[k + 1]):
                    at = self.word_starts[self.source[q] + 1]
                    self.pair[at], self.position[at] = <int32_t>k, <int32_t>(q - self.source_starts[k])
                    self.word_starts[self.source[q] + 1] += 1
        self.n_places = self.entry_starts[n]

    cdef inline int64_t length(self, Py_ssize_t k) noexcept nogil:
        return self.observed_starts[k + 1] - self.observed_starts[k]

    cdef inline void fetch(self, Py_ssize_t p, const double* also) noexcept nogil:
        """Fetch the observed words of the p-th source word, and numbers of theirs, before they are needed."""
        cdef int64_t at
        if p < self.pair.shape[0]:
            at = self.observed_starts[self.pair[p]]
            prefetch(&self.observed[0] + at)
            prefetch(&self.observed[0] + at + 16)
            if also:
                prefetch(also + at)
                prefetch(also + at + 8)
                prefetch(also + at + 16)

    def work(self):
        """How many words are observed beside the source words before each: what ranges of them are cut by."""
        cdef Py_ssize_t w, p
        found = np.zeros(self.word_starts.shape[0] - 1, np.int64)
        cdef int64_t[::1] sums = found
        with nogil:
            for w in range(sums.shape[0] - 1):
                sums[w + 1] = sums[w]
                for p in range(self.word_starts[w], self.word_starts[w + 1]):
                    sums[w + 1] += self.length(self.pair[p])
        return found

    def distinct(self, Py_ssize_t first, Py_ssize_t last, int64_t[::1] keys, int64_t[::1] counts):
        """The words observed beside the source words [first, last): e · n_observed + f, each once; returns how many.

        counts[e + 1] says how many of them are beside e.
        """
        cdef Py_ssize_t e, p, k, j, n = 0
        cdef int32_t f
        cdef int32_t* seen = <int32_t*>allocate_zeros(self.n_observed, sizeof(int32_t))  # beside e: e + 1
        if not seen:
            raise MemoryError
        with nogil:
            for e in range(first, last):
                for p in range(self.word_starts[e], self.word_starts[e + 1]):
                    self.fetch(p + AHEAD, NULL)
                    k = self.pair[p]
                    for j in range(self.observed_starts[k], self.observed_starts[k + 1]):
                        f = self.observed[j]
                        if seen[f] != e + 1:
                            seen[f] = <int32_t>(e + 1)
                            keys[n] = e * self.n_observed + f
                            counts[e + 1] += 1
                            n += 1
        free(seen)
        return n

    def bind(self, int32_t[::1] entries, double alpha, double mass):
        """Take the array, one for each place, that `number` fills; and the pseudo-counts of a word, and of all."""
        self.entries, self.alpha, self.mass = entries, alpha, mass

    def number(self, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] starts, const int32_t[::1] words):
        """Find the entries (starts, words) of all places of the source words [first, last)."""
        cdef Py_ssize_t e, p, j, k
        cdef int32_t* entry
        cdef int32_t* of = <int32_t*>allocate(self.n_observed, sizeof(int32_t))
        if not of:
            raise MemoryError
        with nogil:
            for e in range(first, last):
                for j in range(starts[e], starts[e + 1]):
                    of[words[j]] = <int32_t>j
                for p in range(self.word_starts[e], self.word_starts[e + 1]):
                    self.fetch(p + AHEAD, NULL)
                    k = self.pair[p]
                    if self.length(k):
                        entry = &self.entries[self.entry_starts[k] + self.position[p] * self.length(k)]
                        for j in range(self.length(k)):
                            entry[j] = of[self.observed[self.observed_starts[k] + j]]
        free(of)

    def expect(self, Py_ssize_t first, Py_ssize_t last, const double[::1] t, const double[::1] alignment,
               const int64_t[::1] tables, double[::1] inverse, double[::1] expected, int64_t origin):
        """inverse[j] = 1/d_j for the observed words of the pairs [first, last); returns Σ log d_j.

        alignment[tables[k] + i m + j] = a(i | j, l, m) of pair k; `expected`, whose first number belongs to
        alignment[origin], gets what is expected of it. Without an alignment d_j = Σ_i t(f_j | e_i).
        """
        cdef Py_ssize_t k, i, j, m, n
        cdef double likelihood = 0
        cdef double* d
        cdef const int32_t* entry
        cdef const double* a = NULL
        cdef bint aligned = alignment.shape[0] > 0
        with nogil:
            for k in range(first, last):
                m, n = self.length(k), self.source_starts[k + 1] - self.source_starts[k]
                if m == 0 or n == 0:
                    continue
                d = &inverse[self.observed_starts[k]]
                entry = &self.entries[self.entry_starts[k]]
                memset(d, 0, m * sizeof(double))
                if aligned:
                    a = &alignment[tables[k]]
                for i in range(n):
                    if aligned:
                        add_weighted(&t[0], entry + i * m, a + i * m, d, m)
                    else:
                        add_gathered(&t[0], entry + i * m, d, m)
                for j in range(m):
                    likelihood += logarithm(d[j])
                    d[j] = 1 / d[j]
                if aligned:
                    for i in range(n):
                        add_shares(&t[0], entry + i * m, a + i * m, d, &expected[tables[k] - origin + i * m], m)
        return likelihood

    def maximise(self, Py_ssize_t first, Py_ssize_t last, const int64_t[::1] starts, const int32_t[::1] words,
                 double[::1] t, double[::1] rest, const double[::1] alignment, const int64_t[::1] tables,
                 const double[::1] inverse):
        """t of the source words [first, last), from their expected counts; rest[e] of words never seen beside e.

        What no count is expected of stays as it is.
        """
        cdef Py_ssize_t e, p, j, k, m
        cdef double total
        cdef const double* inv
        cdef const double* a
        cdef const int32_t* f
        cdef double* sums = <double*>allocate_zeros(self.n_observed, sizeof(double))  # beside e; 0 for all others
        if not sums:
            raise MemoryError
        with nogil:
            for e in range(first, last):
                for p in range(self.word_starts[e], self.word_starts[e + 1]):
                    self.fetch(p + AHEAD, &inverse[0])
                    k = self.pair[p]
                    m = self.length(k)
                    if m == 0:
                        continue
                    f, inv = &self.observed[self.observed_starts[k]], &inverse[self.observed_starts[k]]
                    if alignment.shape[0]:
                        a = &alignment[tables[k] + self.position[p] * m]
                        for j in range(m):
                            sums[f[j]] += a[j] * inv[j]
                    else:
                        for j in range(m):
                            sums[f[j]] += inv[j]
                total = 0
                for j in range(starts[e], starts[e + 1]):
                    sums[words[j]] *= t[j]
                    total += sums[words[j]]
                if total > 0:
                    for j in range(starts[e], starts[e + 1]):
                        t[j] = (sums[words[j]] + self.alpha) / (total + self.mass)
                    rest[e] = self.alpha / (total + self.mass)
                for j in range(starts[e], starts[e + 1]):
                    sums[words[j]] = 0
        free(sums)
