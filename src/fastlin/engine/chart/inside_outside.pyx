"""Sums over all derivations of a sentence, and how often each rule, chain and tag is expected in them (Baker 1979).

    b(A, i, j) = e^s(A, i, j) Σ p(A → B C) I(B, i, k) I(C, k, j)            binary, or e^ the score of the tag
    I(A, i, j) = Σ_B chain(A ⇒ B) b(B, i, j)                                chains of no rule, too
    O(B, i, k) = Σ p(A → B C) o(A, i, j) I(C, k, j) …                       o(B, i, j) = e^s Σ_A chain(A ⇒ B) O(A, i, j)

Chains are all chains of unary rules, N = (1 − U)⁻¹, in which circles are geometric series; `closed` says so. Otherwise
they are of one rule at most, and what a span is worth to A is a factor of its chain. Given are the chains N − 1.

Values of a span have one exponent, 2^e(i, j), so that sentences may have any length. Outside, the exponent is that of
the sum over all derivations less that of the span: the product of both sides is then a probability.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, exp, frexp, ldexp, log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

import numpy as np

from fastlin.engine.chart.chart cimport (
    Chart, Rules, begin_bits, bind_rules, chart_cells, end_bits, free_chart, left_row, lowest_bit, new_chart, right_row,
    span, store
)
from fastlin.engine.core.allocation cimport allocate, allocate_zeros

cdef extern from *:
    """
    #define FASTLIN_LN2 0.69314718055994530942
    """
    const double LN2 "FASTLIN_LN2"

cdef enum:
    NEGLIGIBLE = -960      # a value of 2^−960 of the largest of its span is left out: its inverse would overflow
    EMPTY = -(1 << 29)     # the exponent of a span without derivations


@cython.final
cdef class InsideOutside:
    """Sums over derivations by a grammar, one sentence after the other.

    pair_start [S + 1], pair_right [pairs], rule_start [pairs + 1], parent [rules] and weight [rules], e to the scores;
    chain_start [S + 1], chain_parent and chain_weight [chains]; label [S]: those of `chart.pxd`.
    """

    cdef Rules rules
    cdef Chart inner
    cdef double* outer_left               # O of the spans as left and as right children, as `inner` has its values
    cdef double* outer_right
    cdef int32_t* exponent                # [n(n + 1) / 2] of spans, by last word, then by first
    cdef double* factor                   # [n + 1] 2^(e(i, k) + e(k, j) − e), of the present span, by k
    cdef tuple _owners
    cdef bint closed
    cdef double[::1] cell, whole          # [S] b and I, or o and O, of the present span
    cdef double[::1] base                 # [S] b less what the span is worth, in the pass that counts
    cdef int32_t[::1] found               # [S] symbols of the present span, those with b first
    cdef Py_ssize_t n_binary, n_found
    cdef double total                     # over all derivations, but for the exponent of the sentence
    cdef double log_tags                  # factors of all derivations, left out: the largest of each word
    cdef const int64_t[::1] tag_start
    cdef const int32_t[::1] tag_symbol
    cdef const double[::1] tag_score
    cdef const double[:, ::1] span_scores
    cdef double[::1] start                # [S] what the symbol of a sentence is worth

    def __init__(self, const int64_t[::1] pair_start, const int32_t[::1] pair_right, const int64_t[::1] rule_start,
                 const int32_t[::1] parent, const double[::1] weight, const int64_t[::1] chain_start,
                 const int32_t[::1] chain_parent, const double[::1] chain_weight, const int32_t[::1] label,
                 bint closed):
        cdef Py_ssize_t S = label.shape[0]
        self._owners = (pair_start, pair_right, rule_start, parent, weight, chain_start, chain_parent, chain_weight,
                        label)
        self.closed = closed
        bind_rules(&self.rules, pair_start, pair_right, rule_start, parent, weight, chain_start, chain_parent,
                   chain_weight, label)
        self.cell, self.whole, self.base, self.found = np.zeros(S), np.zeros(S), np.zeros(S), np.empty(S, np.int32)

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept:
        free_chart(&self.inner)
        free(self.outer_left)
        free(self.outer_right)
        free(self.exponent)
        free(self.factor)
        self.outer_left = self.outer_right = self.factor = NULL
        self.exponent = NULL

    def inside(self, const int64_t[::1] tag_start, const int32_t[::1] tag_symbol, const double[::1] tag_score,
               const double[:, ::1] span_scores, double[::1] start):
        """log Σ over the derivations of a sentence of n words, n > 0; −∞: there is none.

        Parameters as of `ViterbiParser.fill`, and start [S], the weights of the symbols of a whole sentence.
        """
        cdef Py_ssize_t i, j, A, n = tag_start.shape[0] - 1, S = self.rules.S
        self.tag_start, self.tag_symbol, self.tag_score = tag_start, tag_symbol, tag_score
        self.span_scores, self.start = span_scores, start
        self.release()
        self.exponent = <int32_t*>allocate(chart_cells(n, 1), sizeof(int32_t))
        self.factor = <double*>allocate(n + 1, sizeof(double))
        if not (self.exponent and self.factor and new_chart(&self.inner, n, S)):
            raise MemoryError(f"a chart of {n} words and {S} symbols does not fit into memory")
        self.total = self.log_tags = 0.0
        for i in range(n - 1, -1, -1):
            with nogil:
                for j in range(i + 1, n + 1):
                    self.make_cell(i, j)
            PyErr_CheckSignals()
        for A in range(S):
            if start[A] > 0 and self.has(A, 0, n):
                self.total += start[A] * left_row(&self.inner, 0, A)[n]
        return log(self.total) + LN2 * self.exponent[span(0, n)] + self.log_tags if self.total > 0 else -INFINITY

    def outside(self, double weight, double[::1] rule_counts, double[::1] chain_counts, double[::1] tag_counts,
                double[:, ::1] span_counts):
        """Add what is expected of the sentence last summed over, which has derivations, `weight` times.

        rule_counts [rules], tag_counts [tags], span_counts [n(n + 1) / 2, labels], or without rows: not wanted;
        chain_counts [chains]: Σ O(A) b(B), to be multiplied by the chain's weight.
        """
        cdef Py_ssize_t i, j, A, n = self.inner.n
        cdef int64_t cells = chart_cells(n, self.rules.S)
        free(self.outer_left)
        free(self.outer_right)
        self.outer_left = <double*>allocate_zeros(cells, sizeof(double))
        self.outer_right = <double*>allocate_zeros(cells, sizeof(double))
        if not (self.outer_left and self.outer_right):
            raise MemoryError(f"a chart of {n} words and {self.rules.S} symbols does not fit into memory")
        for A in range(self.rules.S):
            if self.start[A] > 0 and self.has(A, 0, n):
                self.outer_left_row(0, A)[n] = self.start[A] * (weight / self.total)
        for i in range(n):
            with nogil:
                for j in range(n, i, -1):
                    if self.exponent[span(i, j)] > EMPTY:
                        self.enter_span(i, j)
                        if j > i + 1:
                            self.split_span(i, j, rule_counts)
                        else:
                            self.count_tags(i, tag_counts)
                        self.count_span(i, j, chain_counts, span_counts)
                        self.clear_cell()
            PyErr_CheckSignals()
        free(self.outer_left)
        free(self.outer_right)
        self.outer_left = self.outer_right = NULL

    cdef bint has(self, Py_ssize_t A, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        return (end_bits(&self.inner, i, A)[j >> 6] >> (j & 63)) & 1

    cdef double* outer_left_row(self, Py_ssize_t i, Py_ssize_t B) noexcept nogil:
        return self.outer_left + (left_row(&self.inner, i, B) - self.inner.left)

    cdef double* outer_right_row(self, Py_ssize_t j, Py_ssize_t C) noexcept nogil:
        return self.outer_right + (right_row(&self.inner, j, C) - self.inner.right)

    cdef double span_factor(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t A) noexcept nogil:
        """e to what a span is worth to a symbol."""
        if self.span_scores.shape[0] == 0 or self.rules.label[A] < 0:
            return 1.0
        return exp(self.span_scores[span(i, j), self.rules.label[A]])

    # Inside

    cdef void make_cell(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Make I of a span from what is in it, and store it."""
        cdef int32_t e
        self.n_found = 0
        if j == i + 1:
            e = 0
            self.enter_tags(i)
        else:
            e = self.scale_splits(i, j, EMPTY)
            if e > EMPTY:
                self.join_children(i, j)
        self.n_binary = self.n_found
        self.apply_chains(i, j)
        self.keep_cell(i, j, e)

    cdef double largest_tag(self, Py_ssize_t i) noexcept nogil:
        cdef double most = -INFINITY
        cdef Py_ssize_t t
        for t in range(self.tag_start[i], self.tag_start[i + 1]):
            most = max(most, self.tag_score[t])
        return most

    cdef void add(self, Py_ssize_t A, double value) noexcept nogil:
        """Add to b of a symbol."""
        if self.cell[A] == 0.0 and value > 0.0:
            self.found[self.n_found] = <int32_t>A
            self.n_found += 1
        self.cell[A] += value

    cdef void enter_tags(self, Py_ssize_t i) noexcept nogil:
        cdef double most = self.largest_tag(i)
        cdef Py_ssize_t t
        if most == -INFINITY:
            return
        self.log_tags += most
        for t in range(self.tag_start[i], self.tag_start[i + 1]):
            self.add(self.tag_symbol[t], exp(self.tag_score[t] - most))

    cdef int32_t scale_splits(self, Py_ssize_t i, Py_ssize_t j, int32_t e) noexcept nogil:
        """factor[k] of a span whose exponent is e; EMPTY: the largest that a split has, which is returned."""
        cdef Py_ssize_t k
        cdef int32_t left, right
        if e == EMPTY:
            for k in range(i + 1, j):
                left, right = self.exponent[span(i, k)], self.exponent[span(k, j)]
                if left > EMPTY and right > EMPTY:
                    e = max(e, left + right)
        for k in range(i + 1, j):
            left, right = self.exponent[span(i, k)], self.exponent[span(k, j)]
            self.factor[k] = ldexp(1.0, max(left + right - e, -2000)) if left > EMPTY and right > EMPTY else 0.0
        return e

    cdef double sum_splits(self, Py_ssize_t i, Py_ssize_t j, const uint64_t* ends, const double* left,
                           Py_ssize_t C) noexcept nogil:
        """Σ_k I(B, i, k) I(C, k, j)."""
        cdef const uint64_t* begins = begin_bits(&self.inner, j, C)
        cdef const double* right
        cdef double total = 0.0
        cdef Py_ssize_t k, w
        cdef uint64_t meet
        for w in range((i + 1) >> 6, ((j - 1) >> 6) + 1):
            meet = ends[w] & begins[w]
            if meet == 0:
                continue
            right = right_row(&self.inner, j, C)
            while meet:
                k = w * 64 + lowest_bit(meet)
                meet &= meet - 1
                total += self.factor[k] * left[k] * right[k]
        return total

    cdef void join_children(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef const Rules* rules = &self.rules
        cdef Py_ssize_t a, B, pair, r
        cdef const uint64_t* ends
        cdef const double* left
        cdef double total
        for a in range(self.inner.n_active[i]):
            B = self.inner.active[i * self.inner.S + a]
            ends, left = end_bits(&self.inner, i, B), left_row(&self.inner, i, B)
            for pair in range(rules.pair_start[B], rules.pair_start[B + 1]):
                total = self.sum_splits(i, j, ends, left, rules.pair_right[pair])
                if total > 0.0:
                    for r in range(rules.rule_start[pair], rules.rule_start[pair + 1]):
                        self.add(rules.parent[r], total * rules.weight[r])

    cdef void apply_chains(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef const Rules* rules = &self.rules
        cdef Py_ssize_t f, c, A, B
        cdef double value
        for f in range(self.n_binary):
            B = self.found[f]
            self.cell[B] *= self.span_factor(i, j, B)
            self.whole[B] = self.cell[B]
        for f in range(self.n_binary):
            B = self.found[f]
            for c in range(rules.chain_start[B], rules.chain_start[B + 1]):
                A = rules.chain_parent[c]
                value = rules.chain_weight[c] * self.cell[B]
                if not self.closed:
                    value *= self.span_factor(i, j, A)
                if self.whole[A] == 0.0 and self.cell[A] == 0.0 and value > 0.0:
                    self.found[self.n_found] = <int32_t>A
                    self.n_found += 1
                self.whole[A] += value

    cdef void keep_cell(self, Py_ssize_t i, Py_ssize_t j, int32_t e) noexcept nogil:
        """Store I with the exponent that makes the largest of a span less than 1."""
        cdef Py_ssize_t f
        cdef int shift = 0
        cdef double most = 0.0
        for f in range(self.n_found):
            most = max(most, self.whole[self.found[f]])
        self.exponent[span(i, j)] = EMPTY
        if most > 0.0:
            frexp(most, &shift)
            self.exponent[span(i, j)] = e + shift
            for f in range(self.n_found):
                if ldexp(self.whole[self.found[f]], -shift) > ldexp(1.0, NEGLIGIBLE):
                    store(&self.inner, i, j, self.found[f], ldexp(self.whole[self.found[f]], -shift))
        self.clear_cell()

    cdef void clear_cell(self) noexcept nogil:
        cdef Py_ssize_t f
        for f in range(self.n_found):
            self.cell[self.found[f]] = self.whole[self.found[f]] = 0.0

    # Outside

    cdef void enter_span(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """O of the symbols of a span into `whole`, o into `cell`."""
        cdef const Rules* rules = &self.rules
        cdef Py_ssize_t a, f, c, A, B
        cdef double value
        self.n_found = 0
        for a in range(self.inner.n_active[i]):
            A = self.inner.active[i * self.inner.S + a]
            if self.has(A, i, j):
                self.found[self.n_found] = <int32_t>A
                self.n_found += 1
                self.whole[A] = self.outer_left_row(i, A)[j] + self.outer_right_row(j, A)[i]
        for f in range(self.n_found):
            B = self.found[f]
            value = self.whole[B]
            for c in range(rules.chain_start[B], rules.chain_start[B + 1]):
                A = rules.chain_parent[c]
                if self.whole[A] > 0.0:
                    value += (self.whole[A] * rules.chain_weight[c]
                              * (1.0 if self.closed else self.span_factor(i, j, A)))
            self.cell[B] = value * self.span_factor(i, j, B)
        memset(&self.base[0], 0, self.rules.S * sizeof(double))

    cdef void split_span(self, Py_ssize_t i, Py_ssize_t j, double[::1] rule_counts) noexcept nogil:
        """Count the rules over a span, make its b anew, and hand O on to its splits."""
        cdef const Rules* rules = &self.rules
        cdef bint counting = rule_counts.shape[0] > 0
        cdef Py_ssize_t a, B, pair, r
        cdef const uint64_t* ends
        cdef const double* left
        cdef double total, outer, share
        self.scale_splits(i, j, self.exponent[span(i, j)])
        for a in range(self.inner.n_active[i]):
            B = self.inner.active[i * self.inner.S + a]
            ends, left = end_bits(&self.inner, i, B), left_row(&self.inner, i, B)
            for pair in range(rules.pair_start[B], rules.pair_start[B + 1]):
                total = self.sum_splits(i, j, ends, left, rules.pair_right[pair])
                if total == 0.0:
                    continue
                outer = 0.0
                for r in range(rules.rule_start[pair], rules.rule_start[pair + 1]):
                    share = self.cell[rules.parent[r]] * rules.weight[r]
                    outer += share
                    self.base[rules.parent[r]] += total * rules.weight[r]
                    if counting:
                        rule_counts[r] += share * total
                if outer > 0.0:
                    self.hand_on(i, j, B, rules.pair_right[pair], outer)

    cdef void hand_on(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t B, Py_ssize_t C, double outer) noexcept nogil:
        """Add what all parents of a pair hand on to both children, at every split."""
        cdef const uint64_t* ends = end_bits(&self.inner, i, B)
        cdef const uint64_t* begins = begin_bits(&self.inner, j, C)
        cdef const double* left = left_row(&self.inner, i, B)
        cdef const double* right = right_row(&self.inner, j, C)
        cdef double* outer_left = self.outer_left_row(i, B)
        cdef double* outer_right = self.outer_right_row(j, C)
        cdef Py_ssize_t k, w
        cdef uint64_t meet
        for w in range((i + 1) >> 6, ((j - 1) >> 6) + 1):
            meet = ends[w] & begins[w]
            while meet:
                k = w * 64 + lowest_bit(meet)
                meet &= meet - 1
                outer_left[k] += outer * self.factor[k] * right[k]
                outer_right[k] += outer * self.factor[k] * left[k]

    cdef void count_tags(self, Py_ssize_t i, double[::1] tag_counts) noexcept nogil:
        cdef double value, most = self.largest_tag(i)
        cdef int32_t e = self.exponent[span(i, i + 1)]
        cdef Py_ssize_t t
        for t in range(self.tag_start[i], self.tag_start[i + 1]):
            value = ldexp(exp(self.tag_score[t] - most), -e)
            self.base[self.tag_symbol[t]] += value
            if tag_counts.shape[0] > 0:
                tag_counts[t] += self.cell[self.tag_symbol[t]] * value

    cdef void count_span(self, Py_ssize_t i, Py_ssize_t j, double[::1] chain_counts,
                         double[:, ::1] span_counts) noexcept nogil:
        """Count chains, and constituents by their labels."""
        cdef const Rules* rules = &self.rules
        cdef bint labelled = span_counts.shape[0] > 0, chains = chain_counts.shape[0] > 0
        cdef Py_ssize_t f, c, A, B, place = span(i, j)
        cdef double value, b
        for f in range(self.n_found):
            B = self.found[f]
            b = self.base[B] * self.span_factor(i, j, B)
            for c in range(rules.chain_start[B], rules.chain_start[B + 1]):
                A = rules.chain_parent[c]
                value = self.whole[A] * b
                if value > 0.0:
                    if not self.closed:
                        value *= self.span_factor(i, j, A)
                        if labelled and rules.label[A] >= 0:
                            span_counts[place, rules.label[A]] += value * rules.chain_weight[c]
                    if chains:
                        chain_counts[c] += value
            if labelled and rules.label[B] >= 0:
                value = left_row(&self.inner, i, B)[j] if self.closed else self.base[B]
                span_counts[place, rules.label[B]] += self.cell[B] * value
