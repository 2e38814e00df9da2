"""What charts read and never change: bound and proved once, by all parsers of all threads."""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

from fastlin.engine.core.allocation cimport allocate


cdef int check_starts(str name, const int64_t[::1] start, Py_ssize_t n, Py_ssize_t total) except -1:
    """Check that n parts follow one another, and are all there is."""
    cdef Py_ssize_t place
    if start.shape[0] != n + 1 or start[0] != 0 or start[n] != total:
        raise ValueError(f"{name} must have {n + 1} places, from 0 to {total}")
    for place in range(n):
        if start[place] > start[place + 1]:
            raise ValueError(f"{name} must not fall, and does at {place + 1}")
    return 0


cdef int check_symbols(str name, const int32_t[::1] symbols, Py_ssize_t low, Py_ssize_t high) except -1:
    """Check that all numbers are from `low` to below `high`."""
    cdef Py_ssize_t place
    for place in range(symbols.shape[0]):
        if not low <= symbols[place] < high:
            raise ValueError(f"{name} must be from {low} to {high - 1}, got {symbols[place]}")
    return 0


@cython.final
cdef class ChainTable:
    """ChainArrays of unary rules A ⇒ B by their last symbol: start [S + 1], parent and weight [chains]."""

    def __init__(self, const int64_t[::1] start, const int32_t[::1] parent, const double[::1] weight):
        cdef Py_ssize_t S = start.shape[0] - 1
        if weight.shape[0] != parent.shape[0]:
            raise ValueError(f"there are {weight.shape[0]} weights of {parent.shape[0]} chains")
        check_starts("start", start, S, parent.shape[0])
        check_symbols("parent", parent, 0, S)
        self.start, self.parent, self.weight = start, parent, weight
        self.bound.start, self.bound.first = &start[0], 0
        if parent.shape[0] > 0:
            self.bound.parent, self.bound.weight = &parent[0], &weight[0]


