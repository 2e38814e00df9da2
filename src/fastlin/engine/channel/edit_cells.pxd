"""The cells of two words, one for each number of characters taken of the one and written of the other.

Sums over all ways through them, the best way, and how often each event is expected on them; the formula is that of
`edit_lattice.pyx`.
"""

from libc.math cimport INFINITY, exp, log, log1p
from libc.stdint cimport int32_t, int64_t

from fastlin.engine.core.allocation cimport allocate, allocate_zeros

cdef enum:
    LINEAR, LOGARITHMS, BEST            # what cells hold, and add up

cdef struct EditCells:
    int64_t m, n
    const int32_t* x
    const int32_t* y
    double* ins     # [m + 1, n + 1]  of y_j+1 in the gap i
    double* step    # [m + 1, n + 1]  from the gap i to the next one, y_j+1 being written
    double* stop    # [m + 1]
    double* drop    # [m + 1]  from the gap i to the next one, nothing being written
    double* swap    # [m + 1]  to the gap after the next one
    double* forward     # [m + 1, n + 1]
    double* backward
    int32_t* events     # [4, m + 1] of stop, drop, swap, no swap; then [2, m + 1, n + 1] of ins, step; −1: none


cdef inline double plus(double a, double b, const int domain) noexcept nogil:
    if domain == LINEAR:
        return a + b
    if a < b:
        a, b = b, a
    return a if domain == BEST or b == -INFINITY else a + log1p(exp(b - a))


cdef inline double times(double a, double b, const int domain) noexcept nogil:
    return a * b if domain == LINEAR else a + b


cdef inline void forward(EditCells* of, int64_t first, int64_t stop, const int domain) noexcept nogil:
    """F of the cells of some rows, behind those before them."""
    cdef int64_t i, j, at, width = of.n + 1
    cdef double zero = 0.0 if domain == LINEAR else -INFINITY
    cdef double total
    for i in range(first, stop):
        for j in range(of.n + 1):
            at = i * width + j
            total = zero if i or j else (1.0 if domain == LINEAR else 0.0)
            if j:
                total = plus(total, times(of.forward[at - 1], of.ins[at - 1], domain), domain)
            if i:
                total = plus(total, times(of.forward[at - width], of.drop[i - 1], domain), domain)
            if i and j:
                total = plus(total, times(of.forward[at - width - 1], of.step[at - width - 1], domain), domain)
            if i > 1 and j > 1 and swapped(of, i - 2, j - 2):
                total = plus(total, times(of.forward[at - 2 * width - 2], of.swap[i - 2], domain), domain)
            of.forward[at] = total


cdef inline void backward(EditCells* of, int64_t first, int64_t stop, const int domain) noexcept nogil:
    """What comes after each cell of some rows, to the end of both words; the last rows are the first to be asked."""
    cdef int64_t i, j, at, width = of.n + 1
    cdef double zero = 0.0 if domain == LINEAR else -INFINITY
    cdef double total
    for i in range(stop - 1, first - 1, -1):
        for j in range(of.n, -1, -1):
            at = i * width + j
            total = of.stop[i] if i == of.m and j == of.n else zero
            if j < of.n:
                total = plus(total, times(of.ins[at], of.backward[at + 1], domain), domain)
            if i < of.m:
                total = plus(total, times(of.drop[i], of.backward[at + width], domain), domain)
            if i < of.m and j < of.n:
                total = plus(total, times(of.step[at], of.backward[at + width + 1], domain), domain)
            if swapped(of, i, j):
                total = plus(total, times(of.swap[i], of.backward[at + 2 * width + 2], domain), domain)
            of.backward[at] = total


cdef inline bint swapped(const EditCells* of, int64_t i, int64_t j) noexcept nogil:
    """Whether the next two characters are those of the source the other way round."""
    return (i + 1 < of.m and j + 1 < of.n and of.x[i] == of.y[j + 1] and of.x[i + 1] == of.y[j]
            and of.x[i] != of.x[i + 1])


cdef inline double share(double before, double step, double after, double total, const int domain) noexcept nogil:
    """The probability of a step, given both words."""
    return before * step * after / total if domain == LINEAR else exp(before + step + after - total)


cdef inline void add(double* counts, int32_t event, double weight) noexcept nogil:
    if event >= 0:
        counts[event] += weight


cdef inline void count(EditCells* of, double total, double weight, double* counts, const int domain) noexcept nogil:
    """Add how often each event is expected, given both words."""
    cdef int64_t i, j, at, width = of.n + 1, cells = (of.m + 1) * width
    cdef const int32_t* ins = of.events + 4 * (of.m + 1)
    cdef double here, taken, twice
    for i in range(of.m + 1):
        taken = twice = 0.0
        for j in range(of.n + 1):
            at = i * width + j
            if j < of.n:
                here = share(of.forward[at], of.ins[at], of.backward[at + 1], total, domain)
                add(counts, ins[at], weight * here)
            if i < of.m:
                here = share(of.forward[at], of.drop[i], of.backward[at + width], total, domain)
                add(counts, of.events[(of.m + 1) + i], weight * here)
                taken += here
            if i < of.m and j < of.n:
                here = share(of.forward[at], of.step[at], of.backward[at + width + 1], total, domain)
                add(counts, ins[cells + at], weight * here)
                taken += here
            if swapped(of, i, j):
                twice += share(of.forward[at], of.swap[i], of.backward[at + 2 * width + 2], total, domain)
        add(counts, of.events[i], weight * (1.0 if i == of.m else taken + twice))
        add(counts, of.events[2 * (of.m + 1) + i], weight * twice)
        add(counts, of.events[3 * (of.m + 1) + i], weight * taken)


cdef inline void take_logarithms(EditCells* of) noexcept nogil:
    cdef int64_t at
    for at in range((of.m + 1) * (of.n + 1)):
        of.ins[at], of.step[at] = log(of.ins[at]), log(of.step[at])
    for at in range(of.m + 1):
        of.stop[at], of.drop[at], of.swap[at] = log(of.stop[at]), log(of.drop[at]), log(of.swap[at])


cdef inline bint make_room(EditCells* of, int64_t cells, int64_t longest, bint counted) noexcept nogil:
    """Memory for words of so many cells, and sources of so many characters and one; False: there is none."""
    of.ins = <double*>allocate_zeros((4 if counted else 3) * cells + 3 * longest, sizeof(double))
    if of.ins == NULL:
        return False
    of.step, of.forward = of.ins + cells, of.ins + 2 * cells
    of.stop = of.ins + 3 * cells
    of.drop, of.swap = of.stop + longest, of.stop + 2 * longest
    of.backward = of.stop + 3 * longest
    if counted:
        of.events = <int32_t*>allocate(2 * cells + 4 * longest, sizeof(int32_t))
    return not counted or of.events != NULL
