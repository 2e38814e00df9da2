"""Lattices of edits: every way in which a channel makes an observed word y of a source word x.

Before each character of the source, and behind the last, stands a gap. In the gap behind c the channel inserts b with
p(insert b | c), again and again, or stops. Then it takes the next character a: if another one, a', follows a, it
transposes both with p(transpose | a, a'), else it writes b, or nothing, with p(b | c, a). What a gap or a character may
become sums to one, so Σ_y p(y | x) = 1.

    F(i, j) = F(i, j−1) ins(i, y_j) + F(i−1, j) del(i) + F(i−1, j−1) sub(i, y_j) + F(i−2, j−2) swap(i)

Probabilities are those of events that were seen; what was not falls back, from p(b | c, a) to p(b | a) and from there,
as insertions and transpositions do at once, to four rates:

    p(b | c, a) = p̂(b | c, a) if there is an event, else rest(c, a) p(b | a), …

Sums are those of numbers, not of logarithms: what is lost below 1e-308 does not matter as long as the whole is above
1e-250; words whose whole is not are done again with logarithms, which takes eight times as long.
"""

from libc.math cimport log
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libc.stdlib cimport free
from cython cimport critical_section, final

import numpy as np

from fastlin.engine.channel.edit_cells cimport (
    BEST, LINEAR, LOGARITHMS, EditCells, backward, count, forward, make_room, swapped, take_logarithms,
)
from fastlin.engine.core.allocation cimport allocate, allocate_zeros
from fastlin.engine.core.interruption cimport look

cdef enum:
    INSERT, CONSUME, ALONE, TRANSPOSE   # kinds of contexts: (0, c), (c, a), (0, a), (a, a')

cdef enum:
    WRITE, SWAP, DROP, ADD              # steps of an alignment

cdef enum:
    N_CODE_POINTS = 1114112
    LARGEST_MEMO = 1 << 21              # numbers
    MOST_CELLS = 1 << 22                # of the lattice of two words
    CELLS_A_LOOK = 1 << 18              # of lattices that are gone through before a look at what may end the job

cdef double SAFE = 1e-250

LARGEST_LATTICE = MOST_CELLS


@final
cdef class EncodedWords:
    """Words as numbers of characters, places in an alphabet, one behind the other; bound and looked at once."""

    cdef const int32_t* numbers
    cdef const int64_t* starts      # [n + 1]
    cdef int64_t n
    cdef readonly object alphabet   # the kernel knows numbers alone; who holds words of several asks for it
    cdef object kept

    def __cinit__(self, const int32_t[::1] numbers, const int64_t[::1] starts, alphabet):
        cdef int64_t i
        self.n = starts.shape[0] - 1
        if self.n < 0 or starts[0] != 0 or starts[self.n] != numbers.shape[0]:
            raise ValueError("starts of other words")
        for i in range(self.n):
            if starts[i] > starts[i + 1]:
                raise ValueError("starts that fall")
        for i in range(numbers.shape[0]):
            if numbers[i] < 1:
                raise ValueError("a character must have a number from 1 on")
        self.numbers, self.starts = &numbers[0] if numbers.shape[0] else NULL, &starts[0]
        self.alphabet, self.kept = alphabet, (numbers, starts)

    def __len__(self):
        return self.n


cdef int64_t check_pairs(EncodedWords x, const int32_t[::1] x_which, EncodedWords y, const int32_t[::1] y_which,
                         int64_t* most, int64_t* longest) except -1:
    """The cells of all pairs, the most of one, and the most gaps; ValueError: a word is not there, or too long."""
    cdef int64_t k, m, n, work = 0
    most[0] = longest[0] = 1
    if x_which.shape[0] != y_which.shape[0]:
        raise ValueError("pairs of other lengths")
    for k in range(x_which.shape[0]):
        if not 0 <= x_which[k] < x.n or not 0 <= y_which[k] < y.n:
            raise ValueError("a word that is not there")
        m = x.starts[x_which[k] + 1] - x.starts[x_which[k]] + 1
        n = y.starts[y_which[k] + 1] - y.starts[y_which[k]] + 1
        if m > MOST_CELLS // n:
            raise ValueError(f"words of {m - 1} and {n - 1} characters are too long: the product of their lengths must "
                             f"be at most {MOST_CELLS}")
        work += m * n
        most[0], longest[0] = max(most[0], m * n), max(longest[0], m)
    return work


cdef inline void bind(EditCells* of, EncodedWords x, int64_t i, EncodedWords y, int64_t j) noexcept nogil:
    of.x, of.m = x.numbers + x.starts[i], x.starts[i + 1] - x.starts[i]
    of.y, of.n = y.numbers + y.starts[j], y.starts[j + 1] - y.starts[j]


