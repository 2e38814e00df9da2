"""Weights of pairs of words with others between them, beside the hierarchy of n-grams: exact sums over the vocabulary.

With s(hw) of the n-grams (`maxent_hierarchy.pyx`) and weights φ_k(u, w) of the word u that stands k + 1 places before
w, p(w | c) = e^{s(hw) + Σ_k φ_k(u_k, w)}/Z(c) for a context c, which is the history h and the words u_k. Let
f_k = e^{φ_k(u_k, w)}, 1 where there is no such pair. Words that only one u_k knows add what depends on that u_k alone:

    Z(c) = Z(h) + Σ_k T(u_k) + Σ_w [e^{s(hw)} (Π f_k − 1) − e^{θ_w} Σ_k (f_k − 1)],      T(u_k) = Σ_w e^{θ_w} (f_k − 1)

where the last sum runs over words that are in two sets: the children of h, and what was seen after a u_k. They are
found by going through all sets but the largest. So a context costs less than it has active words.

e^{s(hw)} lies in a table of the vocabulary. Contexts stand by their last words, the last first, so that what two of
them share of their histories stays in the table, and only children of the others are written over, and back.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

import numpy as np

from fastlin.engine.core.mathx cimport logarithm

cdef enum:
    HIGHEST = 64                               # order

cdef double LOST = 1e-6                        # of Z(h): a difference that is smaller is no sum of what is left


cdef struct Tries:
    Py_ssize_t order
    const int32_t* starts[HIGHEST]
    const int32_t* words[HIGHEST]
    const int32_t* suffix[HIGHEST]
    const double* scores[HIGHEST]              # e^s
    const double* sums[HIGHEST]                # Z of histories


cdef Tries tries_of(list starts, list words, list suffix, list scores, list sums) except *:
    cdef Tries tries
    cdef const int32_t[::1] numbers
    cdef const double[::1] values
    cdef Py_ssize_t n
    tries.order = len(scores)
    for n in range(tries.order):
        values = scores[n]
        tries.scores[n] = &values[0] if values.shape[0] else NULL
        values = sums[n]
        tries.sums[n] = &values[0] if values.shape[0] else NULL
        if n:
            numbers = starts[n]
            tries.starts[n] = &numbers[0]
            numbers = words[n]
            tries.words[n] = &numbers[0] if numbers.shape[0] else NULL
            numbers = suffix[n]
            tries.suffix[n] = &numbers[0] if numbers.shape[0] else NULL
    return tries


cdef inline Py_ssize_t find(const int32_t* words, Py_ssize_t low, Py_ssize_t high, int32_t w) noexcept nogil:
    """The place of a word among rising ones; −1: it is not there."""
    cdef Py_ssize_t middle, end = high
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < w:
            low = middle + 1
        else:
            high = middle
    return low if low < end and words[low] == w else -1


cdef class HistoryScores:
    """e^s of all words after a history, and which n-gram each is of; made for one history after the other."""

    cdef Tries tries
    cdef list arrays                           # what the pointers point into
    cdef double[::1] scores
    cdef int32_t[::1] places, lengths          # of the longest n-gram that is a feature
    cdef int64_t[::1] chain                    # the present history's last words: how many, and their number
    cdef Py_ssize_t depth
    cdef double[::1] factors, added            # e^Σφ and Σ (e^φ − 1), of the present context
    cdef int64_t[::1] found                    # places in the set that is left out; −1: none
    cdef double[::1] changes, masses           # of each row Σ e^θ (e^φ − 1), NaN until asked for, and Σ n/Z
    cdef int32_t[::1] touched                  # the words with a φ
    cdef int64_t[::1] stamps                   # of each word, the last context that touched it
    cdef int64_t stamp

    def __init__(self, starts, words, suffix, scores, sums, n_rows):
        self.arrays = [starts, words, suffix, scores, sums]
        self.tries = tries_of(starts, words, suffix, scores, sums)
        self.scores = scores[0].copy()
        self.places = np.arange(len(scores[0]), dtype=np.int32)
        self.lengths = np.zeros(len(scores[0]), np.int32)
        self.chain = np.full(HIGHEST, -1, np.int64)
        self.factors, self.added = np.ones(len(scores[0])), np.zeros(len(scores[0]))
        self.found = np.empty(len(scores[0]), np.int64)
        self.changes, self.masses = np.full(n_rows, np.nan), np.zeros(n_rows)
        self.touched = np.empty(len(scores[0]), np.int32)
        self.stamps = np.zeros(len(scores[0]), np.int64)
        self.depth = self.stamp = 0

    cdef void write(self, Py_ssize_t n, int64_t h) noexcept nogil:
        """Write the children of the history h of n words over what their words have after n − 1."""
        cdef Py_ssize_t i
        cdef int32_t w
        for i in range(self.tries.starts[n][h], self.tries.starts[n][h + 1]):
            w = self.tries.words[n][i]
            self.scores[w] = self.tries.scores[n][i]
            self.places[w] = <int32_t>i
            self.lengths[w] = <int32_t>n

    cdef void write_back(self, Py_ssize_t n, int64_t h) noexcept nogil:
        """Give the words of the children of the history h of n words what they have after n − 1."""
        cdef Py_ssize_t i
        cdef int32_t w, shorter
        for i in range(self.tries.starts[n][h], self.tries.starts[n][h + 1]):
            w, shorter = self.tries.words[n][i], self.tries.suffix[n][i]
            self.scores[w] = self.tries.scores[n - 1][shorter]
            self.places[w] = shorter
            self.lengths[w] = <int32_t>(n - 1)

    cdef void go_to(self, Py_ssize_t length, int64_t h) noexcept nogil:
        """Have the scores after the history h of so many words."""
        cdef int64_t wanted[HIGHEST]
        cdef Py_ssize_t n, common = 0
        for n in range(length, 0, -1):
            wanted[n] = h
            h = self.tries.suffix[n - 1][h] if n > 1 else 0
        while common < length and common < self.depth and wanted[common + 1] == self.chain[common + 1]:
            common += 1
        for n in range(self.depth, common, -1):
            self.write_back(n, self.chain[n])
        for n in range(common + 1, length + 1):
            self.write(n, wanted[n])
            self.chain[n] = wanted[n]
        self.depth = length

    cdef double change_of(self, Py_ssize_t row, const int64_t* starts, const int32_t* words,
                          const double* factors) noexcept nogil:
        """Σ e^θ_w (e^φ − 1) over a row, made when it is first asked for."""
        cdef Py_ssize_t j
        cdef double total = 0
        if self.changes[row] != self.changes[row]:
            for j in range(starts[row], starts[row + 1]):
                total += self.tries.scores[0][words[j]] * (factors[j] - 1)
            self.changes[row] = total
        return self.changes[row]

    cdef Py_ssize_t touch(self, int32_t w, Py_ssize_t n) noexcept nogil:
        """Have a word among the n that were touched for the present context; returns how many there are."""
        if self.stamps[w] == self.stamp:
            return n
        self.stamps[w] = self.stamp
        self.touched[n] = w
        self.factors[w], self.added[w] = 1, 0
        return n + 1

    cdef Py_ssize_t gather(self, const int32_t[:, ::1] rows, Py_ssize_t c, Py_ssize_t left_out, const int64_t* starts,
                           const int32_t* words, const double* factors) noexcept nogil:
        """Touch the words of all sets but one: of the rows, and of the n-grams, which are the last set."""
        cdef Py_ssize_t k, j, t, n = 0
        cdef int32_t w, row
        self.stamp += 1
        if left_out != rows.shape[1]:
            for j in range(self.tries.starts[1][self.chain[1]], self.tries.starts[1][self.chain[1] + 1]):
                n = self.touch(self.tries.words[1][j], n)
        for k in range(rows.shape[1]):
            row = rows[c, k]
            if k == left_out or row < 0:
                continue
            for j in range(starts[row], starts[row + 1]):
                w = words[j]
                n = self.touch(w, n)
                self.factors[w] *= factors[j]
                self.added[w] += factors[j] - 1
        if 0 <= left_out < rows.shape[1]:
            row = rows[c, left_out]
            for t in range(n):
                w = self.touched[t]
                j = find(words, starts[row], starts[row + 1], w)
                self.found[t] = j
                if j >= 0:
                    self.factors[w] *= factors[j]
                    self.added[w] += factors[j] - 1
        return n

    def normalise(self, const int32_t[::1] lengths, const int32_t[::1] histories, const int32_t[:, ::1] rows,
                  const int64_t[::1] row_starts, const int32_t[::1] row_words, const double[::1] row_factors,
                  const double[::1] counts, double[::1] z, list a, list extra, double[::1] expected,
                  Py_ssize_t first, Py_ssize_t last):
        """Z of the contexts [first, last) as multiples of Z(h); returns Σ n log Z(c), n being their counts.

        A context has a history of one word or more, and for each distance the row of a CSR (starts, words, e^φ), −1 for
        none. Where `counts` are not empty, n/Z(c) is added to `a` of its history and, until `finish`, to its rows;
        expected counts to those of pairs in `expected`, and what these make of the n-grams' to `extra`, both by length.
        """
        cdef double* of_histories[HIGHEST]
        cdef double* of_grams[HIGHEST]
        cdef double[::1] view
        cdef const int64_t* starts = &row_starts[0]
        cdef const int32_t* words = &row_words[0] if row_words.shape[0] else NULL
        cdef const double* factors = &row_factors[0] if row_factors.shape[0] else NULL
        cdef Py_ssize_t c, k, j, t, n, size, largest, left_out
        cdef int32_t w, row
        cdef double whole, total, sizes, share, own, loss = 0
        cdef bint learns = counts.shape[0] > 0, shared
        for n in range(len(a)):
            view = a[n]
            of_histories[n] = &view[0] if view.shape[0] else NULL
            view = extra[n]
            of_grams[n] = &view[0] if view.shape[0] else NULL
        with nogil:
            for c in range(first, last):
                self.go_to(lengths[c], histories[c])
                left_out = rows.shape[1]       # the largest set, in which nobody else's words are looked for in vain
                largest = self.tries.starts[1][self.chain[1] + 1] - self.tries.starts[1][self.chain[1]]
                whole = self.tries.sums[lengths[c]][histories[c]]
                total = sizes = whole
                for k in range(rows.shape[1]):
                    row = rows[c, k]
                    if row < 0:
                        continue
                    size = starts[row + 1] - starts[row]
                    if size > largest:
                        largest, left_out = size, k
                    own = self.change_of(row, starts, words, factors)
                    total += own
                    sizes += fabs(own)
                n = self.gather(rows, c, left_out, starts, words, factors)
                for t in range(n):
                    w = self.touched[t]
                    own = self.tries.scores[0][w] * self.added[w]
                    total += self.scores[w] * (self.factors[w] - 1) - own
                shared = total >= LOST * sizes
                if not shared:                 # no digits left: all words
                    left_out = -1
                    n = self.gather(rows, c, left_out, starts, words, factors)
                    total = 0
                    for t in range(self.scores.shape[0]):
                        total += self.scores[t] * (self.factors[t] if self.stamps[t] == self.stamp else 1.0)
                z[c] = total / whole
                if not learns:
                    continue
                loss += counts[c] * logarithm(total)
                share = counts[c] / total
                of_histories[lengths[c]][histories[c]] += share
                for t in range(n):
                    w = self.touched[t]
                    of_grams[self.lengths[w]][self.places[w]] += share * self.scores[w] * (self.factors[w] - 1)
                    if shared:
                        of_grams[0][w] -= share * self.tries.scores[0][w] * self.added[w]
                for k in range(rows.shape[1]):
                    row = rows[c, k]
                    if row < 0:
                        continue
                    if shared:
                        self.masses[row] += share
                    if k == left_out:
                        for t in range(n):
                            if self.found[t] >= 0:
                                w, j = self.touched[t], self.found[t]
                                own = self.tries.scores[0][w] * factors[j]
                                expected[j] += share * (self.scores[w] * self.factors[w] - own)
                        continue
                    for j in range(starts[row], starts[row + 1]):
                        w = words[j]
                        own = self.tries.scores[0][w] * factors[j] if shared else 0.0
                        expected[j] += share * (self.scores[w] * self.factors[w] - own)
        return loss

    def finish(self, const int64_t[::1] starts, const int32_t[::1] words, const double[::1] factors,
               double[::1] of_unigrams, double[::1] expected):
        """Add what the contexts of each row have in common to expected counts, and to what they make of unigrams'."""
        cdef Py_ssize_t row, j
        cdef double own
        with nogil:
            for row in range(starts.shape[0] - 1):
                if self.masses[row] > 0:
                    for j in range(starts[row], starts[row + 1]):
                        own = self.masses[row] * self.tries.scores[0][words[j]]
                        expected[j] += own * factors[j]
                        of_unigrams[words[j]] += own * (factors[j] - 1)
