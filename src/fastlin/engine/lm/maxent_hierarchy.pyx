"""The normaliser of a maximum-entropy n-gram model, and its expected counts: once for each n-gram, not for each word.

With features for n-grams, closed under taking away the first word, p(w | h) = e^{s(hw)}/Z(h) where
s(hw) = s(h′w) + θ_hw, and h′ is h without its first word. All but the children of h score as they do after h′:

    Z(h)  = Z(h′) + Σ_{hw is a feature} (e^{s(hw)} − e^{s(h′w)})
    A(h)  = C(h)/Z(h) + Σ_{g′ = h} A(g)                        C(h): how often h was the longest known history
    X(hw) = e^{s(hw)} (A(h) − Σ_{g′ = hw} A(history of g)) + Σ_{g′ = hw} X(g)       expected counts

(Wu & Khudanpur 2000 share the sums in this way; here the recursion goes both ways.) The layout is that of
`ngram_counts.pyx`, an order at a time: `starts[h]` is where the children of the history h begin, `suffix[i]` the n-gram
i without its first word. What has i for its suffix is found by the inverse of these links, so that every number has one
writer, and any cut of the histories into pieces gives the same bits.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from fastlin.engine.core.mathx cimport exponential, logarithm

cdef enum:
    AHEAD = 16                                 # n-grams: what they refer to is fetched before it is needed

cdef double LOST = 1e-6                        # of Z: a difference that is smaller is no sum of what is left
cdef double NOTHING = 1e-12

cdef extern from * nogil:
    """
    #define fastlin_fetch(address) __builtin_prefetch(address)
    """
    void fetch "fastlin_fetch"(const void*) noexcept


def exponentials(const double[::1] theta, double[::1] scores, Py_ssize_t first, Py_ssize_t last):
    """scores = e^θ."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(first, last):
            scores[i] = exponential(theta[i])


cdef inline void normalise_history(
        Py_ssize_t h, const int32_t[::1] starts, const int32_t[::1] suffix, const double[::1] shorter,
        const int32_t[::1] shorter_starts, const int32_t[::1] history_suffix, const double[:, ::1] shorter_sums,
        double[::1] scores, double[:, ::1] sums) noexcept nogil:
    """`normalise`, of one history."""
    cdef Py_ssize_t i, j, below = history_suffix[h], n = suffix.shape[0]
    cdef double whole = shorter_sums[below, 0], rest = whole, own = 0
    for i in range(starts[h], starts[h + 1]):
        if i + AHEAD < n:
            fetch(&shorter[suffix[i + AHEAD]])
        rest -= shorter[suffix[i]]
        scores[i] *= shorter[suffix[i]]
        own += scores[i]
    if rest < LOST * whole:
        rest = shorter_sums[below, 1]
        i = starts[h]
        for j in range(shorter_starts[below], shorter_starts[below + 1]):
            if i < starts[h + 1] and suffix[i] == j:
                i += 1
            else:
                rest += shorter[j]
    sums[h, 0] = own + rest if own + rest > NOTHING * whole else 0.0
    sums[h, 1] = rest


def normalise(const int32_t[::1] starts, const int32_t[::1] suffix, const double[::1] shorter,
              const int32_t[::1] shorter_starts, const int32_t[::1] history_suffix, const double[:, ::1] shorter_sums,
              double[::1] scores, double[:, ::1] sums, Py_ssize_t first, Py_ssize_t last):
    """Turn the scores e^θ of the children of the histories [first, last) into e^s; sums = (Z, that of other words).

    `shorter`, `shorter_starts` and `shorter_sums` are the same of one order down. Where the difference above has no
    digits left, the words that are no children are added up: they are children of h′, or other words there, too. A Z
    that is next to nothing beside that of h′ becomes 0, since expected counts would have no digits.
    """
    cdef Py_ssize_t h
    with nogil:
        for h in range(first, last):
            normalise_history(h, starts, suffix, shorter, shorter_starts, history_suffix, shorter_sums, scores, sums)


def normalise_some(const int32_t[::1] histories, const double[::1] theta, const int32_t[::1] starts,
                   const int32_t[::1] suffix, const double[::1] shorter, const int32_t[::1] shorter_starts,
                   const int32_t[::1] history_suffix, const double[:, ::1] shorter_sums, double[::1] scores,
                   double[:, ::1] sums):
    """Compute e^s of the children of some histories, and their sums as `normalise` has them."""
    cdef Py_ssize_t place, h, i
    with nogil:
        for place in range(histories.shape[0]):
            h = histories[place]
            for i in range(starts[h], starts[h + 1]):
                scores[i] = exponential(theta[i])
            normalise_history(h, starts, suffix, shorter, shorter_starts, history_suffix, shorter_sums, scores, sums)