cdef int look_in_time(int64_t more, int64_t* cells) except -1 nogil:
    """Look at what may end the job, every so many cells; `cells` are those since the last look."""
    cells[0] += more
    if cells[0] >= CELLS_A_LOOK:
        cells[0] = 0
        with gil:
            look()
    return 0


@final
cdef class EditLattice:
    """Events and their probabilities, bound once; `p` may be written to between two calls.

    Characters are numbers from 1 on; those above `n_characters` were never seen, and have no events. Events are
    numbered by the places of their keys, ((kind · N + first) · N + second) · N + outcome with N = n_characters + 2;
    the outcome 0 is a stop, a deletion or no transposition, N − 1 the factor of what has no event.
    """

    cdef int64_t n_characters, N, mask, asked
    cdef const double* p
    cdef int64_t* keys      # [mask + 1], −1: free
    cdef int32_t* numbers   # [mask + 1]
    cdef double* memo       # [N, N, N] of p(b | c, a); NULL: not yet; who reads it was given it by `remember`
    cdef double insertion, deletion, substitution, transposition, known, unknown
    cdef object kept

    def __cinit__(self, const int64_t[::1] keys, const double[::1] p, const double[::1] rates, int64_t n_characters):
        cdef int64_t i, slot, size = 16
        if p.shape[0] != keys.shape[0] or rates.shape[0] != 4 or not 0 <= n_characters <= N_CODE_POINTS:
            raise ValueError("probabilities of other events")
        self.kept, self.n_characters, self.N = p, n_characters, n_characters + 2
        self.p = &p[0] if p.shape[0] else NULL
        self.insertion, self.deletion, self.substitution, self.transposition = rates
        self.known = 1.0 / (n_characters + 1)
        self.unknown = self.known / max(1, N_CODE_POINTS - n_characters)
        while size < 2 * keys.shape[0]:
            size *= 2
        self.mask = size - 1
        self.keys = <int64_t*>allocate(size, sizeof(int64_t))
        self.numbers = <int32_t*>allocate(size, sizeof(int32_t))
        if self.keys == NULL or self.numbers == NULL:
            raise MemoryError
        for i in range(size):
            self.keys[i] = -1
        for i in range(keys.shape[0]):
            if keys[i] < 0:
                raise ValueError("an event must have a key from 0 on")
            slot = self.slot_of(keys[i])
            self.keys[slot], self.numbers[slot] = keys[i], <int32_t>i

    def __dealloc__(self):
        free(self.keys)
        free(self.numbers)
        free(self.memo)

    # --- probabilities -----------------------------------------------------------------------------------------------

    cdef int64_t slot_of(self, int64_t key) noexcept nogil:
        cdef int64_t slot = <int64_t>((<uint64_t>key * 0x9E3779B97F4A7C15ULL) >> 20) & self.mask
        while self.keys[slot] >= 0 and self.keys[slot] != key:
            slot = (slot + 1) & self.mask
        return slot

    cdef int32_t find(self, int64_t kind, int64_t first, int64_t second, int64_t outcome) noexcept nogil:
        """The number of an event; −1: there is none."""
        cdef int64_t slot
        if first > self.n_characters or second > self.n_characters or outcome >= self.N:
            return -1
        slot = self.slot_of(((kind * self.N + first) * self.N + second) * self.N + outcome)
        return self.numbers[slot] if self.keys[slot] >= 0 else -1

    cdef double rest(self, int64_t kind, int64_t first, int64_t second) noexcept nogil:
        """The factor of what has no event after a context."""
        cdef int32_t event = self.find(kind, first, second, self.N - 1)
        return self.p[event] if event >= 0 else 1.0

    cdef double spread(self, int64_t b) noexcept nogil:
        """The share of a character among all."""
        return self.known if b <= self.n_characters else self.unknown

    cdef double inserted(self, int64_t c, int64_t b, int32_t* event) noexcept nogil:
        """p(insert b | c); b = 0: p(stop | c)."""
        event[0] = self.find(INSERT, 0, c, b) if b <= self.n_characters else -1
        if event[0] >= 0:
            return self.p[event[0]]
        return self.rest(INSERT, 0, c) * (self.insertion * self.spread(b) if b else 1.0 - self.insertion)

    cdef double consumed(self, int64_t c, int64_t a, int64_t b, int32_t* event) noexcept nogil:
        """p(b | c, a); b = 0: p(delete | c, a)."""
        cdef int32_t alone = -1
        cdef double factor, p
        event[0] = self.find(CONSUME, c, a, b) if b <= self.n_characters else -1
        if event[0] >= 0:
            return self.p[event[0]]
        factor = self.rest(CONSUME, c, a)
        if b <= self.n_characters:
            alone = self.find(ALONE, 0, a, b)
        if alone >= 0:
            return factor * self.p[alone]
        if b == 0:
            p = self.deletion
        elif a == b:
            p = 1.0 - self.deletion - self.substitution
        else:
            p = self.substitution * self.spread(b) / (1.0 - self.spread(a))
        return factor * self.rest(ALONE, 0, a) * p

    cdef double transposed(self, int64_t a, int64_t b, int32_t* event) noexcept nogil:
        """p(transpose | a, b)."""
        event[0] = self.find(TRANSPOSE, a, b, 1)
        return self.p[event[0]] if event[0] >= 0 else self.transposition

    cdef double remembered(self, const double* memo, int64_t c, int64_t a, int64_t b, int32_t* event) noexcept nogil:
        """`consumed`, from the memo if that is made."""
        if memo == NULL or max(a, b) > self.n_characters or c > self.n_characters:
            return self.consumed(c, a, b, event)
        return memo[(c * self.N + a) * self.N + b]

    cdef const double* remember(self, int64_t n) except? NULL:
        """The memo, made once it pays; of several who ask at once, one makes it, and the others wait."""
        cdef int64_t a, b, c, size = self.N * self.N * self.N
        cdef int32_t event
        cdef double* memo
        with critical_section(self):
            self.asked += n
            if self.memo != NULL or self.N > 1 << 20 or size > LARGEST_MEMO or self.asked < size:
                return self.memo
            memo = <double*>allocate_zeros(size, sizeof(double))
            if memo == NULL:
                raise MemoryError
            for c in range(self.N - 1):
                for a in range(1, self.N - 1):
                    for b in range(self.N - 1):
                        memo[(c * self.N + a) * self.N + b] = self.consumed(c, a, b, &event)
            self.memo = memo
            return memo

    cdef void fill(self, EditCells* of, const double* memo) noexcept nogil:
        """What each step costs."""
        cdef int64_t i, j, at, c, m = of.m, n = of.n, cells = (m + 1) * (n + 1)
        cdef int32_t event
        cdef int32_t* events = of.events
        cdef double taken, swap
        for i in range(m + 1):
            c = of.x[i - 1] if i else 0
            of.stop[i] = self.inserted(c, 0, &event)
            if events != NULL:
                events[i] = event
                for j in range(1, 4):
                    events[j * (m + 1) + i] = -1
            for j in range(n):
                at = i * (n + 1) + j
                of.ins[at] = self.inserted(c, of.y[j], &event)
                if events != NULL:
                    events[4 * (m + 1) + at] = event
            of.drop[i] = of.swap[i] = 0
            if i == m:
                break
            swap = 0
            if i + 1 < m and of.x[i] != of.x[i + 1]:
                swap = self.transposed(of.x[i], of.x[i + 1], &event)
                if events != NULL:
                    events[2 * (m + 1) + i] = event
                    events[3 * (m + 1) + i] = self.find(TRANSPOSE, of.x[i], of.x[i + 1], 0)
            of.swap[i], taken = of.stop[i] * swap, of.stop[i] * (1.0 - swap)
            of.drop[i] = taken * self.remembered(memo, c, of.x[i], 0, &event)
            if events != NULL:
                events[m + 1 + i] = event
            for j in range(n):
                at = i * (n + 1) + j
                of.step[at] = taken * self.remembered(memo, c, of.x[i], of.y[j], &event)
                if events != NULL:
                    events[4 * (m + 1) + cells + at] = event

    cdef int sum_logarithms(self, EditCells* of, bint back, int64_t* cells) except -1 nogil:
        """What is before each cell, or, `back`, after it, by logarithms: as much at once as there is between two looks.
        """
        cdef int64_t first = 0, stop, rows = of.m + 1
        while first < rows:
            stop = min(rows, first + max(1, CELLS_A_LOOK // (of.n + 1)))
            if back:
                backward(of, rows - stop, rows - first, LOGARITHMS)
            else:
                forward(of, first, stop, LOGARITHMS)
            look_in_time((stop - first) * (of.n + 1), cells)
            first = stop
        return 0

    # --- questions ---------------------------------------------------------------------------------------------------

    def probabilities(self, int kind, const int32_t[::1] first, const int32_t[::1] second,
                      const int32_t[::1] outcome, double[::1] p):
        """p of outcomes of contexts of a kind, INSERT, CONSUME or TRANSPOSE; 0 is no character."""
        cdef int64_t i
        cdef int32_t event
        if not first.shape[0] == second.shape[0] == outcome.shape[0] == p.shape[0]:
            raise ValueError("events of other lengths")
        for i in range(p.shape[0]):
            if min(first[i], second[i], outcome[i]) < 0:
                raise ValueError("a character must have a number from 0 on")
            if kind == INSERT:
                p[i] = self.inserted(second[i], outcome[i], &event)
            elif kind == CONSUME:
                p[i] = self.consumed(first[i], second[i], outcome[i], &event)
            else:
                p[i] = self.transposed(first[i], second[i], &event)

    def score(self, EncodedWords x, const int32_t[::1] x_which, EncodedWords y, const int32_t[::1] y_which,
              double[::1] log_prob):
        """ln p(y | x) of pairs: `x_which` and `y_which` say which words they are."""
        cdef EditCells of
        cdef int64_t k, most, longest, cells = 0, n_pairs = x_which.shape[0]
        cdef double total
        cdef const double* memo = self.remember(check_pairs(x, x_which, y, y_which, &most, &longest))
        if log_prob.shape[0] != n_pairs:
            raise ValueError("no room for the answers")
        of.events = NULL
        if not make_room(&of, most, longest, False):
            raise MemoryError
        try:
            with nogil:
                for k in range(n_pairs):
                    bind(&of, x, x_which[k], y, y_which[k])
                    self.fill(&of, memo)
                    look_in_time((of.m + 1) * (of.n + 1), &cells)
                    forward(&of, 0, of.m + 1, LINEAR)
                    total = of.forward[(of.m + 1) * (of.n + 1) - 1] * of.stop[of.m]
                    if total > SAFE:
                        log_prob[k] = log(total)
                    else:
                        take_logarithms(&of)
                        self.sum_logarithms(&of, False, &cells)
                        log_prob[k] = of.forward[(of.m + 1) * (of.n + 1) - 1] + of.stop[of.m]
        finally:
            free(of.ins)

    def expect(self, EncodedWords x, EncodedWords y, const int32_t[::1] which, const double[::1] weights,
               double[::1] counts):
        """Σ weight · ln p(y | x) of some pairs; `counts` gets how often each event is expected in them."""
        cdef EditCells of
        cdef int64_t k, most, longest, cells = 0
        cdef double total, weight, log_likelihood = 0
        check_pairs(x, which, y, which, &most, &longest)
        if weights.shape[0] != x.n or counts.shape[0] != self.kept.shape[0]:
            raise ValueError("counts of other events")
        of.events = NULL
        if not make_room(&of, most, longest, True):
            free(of.ins)
            raise MemoryError
        try:
            with nogil:
                for k in range(which.shape[0]):
                    bind(&of, x, which[k], y, which[k])
                    weight = weights[which[k]]
                    self.fill(&of, NULL)
                    look_in_time((of.m + 1) * (of.n + 1), &cells)
                    forward(&of, 0, of.m + 1, LINEAR)
                    total = of.forward[(of.m + 1) * (of.n + 1) - 1] * of.stop[of.m]
                    if total > SAFE:
                        backward(&of, 0, of.m + 1, LINEAR)
                        count(&of, total, weight, &counts[0], LINEAR)
                        total = log(total)
                    else:
                        take_logarithms(&of)
                        self.sum_logarithms(&of, False, &cells)
                        self.sum_logarithms(&of, True, &cells)
                        total = of.forward[(of.m + 1) * (of.n + 1) - 1] + of.stop[of.m]
                        count(&of, total, weight, &counts[0], LOGARITHMS)
                    log_likelihood += weight * total
        finally:
            free(of.ins)
            free(of.events)
        return log_likelihood

    def align(self, EncodedWords x, EncodedWords y, int8_t[::1] steps):
        """(ln p of the best way from the only word of x to that of y, how many steps it has).

        `steps` gets them, the last one first.
        """
        cdef EditCells of
        cdef const int32_t[::1] only = np.zeros(1, np.int32)
        cdef int64_t i, j, at, width, most, longest, n_steps = 0
        cdef double here
        cdef const double* memo = self.remember(check_pairs(x, only, y, only, &most, &longest))
        bind(&of, x, 0, y, 0)
        if steps.shape[0] != of.m + of.n:
            raise ValueError("no room for the steps")
        of.events, width = NULL, of.n + 1
        if not make_room(&of, most, longest, False):
            raise MemoryError
        with nogil:
            self.fill(&of, memo)
            take_logarithms(&of)
            forward(&of, 0, of.m + 1, BEST)
            i, j = of.m, of.n
            while i or j:
                at = i * width + j
                here = of.forward[at]
                if i and j and here == of.forward[at - width - 1] + of.step[at - width - 1]:
                    steps[n_steps], i, j = WRITE, i - 1, j - 1
                elif i > 1 and j > 1 and swapped(&of, i - 2, j - 2) and (
                        here == of.forward[at - 2 * width - 2] + of.swap[i - 2]):
                    steps[n_steps], i, j = SWAP, i - 2, j - 2
                elif i and (not j or here == of.forward[at - width] + of.drop[i - 1]):
                    steps[n_steps], i = DROP, i - 1
                else:
                    steps[n_steps], j = ADD, j - 1
                n_steps += 1
            here = of.forward[(of.m + 1) * width - 1] + of.stop[of.m]
        free(of.ins)
        return here, n_steps
