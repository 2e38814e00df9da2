"""The best derivation of a sentence (Cocke, Kasami and Younger; Viterbi), and what its cells are made of.

    v(A, i, j) = s(A, i, j) + max { w(A → B C) + V(B, i, k) + V(C, k, j) }     of a word: + the score of tag A
    V(A, i, j) = max { v(A, i, j),  max_B chain(A ⇒ B) + v(B, i, j) + s(A, i, j) }

with s what a span is worth to a label, if that is asked. There are no back-pointers: the derivation is found again by
making its 2n − 1 cells once more.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from fastlin.engine.chart.chart cimport (
    Chart, Rules, begin_bits, bind_rules, end_bits, free_chart, left_row, lowest_bit, new_chart, right_row, span, store
)


@cython.final
cdef class ViterbiParser:
    """The best derivations by a grammar, one sentence after the other.

    pair_start [S + 1], pair_right [pairs], rule_start [pairs + 1], parent and weight [rules], chain_start [S + 1],
    chain_parent and chain_weight [chains], label [S]: those of `chart.pxd`.
    """

    cdef Rules rules
    cdef Chart chart
    cdef tuple _owners
    cdef double[::1] cell, whole              # [S] v and V of the present span
    cdef int64_t[::1] from_pair, from_split   # [S] what attains v
    cdef int32_t[::1] found                   # [S] symbols with v or V, those with v first
    cdef int32_t[::1] from_chain              # [S] what attains V; −1: v
    cdef Py_ssize_t n_binary, n_found
    cdef const int64_t[::1] tag_start
    cdef const int32_t[::1] tag_symbol
    cdef const double[::1] tag_score
    cdef const double[:, ::1] span_scores

    def __init__(self, const int64_t[::1] pair_start, const int32_t[::1] pair_right, const int64_t[::1] rule_start,
                 const int32_t[::1] parent, const double[::1] weight, const int64_t[::1] chain_start,
                 const int32_t[::1] chain_parent, const double[::1] chain_weight, const int32_t[::1] label):
        cdef Py_ssize_t S = label.shape[0]
        self._owners = (pair_start, pair_right, rule_start, parent, weight, chain_start, chain_parent, chain_weight,
                        label)
        bind_rules(&self.rules, pair_start, pair_right, rule_start, parent, weight, chain_start, chain_parent,
                   chain_weight, label)
        self.cell, self.whole = np.full(S, -INFINITY), np.full(S, -INFINITY)
        self.from_pair, self.from_split = np.empty(S, np.int64), np.empty(S, np.int64)
        self.found, self.from_chain = np.empty(S, np.int32), np.empty(S, np.int32)

    def __dealloc__(self):
        free_chart(&self.chart)

    def fill(self, const int64_t[::1] tag_start, const int32_t[::1] tag_symbol, const double[::1] tag_score,
             const double[:, ::1] span_scores):
        """Fill the chart of a sentence of n words, n > 0.

        tag_start [n + 1]; tag_symbol and tag_score [tags]: the tags of each word; span_scores [n(n + 1) / 2, labels] of
        the spans by their last word and, of one, by their first; without rows: spans are worth nothing.
        """
        cdef Py_ssize_t i, j, n = tag_start.shape[0] - 1
        self.tag_start, self.tag_symbol, self.tag_score = tag_start, tag_symbol, tag_score
        self.span_scores = span_scores
        free_chart(&self.chart)
        if not new_chart(&self.chart, n, self.rules.S):
            raise MemoryError(f"a chart of {n} words and {self.rules.S} symbols does not fit into memory")
        for i in range(n - 1, -1, -1):
            with nogil:
                for j in range(i + 1, n + 1):
                    self.make_cell(i, j)
                    self.keep_cell(i, j)
            PyErr_CheckSignals()

    def score(self, Py_ssize_t symbol, Py_ssize_t i, Py_ssize_t j):
        """V of a symbol over a span, −∞ where it has no derivation."""
        cdef bint there = (end_bits(&self.chart, i, symbol)[j >> 6] >> (j & 63)) & 1
        return left_row(&self.chart, i, symbol)[j] if there else -INFINITY

    def edges(self, Py_ssize_t parent, Py_ssize_t i, Py_ssize_t j):
        """All ways to make v of a symbol over several words: left child, right child, split and what it is worth."""
        cdef Py_ssize_t a, B, pair, r, w, k
        cdef uint64_t meet
        cdef double both, worth
        cdef list found = []
        for a in range(self.chart.n_active[i]):
            B = self.chart.active[i * self.chart.S + a]
            for pair in range(self.rules.pair_start[B], self.rules.pair_start[B + 1]):
                for r in range(self.rules.rule_start[pair], self.rules.rule_start[pair + 1]):
                    if self.rules.parent[r] == parent:
                        break
                else:
                    continue
                for w in range((i + 1) >> 6, ((j - 1) >> 6) + 1):
                    meet = (end_bits(&self.chart, i, B)[w]
                            & begin_bits(&self.chart, j, self.rules.pair_right[pair])[w])
                    while meet:
                        k = w * 64 + lowest_bit(meet)
                        meet &= meet - 1
                        both = (left_row(&self.chart, i, B)[k]
                                + right_row(&self.chart, j, self.rules.pair_right[pair])[k])
                        worth = both + self.rules.weight[r]
                        if worth > -INFINITY:
                            found.append((B, self.rules.pair_right[pair], k, worth))
        return found

    def best(self, Py_ssize_t symbol):
        """The best derivation of the whole sentence from a symbol that has one, in preorder.

        Returns symbols, the numbers of symbols below (1: a chain, whose inner symbols are left out), and first words.
        """
        cdef Py_ssize_t i, j, n = self.chart.n, pair
        cdef list symbols = [], kinds = [], todo = [(symbol, 0, n, True)]
        cdef bint chains
        while todo:
            symbol, i, j, chains = todo.pop()
            self.make_cell(i, j)
            symbols.append(symbol)
            if chains and self.from_chain[symbol] >= 0:
                kinds.append(1)
                todo.append((self.from_chain[symbol], i, j, False))
            elif j == i + 1:
                kinds.append(0)
            else:
                kinds.append(2)
                pair, k = self.from_pair[symbol], self.from_split[symbol]
                todo.append((self.rules.pair_right[pair], k, j, True))
                todo.append((self.left_of(pair), i, k, True))
            self.clear_cell()
        return symbols, kinds

    cdef Py_ssize_t left_of(self, Py_ssize_t pair) noexcept nogil:
        """The left child of a pair."""
        cdef Py_ssize_t low = 0, high = self.rules.S, middle
        while high - low > 1:
            middle = (low + high) // 2
            if self.rules.pair_start[middle] <= pair:
                low = middle
            else:
                high = middle
        return low

    cdef void make_cell(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """v and V of a span."""
        self.n_found = 0
        if j == i + 1:
            self.enter_tags(i)
        else:
            self.join_children(i, j)
        self.n_binary = self.n_found
        self.apply_chains(i, j)

    cdef void enter_tags(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t t, A
        for t in range(self.tag_start[i], self.tag_start[i + 1]):
            A = self.tag_symbol[t]
            if self.cell[A] == -INFINITY:
                self.found[self.n_found] = <int32_t>A
                self.n_found += 1
            self.cell[A] = max(self.cell[A], self.tag_score[t])

    cdef void join_children(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef const Rules* rules = &self.rules
        cdef Chart* chart = &self.chart
        cdef Py_ssize_t a, pair, k, w, r, A, B, split, first = (i + 1) >> 6, last = (j - 1) >> 6
        cdef uint64_t meet
        cdef const uint64_t* ends
        cdef const uint64_t* begins
        cdef const double* left
        cdef const double* right
        cdef double value, best
        for a in range(chart.n_active[i]):
            B = chart.active[i * chart.S + a]
            ends, left = end_bits(chart, i, B), left_row(chart, i, B)
            for pair in range(rules.pair_start[B], rules.pair_start[B + 1]):
                begins = begin_bits(chart, j, rules.pair_right[pair])
                best, split = -INFINITY, -1
                for w in range(first, last + 1):
                    meet = ends[w] & begins[w]
                    if meet == 0:
                        continue
                    right = right_row(chart, j, rules.pair_right[pair])
                    while meet:
                        k = w * 64 + lowest_bit(meet)
                        meet &= meet - 1
                        value = left[k] + right[k]
                        if value > best:
                            best, split = value, k
                if split < 0:
                    continue
                for r in range(rules.rule_start[pair], rules.rule_start[pair + 1]):
                    A, value = rules.parent[r], best + rules.weight[r]
                    if value > self.cell[A]:
                        if self.cell[A] == -INFINITY:
                            self.found[self.n_found] = <int32_t>A
                            self.n_found += 1
                        self.cell[A], self.from_pair[A], self.from_split[A] = value, pair, split

    cdef void apply_chains(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef const Rules* rules = &self.rules
        cdef Py_ssize_t f, c, A, B, place = span(i, j)
        cdef bint scored = self.span_scores.shape[0] > 0
        cdef double value
        for f in range(self.n_binary):
            B = self.found[f]
            if scored and rules.label[B] >= 0:
                self.cell[B] += self.span_scores[place, rules.label[B]]
            self.whole[B], self.from_chain[B] = self.cell[B], -1
        for f in range(self.n_binary):
            B = self.found[f]
            if self.cell[B] == -INFINITY:
                continue
            for c in range(rules.chain_start[B], rules.chain_start[B + 1]):
                A, value = rules.chain_parent[c], self.cell[B] + rules.chain_weight[c]
                if scored and rules.label[A] >= 0:
                    value += self.span_scores[place, rules.label[A]]
                if value > self.whole[A]:
                    if self.whole[A] == -INFINITY and self.cell[A] == -INFINITY:
                        self.found[self.n_found] = <int32_t>A
                        self.n_found += 1
                    self.whole[A], self.from_chain[A] = value, <int32_t>B

    cdef void keep_cell(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Store V in the chart, and clear the cell."""
        cdef Py_ssize_t f
        for f in range(self.n_found):
            if self.whole[self.found[f]] > -INFINITY:
                store(&self.chart, i, j, self.found[f], self.whole[self.found[f]])
        self.clear_cell()

    cdef void clear_cell(self) noexcept nogil:
        cdef Py_ssize_t f
        for f in range(self.n_found):
            self.cell[self.found[f]] = self.whole[self.found[f]] = -INFINITY