@cython.final
cdef class OrderScores:
    """What `normalise` has made of an order, and its derivatives along a direction of θ.

    scores = e^s and slopes = ds of the children, `sums` of the histories and changes = d(sums).
    """

    cdef const int32_t[::1] starts
    cdef const double[::1] scores
    cdef const double[:, ::1] sums
    cdef double[::1] slopes
    cdef double[:, ::1] changes

    def __cinit__(self, const int32_t[::1] starts, const double[::1] scores, const double[:, ::1] sums,
                  double[::1] slopes, double[:, ::1] changes):
        if scores.shape[0] != slopes.shape[0] or not sums.shape[0] == changes.shape[0] == starts.shape[0] - 1:
            raise ValueError(f"{slopes.shape[0]} slopes, {changes.shape[0]} changes: wanted {scores.shape[0]}, "
                             f"{starts.shape[0] - 1}")
        self.starts, self.scores, self.sums, self.slopes, self.changes = starts, scores, sums, slopes, changes


def normalise_along(OrderScores order not None, OrderScores below_order not None, const int32_t[::1] suffix,
                    const int32_t[::1] history_suffix, const double[::1] direction, Py_ssize_t first,
                    Py_ssize_t last):
    """The derivatives of `normalise` along a direction of θ, from those of one order down."""
    cdef const int32_t[::1] starts = order.starts, shorter_starts = below_order.starts
    cdef const double[::1] scores = order.scores, shorter = below_order.scores
    cdef const double[::1] shorter_slopes = below_order.slopes
    cdef const double[:, ::1] shorter_sums = below_order.sums, shorter_changes = below_order.changes
    cdef double[::1] slopes = order.slopes
    cdef double[:, ::1] changes = order.changes
    cdef Py_ssize_t h, i, j, below
    cdef double rest, left, own
    with nogil:
        for h in range(first, last):
            below = history_suffix[h]
            rest, left, own = shorter_sums[below, 0], shorter_changes[below, 0], 0
            for i in range(starts[h], starts[h + 1]):
                j = suffix[i]
                slopes[i] = direction[i] + shorter_slopes[j]
                own += scores[i] * slopes[i]
                rest -= shorter[j]
                left -= shorter[j] * shorter_slopes[j]
            if rest < LOST * shorter_sums[below, 0]:
                left = shorter_changes[below, 1]
                i = starts[h]
                for j in range(shorter_starts[below], shorter_starts[below + 1]):
                    if i < starts[h + 1] and suffix[i] == j:
                        i += 1
                    else:
                        left += shorter[j] * shorter_slopes[j]
            changes[h, 0], changes[h, 1] = own + left, left


def share(const double[::1] seen, const double[:, ::1] sums, double[::1] a, Py_ssize_t first, Py_ssize_t last):
    """a = C/Z of the histories [first, last), with Z in the first column of `sums`.

    Returns Σ C log Z, and ∞ where a Z is no positive number. A history that was never the longest has no part in it.
    """
    cdef Py_ssize_t h
    cdef double total = 0
    cdef bint impossible = False
    with nogil:
        for h in range(first, last):
            a[h] = 0
            if seen[h] > 0:
                impossible |= not (0 < sums[h, 0] < INFINITY)
                a[h] = seen[h] / sums[h, 0]
                total += seen[h] * logarithm(sums[h, 0])
    return INFINITY if impossible else total


def share_along(const double[::1] seen, const double[:, ::1] sums, const double[:, ::1] changes, double[::1] a,
                Py_ssize_t first, Py_ssize_t last):
    """The derivative of `share`, a = −C dZ/Z², of the histories [first, last)."""
    cdef Py_ssize_t h
    with nogil:
        for h in range(first, last):
            a[h] = -seen[h] / sums[h, 0] * (changes[h, 0] / sums[h, 0]) if seen[h] > 0 else 0.0


def add_longer(const int32_t[::1] inverse_starts, const int32_t[::1] inverse, const double[::1] longer, double[::1] a,
               Py_ssize_t first, Py_ssize_t last):
    """a(h) += Σ a of the longer histories whose suffix h is, for h in [first, last)."""
    cdef Py_ssize_t h, j
    with nogil:
        for h in range(first, last):
            for j in range(inverse_starts[h], inverse_starts[h + 1]):
                a[h] += longer[inverse[j]]