@cython.final
cdef class ChartRules:
    """The rules of a grammar, sorted by their children.

    pair_start [S + 1], pair_right [pairs], rule_start [pairs + 1], parent and weight [rules], chains, label [S]: those
    of `chart_rules.pxd`. Weights may change between two sentences; all else must stay as it is.
    """

    def __init__(self, const int64_t[::1] pair_start, const int32_t[::1] pair_right, const int64_t[::1] rule_start,
                 const int32_t[::1] parent, const double[::1] weight, ChainTable chains not None,
                 const int32_t[::1] label):
        cdef Py_ssize_t S = label.shape[0], place
        if S == 0 or chains.start.shape[0] != S + 1 or weight.shape[0] != parent.shape[0]:
            raise ValueError(
                f"{S} symbols, chains from {chains.start.shape[0] - 1} symbols, {parent.shape[0]} rules and "
                f"{weight.shape[0]} weights are of no grammar"
            )
        check_starts("pair_start", pair_start, S, pair_right.shape[0])
        check_starts("rule_start", rule_start, pair_right.shape[0], parent.shape[0])
        check_symbols("pair_right", pair_right, 0, S)
        check_symbols("parent", parent, 0, S)
        check_symbols("label", label, -1, 1 << 30)
        self._owners = (pair_start, pair_right, rule_start, parent, weight, label)
        self.chains, self.n_symbols, self.n_pairs, self.n_rules = chains, S, pair_right.shape[0], parent.shape[0]
        self.n_labels = 0
        for place in range(S):
            self.n_labels = max(self.n_labels, label[place] + 1)
        self.bound.S, self.bound.chains, self.bound.label = S, chains.bound, &label[0]
        self.bound.pair_start, self.bound.rule_start = &pair_start[0], &rule_start[0]
        if parent.shape[0] > 0:
            self.bound.pair_right, self.bound.parent, self.bound.weight = &pair_right[0], &parent[0], &weight[0]
        self.number_rows()

    def __dealloc__(self):
        free(self.bound.left_row)

    cdef int number_rows(self) except -1:
        """Number symbols that are left children and, after them, those that are none; and those that are right ones."""
        cdef Rules* rules = &self.bound
        cdef Py_ssize_t S = rules.S, A, pair
        free(rules.left_row)
        rules.left_row = <int32_t*>allocate(4 * S + self.n_pairs, sizeof(int32_t))
        if not rules.left_row:
            raise MemoryError(f"there is no memory for the rows of {S} symbols")
        rules.right_row, rules.left_symbol = rules.left_row + S, rules.left_row + 2 * S
        rules.right_symbol, rules.pair_row = rules.left_row + 3 * S, rules.left_row + 4 * S
        rules.n_left = rules.n_right = 0
        for A in range(S):
            rules.left_row[A] = rules.right_row[A] = -1
        for pair in range(self.n_pairs):
            A = rules.pair_right[pair]
            if rules.right_row[A] < 0:
                rules.right_row[A] = <int32_t>rules.n_right
                rules.right_symbol[rules.n_right] = <int32_t>A
                rules.n_right += 1
            rules.pair_row[pair] = rules.right_row[A]
        for joining in (True, False):
            for A in range(S):
                if (rules.pair_start[A] < rules.pair_start[A + 1] if joining
                        else rules.left_row[A] < 0 and rules.right_row[A] < 0):
                    rules.left_row[A] = <int32_t>rules.n_left
                    rules.left_symbol[rules.n_left] = <int32_t>A
                    rules.n_left += 1
            if joining:
                rules.n_joining = rules.n_left
        return 0

    cdef int check_tags(self, const int64_t[::1] start, const int32_t[::1] symbol,
                        const double[::1] score) except -1:
        """Check the tags of a sentence."""
        if start.shape[0] < 2 or symbol.shape[0] != score.shape[0]:
            raise ValueError(f"{start.shape[0] - 1} words with {symbol.shape[0]} tags and {score.shape[0]} scores")
        check_starts("tag_start", start, start.shape[0] - 1, symbol.shape[0])
        check_symbols("tag_symbol", symbol, 0, self.n_symbols)
        return 0

    cdef int check_merit(self, const double[::1] merit) except -1:
        """Check what symbols are worth, or nothing."""
        if merit.shape[0] > 0 and merit.shape[0] != self.n_symbols:
            raise ValueError(f"there are merits of {merit.shape[0]} symbols, and {self.n_symbols} symbols")
        return 0

    cdef int check_spans(self, Py_ssize_t n, const double[:, ::1] worth) except -1:
        """Check what has a row for each span of n words, or none at all, and a column for each label."""
        if worth.shape[0] > 0 and (worth.shape[0] != n * (n + 1) // 2 or worth.shape[1] < self.n_labels):
            raise ValueError(
                f"{worth.shape[0]} spans and {worth.shape[1]} labels for {n} words and {self.n_labels} labels"
            )
        return 0


@cython.final
cdef class SpanConstraints:
    """What may stand over each span of one sentence.

    states [n(n + 1) / 2] of the spans by their last word and, of one, by their first: 0 whatever the grammar makes, 1
    nothing, 2 symbols with a label only, which is how a given bracket looks, 3 + m the same by the chains of
    `tables[m]` alone, where the chain of no rule is one of those listed, or none.

    Attributes: tables; n_chains, of all tables together.
    """

    def __init__(self, const int32_t[::1] states, tables=()):
        cdef Py_ssize_t m
        cdef ChainTable table
        self.states, self.tables, self.n_chains = states, list(tables), 0
        check_symbols("states", states, 0, LABELLED + len(self.tables))
        free(self.bound)
        self.bound = <ChainArrays*>allocate(len(self.tables), sizeof(ChainArrays))
        if not self.bound:
            raise MemoryError(f"there is no memory for {len(self.tables)} tables of chains")
        for m, table in enumerate(self.tables):
            self.bound[m] = table.bound
            self.bound[m].first = self.n_chains
            self.n_chains += table.parent.shape[0]

    def __dealloc__(self):
        free(self.bound)

    cdef int check(self, Py_ssize_t n, ChartRules rules) except -1:
        """Check that these are constraints of n words and of a grammar."""
        cdef ChainTable table
        if self.states.shape[0] != n * (n + 1) // 2:
            raise ValueError(f"{self.states.shape[0]} states of the {n * (n + 1) // 2} spans of {n} words")
        for table in self.tables:
            if table.start.shape[0] != rules.n_symbols + 1:
                raise ValueError(f"chains from {table.start.shape[0] - 1} of {rules.n_symbols} symbols")
        return 0
