"""From counts to probabilities, an order at a time: discounts, what they leave, and the shorter history's share.

With c the counts of the words after a history h, T how many there are, d(c) what is taken from a count,

    Z = Σ_w c(hw) + a + b T      q(w|h) = (c(hw) − d(c(hw))) / Z      γ(h) = (Σ_w d(c(hw)) + a + b T) / Z

is Kneser and Ney's (1995), Chen and Goodman's (1999) and absolute discounting (a = b = 0), Witten and Bell's (b = 1),
Dirichlet's prior (a its weight), Katz's (d as Good and Turing say), and relative frequency (all 0). Then

    interpolated   p(w|h) = q(w|h) + γ(h) p(w|h′),                  bow(h) = γ(h)
    back-off       p(w|h) = q(w|h) where hw is known,               bow(h) = γ(h) / (1 − Σ_{w known} p(w|h′))
"""

cimport cython
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t

from fastlin.engine.core.csr cimport prefetch

cdef enum:
    AHEAD = 32              # n-grams whose suffixes' counts are on their way from memory

cdef double LEAST = 1e-9    # of γ: what is left to the words that are not known after a history


def continuations(const int32_t[::1] suffix, Py_ssize_t first, Py_ssize_t last, int64_t[::1] counts):
    """counts[s] = how many n-grams of one word more end in s, of those s in [first, last); others stay."""
    cdef Py_ssize_t i, n = suffix.shape[0]
    cdef int64_t others = 0
    cdef int64_t* counter
    with nogil:
        for i in range(first, last):
            counts[i] = 0
        for i in range(n):
            if i + AHEAD < n and suffix[i + AHEAD] >= 0:
                prefetch(&counts[suffix[i + AHEAD]])
            counter = &counts[suffix[i]] if first <= suffix[i] < last else &others
            counter[0] += 1


def counts_of_counts(const int64_t[::1] counts, Py_ssize_t first, Py_ssize_t last, int64_t[::1] n_of):
    """n_of[c] += how many of [first, last) were seen c times; the last is of all that were more often."""
    cdef Py_ssize_t i
    cdef int64_t most = n_of.shape[0] - 1
    with nogil:
        for i in range(first, last):
            n_of[min(counts[i], most)] += 1


@cython.final
cdef class DiscountRule:
    """What is taken from a count, d(c) = taken[c], of larger counts the last; `weight` is a, `weight_a_type` b.

    An n-gram seen less often than `cutoff` keeps nothing. `leave`: where nothing would be left, a grows by one.
    """

    cdef const double[::1] taken
    cdef int64_t cutoff
    cdef double weight, weight_a_type
    cdef bint leave

    def __cinit__(self, const double[::1] taken, int64_t cutoff, double weight, double weight_a_type, bint leave):
        if taken.shape[0] == 0:
            raise ValueError("taken must say what is taken from a count")
        self.taken, self.cutoff, self.weight, self.weight_a_type, self.leave = (
            taken, cutoff, weight, weight_a_type, leave)


def discount(DiscountRule rule not None, const int32_t[::1] starts, const int64_t[::1] counts, const int64_t[::1] raw,
             double[::1] q, double[::1] left, Py_ssize_t first, Py_ssize_t last):
    """q and γ of the histories [first, last), whose n-grams were seen `raw` times."""
    cdef const double[::1] taken = rule.taken
    cdef int64_t cutoff = rule.cutoff
    cdef double weight = rule.weight, weight_a_type = rule.weight_a_type
    cdef bint leave = rule.leave
    cdef Py_ssize_t h, i, most = taken.shape[0] - 1
    cdef double total, lost, d, extra
    with nogil:
        for h in range(first, last):
            total = lost = 0
            for i in range(starts[h], starts[h + 1]):
                d = taken[counts[i] if counts[i] < most else most]
                if raw[i] < cutoff or d > counts[i]:
                    d = counts[i]
                q[i] = counts[i] - d
                lost += d
                total += counts[i]
            extra = weight + weight_a_type * (starts[h + 1] - starts[h])
            if leave and lost + extra < LEAST * (total + extra):
                extra += 1
            total += extra
            left[h] = (lost + extra) / total if total > 0 else 1
            if total > 0:
                for i in range(starts[h], starts[h + 1]):
                    q[i] /= total


def interpolate(const int32_t[::1] starts, const int32_t[::1] suffix, const double[::1] left,
                const double[::1] shorter, double[::1] p, Py_ssize_t first, Py_ssize_t last):
    """p += γ(h) p(w|h′) of the histories [first, last), where p(w|h′) stands at the suffix."""
    cdef Py_ssize_t h, i
    with nogil:
        for h in range(first, last):
            for i in range(starts[h], starts[h + 1]):
                p[i] += left[h] * shorter[suffix[i]]


def backoff_weights(const int32_t[::1] starts, const int32_t[::1] suffix, const double[::1] shorter, double[::1] p,
                    double[::1] left, Py_ssize_t first, Py_ssize_t last):
    """γ of the histories [first, last) becomes bow; p of one after which every word is known is scaled to one.

    p = 0: not known.
    """
    cdef Py_ssize_t h, i
    cdef double rest, known
    with nogil:
        for h in range(first, last):
            rest = 1
            known = 0
            for i in range(starts[h], starts[h + 1]):
                if p[i] > 0:
                    rest -= shorter[suffix[i]]
                    known += p[i]
            if rest > LEAST:
                left[h] /= rest
            elif known > 0:
                left[h] = 1
                for i in range(starts[h], starts[h + 1]):
                    p[i] /= known
            else:
                left[h] = 1


def round_codes(const int32_t[::1] starts, const double[::1] p, const double[::1] centres, uint8_t[::1] codes):
    """Move codes of centres, which rise, by one where the sum over the words after a history comes nearer to that of p.

    At least half of what p leaves to other words is left. False: that cannot be.
    """
    cdef Py_ssize_t h, i
    cdef double excess, step, total
    cdef int move
    cdef bint possible = True
    with nogil:
        for h in range(starts.shape[0] - 1):
            excess = total = 0
            for i in range(starts[h], starts[h + 1]):
                excess += centres[codes[i]] - p[i]
                total += p[i]
            for i in range(starts[h], starts[h + 1]):
                move = -1 if excess > 0 else 1
                if 0 <= codes[i] + move < centres.shape[0]:
                    step = centres[codes[i] + move] - centres[codes[i]]
                    if fabs(excess + step) < fabs(excess):
                        codes[i] += move
                        excess += step
            while possible and excess > 0.5 * (1 - total):
                possible = False
                for i in range(starts[h], starts[h + 1]):
                    if codes[i] > 0 and excess > 0.5 * (1 - total):
                        excess += centres[codes[i] - 1] - centres[codes[i]]
                        codes[i] -= 1
                        possible = True
    return possible