def expect(const int32_t[::1] starts, const double[::1] scores, const double[::1] a,
           const int32_t[::1] inverse_starts, const int32_t[::1] inverse, const double[:, ::1] longer,
           double[:, ::1] expected, const double[::1] extra, Py_ssize_t first, Py_ssize_t last):
    """expected[i] = (X, A of its history) of the children of the histories [first, last).

    `longer` is the same of one order up, and empty for the longest n-grams. `extra` is added to X; empty: nothing is.
    """
    cdef Py_ssize_t h, i, j, n = inverse.shape[0]
    cdef double own, others, taken
    cdef bint longest = n == 0, more = extra.shape[0] > 0
    with nogil:
        for h in range(first, last):
            own = a[h]
            for i in range(starts[h], starts[h + 1]):
                others = taken = 0
                if not longest:
                    for j in range(inverse_starts[i], inverse_starts[i + 1]):
                        if j + AHEAD < n:
                            fetch(&longer[inverse[j + AHEAD], 0])
                        others += longer[inverse[j], 0]
                        taken += longer[inverse[j], 1]
                expected[i, 0] = scores[i] * (own - taken) + others + (extra[i] if more else 0.0)
                expected[i, 1] = own


def expect_along(OrderScores order not None, const double[::1] a, const double[::1] changed,
                 const int32_t[::1] inverse_starts, const int32_t[::1] inverse, const double[:, ::1] longer,
                 const double[:, ::1] longer_changed, double[:, ::1] expected_changed, Py_ssize_t first,
                 Py_ssize_t last):
    """The derivative of `expect`: (dX, dA) of the children of the histories [first, last); `changed` is dA."""
    cdef const int32_t[::1] starts = order.starts
    cdef const double[::1] scores = order.scores, slopes = order.slopes
    cdef Py_ssize_t h, i, j
    cdef double others, taken, gone
    cdef bint longest = inverse.shape[0] == 0
    with nogil:
        for h in range(first, last):
            for i in range(starts[h], starts[h + 1]):
                others = taken = gone = 0
                if not longest:
                    for j in range(inverse_starts[i], inverse_starts[i + 1]):
                        others += longer_changed[inverse[j], 0]
                        taken += longer[inverse[j], 1]
                        gone += longer_changed[inverse[j], 1]
                expected_changed[i, 0] = scores[i] * (slopes[i] * (a[h] - taken) + changed[h] - gone) + others
                expected_changed[i, 1] = changed[h]


def differ_some(const int32_t[::1] histories, const double[::1] shares, const int32_t[::1] starts,
                const int32_t[::1] suffix, const double[::1] scores, const double[::1] own, double[::1] a,
                double[:, ::1] longer, double[:, ::1] shorter, double[::1] gradient):
    """gradient = expected − observed counts of the children of some histories, and of nothing else.

    Of each history's events, of which `own` have a child for their longest n-gram, a share takes part. `longer` holds
    what one order up has added, (difference, A), and `shorter` takes the same; all sums that are read become 0 again.
    """
    cdef Py_ssize_t place, h, i
    cdef double difference
    with nogil:
        for place in range(histories.shape[0]):
            h = histories[place]
            for i in range(starts[h], starts[h + 1]):
                difference = scores[i] * (a[h] - longer[i, 1]) + longer[i, 0] - shares[place] * own[i]
                longer[i, 0] = longer[i, 1] = 0
                gradient[i] = difference
                if suffix.shape[0]:
                    shorter[suffix[i], 0] += difference
                    shorter[suffix[i], 1] += a[h]
            a[h] = 0


def share_some(const int32_t[::1] histories, const double[::1] shares, const double[::1] seen,
               const double[:, ::1] sums, const int32_t[::1] history_suffix, double[::1] a, double[::1] shorter):
    """a += C/Z of a share of the events of some histories, and what each has then to that of its suffix, `shorter`."""
    cdef Py_ssize_t place, h
    with nogil:
        for place in range(histories.shape[0]):
            h = histories[place]
            if shares[place] > 0 and seen[h] > 0:
                a[h] += shares[place] * seen[h] / sums[h, 0]
            if history_suffix.shape[0]:
                shorter[history_suffix[h]] += a[h]


def penalised_slopes(const double[:, ::1] expected, const double[::1] observed, const double[::1] theta,
                     const double[::1] mean, double precision, double[::1] gradient, Py_ssize_t first,
                     Py_ssize_t last):
    """gradient = X − observed + (θ − mean)/σ²; returns Σ ½ (θ − mean)²/σ² − θ · observed. An empty mean is 0."""
    cdef Py_ssize_t i
    cdef double off, total = 0
    cdef bint centred = mean.shape[0] == 0
    with nogil:
        for i in range(first, last):
            off = theta[i] - (0.0 if centred else mean[i])
            gradient[i] = expected[i, 0] - observed[i] + precision * off
            total += 0.5 * precision * off * off - theta[i] * observed[i]
    return total
