"""The best derivation of a sentence (Cocke, Kasami and Younger; Viterbi), and what its cells are made of.

    v(A, i, j) = s(A, i, j) + max { w(A → B C) + V(B, i, k) + V(C, k, j) }     of a word: + the score of tag A
    V(A, i, j) = max { v(A, i, j),  max_B chain(A ⇒ B) + v(B, i, j) + s(A, i, j) }

with s what a span is worth to a label, if that is asked. There are no back-pointers: the derivation is found again by
making its 2n − 1 cells once more. What is better is found by maxima: a branch would often be guessed wrong.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free

import numpy as np

from fastlin.engine.chart.chart cimport (
    Chart, begin_bits, end_bits, is_there, left_values, lowest_bit, new_chart, next_look, right_values, span,
    store, value_of
)
from fastlin.engine.chart.chart_rules cimport (
    CLOSED, LABELLED, OPEN, WHOLE, ChainArrays, ChartRules, Rules, SpanConstraints
)
from fastlin.engine.core.interruption cimport look


cdef inline Py_ssize_t enter(int32_t[:, ::1] todo, Py_ssize_t depth, Py_ssize_t symbol, Py_ssize_t i, Py_ssize_t j,
                             bint whole) noexcept nogil:
    """Enter a symbol over a span above what is to be done; the new depth."""
    todo[depth, 0], todo[depth, 1], todo[depth, 2] = <int32_t>symbol, <int32_t>i, <int32_t>j
    todo[depth, 3] = whole
    return depth + 1


@cython.final
cdef class ViterbiParser:
    """The best derivations by a grammar, whose weights are logarithms, one sentence after the other.

    With `merit` [S] and `beam`, a symbol whose V and merit are by more than the beam below the largest of a span, which
    is not the sentence, is left out there. Attribute: n_pruned, how many were.
    """

    cdef ChartRules _rules
    cdef SpanConstraints _constraints
    cdef Rules rules
    cdef Chart chart
    cdef const int32_t* states                # [spans] what may stand there; NULL: whatever the grammar makes
    cdef double[::1] cell, whole              # [S] v and V of the present span
    cdef int64_t[::1] from_pair               # [S] what attains v
    cdef int32_t[::1] found                   # [S] symbols with v or V, those with v first
    cdef int32_t[::1] from_chain              # [S] what attains V; −1: v
    cdef Py_ssize_t n_binary, n_found
    cdef const double[::1] merit              # [S], or none: nothing is left out
    cdef double beam
    cdef readonly int64_t n_pruned
    cdef const int64_t[::1] tag_start
    cdef const int32_t[::1] tag_symbol
    cdef const double[::1] tag_score
    cdef const double[:, ::1] span_scores

    def __init__(self, ChartRules rules not None, const double[::1] merit=np.empty(0), double beam=INFINITY):
        cdef Py_ssize_t S = rules.n_symbols
        rules.check_merit(merit)
        self.merit, self.beam = merit, beam
        self._rules, self.rules = rules, rules.bound
        self.cell, self.whole = np.full(S, -INFINITY), np.full(S, -INFINITY)
        self.from_pair = np.empty(S, np.int64)
        self.found, self.from_chain = np.empty(S, np.int32), np.empty(S, np.int32)

    def __dealloc__(self):
        free(self.chart.memory)

    def fill(self, const int64_t[::1] tag_start, const int32_t[::1] tag_symbol, const double[::1] tag_score,
             const double[:, ::1] span_scores, SpanConstraints constraints=None):
        """Fill the chart of a sentence of n words, n > 0.

        tag_start [n + 1]; tag_symbol and tag_score [tags]: the tags of each word; span_scores [n(n + 1) / 2, labels] of
        the spans by their last word and, of one, by their first; without rows: spans are worth nothing.
        """
        cdef Py_ssize_t j, first, last, n = tag_start.shape[0] - 1
        self._rules.check_tags(tag_start, tag_symbol, tag_score)
        self._rules.check_spans(n, span_scores)
        self.states = NULL
        if constraints is not None:
            constraints.check(n, self._rules)
            self.states = &constraints.states[0]
        self.tag_start, self.tag_symbol, self.tag_score = tag_start, tag_symbol, tag_score
        self.span_scores, self._constraints = span_scores, constraints
        if not new_chart(&self.chart, n, &self.rules):
            raise MemoryError(f"a chart of {n} words and {self.rules.S} symbols does not fit into memory")
        self.n_pruned = 0
        first = 0
        while first < n:
            last = next_look(first, n)
            with nogil:
                for j in range(first + 1, last + 1):
                    self.make_row(j)
            first = last
            look()

    cdef void make_row(self, Py_ssize_t j) noexcept nogil:
        """The cells of the spans that end before word j."""
        cdef Py_ssize_t i
        for i in range(j - 1, -1, -1):
            self.make_cell(i, j, False)
            self.keep_cell(i, j)

    def score(self, Py_ssize_t symbol, Py_ssize_t i, Py_ssize_t j):
        """V of a symbol over a span, −∞ where it has no derivation."""
        if not is_there(&self.chart, &self.rules, symbol, i, j):
            return -INFINITY
        return value_of(&self.chart, &self.rules, symbol, i, j)

    def edges(self, Py_ssize_t parent, Py_ssize_t i, Py_ssize_t j):
        """All ways to make v of a symbol over several words: left child, right child, split and what it is worth."""
        cdef Py_ssize_t a, row, B, C, pair, r, w, k
        cdef uint64_t meet
        cdef double both, worth
        cdef list found = []
        for a in range(self.chart.n_active[i]):
            row = self.chart.active[i * self.chart.n_left + a]
            B = self.rules.left_symbol[row]
            for pair in range(self.rules.pair_start[B], self.rules.pair_start[B + 1]):
                for r in range(self.rules.rule_start[pair], self.rules.rule_start[pair + 1]):
                    if self.rules.parent[r] == parent:
                        break
                else:
                    continue
                C = self.rules.pair_row[pair]
                for w in range((i + 1) >> 6, ((j - 1) >> 6) + 1):
                    meet = end_bits(&self.chart, i, row)[w] & begin_bits(&self.chart, j, C)[w]
                    while meet:
                        k = w * 64 + lowest_bit(meet)
                        meet &= meet - 1
                        both = left_values(&self.chart, i, row)[k] + right_values(&self.chart, j, C)[k]
                        worth = both + self.rules.weight[r]
                        if worth > -INFINITY:
                            found.append((B, self.rules.pair_right[pair], k, worth))
        return found

    def best(self, Py_ssize_t symbol):
        """The best derivation of the whole sentence from a symbol that has one, in preorder.

        Returns symbols, and the numbers of symbols below (1: a chain, whose inner symbols are left out).
        """
        cdef Py_ssize_t n_steps
        cdef int32_t[:, ::1] steps = np.empty((2, 4 * self.chart.n), np.int32)  # 2n − 1 cells, a chain over each
        cdef int32_t[:, ::1] todo = np.empty((self.chart.n + 1, 4), np.int32)   # of spans that do not overlap
        with nogil:
            n_steps = self.trace(symbol, steps, todo)
        symbols, kinds = np.asarray(steps)[:, :n_steps].tolist()
        return symbols, kinds

    cdef Py_ssize_t trace(self, Py_ssize_t symbol, int32_t[:, ::1] steps, int32_t[:, ::1] todo) noexcept nogil:
        """Enter symbols and kinds of the best derivation; how many. To be done are symbols, spans and if chains end."""
        cdef Py_ssize_t made = 0, depth, i, j, k, B, pair
        cdef bint whole
        depth = enter(todo, 0, symbol, 0, self.chart.n, True)
        while depth > 0:
            depth -= 1
            symbol, i, j, whole = todo[depth, 0], todo[depth, 1], todo[depth, 2], todo[depth, 3]
            self.make_cell(i, j, True)
            steps[0, made] = <int32_t>symbol
            if whole and self.from_chain[symbol] >= 0:
                steps[1, made] = 1
                depth = enter(todo, depth, self.from_chain[symbol], i, j, False)
            elif j == i + 1:
                steps[1, made] = 0
            else:
                steps[1, made] = 2
                pair = self.from_pair[symbol]
                B = self.left_of(pair)
                k = self.best_split(i, j, self.rules.left_row[B], self.rules.pair_row[pair])
                depth = enter(todo, depth, self.rules.pair_right[pair], k, j, True)
                depth = enter(todo, depth, B, i, k, True)
            made += 1
            self.clear_cell()
        return made

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

    cdef Py_ssize_t best_split(self, Py_ssize_t i, Py_ssize_t j, Py_ssize_t B, Py_ssize_t C) noexcept nogil:
        """The split of a span that two rows make the most of."""
        cdef const double* left = left_values(&self.chart, i, B)
        cdef const double* right = right_values(&self.chart, j, C)
        cdef Py_ssize_t k, w, split = -1
        cdef double best = -INFINITY
        cdef uint64_t meet
        for w in range((i + 1) >> 6, ((j - 1) >> 6) + 1):
            meet = end_bits(&self.chart, i, B)[w] & begin_bits(&self.chart, j, C)[w]
            while meet:
                k = w * 64 + lowest_bit(meet)
                meet &= meet - 1
                if left[k] + right[k] > best:
                    best, split = left[k] + right[k], k
        return split

    cdef void make_cell(self, Py_ssize_t i, Py_ssize_t j, bint trace) noexcept nogil:
        """v and V of a span and, to be traced, what they come from."""
        cdef int32_t state = OPEN if self.states == NULL else self.states[span(i, j)]
        self.n_found = 0
        if state == CLOSED:
            return
        if j == i + 1:
            self.enter_tags(i)
        else:
            self.join_children(i, j, trace)
        self.add_span_scores(span(i, j), state >= WHOLE)
        if state < LABELLED:
            self.apply_chains(span(i, j), &self.rules.chains, True)
        else:
            self.apply_chains(span(i, j), &self._constraints.bound[state - LABELLED], False)

    cdef void enter_tags(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t t, A
        for t in range(self.tag_start[i], self.tag_start[i + 1]):
            A = self.tag_symbol[t]
            self.cell[A] = max(self.cell[A], self.tag_score[t])

    cdef void join_children(self, Py_ssize_t i, Py_ssize_t j, bint trace) noexcept nogil:
        cdef const Rules* rules = &self.rules
        cdef const Chart* chart = &self.chart
        cdef double* cell = &self.cell[0]
        cdef Py_ssize_t a, A, row, B, pair, r, k, w, first = (i + 1) >> 6, last = (j - 1) >> 6
        cdef uint64_t meet
        cdef const uint64_t* ends
        cdef const uint64_t* begins
        cdef const double* left
        cdef const double* right
        cdef double value, best
        for a in range(chart.n_active[i]):
            row = chart.active[i * chart.n_left + a]
            B = rules.left_symbol[row]
            ends, left = end_bits(chart, i, row), left_values(chart, i, row)
            for pair in range(rules.pair_start[B], rules.pair_start[B + 1]):
                begins = begin_bits(chart, j, rules.pair_row[pair])
                best = -INFINITY
                for w in range(first, last + 1):
                    meet = ends[w] & begins[w]
                    if meet == 0:
                        continue
                    right = right_values(chart, j, rules.pair_row[pair])
                    while meet:
                        k = w * 64 + lowest_bit(meet)
                        meet &= meet - 1
                        value = left[k] + right[k]
                        best = value if value > best else best
                if best == -INFINITY:
                    continue
                for r in range(rules.rule_start[pair], rules.rule_start[pair + 1]):
                    A, value = rules.parent[r], best + rules.weight[r]
                    if trace and value > cell[A]:
                        self.from_pair[A] = pair
                    cell[A] = value if value > cell[A] else cell[A]

    cdef void add_span_scores(self, Py_ssize_t place, bint whole) noexcept nogil:
        """Find the symbols with v, add what the span is worth, and drop what it excludes, `whole` all without label."""
        cdef bint scored = self.span_scores.shape[0] > 0
        cdef Py_ssize_t A
        for A in range(self.rules.S):
            if self.cell[A] == -INFINITY:
                continue
            if self.rules.label[A] < 0:
                if whole:
                    self.cell[A] = -INFINITY
            elif scored:
                self.cell[A] += self.span_scores[place, self.rules.label[A]]
            if self.cell[A] > -INFINITY:
                self.found[self.n_found] = <int32_t>A
                self.n_found = self.n_found + 1
        self.n_binary = self.n_found

    cdef void apply_chains(self, Py_ssize_t place, const ChainArrays* chains, bint none) noexcept nogil:
        """V of what chains make of v, with `none` also of v itself."""
        cdef bint scored = self.span_scores.shape[0] > 0
        cdef Py_ssize_t f, c, A, B
        cdef double value
        if none:
            for f in range(self.n_binary):
                B = self.found[f]
                self.whole[B], self.from_chain[B] = self.cell[B], -1
        for f in range(self.n_binary):
            B = self.found[f]
            for c in range(chains.start[B], chains.start[B + 1]):
                A, value = chains.parent[c], self.cell[B] + chains.weight[c]
                if scored and A != B and self.rules.label[A] >= 0:
                    value += self.span_scores[place, self.rules.label[A]]
                if value > self.whole[A]:
                    if self.whole[A] == -INFINITY and self.cell[A] == -INFINITY:
                        self.found[self.n_found] = <int32_t>A
                        self.n_found = self.n_found + 1
                    self.whole[A], self.from_chain[A] = value, <int32_t>B

    cdef void keep_cell(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Store V in the chart, but for what is below the beam, and clear the cell."""
        cdef bint pruned = self.merit.shape[0] > 0 and j - i < self.chart.n
        cdef double limit = -INFINITY
        cdef Py_ssize_t f, A
        if pruned:
            for f in range(self.n_found):
                limit = max(limit, self.whole[self.found[f]] + self.merit[self.found[f]] - self.beam)
        for f in range(self.n_found):
            A = self.found[f]
            if self.whole[A] == -INFINITY:
                continue
            if pruned and self.whole[A] + self.merit[A] < limit:
                self.n_pruned = self.n_pruned + 1
            else:
                store(&self.chart, &self.rules, i, j, A, self.whole[A])
        self.clear_cell()

    cdef void clear_cell(self) noexcept nogil:
        cdef Py_ssize_t f
        for f in range(self.n_found):
            self.cell[self.found[f]] = self.whole[self.found[f]] = -INFINITY
