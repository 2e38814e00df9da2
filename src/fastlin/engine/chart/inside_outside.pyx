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
from libc.math cimport INFINITY, exp, frexp, ldexp, log
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

import numpy as np

from fastlin.engine.chart.chart cimport (
    Chart, begin_bits, chart_cells, end_bits, grow, is_there, last_look, left_values, lowest_bit, new_chart, next_look,
    right_values, span, store, value_of
)
from fastlin.engine.chart.chart_rules cimport (
    CLOSED, LABELLED, OPEN, WHOLE, ChainArrays, ChartRules, Rules, SpanConstraints
)
from fastlin.engine.core.interruption cimport look

cdef extern from *:
    """
    #define FASTLIN_LN2 0.69314718055994530942
    #define FASTLIN_SMALLEST 0x1p-960
    """
    const double LN2 "FASTLIN_LN2"
    const double SMALLEST "FASTLIN_SMALLEST"  # of the largest of its span: the inverse of what is less would overflow

cdef enum:
    EMPTY = -(1 << 29)     # the exponent of a span without derivations


@cython.final
cdef class InsideOutside:
    """Sums over derivations by a grammar, whose weights are e to the scores, one sentence after the other.

    With `merit` [S] and `beam`, a symbol whose log I and merit are by more than the beam below the largest of a span,
    which is not the sentence, is left out there. Attribute: n_pruned, how many were.
    """

    cdef ChartRules _rules
    cdef SpanConstraints _constraints
    cdef const int32_t* states            # [spans] what may stand there; NULL: whatever the grammar makes
    cdef Rules rules
    cdef Chart inner
    cdef double* outer                    # O of the spans as left and as right children, as `inner` has its values
    cdef int32_t* exponent                # [n(n + 1) / 2] of spans, by last word, then by first
    cdef int64_t outer_room, exponent_room, factor_room  # bytes
    cdef double* factor                   # [n + 1] 2^(e(i, k) + e(k, j) − e), of the present span, by k
    cdef bint closed
    cdef double[::1] cell, whole          # [S] b and I, or o and O, of the present span
    cdef double[::1] base                 # [S] b less what the span is worth, in the pass that counts
    cdef int32_t[::1] found               # [S] symbols of the present span, those with b first
    cdef Py_ssize_t n_binary, n_found
    cdef const double[::1] merit          # [S] e to it, or none: nothing is left out
    cdef double beam                      # e to −it
    cdef readonly int64_t n_pruned
    cdef double total                     # over all derivations, but for the exponent of the sentence
    cdef double log_tags                  # factors of all derivations, left out: the largest of each word
    cdef const int64_t[::1] tag_start
    cdef const int32_t[::1] tag_symbol
    cdef const double[::1] tag_score
    cdef const double[:, ::1] span_scores
    cdef const double[::1] start          # [S] what the symbol of a sentence is worth

    def __init__(self, ChartRules rules not None, bint closed, const double[::1] merit=np.empty(0),
                 double beam=INFINITY):
        cdef Py_ssize_t S = rules.n_symbols
        rules.check_merit(merit)
        self.merit, self.beam = np.exp(merit), exp(-beam)
        self._rules, self.rules, self.closed = rules, rules.bound, closed
        self.cell, self.whole, self.base, self.found = np.zeros(S), np.zeros(S), np.zeros(S), np.empty(S, np.int32)

    def __dealloc__(self):
        free(self.inner.memory)
        free(self.outer)
        free(self.exponent)
        free(self.factor)

    def inside(self, const int64_t[::1] tag_start, const int32_t[::1] tag_symbol, const double[::1] tag_score,
               const double[:, ::1] span_scores, const double[::1] start, SpanConstraints constraints=None):
        """log Σ over the derivations of a sentence of n words, n > 0; −∞: there is none.

        Parameters as of `ViterbiParser.fill`, and start [S], the weights of the symbols of a whole sentence.
        """
        cdef Py_ssize_t i, j, first, last, A, n = tag_start.shape[0] - 1, S = self.rules.S
        self._rules.check_tags(tag_start, tag_symbol, tag_score)
        self._rules.check_spans(n, span_scores)
        if start.shape[0] != S:
            raise ValueError(f"start has {start.shape[0]} weights of {S} symbols")
        self.states = NULL
        if constraints is not None:
            constraints.check(n, self._rules)
            self.states = &constraints.states[0]
        self.tag_start, self.tag_symbol, self.tag_score = tag_start, tag_symbol, tag_score
        self.span_scores, self.start, self._constraints = span_scores, start, constraints
        self.total = self.log_tags = 0.0
        self.n_pruned = 0
        if not (grow(<void**>&self.exponent, &self.exponent_room, chart_cells(n, 1), sizeof(int32_t))
                and grow(<void**>&self.factor, &self.factor_room, n + 1, sizeof(double))
                and new_chart(&self.inner, n, &self.rules)):
            raise MemoryError(f"a chart of {n} words and {S} symbols does not fit into memory")
        first = 0
        while first < n:
            last = next_look(first, n)
            with nogil:
                for j in range(first + 1, last + 1):
                    for i in range(j - 1, -1, -1):
                        self.make_cell(i, j)
            first = last
            look()
        for A in range(S):
            if start[A] > 0 and self.has(A, 0, n):
                self.total += start[A] * value_of(&self.inner, &self.rules, A, 0, n)
        return log(self.total) + LN2 * self.exponent[span(0, n)] + self.log_tags if self.total > 0 else -INFINITY

    def outside(self, double weight, double[::1] rule_counts, double[::1] chain_counts, double[::1] tag_counts,
                double[:, ::1] span_counts):
        """Add what is expected of the sentence last summed over, which has derivations, `weight` times.

        rule_counts [rules], tag_counts [tags], span_counts [n(n + 1) / 2, labels], or without rows: not wanted;
        chain_counts [chains]: Σ O(A) b(B), to be multiplied by the chain's weight. After those of the grammar come the
        chains of the tables of constraints: where these are closed, they say alone which labels stand over a span.
        """
        cdef Py_ssize_t i, j, first, last, A, n = self.inner.n
        cdef int64_t cells = chart_cells(n, self.rules.n_left + self.rules.n_right)
        self.check_counts(rule_counts, chain_counts, tag_counts)
        self._rules.check_spans(n, span_counts)
        if not grow(<void**>&self.outer, &self.outer_room, cells, sizeof(double)):
            raise MemoryError(f"a chart of {n} words and {self.rules.S} symbols does not fit into memory")
        with nogil:
            memset(self.outer, 0, cells * sizeof(double))
        for A in range(self.rules.S):
            if self.start[A] > 0 and self.has(A, 0, n):
                self.outer_place(A, 0, n)[0] = self.start[A] * (weight / self.total)
        last = n
        while last > 0:
            first = last_look(last)
            with nogil:
                for j in range(last, first, -1):
                    for i in range(j):
                        if self.exponent[span(i, j)] > EMPTY:
                            self.take_span(i, j, rule_counts, chain_counts, tag_counts, span_counts)
            last = first
            look()

    def count_roots(self, double weight, double[::1] root_counts):
        """Add how often each symbol [S] is that of the sentence last summed over, which has derivations."""
        cdef Py_ssize_t A, n = self.inner.n
        for A in range(self.rules.S):
            if self.start[A] > 0 and self.has(A, 0, n):
                root_counts[A] += weight * self.start[A] * value_of(&self.inner, &self.rules, A, 0, n) / self.total

    cdef int check_counts(self, const double[::1] rules, const double[::1] chains,
                          const double[::1] tags) except -1:
        """Check that there is something to count, and room for it."""
        cdef int64_t n_chains = self._rules.chains.parent.shape[0]
        if self._constraints is not None:
            n_chains += self._constraints.n_chains
        if not self.total > 0.0:
            raise ValueError("there are no derivations to be counted")
        for name, found, wanted in (("rules", rules.shape[0], self._rules.n_rules),
                                    ("chains", chains.shape[0], n_chains),
                                    ("tags", tags.shape[0], self.tag_symbol.shape[0])):
            if found != 0 and found != wanted:
                raise ValueError(f"there are {found} counts of {wanted} {name}")
        return 0

    cdef int32_t state(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """What may stand over a span."""
        return OPEN if self.states == NULL else self.states[span(i, j)]

    cdef const ChainArrays* chains(self, int32_t state) noexcept nogil:
        """The chains of a span."""
        return &self.rules.chains if state < LABELLED else &self._constraints.bound[state - LABELLED]

    cdef bint has(self, Py_ssize_t A, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        return is_there(&self.inner, &self.rules, A, i, j)

    cdef double* outer_left(self, Py_ssize_t i, Py_ssize_t row) noexcept nogil:
        return self.outer + (left_values(&self.inner, i, row) - self.inner.left)

    cdef double* outer_right(self, Py_ssize_t j, Py_ssize_t row) noexcept nogil:
        return self.outer + (right_values(&self.inner, j, row) - self.inner.left)

    cdef double* outer_place(self, Py_ssize_t A, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Where O of a symbol is, or a part of it."""
        if self.rules.left_row[A] >= 0:
            return self.outer_left(i, self.rules.left_row[A]) + j
        return self.outer_right(j, self.rules.right_row[A]) + i

    cdef double span_factor(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t A) noexcept nogil:
        """e to what a span is worth to a symbol."""
        if self.span_scores.shape[0] == 0 or self.rules.label[A] < 0:
            return 1.0
        return exp(self.span_scores[span(i, j), self.rules.label[A]])

    # Inside

    cdef void make_cell(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Make I of a span from what is in it, and store it."""
        cdef int32_t e = 0, state = self.state(i, j)
        self.n_found = 0
        if state == CLOSED:
            self.exponent[span(i, j)] = EMPTY
            return
        if j == i + 1:
            self.enter_tags(i)
        else:
            e = self.scale_splits(i, j, EMPTY)
            if e > EMPTY:
                self.join_children(i, j)
        self.multiply_span_factors(i, j, state)
        self.apply_chains(i, j, state)
        self.keep_cell(i, j, e)

    cdef double largest_tag(self, Py_ssize_t i) noexcept nogil:
        cdef double most = -INFINITY
        cdef Py_ssize_t t
        for t in range(self.tag_start[i], self.tag_start[i + 1]):
            most = max(most, self.tag_score[t])
        return most

    cdef void enter_tags(self, Py_ssize_t i) noexcept nogil:
        cdef double most = self.largest_tag(i)
        cdef Py_ssize_t t
        if most == -INFINITY:
            return
        self.log_tags = self.log_tags + most
        for t in range(self.tag_start[i], self.tag_start[i + 1]):
            self.cell[self.tag_symbol[t]] += exp(self.tag_score[t] - most)

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
        """Σ_k I(B, i, k) I(C, k, j), by the right row of C."""
        cdef const uint64_t* begins = begin_bits(&self.inner, j, C)
        cdef const double* right
        cdef double total = 0.0
        cdef Py_ssize_t k, w
        cdef uint64_t meet
        for w in range((i + 1) >> 6, ((j - 1) >> 6) + 1):
            meet = ends[w] & begins[w]
            if meet == 0:
                continue
            right = right_values(&self.inner, j, C)
            while meet:
                k = w * 64 + lowest_bit(meet)
                meet &= meet - 1
                total += self.factor[k] * left[k] * right[k]
        return total

    cdef void join_children(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        cdef const Rules* rules = &self.rules
        cdef double* cell = &self.cell[0]
        cdef Py_ssize_t a, row, B, pair, r
        cdef const uint64_t* ends
        cdef const double* left
        cdef double total
        for a in range(self.inner.n_active[i]):
            row = self.inner.active[i * self.inner.n_left + a]
            B = rules.left_symbol[row]
            ends, left = end_bits(&self.inner, i, row), left_values(&self.inner, i, row)
            for pair in range(rules.pair_start[B], rules.pair_start[B + 1]):
                total = self.sum_splits(i, j, ends, left, rules.pair_row[pair])
                if total > 0.0:
                    for r in range(rules.rule_start[pair], rules.rule_start[pair + 1]):
                        cell[rules.parent[r]] += total * rules.weight[r]

    cdef bint allows(self, int32_t state, Py_ssize_t A) noexcept nogil:
        """Whether b of a symbol may stand over a span."""
        return state < WHOLE or self.rules.label[A] >= 0

    cdef void multiply_span_factors(self, Py_ssize_t i, Py_ssize_t j, int32_t state) noexcept nogil:
        """Find the symbols with b, let it be what the span makes it, and drop what that excludes."""
        cdef Py_ssize_t A
        for A in range(self.rules.S):
            if self.cell[A] == 0.0:
                continue
            self.cell[A] *= self.span_factor(i, j, A) if self.allows(state, A) else 0.0
            if self.cell[A] > 0.0:
                self.found[self.n_found] = <int32_t>A
                self.n_found = self.n_found + 1
        self.n_binary = self.n_found

    cdef void apply_chains(self, Py_ssize_t i, Py_ssize_t j, int32_t state) noexcept nogil:
        cdef const ChainArrays* chains = self.chains(state)
        cdef Py_ssize_t f, c, A, B
        cdef double value
        if state < LABELLED:
            for f in range(self.n_binary):
                self.whole[self.found[f]] = self.cell[self.found[f]]
        for f in range(self.n_binary):
            B = self.found[f]
            for c in range(chains.start[B], chains.start[B + 1]):
                A = chains.parent[c]
                value = chains.weight[c] * self.cell[B] * self.chain_factor(i, j, A, B)
                if self.whole[A] == 0.0 and self.cell[A] == 0.0 and value > 0.0:
                    self.found[self.n_found] = <int32_t>A
                    self.n_found = self.n_found + 1
                self.whole[A] += value

    cdef double chain_factor(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t A, Py_ssize_t B) noexcept nogil:
        """What the span is worth to the upper end of a chain A ⇒ B."""
        return 1.0 if self.closed or A == B else self.span_factor(i, j, A)

    cdef void keep_cell(self, Py_ssize_t i, Py_ssize_t j, int32_t e) noexcept nogil:
        """Store I with the exponent that makes the largest of a span less than 1, but for what is below the beam."""
        cdef bint pruned = self.merit.shape[0] > 0 and j - i < self.inner.n
        cdef Py_ssize_t f, A
        cdef int shift = 0
        cdef double most = 0.0, limit = 0.0, value, half, rest
        for f in range(self.n_found):
            most = max(most, self.whole[self.found[f]])
        self.exponent[span(i, j)] = EMPTY
        if most > 0.0:
            frexp(most, &shift)
            self.exponent[span(i, j)] = e + shift
            half = ldexp(1.0, -shift // 2)  # two factors: 2^−shift may be too large for one
            rest = ldexp(1.0, -shift - -shift // 2)
            if pruned:
                for f in range(self.n_found):
                    A = self.found[f]
                    limit = max(limit, self.whole[A] * half * rest * self.merit[A] * self.beam)
            for f in range(self.n_found):
                A = self.found[f]
                value = self.whole[A] * half * rest
                if pruned and value * self.merit[A] < limit:
                    self.n_pruned = self.n_pruned + (value > 0.0)
                elif value > SMALLEST:
                    store(&self.inner, &self.rules, i, j, A, value)
        self.clear_cell()

    cdef void clear_cell(self) noexcept nogil:
        cdef Py_ssize_t f
        for f in range(self.n_found):
            self.cell[self.found[f]] = self.whole[self.found[f]] = 0.0

    # Outside

    cdef void take_span(self, Py_ssize_t i, Py_ssize_t j, double[::1] rule_counts, double[::1] chain_counts,
                        double[::1] tag_counts, double[:, ::1] span_counts) noexcept nogil:
        """Give what is outside of a span to its parts, and count it."""
        self.enter_span(i, j)
        if j > i + 1:
            self.split_span(i, j, rule_counts)
        else:
            self.count_tags(i, tag_counts)
        self.count_span(i, j, chain_counts, span_counts)
        self.clear_cell()

    cdef void enter_span(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """O of the symbols of a span into `whole`, o into `cell`."""
        cdef int32_t state = self.state(i, j)
        cdef Py_ssize_t f, row, A
        self.n_found = 0
        for row in range(self.rules.n_left):
            if (end_bits(&self.inner, i, row)[j >> 6] >> (j & 63)) & 1:
                self.find(self.rules.left_symbol[row], self.outer_left(i, row)[j])
        for row in range(self.rules.n_right):
            if (begin_bits(&self.inner, j, row)[i >> 6] >> (i & 63)) & 1:
                A = self.rules.right_symbol[row]
                if self.rules.left_row[A] < 0:
                    self.find(A, 0.0)
                self.whole[A] += self.outer_right(j, row)[i]
        if state < LABELLED:
            for f in range(self.n_found):
                A = self.found[f]
                if self.allows(state, A):
                    self.cell[A] = (self.whole[A] + self.above(i, j, A, &self.rules.chains)) * self.span_factor(i, j, A)
        else:
            self.enter_chains(i, j, state)
        memset(&self.base[0], 0, self.rules.S * sizeof(double))

    cdef void find(self, Py_ssize_t A, double outer) noexcept nogil:
        """A symbol of a span, and O of it, or a part of that."""
        self.found[self.n_found] = <int32_t>A
        self.n_found = self.n_found + 1
        self.whole[A] = outer

    cdef double above(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t B, const ChainArrays* chains) noexcept nogil:
        """Σ over the chains that end in a symbol."""
        cdef double total = 0.0
        cdef Py_ssize_t c, A
        for c in range(chains.start[B], chains.start[B + 1]):
            A = chains.parent[c]
            if self.whole[A] > 0.0:
                total += self.whole[A] * chains.weight[c] * self.chain_factor(i, j, A, B)
        return total

    cdef void enter_chains(self, Py_ssize_t i, Py_ssize_t j, int32_t state) noexcept nogil:
        """o of all symbols that the chains of a span end in, which need not be there themselves."""
        cdef const ChainArrays* chains = self.chains(state)
        cdef Py_ssize_t B
        for B in range(self.rules.S):
            if self.allows(state, B):
                self.cell[B] = self.above(i, j, B, chains) * self.span_factor(i, j, B)
                if self.cell[B] > 0.0 and not self.has(B, i, j):
                    self.found[self.n_found] = <int32_t>B
                    self.n_found = self.n_found + 1

    cdef void split_span(self, Py_ssize_t i, Py_ssize_t j, double[::1] rule_counts) noexcept nogil:
        """Count the rules over a span, make its b anew, and hand O on to its splits."""
        cdef const Rules* rules = &self.rules
        cdef bint counting = rule_counts.shape[0] > 0
        cdef const double* cell = &self.cell[0]
        cdef double* base = &self.base[0]
        cdef Py_ssize_t a, row, B, pair, r
        cdef const uint64_t* ends
        cdef const double* left
        cdef double total, outer, share
        self.scale_splits(i, j, self.exponent[span(i, j)])
        for a in range(self.inner.n_active[i]):
            row = self.inner.active[i * self.inner.n_left + a]
            B = rules.left_symbol[row]
            ends, left = end_bits(&self.inner, i, row), left_values(&self.inner, i, row)
            for pair in range(rules.pair_start[B], rules.pair_start[B + 1]):
                total = self.sum_splits(i, j, ends, left, rules.pair_row[pair])
                if total == 0.0:
                    continue
                outer = 0.0
                for r in range(rules.rule_start[pair], rules.rule_start[pair + 1]):
                    share = cell[rules.parent[r]] * rules.weight[r]
                    outer += share
                    base[rules.parent[r]] += total * rules.weight[r]
                    if counting:
                        rule_counts[r] += share * total
                if outer > 0.0:
                    self.hand_on(i, j, row, rules.pair_row[pair], outer)

    cdef void hand_on(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t B, Py_ssize_t C, double outer) noexcept nogil:
        """Add what all parents of a pair hand on to both children, of these rows, at every split."""
        cdef const uint64_t* ends = end_bits(&self.inner, i, B)
        cdef const uint64_t* begins = begin_bits(&self.inner, j, C)
        cdef const double* left = left_values(&self.inner, i, B)
        cdef const double* right = right_values(&self.inner, j, C)
        cdef double* outer_left = self.outer_left(i, B)
        cdef double* outer_right = self.outer_right(j, C)
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
        cdef int32_t state = self.state(i, j)
        cdef const ChainArrays* chains = self.chains(state)
        cdef Py_ssize_t first = 0 if state < LABELLED else self._rules.chains.parent.shape[0] + chains.first
        cdef bint labelled = span_counts.shape[0] > 0 and not (self.closed and state >= LABELLED)
        cdef Py_ssize_t f, c, A, B, place = span(i, j)
        cdef double value, b
        for f in range(self.n_found):
            B = self.found[f]
            if not self.allows(state, B):
                continue
            b = self.base[B] * self.span_factor(i, j, B)
            for c in range(chains.start[B], chains.start[B + 1]):
                A = chains.parent[c]
                value = self.whole[A] * b * self.chain_factor(i, j, A, B)
                if value > 0.0:
                    if labelled and not self.closed and A != B and self.rules.label[A] >= 0:
                        span_counts[place, self.rules.label[A]] += value * chains.weight[c]
                    if chain_counts.shape[0] > 0:
                        chain_counts[first + c] += value
            if labelled and self.rules.label[B] >= 0:
                value = value_of(&self.inner, &self.rules, B, i, j) if self.closed else self.base[B]
                span_counts[place, self.rules.label[B]] += self.cell[B] * value
